"""What a verdict cannot do without and does not have: attempts, cases, critical ones. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from evaluator import critical
from evaluator.comparison import Pairing
from evaluator.config.types import GateConfig
from evaluator.results import Attempt, Reason, TaskResult
from evaluator.rules import Facts

_SAME = 1e-9
# Names that a sentence lists before it counts the others.
_NAMED = 5


def stale(facts: Facts) -> list[Reason]:
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


def gaps(gate: GateConfig, facts: Facts) -> list[Reason]:
    """What is missing beyond what the gate allows, new and old cases each by themselves, and every critical case."""
    reasons = [Reason(kind="coverage", text=facts.unasked)] if facts.unasked else []
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
                text += f" {_missing(removed)} of cases of the baseline that the change removed."
            if old := _stale_attempts(task):
                text += f" {_missing(old)} stale recordings."
            kind = "comparison" if task.scored == task.planned else "coverage"
            reasons.append(Reason(kind=kind, task=task.name, text=text))
        elif pairing is not None and (gap := _gap_of_old(task, pairing, gate.coverage)):
            reasons.append(Reason(kind="coverage", task=task.name, text=gap))
        reasons += _critical_unscored(task, pairing, explained)
        if pairing is None or (explained and not pairing.removed and not pairing.not_comparable):
            continue
        if pairing.coverage < gate.coverage - _SAME:
            reasons.append(_pairing_reason(gate, pairing))
    if facts.unselected and facts.pairings and all(pairing.is_new for pairing in facts.pairings.values()):
        # Whoever chooses the tasks could choose none that the baseline knows.
        text = "Nothing is compared: the baseline has none of the tasks that were chosen."
        reasons.append(Reason(kind="coverage", text=text))
    # A judge that asks for less reads like a model that does as well, and no expected answer shows it.
    reasons += [
        Reason(
            kind="comparison",
            task=name,
            text=f"{name}: the change brings another judge ({other}), and a laxer one would look like a better model.",
        )
        for name, other in facts.other_judges.items()
    ]
    reasons += [
        Reason(kind="comparison", task=name, text=f"{name}: the change removed the task, {lost}.")
        for name, lost in facts.lost_tasks.items()
    ]
    return reasons


def _missing(count: int) -> str:
    return "1 of the missing ones is" if count == 1 else f"{count} of the missing ones are"


def _gap_of_old(task: TaskResult, pairing: Pairing, coverage: float) -> str:
    """In words, where too few attempts at the baseline's own cases were scored: new cases fill no gap among them."""
    known = {case.id for case in pairing.baseline}
    cases = [case for case in task.cases if case.id in known]
    planned = sum(max(len(case.attempts), task.repeats) for case in cases) + len(pairing.removed) * task.repeats
    scored = sum(attempt.status == "scored" for case in cases for attempt in case.attempts)
    if not planned or scored / planned >= coverage - _SAME:
        return ""
    return (
        f"{task.name}: {scored} of {planned} planned attempts at the baseline's cases were scored, {coverage:.0%} are "
        "needed; new cases do not make up for them."
    )


def left_out(facts: Facts) -> list[Reason]:
    """First lines: cases of the baseline that the change removed or edited, few enough to be allowed. They are not
    compared with anything, so a reader has to know which they are."""
    lines = []
    for pairing in facts.pairings.values():
        removed = [case.id for case in pairing.removed]
        parts = [
            f"{len(ids)} {what} ({', '.join(ids[:_NAMED])}{', …' if len(ids) > _NAMED else ''})"
            for ids, what in ((removed, "removed"), (pairing.not_comparable, "changed"))
            if ids
        ]
        if parts:
            text = f"{pairing.task}: of the baseline's cases {' and '.join(parts)}: they are compared with nothing."
            lines.append(Reason(kind="note", task=pairing.task, text=text))
    return lines


def _critical_unscored(task: TaskResult, pairing: Pairing | None, explained: Collection[str]) -> list[Reason]:
    """Critical cases that nothing can be said about, but for the `explained` ones. The share of cases that may be
    missing does not cover them, and a change cannot take the mark away: the baseline's counts as well."""
    now = {case.id for case in task.cases if case.critical}
    scored = {case.id for case in task.cases if any(attempt.status == "scored" for attempt in case.attempts)}
    before = {case.id for case in pairing.baseline if case.critical} if pairing is not None else set()
    paired = {each.now.id for each in pairing.pairs} if pairing is not None else set()
    unscored = now - scored
    impossible = (now | before) & task.faults.keys()
    changed = {*pairing.not_comparable, *(case.id for case in pairing.removed)} if pairing is not None else set()
    incomparable = before - paired - unscored
    compare = "cannot be compared with the baseline"
    reasons = []
    for kind, ids, one, many in (
        (
            "coverage",
            impossible,
            "can never pass and guards nothing: see its fault",
            "can never pass and guard nothing",
        ),
        ("coverage", unscored, "was not scored", "were not scored"),
        ("coverage", incomparable - changed, compare, compare),
        ("comparison", incomparable & changed, compare, compare),
    ):
        if silent := sorted(ids.difference(explained)):
            reasons.append(Reason(kind=kind, task=task.name, text=critical.of_critical(task.name, silent, one, many)))
    return reasons


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
        kind="coverage" if pairing.unscored else "comparison",
        task=pairing.task,
        text=f"{pairing.task}: {pairing.coverage:.0%} of the baseline's cases can be compared, {gate.coverage:.0%} are "
        f"needed ({', '.join(parts)})." + ("" if pairing.unscored else " If that is meant, accept a new baseline."),
    )
