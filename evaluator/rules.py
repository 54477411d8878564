"""One gate rule on one task → its result. Pure.

What a rule cannot be judged by (a metric without a value, a slice with cases missing, no baseline) is `inconclusive`;
only `gate` turns results into a verdict. A rule on a change is measured first and judged once all are measured: the
evidence that one of them needs depends on how many there are (Holm).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from evaluator.baselines import BaselineState, Found, Missing
from evaluator.comparison import Difference, Pair, Pairing, at_level, difference
from evaluator.config.types import GateConfig, Rule
from evaluator.control import Suspicion
from evaluator.metrics import metric_of, totals
from evaluator.results import (
    CanaryResults,
    CaseResult,
    Control,
    Evidence,
    Metric,
    Reason,
    RuleResult,
    TaskResult,
    Witness,
)
from evaluator.statistics import cases_needed, fewest_discordant
from evaluator.vocabulary import AMOUNT_METRICS, SHARE_METRICS

_SAME = 1e-9
# Ids of worse cases that a result keeps.
MAX_WORSE = 50
# Of two results the more severe counts.
_SEVERITY = {"ok": 0, "warn": 1, "inconclusive": 2, "fail": 3}


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a verdict rests on.

    `pairings`: task name → its cases against the baseline; `anchored`: the same against the last baseline that somebody
    accepted, empty where that is the baseline itself. `lost_tasks`: tasks that the run was to include and does not
    have, with what was lost in words. `validator`: validator drift beyond the canaries, one sentence each. `movers`:
    provider and model drift. `live`: what the live canaries say. `control`: the control arm, None where it was not
    asked yet. `alike`: nothing of what is asked differs from the baseline, `alike_anchor`: from the accepted one.
    `unselected`: tasks that the user left out of this run. `spent`: the tasks of all models, by which the cost of the
    run goes; empty where there is one model. `unasked`: why a run that asked no model decides nothing, empty where it
    may. `other_judges`: task name → in words, what is another about a task's own judge that the change brings.
    """

    canaries: CanaryResults
    tasks: Sequence[TaskResult]
    baseline: BaselineState | None
    pairings: Mapping[str, Pairing]
    anchored: Mapping[str, Pairing] = {}
    lost_tasks: Mapping[str, str] = {}
    validator: Sequence[str] = ()
    movers: Sequence[Reason] = ()
    live: Witness | None = None
    control: Control | None = None
    alike: bool = False
    alike_anchor: bool = False
    allow_missing: bool = False
    unselected: Sequence[str] = ()
    spent: Sequence[TaskResult] = ()
    unasked: str = ""
    other_judges: Mapping[str, str] = {}


def is_relative(rule: Rule) -> bool:
    """Whether the rule needs a baseline."""
    return rule.max_drop is not None or rule.max_rise is not None


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A rule's result. `kind`: of the reason that it gives, as in `Reason`. `suspicion`: what may have caused it, where
    it fails on a change."""

    result: RuleResult
    kind: str = "rule"
    suspicion: Suspicion | None = None


class Tested(msgspec.Struct, frozen=True, kw_only=True):
    """A change, measured and not yet judged. `gap`: kind and words of what is missing for it, None where nothing is."""

    rule: Rule
    task: TaskResult
    change: Difference
    gap: tuple[str, str] | None
    anchor: bool

    @property
    def p(self) -> float | None:
        """What it adds to the family of tests: None where it blocks without one, or cannot block."""
        return self.change.evidence.p if self.rule.on_noise == "warn" else None


def measure(rule: Rule, gate: GateConfig, facts: Facts) -> list[Judged | Tested]:
    """What a rule says: once for each task it speaks of, each limit it sets, and each side it is held against."""
    if rule.task is None and rule.metric == "cost_usd" and not is_relative(rule):
        return [_judged_floor(_floor(rule, None, _whole_cost(facts.spent or facts.tasks), deterministic=True))]
    tasks = [task for task in facts.tasks if rule.task in (None, task.name)]
    if not tasks and rule.task in facts.unselected:
        text = f"{describe(rule)}: not judged, the task was left out of this run."
        return [Judged(result=_result(rule, None, "warn", text))]
    if not tasks:
        text = f"{describe(rule)}: there is no such task in this run."
        return [Judged(result=_result(rule, None, "inconclusive", text))]
    results: list[Judged | Tested] = []
    for task in tasks:
        if not task.pooled and rule.slice is None and rule.metric not in AMOUNT_METRICS:
            results.append(Judged(result=_not_pooled(rule, task)))
            continue
        scope = Scope.of(rule, task, facts.pairings.get(task.name))
        if rule.min is not None or rule.max is not None:
            gap = scope.gap(gate.coverage, compared=False)
            results.append(_despite(gap, _judged_floor(_absolute(rule, task, scope, gate))))
        if is_relative(rule):
            results.append(_relative(rule, task, gate, facts, scope))
            if anchored := _since_anchor(rule, task, gate, facts):
                results.append(anchored)
    return results


def _judged_floor(result: RuleResult) -> Judged:
    return Judged(result=result, kind="floor" if result.outcome == "fail" else "rule")


def _not_pooled(rule: Rule, task: TaskResult) -> RuleResult:
    example = next(iter(task.slices), "family/control")
    text = (
        f"{describe(rule, task)}: no share is taken over all cases of this task; name a slice, e.g. slice: {example}."
    )
    return _result(rule, task, "inconclusive", text)


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """The cases that a rule speaks of.

    `now`: today's, by today's labels. `pairs`: those of the baseline, by the baseline's labels, so that a change of
    tags neither takes a case out nor dilutes the slice; today's labels where the baseline does not know the slice.
    `planned` and `scored` count today's attempts at the cases of either, `old` the same at the baseline's cases alone,
    so that new cases fill no gap; `removed` those of `planned` whose cases are no longer there, `expected` the
    baseline's cases.
    """

    now: list[CaseResult]
    pairs: list[Pair]
    planned: int
    scored: int
    old: tuple[int, int]
    removed: int
    expected: int

    @classmethod
    def of(cls, rule: Rule, task: TaskResult, pairing: Pairing | None) -> Scope:
        """The scope of `rule` on `task`."""
        label = rule.slice
        now = [case for case in task.cases if label is None or label in case.slices]
        before = [case for case in pairing.baseline if label is None or label in case.slices] if pairing else []
        known = {case.id for case in before}
        members = known | {case.id for case in now}
        planned, scored, removed, old = 0, 0, 0, (0, 0)
        present = {case.id: case for case in task.cases}
        for case_id in members:
            attempts = present[case_id].attempts if case_id in present else []
            wanted, made = max(len(attempts), task.repeats), sum(one.status == "scored" for one in attempts)
            planned, scored = planned + wanted, scored + made
            removed += task.repeats if case_id not in present else 0
            if case_id in known:
                old = old[0] + wanted, old[1] + made
        pairs = [each for each in pairing.pairs if each.now.id in (known or members)] if pairing else []
        return cls(now=now, pairs=pairs, planned=planned, scored=scored, old=old, removed=removed, expected=len(known))

    def gap(self, coverage: float, *, compared: bool, side: str = "baseline") -> tuple[str, str] | None:
        """What is missing, by its kind and in words, where it is more than `coverage` allows."""
        for planned, scored in ((self.planned, self.scored), self.old):
            if planned and scored / planned < coverage - _SAME:
                kind = "comparison" if scored == planned - self.removed else "coverage"
                return kind, f"only {scored} of {planned} attempts at its cases were scored"
        if compared and self.expected and len(self.pairs) / self.expected < coverage - _SAME:
            what = f"only {len(self.pairs)} of its {self.expected} cases can be compared with the {side}"
            return "comparison", what
        return None


def _despite(gap: tuple[str, str] | None, judged: Judged) -> Judged:
    """A rule that does not fail says nothing where too many of its cases are missing."""
    result = judged.result
    if gap is None or result.outcome in ("fail", "inconclusive"):
        return judged
    kind, what = gap
    return Judged(
        result=msgspec.structs.replace(result, outcome="inconclusive", text=f"{result.rule}: {what}."), kind=kind
    )


def _absolute(rule: Rule, task: TaskResult, scope: Scope, gate: GateConfig) -> RuleResult:
    """A floor or ceiling. A share must hold for today's cases and for those that the baseline knows as well: new easy
    cases do not lift the old ones over it."""
    now = metric_of(rule.metric, scope.now, task.repeats)
    results = [_floor(rule, task, now, deterministic=task.deterministic)]
    if scope.pairs and rule.metric not in AMOUNT_METRICS:
        known = metric_of(rule.metric, [each.now for each in scope.pairs], task.repeats)
        results.append(_floor(rule, task, known, deterministic=task.deterministic))
    if rule.metric == "all_k_pass_rate" and now is not None and now.n < gate.coverage * len(scope.now) - _SAME:
        # A case that lacks an attempt has no figure, and may be the one that fails.
        text = f"{describe(rule, task)}: only {now.n} of {len(scope.now)} cases have all their {task.repeats} attempts."
        results.append(_result(rule, task, "inconclusive", text))
    return max(results, key=lambda result: _SEVERITY[result.outcome])


def _whole_cost(tasks: Sequence[TaskResult]) -> Metric | None:
    whole = totals(tasks, 0.0)
    if whole.cost_state != "known" or whole.cost_usd is None:
        return None
    return Metric(value=whole.cost_usd, n=sum(len(task.cases) for task in tasks))


def _floor(rule: Rule, task: TaskResult | None, metric: Metric | None, *, deterministic: bool) -> RuleResult:
    """An absolute limit: fails when the whole interval lies beyond it, warns when the interval straddles it."""
    name = describe(rule, task)
    if metric is None:
        return _result(rule, task, "inconclusive", f"{name}: the metric has no value in this run.")
    value = metric.value
    low, high = value, value
    if not deterministic and metric.low is not None and metric.high is not None:
        low, high = metric.low, metric.high
    beyond = (rule.min is not None and value < rule.min - _SAME) or (rule.max is not None and value > rule.max + _SAME)
    wholly = (rule.min is not None and high < rule.min - _SAME) or (rule.max is not None and low > rule.max + _SAME)
    straddles = (rule.min is not None and low < rule.min - _SAME) or (rule.max is not None and high > rule.max + _SAME)
    shown = _figure(value) if low == high else f"{_figure(value)} [{low:.2f}, {high:.2f}]"
    if wholly or (beyond and rule.on_noise == "fail"):
        return _result(rule, task, "fail", f"{name}: it is {shown}.", now=value)
    if beyond:
        text = f"{name}: it is {shown}, beyond the limit but within the noise of {metric.n} cases."
        return _result(rule, task, "warn", text, now=value)
    if straddles and rule.on_noise == "warn":
        text = f"{name}: it is {shown}; {metric.n} cases cannot rule out that it lies beyond the limit."
        return _result(rule, task, "warn", text, now=value)
    return _result(rule, task, "ok", f"{name}: it is {shown}.", now=value)


def _relative(rule: Rule, task: TaskResult, gate: GateConfig, facts: Facts, scope: Scope) -> Judged | Tested:
    """A limit on the change against the baseline."""
    name = describe(rule, task)
    pairing = facts.pairings.get(task.name)
    if not isinstance(facts.baseline, Found) or pairing is None:
        if isinstance(facts.baseline, Missing) and facts.allow_missing:
            return Judged(result=_result(rule, task, "ok", f"{name}: no baseline yet, nothing to compare with."))
        text = f"{name}: there is no baseline to compare with."
        return Judged(result=_result(rule, task, "inconclusive", text))
    if pairing.is_new:
        # Safe: a task renamed to get here is missing under its old name, which is inconclusive by itself.
        text = f"{name}: not judged, the baseline does not know this task yet."
        return Judged(result=_result(rule, task, "warn", text))
    return _tested(rule, task, gate, pairing, scope, anchor=False)


def _since_anchor(rule: Rule, task: TaskResult, gate: GateConfig, facts: Facts) -> Judged | Tested | None:
    """The same against the anchor; None where there is none, or it does not know the task."""
    pairing = facts.anchored.get(task.name)
    if pairing is None or pairing.is_new:
        return None
    return _tested(rule, task, gate, pairing, Scope.of(rule, task, pairing), anchor=True)


def _tested(
    rule: Rule, task: TaskResult, gate: GateConfig, pairing: Pairing, scope: Scope, *, anchor: bool
) -> Judged | Tested:
    name, side = describe(rule, task), "accepted baseline" if anchor else "baseline"
    change = difference(
        rule.metric, pairing, scope.pairs, alpha=gate.alpha, higher_is_better=higher_is_better(rule.metric)
    )
    if change is None:
        text = f"{name}: no case has a value in the {side} and in this run."
        return Judged(result=_result(rule, task, "inconclusive", text, anchor=anchor))
    lost = len(change.missing) / (len(change.missing) + change.evidence.n)
    if lost > 1 - gate.coverage + _SAME:
        text = f"{name}: {len(change.missing)} cases had a value in the {side} and have none now."
        return Judged(result=_result(rule, task, "inconclusive", text, change=change, anchor=anchor), kind="coverage")
    return Tested(
        rule=rule,
        task=task,
        change=change,
        gap=scope.gap(gate.coverage, compared=True, side=side),
        anchor=anchor,
    )


def judge(tested: Tested, gate: GateConfig, adjusted: float | None, parts: float, *, tests: int) -> Judged:
    """The result of a measured change: it fails where the change is beyond the limit and the p that is left after
    Holm's correction over all `tests` of the run, `adjusted`, is at most alpha. None: there is no test, any change is
    real. `parts`: into how many shares like its own alpha is divided."""
    rule, task = tested.rule, tested.task
    level = gate.alpha / parts if rule.on_noise == "warn" else gate.alpha
    evidence = at_level(tested.change, rule.metric, level)
    if adjusted is not None and tests > 1:
        evidence = msgspec.structs.replace(evidence, adjusted=adjusted, family=tests)
    change = msgspec.structs.replace(tested.change, evidence=evidence)
    outcome, text = _outcome(tested, gate, change, adjusted, level)
    result = _result(rule, task, outcome, text, change=change, anchor=tested.anchor)
    suspicion = None
    if outcome == "fail":
        p = evidence.p if adjusted is None else adjusted
        suspicion = Suspicion(
            task=task.name,
            metric=rule.metric,
            higher_is_better=higher_is_better(rule.metric),
            cases=change.worse,
            anchor=tested.anchor,
            proved=p is None or p <= gate.alpha,
        )
    return _despite(tested.gap, Judged(result=result, suspicion=suspicion))


def _outcome(
    tested: Tested, gate: GateConfig, change: Difference, adjusted: float | None, level: float
) -> tuple[str, str]:
    rule, evidence = tested.rule, change.evidence
    better_high = higher_is_better(rule.metric)
    name = describe(rule, tested.task) + (", since the accepted baseline" if tested.anchor else "")
    limit = rule.max_drop if rule.max_drop is not None else rule.max_rise
    harm = (change.baseline - change.now) * (1 if better_high else -1)
    moved = f"{_figure(change.baseline)} → {_figure(change.now)}"
    if limit is None or harm <= limit + _SAME:
        return "ok", f"{name}: {moved}."
    counts = f"{moved} ({_cases(evidence.worse)} worse, {evidence.better} better{_proof(evidence)})"
    p = evidence.p if adjusted is None else adjusted
    if p is None or p <= gate.alpha:
        return "fail", f"{name}: {counts}."
    text = (
        f"{name}: possible {'drop' if better_high else 'rise'}, {counts}; that is within noise at alpha {gate.alpha:g}."
    )
    if evidence.underpowered:
        what = "cases" if evidence.clusters is None else "clusters"
        text += (
            f" Underpowered: fewer than {fewest_discordant(level)} {what} changed, which can never be significant; "
            f"{_what_would_tell(evidence, level)}"
        )
    return ("fail" if rule.on_noise == "fail" else "warn"), text


def _what_would_tell(evidence: Evidence, level: float) -> str:
    """How many cases would show, with 80 % power, that as large a share of them got worse."""
    share = (evidence.worse - evidence.better) / evidence.n
    needed = cases_needed(share, level) if share > 0 and evidence.clusters is None else None
    if needed is None or needed <= evidence.n:
        what = "cases" if evidence.clusters is None else "clusters"
        return f"more {what} would tell."
    return f"at this rate {needed} cases would tell."


def _proof(evidence: Evidence) -> str:
    if evidence.p is None:
        return ""
    if evidence.adjusted is None:
        return f", p = {evidence.p:.2g}"
    return f", p = {evidence.p:.2g}, {evidence.adjusted:.2g} after Holm over {evidence.family} tests"


def _cases(count: int) -> str:
    return "1 case" if count == 1 else f"{count} cases"


def _figure(value: float) -> str:
    """Two decimals at least, four at most: 0.00, 0.35, 0.7778, 1.00."""
    whole, _, decimals = f"{value:.4f}".partition(".")
    return f"{whole}.{decimals.rstrip('0').ljust(2, '0')}"


def higher_is_better(metric: str) -> bool:
    """Shares are good, failure modes and amounts are bad."""
    return metric in SHARE_METRICS and metric not in AMOUNT_METRICS


def describe(rule: Rule, task: TaskResult | None = None) -> str:
    """A rule in one line: "json-call pass_rate (easy), max_drop 0.05"."""
    name = task.name if task is not None else rule.task
    head = " ".join(part for part in (name, rule.metric) if part)
    limits = ", ".join(
        f"{key} {value:g}"
        for key, value in (
            ("min", rule.min),
            ("max", rule.max),
            ("max_drop", rule.max_drop),
            ("max_rise", rule.max_rise),
        )
        if value is not None
    )
    return f"{head}{f' ({rule.slice})' if rule.slice else ''}, {limits}"


def _result(
    rule: Rule,
    task: TaskResult | None,
    outcome: str,
    text: str,
    *,
    now: float | None = None,
    change: Difference | None = None,
    anchor: bool = False,
) -> RuleResult:
    return msgspec.convert(
        {
            "rule": describe(rule, task),
            "metric": rule.metric,
            "outcome": outcome,
            "text": text,
            "task": task.name if task is not None else rule.task,
            "slice": rule.slice,
            "baseline": change.baseline if change is not None else None,
            "now": change.now if change is not None else now,
            "evidence": change.evidence if change is not None else None,
            "worse": change.worse[:MAX_WORSE] if change is not None else [],
            "anchor": anchor,
        },
        RuleResult,
    )
