"""Rules → verdict. Pure; the one place that decides, and everything that could end in a wrong pass is decided here.

Precedence: validator drift > inconclusive > regression > provider or model drift > pass. (A configuration error never
gets this far.)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec

from evaluator import rules
from evaluator.baselines import Missing, Unreadable
from evaluator.comparison import Pairing, critically_failed, difference
from evaluator.config.types import GateConfig, Rule
from evaluator.errors import EXIT_DRIFT, EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_REGRESSION
from evaluator.results import Attempt, Reason, RuleResult, Run, TaskResult, VerdictWord
from evaluator.rules import Facts, is_relative

EXIT_CODES: dict[VerdictWord, int] = {
    "pass": EXIT_PASS,
    "regression": EXIT_REGRESSION,
    "inconclusive": EXIT_INCONCLUSIVE,
    "drift": EXIT_DRIFT,
}

_SAME = 1e-9
# Names that a sentence lists before it counts the others.
_NAMED = 5


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The one verdict that drives comment, summary, outputs and exit code."""

    verdict: VerdictWord
    reasons: list[Reason]
    warnings: list[Reason]
    rules: list[RuleResult]


def decide(gate: GateConfig, facts: Facts) -> Decision:
    """The verdict with every reason of its kind, and what else a reader should know as warnings."""
    results = [result for rule in effective_rules(gate, facts) for result in rules.apply(rule, gate, facts)]
    drifted = _validator_reasons(facts)
    stale = _stale_reasons(facts)
    open_questions = [*stale, *_coverage_reasons(gate, facts), *_baseline_reasons(gate, facts)]
    explained = {reason.task for reason in stale}
    open_questions += [
        _rule_reason("rule", result)
        for result in results
        if result.outcome == "inconclusive" and result.task not in explained
    ]
    worse = [_rule_reason(_fail_kind(result), result) for result in results if result.outcome == "fail"]
    worse += _critical_reasons(facts)
    worse += _whole_drop(gate, facts, {reason.task for reason in worse})
    warnings = [_rule_reason("rule", result) for result in results if result.outcome == "warn"]
    layers: list[tuple[VerdictWord, list[Reason]]] = [
        ("drift", drifted),
        ("inconclusive", open_questions),
        ("regression", worse),
        ("drift", list(facts.movers)),
    ]
    for place, (verdict, reasons) in enumerate(layers):
        if reasons:
            # What the verdict does not rest on is still said: a regression under an inconclusive run, for one.
            others = [reason for _, lower in layers[place + 1 :] for reason in lower]
            return Decision(verdict=verdict, reasons=reasons, warnings=[*others, *warnings], rules=results)
    return Decision(verdict="pass", reasons=[], warnings=warnings, rules=results)


def _whole_drop(gate: GateConfig, facts: Facts, fallen: Collection[str | None]) -> list[Reason]:
    """By the default rules, a task whose groups are judged one by one is also looked at as a whole: in groups of a few
    cases nothing can be significant, however many of them fall. It gives no figure, only that more cases fell than
    chance allows. `fallen`: tasks of which a group's own drop says it already."""
    reasons = []
    for pairing in facts.pairings.values() if gate.rules is None else ():
        if pairing.pooled or pairing.task in fallen:
            continue
        change = difference("pass_rate", pairing, alpha=gate.alpha, higher_is_better=True)
        evidence = change.evidence if change is not None else None
        if evidence is None or evidence.p is None or evidence.p > gate.alpha or evidence.worse <= evidence.better:
            continue
        text = (
            f"{pairing.task}: over all its groups {evidence.worse} of {evidence.n} cases do worse and "
            f"{evidence.better} better, p = {evidence.p:.2g}."
        )
        reasons.append(Reason(kind="rule", task=pairing.task, metric="pass_rate", text=text))
    return reasons


def effective_rules(gate: GateConfig, facts: Facts) -> list[Rule]:
    """The rules of the file, else the default: pass_rate may not drop at all, on each task or, where a task is not
    pooled, on each of its slices, those of the baseline included."""
    if gate.rules is not None:
        return gate.rules
    return [
        Rule(metric="pass_rate", task=task.name, slice=part, max_drop=0.0)
        for task in facts.tasks
        for part in ([None] if task.pooled else _slices(task, facts.pairings.get(task.name)))
    ]


def _slices(task: TaskResult, pairing: Pairing | None) -> list[str]:
    before = {name for case in pairing.baseline for name in case.slices} if pairing is not None else set()
    return sorted(before.union(task.slices))


def _validator_reasons(facts: Facts) -> list[Reason]:
    canaries = facts.canaries.cases
    reasons = [
        Reason(kind="canary", text=f"Canary {canary.id}: expected {canary.expected}, got {canary.got}.")
        for canary in canaries
        if not canary.ok
    ]
    if not canaries:
        reasons.append(Reason(kind="canary", text="No canary was scored, so nothing vouches for the validators."))
    return reasons + [Reason(kind="validator", text=text) for text in facts.validator]


def _stale_reasons(facts: Facts) -> list[Reason]:
    """One for each task of which every recording is stale. It stands for all that follows from it: that nothing was
    scored, that nothing can be compared, that no rule on the task can be decided."""
    reasons = []
    for task in facts.tasks:
        if not _is_wholly_stale(task):
            continue
        said = {attempt.infrastructure.message for attempt in _attempts(task) if attempt.infrastructure is not None}
        why = said.pop() if len(said) == 1 else "recorded before what they depend on changed"
        what = "the only recording is" if task.planned == 1 else f"all {task.planned} recordings are"
        reasons.append(Reason(kind="stale", task=task.name, text=f"{task.name}: {what} stale, {why}."))
    return reasons


def _attempts(task: TaskResult) -> Iterator[Attempt]:
    return (attempt for case in task.cases for attempt in case.attempts)


def _stale_attempts(task: TaskResult) -> int:
    return sum(attempt.status == "stale" for attempt in _attempts(task))


def _is_wholly_stale(task: TaskResult) -> bool:
    return bool(task.planned) and _stale_attempts(task) == task.planned


def _coverage_reasons(gate: GateConfig, facts: Facts) -> list[Reason]:
    reasons = []
    if not facts.tasks:
        reasons.append(Reason(kind="coverage", text="Nothing was evaluated: no task was run."))
    for task in facts.tasks:
        pairing = facts.pairings.get(task.name)
        removed = len(pairing.removed) * pairing.baseline_repeats if pairing is not None else 0
        planned = task.planned + removed
        explained = {case.id for case in task.cases} if _is_wholly_stale(task) else set()
        if explained:
            pass  # one reason says why nothing was scored
        elif planned == 0:
            reasons.append(Reason(kind="coverage", task=task.name, text=f"{task.name}: no case was planned."))
        elif task.scored / planned < gate.coverage - _SAME:
            text = (
                f"{task.name}: {task.scored} of {planned} planned attempts were scored, {gate.coverage:.0%} are needed."
            )
            if removed:
                text += f" {removed} of the missing ones are of cases of the baseline that the change removed."
            if stale := _stale_attempts(task):
                text += f" {stale} of the missing ones are stale recordings."
            reasons.append(Reason(kind="coverage", task=task.name, text=text))
        reasons += _critical_unscored(task, pairing, explained)
        if pairing is None or (explained and not pairing.removed and not pairing.not_comparable):
            continue
        if pairing.coverage < gate.coverage - _SAME:
            reasons.append(_pairing_reason(gate, pairing))
    reasons += [
        Reason(kind="coverage", task=name, text=f"{name}: the change removed the task, {lost}.")
        for name, lost in facts.lost_tasks.items()
    ]
    return reasons


def _critical_unscored(task: TaskResult, pairing: Pairing | None, explained: Collection[str]) -> list[Reason]:
    """Critical cases that nothing can be said about, but for the `explained` ones. The share of cases that may be
    missing does not cover them, and a change cannot take the mark away: the baseline's counts as well."""
    now = {case.id for case in task.cases if case.critical}
    scored = {case.id for case in task.cases if any(attempt.status == "scored" for attempt in case.attempts)}
    before = {case.id for case in pairing.baseline if case.critical} if pairing is not None else set()
    paired = {each.now.id for each in pairing.pairs} if pairing is not None else set()
    unscored = now - scored
    impossible = (now | before) & task.faults.keys()
    reasons = []
    for ids, one, many in (
        (impossible, "can never pass and guards nothing: see its fault", "can never pass and guard nothing"),
        (unscored, "was not scored", "were not scored"),
        (before - paired - unscored, "cannot be compared with the baseline", "cannot be compared with the baseline"),
    ):
        if silent := sorted(ids.difference(explained)):
            reasons.append(Reason(kind="coverage", task=task.name, text=_of_critical(task.name, silent, one, many)))
    return reasons


def _of_critical(task: str, ids: Sequence[str], one: str, many: str) -> str:
    """ "t: the critical cases a, b and c were not scored." """
    if len(ids) == 1:
        return f"{task}: the critical case {ids[0]} {one}."
    *first, last = ids if len(ids) <= _NAMED else [*ids[:_NAMED], f"{len(ids) - _NAMED} more"]
    return f"{task}: the critical cases {', '.join(first)} and {last} {many}."


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


def _baseline_reasons(gate: GateConfig, facts: Facts) -> list[Reason]:
    state = facts.baseline
    if isinstance(state, Unreadable):
        return [Reason(kind="baseline", text=f"The baseline {state.where} cannot be read: {state.why}.")]
    needed = any(is_relative(rule) for rule in effective_rules(gate, facts))
    if isinstance(state, Missing) and needed and not facts.allow_missing:
        mend = "Accept one with `trapgate baseline accept`, or set `baseline.allow_missing: true` until there is one."
        return [Reason(kind="baseline", text=f"There is no baseline at {state.where} to compare with. {mend}")]
    return []


def _critical_reasons(facts: Facts) -> list[Reason]:
    reasons = []
    for task, pairing in facts.pairings.items():
        if failed := [each.now.id for each in pairing.pairs if critically_failed(each)]:
            one, many = "passed in the baseline and fails now", "passed in the baseline and fail now"
            reasons.append(Reason(kind="critical", task=task, text=_of_critical(task, failed, one, many)))
    return reasons


def rank(verdict: VerdictWord, reasons: Sequence[Reason]) -> int:
    """The place of a verdict in the precedence, 0 first: of several models the most severe one counts."""
    if verdict == "drift":
        return 0 if any(reason.kind in ("canary", "validator") for reason in reasons) else 3
    return {"inconclusive": 1, "regression": 2, "pass": 4}[verdict]


def _rule_reason(kind: str, result: RuleResult) -> Reason:
    return Reason(kind=kind, text=result.text, task=result.task, metric=result.metric)


def _fail_kind(result: RuleResult) -> str:
    return "rule" if result.evidence is not None else "floor"


def exit_code(run: Run) -> int:
    """The exit code that goes with a run's verdict."""
    return EXIT_CODES[run.verdict]
