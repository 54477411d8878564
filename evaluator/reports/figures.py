"""The metric table and, for each task, how sure its difference is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evaluator.reports import numbers
from evaluator.reports.view_model import FigureRow, TaskSentence
from evaluator.reports.words import OUTCOMES, TESTS
from evaluator.results import Evidence, Metric, RuleResult, Run, TaskComparison, TaskResult

# The end of a rule's name, e.g. ", min 0.8, max_drop 0.05".
_LIMITS = re.compile(r"(?:, (?:min|max|max_drop|max_rise) [^, ]+)+$")
_RELATIVE = ("max_drop", "max_rise")
# Shown for every task, with or without a rule.
_ALWAYS = ("pass_rate", "schema_valid", "argument_score")


def comparison_of(run: Run, task: str) -> TaskComparison | None:
    """A task's part of the comparison, None where there is none."""
    if run.comparison is None:
        return None
    return next((part for part in run.comparison.tasks if part.task == task), None)


def compared_nothing(rule: RuleResult) -> bool:
    """Whether a rule on a change was let through because there is no baseline yet."""
    return rule.outcome == "ok" and rule.evidence is None and rule.now is None


def limits(rule: RuleResult) -> list[str]:
    """["min 0.8"]: the limits that a rule sets on the figure itself, not on its change."""
    return [limit for limit in _limits(rule).split(", ") if not limit.startswith(_RELATIVE)]


def _limits(rule: RuleResult) -> str:
    named = _LIMITS.search(rule.rule)
    return named.group().removeprefix(", ") if named is not None else ""


def figure_rows(run: Run) -> list[FigureRow]:
    """One row for each rule on each task and for each standing figure without one, in the order of the tasks."""
    rows = [row for task in run.tasks for row in _task_rows(run, task)]
    names = {task.name for task in run.tasks}
    return rows + [_rule_row(rule, None, None) for rule in run.rules if rule.task not in names]


def _task_rows(run: Run, task: TaskResult) -> Iterator[FigureRow]:
    compared = comparison_of(run, task.name)
    ruled = [rule for rule in run.rules if rule.task == task.name]
    whole = {rule.metric for rule in ruled if rule.slice is None}
    for metric in _ALWAYS:
        if metric in whole:
            yield from (_rule_row(r, task, compared) for r in ruled if r.metric == metric and r.slice is None)
        elif metric in task.metrics:
            yield _standing_row(metric, task, compared)
    yield from (_rule_row(r, task, compared) for r in ruled if r.metric not in _ALWAYS or r.slice is not None)


def _rule_row(rule: RuleResult, task: TaskResult | None, compared: TaskComparison | None) -> FigureRow:
    now = _metric_now(rule, task)
    before = _metric_before(rule, task, compared)
    value = now.value if rule.now is None and now is not None else rule.now
    baseline = before.value if rule.baseline is None and before is not None else rule.baseline
    # A rule that compares speaks of the paired cases; any other of all its cases, or of some that it does not count.
    paired = rule.evidence.n if rule.evidence is not None else None
    n = paired if paired is not None else _n_of(now, value)
    n_before = paired if paired is not None else _n_of(before, baseline)
    return _row(
        icon=numbers.NOTHING if compared_nothing(rule) else OUTCOMES[rule.outcome].icon,
        sign=numbers.NOTHING if compared_nothing(rule) else OUTCOMES[rule.outcome].sign,
        task=rule.task or "whole run",
        metric=rule.metric,
        slice_name=rule.slice or "",
        baseline=baseline,
        now=value,
        baseline_rests_on=_rests_on(before, baseline, n_before, other=n),
        now_rests_on=_rests_on(now, value, n),
        evidence=_evidence_cell(rule),
    )


def _standing_row(metric: str, task: TaskResult, compared: TaskComparison | None) -> FigureRow:
    now = task.metrics[metric]
    before = compared.baseline_metrics.get(metric) if compared is not None else None
    evidence = compared.pass_rate if compared is not None and metric == "pass_rate" else None
    return _row(
        icon="",
        sign="",
        task=task.name,
        metric=metric,
        slice_name="",
        baseline=before.value if before is not None else None,
        now=now.value,
        baseline_rests_on=_rests_on(before, before.value, before.n, other=now.n) if before is not None else "",
        now_rests_on=_rests_on(now, now.value, now.n),
        evidence=_tested(evidence) if evidence is not None else numbers.NOTHING,
    )


def _row(
    *,
    icon: str,
    sign: str,
    task: str,
    metric: str,
    slice_name: str,
    baseline: float | None,
    now: float | None,
    baseline_rests_on: str,
    now_rests_on: str,
    evidence: str,
) -> FigureRow:
    if baseline is not None and now is not None:
        before, after = numbers.pair(metric, baseline, now)
    else:
        before, after = numbers.figure(metric, baseline), numbers.figure(metric, now)
    return FigureRow(
        icon=icon,
        sign=sign,
        task=task,
        metric=metric,
        slice=slice_name,
        baseline=before + baseline_rests_on if baseline is not None else before,
        now=after + now_rests_on if now is not None else after,
        change=numbers.change(metric, baseline, now),
        evidence=evidence,
    )


def _metric_now(rule: RuleResult, task: TaskResult | None) -> Metric | None:
    if task is None:
        return None
    if rule.slice is None:
        return task.metrics.get(rule.metric)
    part = task.slices.get(rule.slice)
    return part.metrics.get(rule.metric) if part is not None else None


def _metric_before(rule: RuleResult, task: TaskResult | None, compared: TaskComparison | None) -> Metric | None:
    """The baseline's own figure; None for pass^k at another k, of which a rule that compares makes one itself."""
    if compared is None or task is None or rule.slice is not None:
        return None
    if rule.metric == "all_k_pass_rate" and compared.baseline_repeats != task.repeats:
        return None
    return compared.baseline_metrics.get(rule.metric)


def _n_of(metric: Metric | None, shown: float | None) -> int | None:
    """How many cases `shown` rests on, None where it is not the figure over all cases."""
    return metric.n if metric is not None and shown is not None and abs(metric.value - shown) <= 1e-9 else None


def _rests_on(metric: Metric | None, shown: float | None, n: int | None, *, other: int | None = None) -> str:
    """ " [0.18, 0.57], n = 20": the interval of `metric` where `shown` is that figure over the same cases, and the
    number of cases where it is known and not the `other` side's as well."""
    same = metric is not None and n == metric.n == _n_of(metric, shown)
    interval = numbers.interval(metric.low, metric.high) if metric is not None and same else ""
    return interval + (f", n = {numbers.count(n)}" if n is not None and n != other else "")


def _evidence_cell(rule: RuleResult) -> str:
    if rule.evidence is not None:
        said = _tested(rule.evidence)
    elif compared_nothing(rule):
        said = "no baseline yet"
    else:
        said = "not decided" if rule.outcome == "inconclusive" else ""
    return "; ".join(part for part in (said, _limits(rule)) if part) or numbers.NOTHING


def _tested(evidence: Evidence) -> str:
    """ "7 worse, 0 better of 20, p = 0.008"."""
    counts = f"{numbers.count(evidence.worse)} worse, {numbers.count(evidence.better)} better"
    text = f"{counts} of {numbers.count(evidence.n)}"
    if evidence.p is not None:
        text += f", {numbers.probability(evidence.p)}"
    return f"{text}, underpowered" if evidence.underpowered and evidence.worse else text


def task_sentences(run: Run) -> list[TaskSentence]:
    """A sentence for each compared task: pairs, attempts, difference, p, and what the suite could have seen."""
    sentences = []
    for task in run.tasks:
        compared = comparison_of(run, task.name)
        if compared is not None:
            sentences.append(TaskSentence(task.name, _task_sentence(task, compared)))
    return sentences


def _task_sentence(task: TaskResult, compared: TaskComparison) -> str:
    evidence = compared.pass_rate
    if evidence is None:
        return "no case could be paired with the baseline."
    attempts = numbers.counted(task.repeats, "attempt")
    text = (
        f"{numbers.counted(evidence.n, 'paired case')}, {attempts} each; {numbers.count(evidence.worse)} regressed, "
        f"{numbers.count(evidence.better)} fixed; difference in pass_rate {numbers.signed(evidence.difference)}"
        f"{numbers.interval(evidence.low, evidence.high)}"
    )
    if evidence.test == "deterministic":
        return f"{text}. The transcripts are recorded, so every change is real and no statistics apply."
    if evidence.p is not None:
        text += f", {numbers.probability(evidence.p)} ({TESTS.get(evidence.test, evidence.test)})"
    return f"{text}. {_power(evidence)}"


def _power(evidence: Evidence) -> str:
    if evidence.detectable is None:
        return "So few cases cannot detect any drop, however large, with 80 % power."
    return f"With 80 % power these cases detect a drop of {numbers.rate(evidence.detectable)} or more."
