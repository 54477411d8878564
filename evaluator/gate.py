"""Rules → verdict. Pure; the one place that decides, and everything that could end in a wrong pass is decided here.

Precedence: validator drift > inconclusive > regression > provider or model drift > pass. (A configuration error never
gets this far.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from evaluator.baselines import BaselineState, Found, Missing, Unreadable
from evaluator.comparison import Difference, Pair, Pairing, critically_failed, difference
from evaluator.config.types import GateConfig, Rule
from evaluator.errors import EXIT_DRIFT, EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_REGRESSION
from evaluator.metrics import metric_of, totals
from evaluator.results import CanaryResults, Metric, Reason, RuleResult, Run, TaskResult, VerdictWord
from evaluator.statistics import fewest_discordant
from evaluator.vocabulary import AMOUNT_METRICS, SHARE_METRICS

EXIT_CODES: dict[VerdictWord, int] = {
    "pass": EXIT_PASS,
    "regression": EXIT_REGRESSION,
    "inconclusive": EXIT_INCONCLUSIVE,
    "drift": EXIT_DRIFT,
}

_SAME = 1e-9


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the verdict rests on. `pairings`: task name → its cases against the baseline; `lost_tasks`:
    baseline tasks that the run was to include and does not have. `validator`: validator drift beyond the canaries, one
    sentence each; `movers`: provider and model drift; `unselected`: tasks that the user left out of this run."""

    canaries: CanaryResults
    tasks: Sequence[TaskResult]
    baseline: BaselineState | None
    pairings: Mapping[str, Pairing]
    lost_tasks: Sequence[TaskResult] = ()
    validator: Sequence[str] = ()
    movers: Sequence[Reason] = ()
    allow_missing: bool = False
    unselected: Sequence[str] = ()


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The one verdict that drives comment, summary, outputs and exit code."""

    verdict: VerdictWord
    reasons: list[Reason]
    warnings: list[Reason]
    rules: list[RuleResult]


def decide(gate: GateConfig, evidence: Evidence) -> Decision:
    """The verdict with every reason of its kind, and what else a reader should know as warnings."""
    rules = [result for rule in effective_rules(gate, evidence) for result in _apply(rule, gate, evidence)]
    drifted = _validator_reasons(evidence)
    open_questions = [*_coverage_reasons(gate, evidence), *_baseline_reasons(gate, evidence)]
    open_questions += [_rule_reason("rule", result) for result in rules if result.outcome == "inconclusive"]
    worse = [_rule_reason(_fail_kind(result), result) for result in rules if result.outcome == "fail"]
    worse += _critical_reasons(evidence)
    warnings = [_rule_reason("rule", result) for result in rules if result.outcome == "warn"]
    layers: list[tuple[VerdictWord, list[Reason]]] = [
        ("drift", drifted),
        ("inconclusive", open_questions),
        ("regression", worse),
        ("drift", list(evidence.movers)),
    ]
    for place, (verdict, reasons) in enumerate(layers):
        if reasons:
            # What the verdict does not rest on is still said: a regression under an inconclusive run, for one.
            others = [reason for _, lower in layers[place + 1 :] for reason in lower]
            return Decision(verdict=verdict, reasons=reasons, warnings=[*others, *warnings], rules=rules)
    return Decision(verdict="pass", reasons=[], warnings=warnings, rules=rules)


def effective_rules(gate: GateConfig, evidence: Evidence) -> list[Rule]:
    """The rules of the file, else the default: on each task, pass_rate may not drop at all."""
    if gate.rules is not None:
        return gate.rules
    return [Rule(metric="pass_rate", task=task.name, max_drop=0.0) for task in evidence.tasks]


def is_relative(rule: Rule) -> bool:
    """Whether the rule needs a baseline."""
    return rule.max_drop is not None or rule.max_rise is not None


def _validator_reasons(evidence: Evidence) -> list[Reason]:
    canaries = evidence.canaries.cases
    reasons = [
        Reason(kind="canary", text=f"Canary {canary.id}: expected {canary.expected}, got {canary.got}.")
        for canary in canaries
        if not canary.ok
    ]
    if not canaries:
        reasons.append(Reason(kind="canary", text="No canary was scored, so nothing vouches for the validators."))
    return reasons + [Reason(kind="validator", text=text) for text in evidence.validator]


def _coverage_reasons(gate: GateConfig, evidence: Evidence) -> list[Reason]:
    reasons = []
    if not evidence.tasks:
        reasons.append(Reason(kind="coverage", text="Nothing was evaluated: no task was run."))
    for task in evidence.tasks:
        pairing = evidence.pairings.get(task.name)
        removed = len(pairing.removed) * pairing.baseline_repeats if pairing is not None else 0
        planned = task.planned + removed
        if planned == 0:
            reasons.append(Reason(kind="coverage", task=task.name, text=f"{task.name}: no case was planned."))
        elif task.scored / planned < gate.coverage - _SAME:
            text = (
                f"{task.name}: {task.scored} of {planned} planned attempts were scored, {gate.coverage:.0%} are needed."
            )
            if removed:
                text += f" {removed} of the missing ones are cases of the baseline that the change removed."
            reasons.append(Reason(kind="coverage", task=task.name, text=text))
        reasons += _critical_unscored(task)
        if pairing is not None and pairing.coverage < gate.coverage - _SAME:
            reasons.append(_pairing_reason(gate, pairing))
    reasons += [
        Reason(
            kind="coverage",
            task=task.name,
            text=f"{task.name}: all {len(task.cases)} cases of the baseline are missing, the change removed the task.",
        )
        for task in evidence.lost_tasks
    ]
    return reasons


def _critical_unscored(task: TaskResult) -> list[Reason]:
    silent = [case.id for case in task.cases if case.critical and not any(a.status == "scored" for a in case.attempts)]
    return [
        Reason(kind="coverage", task=task.name, text=f"{task.name}: the critical case {case_id} was not scored.")
        for case_id in silent
    ]


def _pairing_reason(gate: GateConfig, pairing: Pairing) -> Reason:
    parts = [
        f"{len(items)} {what}"
        for items, what in (
            (pairing.not_comparable, "changed"),
            (pairing.removed, "removed"),
            (pairing.unscored, "not scored on both sides"),
        )
        if items
    ]
    return Reason(
        kind="coverage",
        task=pairing.task,
        text=f"{pairing.task}: {pairing.coverage:.0%} of the baseline's cases can be compared, {gate.coverage:.0%} are "
        f"needed ({', '.join(parts)}). If that is meant, accept a new baseline.",
    )


def _baseline_reasons(gate: GateConfig, evidence: Evidence) -> list[Reason]:
    state = evidence.baseline
    if isinstance(state, Unreadable):
        return [Reason(kind="baseline", text=f"The baseline {state.where} cannot be read: {state.why}.")]
    if isinstance(state, Missing) and not evidence.allow_missing:
        rules = effective_rules(gate, evidence)
        if any(is_relative(rule) for rule in rules):
            return [
                Reason(
                    kind="baseline",
                    text=f"There is no baseline at {state.where} to compare with. Accept one with `trapgate baseline "
                    "accept`, or set `baseline.allow_missing: true` until there is one.",
                )
            ]
    return []


def _critical_reasons(evidence: Evidence) -> list[Reason]:
    return [
        Reason(
            kind="critical",
            task=pairing.task,
            text=f"{pairing.task}: the critical case {each.now.id} passed in the baseline and fails now.",
        )
        for pairing in evidence.pairings.values()
        for each in pairing.pairs
        if critically_failed(each)
    ]


def _rule_reason(kind: str, result: RuleResult) -> Reason:
    return Reason(kind=kind, text=result.text, task=result.task, metric=result.metric)


def _fail_kind(result: RuleResult) -> str:
    return "rule" if result.evidence is not None else "floor"


def _apply(rule: Rule, gate: GateConfig, evidence: Evidence) -> list[RuleResult]:
    """A rule's results: one for each task it speaks of and for each limit it sets."""
    if rule.task is None and rule.metric == "cost_usd" and not is_relative(rule):
        return [_floor(rule, None, _whole_cost(evidence.tasks), deterministic=True)]
    tasks = [task for task in evidence.tasks if rule.task in (None, task.name)]
    if not tasks and rule.task in evidence.unselected:
        return [_result(rule, None, "warn", f"{describe(rule)}: not judged, the task was left out of this run.")]
    if not tasks:
        return [_result(rule, None, "inconclusive", f"{describe(rule)}: there is no such task in this run.")]
    results = []
    for task in tasks:
        if rule.min is not None or rule.max is not None:
            results.append(_floor(rule, task, _metric_now(rule, task, evidence), deterministic=task.deterministic))
        if is_relative(rule):
            results.append(_relative(rule, task, gate, evidence))
    return results


def _whole_cost(tasks: Sequence[TaskResult]) -> Metric | None:
    whole = totals(tasks, 0.0)
    if whole.cost_state != "known" or whole.cost_usd is None:
        return None
    return Metric(value=whole.cost_usd, n=sum(len(task.cases) for task in tasks))


def _metric_now(rule: Rule, task: TaskResult, evidence: Evidence) -> Metric | None:
    """The metric over the rule's cases. A case that left its slice in the change still counts in it."""
    if rule.slice is None:
        return metric_of(rule.metric, task.cases, task.repeats)
    pairing = evidence.pairings.get(task.name)
    kept = {each.now.id for each in pairing.pairs if each.in_slice(rule.slice)} if pairing is not None else set()
    cases = [case for case in task.cases if rule.slice in case.slices or case.id in kept]
    return metric_of(rule.metric, cases, task.repeats)


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


def _relative(rule: Rule, task: TaskResult, gate: GateConfig, evidence: Evidence) -> RuleResult:
    """A limit on the change against the baseline: fails when the change is beyond it and p ≤ alpha."""
    name = describe(rule, task)
    pairing = evidence.pairings.get(task.name)
    if not isinstance(evidence.baseline, Found) or pairing is None:
        if isinstance(evidence.baseline, Missing) and evidence.allow_missing:
            return _result(rule, task, "ok", f"{name}: no baseline yet, nothing to compare with.")
        return _result(rule, task, "inconclusive", f"{name}: there is no baseline to compare with.")
    if pairing.is_new:
        # Safe: a task renamed to get here is missing under its old name, which is inconclusive by itself.
        return _result(rule, task, "warn", f"{name}: not judged, the baseline does not know this task yet.")
    better_high = higher_is_better(rule.metric)
    keep = (lambda each: each.in_slice(rule.slice)) if rule.slice is not None else _every
    change = difference(rule.metric, pairing, alpha=gate.alpha, higher_is_better=better_high, keep=keep)
    if change is None:
        return _result(rule, task, "inconclusive", f"{name}: no case has a value in the baseline and in this run.")
    lost = len(change.missing) / (len(change.missing) + change.evidence.n)
    if lost > 1 - gate.coverage + _SAME:
        text = f"{name}: {len(change.missing)} cases had a value in the baseline and have none now."
        return _result(rule, task, "inconclusive", text, change=change)
    limit = rule.max_drop if rule.max_drop is not None else rule.max_rise
    harm = (change.baseline - change.now) * (1 if better_high else -1)
    moved = f"{_figure(change.baseline)} → {_figure(change.now)}"
    if limit is None or harm <= limit + _SAME:
        return _result(rule, task, "ok", f"{name}: {moved}.", change=change)
    p = change.evidence.p
    proof = "" if p is None else f", p = {p:.2g}"
    counts = f"{moved} ({change.evidence.worse} cases worse, {change.evidence.better} better{proof})"
    if p is None or p <= gate.alpha:
        return _result(rule, task, "fail", f"{name}: {counts}.", change=change)
    text = f"{name}: possible drop, {counts}; that is within noise at alpha {gate.alpha:g}."
    if change.evidence.underpowered:
        text += (
            f" Underpowered: fewer than {fewest_discordant(gate.alpha)} cases changed, which can never be significant; "
            "more cases would tell."
        )
    return _result(rule, task, "fail" if rule.on_noise == "fail" else "warn", text, change=change)


def _figure(value: float) -> str:
    """Two decimals at least, four at most: 0.00, 0.35, 0.7778, 1.00."""
    whole, _, decimals = f"{value:.4f}".partition(".")
    return f"{whole}.{decimals.rstrip('0').ljust(2, '0')}"


def _every(_: Pair) -> bool:
    return True


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
        },
        RuleResult,
    )


def exit_code(run: Run) -> int:
    """The exit code that goes with a run's verdict."""
    return EXIT_CODES[run.verdict]
