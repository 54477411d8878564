"""The metric table, and the figures that stand below it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from evaluator.reports import evidence as proof
from evaluator.reports import numbers
from evaluator.reports.view_model import FigureRow, Listing
from evaluator.reports.words import OUTCOMES, SINCE_ANCHOR
from evaluator.results import Evidence, Metric, RuleResult, Run, TaskComparison, TaskResult
from evaluator.vocabulary import AMOUNT_METRICS, COUNT_METRICS, SHARE_METRICS

# The end of a rule's name, e.g. ", min 0.8, max_drop 0.05".
_LIMITS = re.compile(r"(?:, (?:min|max|max_drop|max_rise) [^, ]+)+$")
_RELATIVE = ("max_drop", "max_rise")
_URGENT = [OUTCOMES[outcome].sign for outcome in ("fail", "inconclusive", "warn")]


def comparison_of(run: Run, task: str) -> TaskComparison | None:
    """A task's part of the comparison, None where there is none."""
    if run.comparison is None:
        return None
    return next((part for part in run.comparison.tasks if part.task == task), None)


def headline_metrics(task: TaskResult) -> tuple[str, ...]:
    """What stands in the table of every task, with or without a rule; the first is the one that counts most."""
    return ("all_k_pass_rate", "pass_rate") if task.repeats > 1 else ("pass_rate",)


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
    """One row for each rule on each task and for each standing figure without one, in the order of the tasks. Rows that
    the reader came for stand first: rules that failed, that could not be decided, and that warn."""
    rows = [row for task in run.tasks for row in _task_rows(run, task)]
    names = {task.name for task in run.tasks}
    rows += [_rule_row(rule, None, None) for rule in run.rules if rule.task not in names]
    return sorted(rows, key=lambda row: _URGENT.index(row.sign) if row.sign in _URGENT else len(_URGENT))


def _task_rows(run: Run, task: TaskResult) -> Iterator[FigureRow]:
    compared = comparison_of(run, task.name)
    ruled = [rule for rule in run.rules if rule.task == task.name]
    whole = {rule.metric for rule in ruled if rule.slice is None}
    standing = headline_metrics(task)
    for metric in standing:
        if metric in whole:
            yield from (_rule_row(r, task, compared) for r in ruled if r.metric == metric and r.slice is None)
        elif metric in task.metrics:
            yield _plain_row(metric, task, compared)
    yield from (_rule_row(r, task, compared) for r in ruled if r.metric not in standing or r.slice is not None)


def other_figures(run: Run) -> Listing[FigureRow]:
    """The figures of each task that no rule speaks of."""
    rows = []
    for task in run.tasks:
        compared = comparison_of(run, task.name)
        known = task.metrics.keys() | (compared.baseline_metrics.keys() if compared is not None else set())
        shown = {rule.metric for rule in run.rules if rule.task == task.name and rule.slice is None}
        shown |= {*headline_metrics(task), "all_k_pass_rate"}  # of one attempt, pass^k is the pass rate again
        others = (*SHARE_METRICS, *COUNT_METRICS, *AMOUNT_METRICS)
        rows += [
            replace(_plain_row(metric, task, compared), evidence=_reading(metric))
            for metric in others
            if metric in known and metric not in shown
        ]
    return Listing(rows)


def _reading(metric: str) -> str:
    """How a figure is to be read."""
    if metric in SHARE_METRICS:
        return "share, higher is better"
    return f"{'mean a case' if metric in COUNT_METRICS else 'sum'}, lower is better"


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
        since=SINCE_ANCHOR if rule.anchor else "",
        baseline=baseline,
        now=value,
        baseline_rests_on=_rests_on(before, baseline, n_before, other=n),
        now_rests_on=_rests_on(now, value, n),
        evidence=_evidence_cell(rule),
    )


def _plain_row(metric: str, task: TaskResult, compared: TaskComparison | None) -> FigureRow:
    """A figure that no rule speaks of."""
    now = task.metrics.get(metric)
    before = baseline_metric(metric, task, compared)
    evidence = compared.pass_rate if compared is not None and metric == "pass_rate" else None
    return _row(
        icon="",
        sign="",
        task=task.name,
        metric=metric,
        slice_name="",
        since="",
        baseline=before.value if before is not None else None,
        now=now.value if now is not None else None,
        baseline_rests_on=_rests_on(before, before.value, before.n, other=now.n if now is not None else None)
        if before is not None
        else "",
        now_rests_on=_rests_on(now, now.value, now.n) if now is not None else "",
        evidence=_tested(evidence) if evidence is not None else numbers.NOTHING,
    )


def _row(
    *,
    icon: str,
    sign: str,
    task: str,
    metric: str,
    slice_name: str,
    since: str,
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
        since=since,
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
    """The baseline's own figure; None where a rule speaks of a slice, or of another baseline."""
    if task is None or rule.slice is not None or rule.anchor:
        return None
    return baseline_metric(rule.metric, task, compared)


def baseline_metric(metric: str, task: TaskResult, compared: TaskComparison | None) -> Metric | None:
    """The baseline's own figure; None for pass^k at another k, of which a rule that compares makes one itself."""
    if compared is None or (metric == "all_k_pass_rate" and compared.baseline_repeats != task.repeats):
        return None
    return compared.baseline_metrics.get(metric)


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
    text = f"{counts} of {numbers.count(evidence.n)}{proof.clusters(evidence)}"
    if evidence.p is not None:
        text += f", {proof.chance(evidence)}"
    return f"{text}, underpowered" if evidence.underpowered and evidence.worse else text
