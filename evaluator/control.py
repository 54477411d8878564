"""The control arm: what the base does *now* on the cases that got worse. Pure.

A drop since the baseline has two suspects: the change, and whatever else moved since (the model, the provider). The
suspected cases are therefore asked again now, in the same minutes, once as the change asks and once as the baseline
did, each with fresh attempts: the attempts that made a case suspicious are no fair sample of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from statistics import fmean

import msgspec

from evaluator.comparison import Pairing
from evaluator.decision import ControlWord
from evaluator.metrics import case_value
from evaluator.permutation import attempts_needed, permuted_within
from evaluator.results import Attempt, CaseResult, Control, TaskResult

# Share of the drop that the base must have made as well, for the drop not to be the change's.
EXPLAINED = 0.75
# Share of the asked cases that both arms must have answered, for their answers to say anything.
_ANSWERED = 0.75
# Attempts of a case in each arm at most: beyond them a lone case tells hardly more.
_MOST_ATTEMPTS = 8


class Suspicion(msgspec.Struct, frozen=True, kw_only=True):
    """A drop that is to be explained: `cases` of `task` whose `metric` became worse, most harm first. `anchor`: since
    the anchor, not the baseline."""

    task: str
    metric: str
    higher_is_better: bool
    cases: list[str]
    anchor: bool = False


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What the control arm says of a suspicion, with the figures in words."""

    word: ControlWord
    text: str


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked again: task → case ids, `attempts` of each in each arm; `left`: suspected cases beyond the budget.
    `anchor`: the base is the anchor, since nothing is suspected against the baseline itself."""

    cases: dict[str, list[str]]
    attempts: int
    left: int
    anchor: bool


def chosen(suspicions: Sequence[Suspicion], most: int, repeats: int, alpha: float) -> Chosen | None:
    """The cases to ask again, at most `most`; None where there is nothing to ask. `repeats`: the attempts that the
    run itself makes of a case. Suspicions take turns, each giving its worst case first."""
    against_anchor = all(each.anchor for each in suspicions)
    asked = [each for each in suspicions if each.anchor == against_anchor]
    turns = zip_longest(*([(each.task, case) for case in each.cases] for each in asked))
    unique = list(dict.fromkeys(pair for turn in turns for pair in turn if pair is not None))
    kept = unique[:most]
    if not kept:
        return None
    cases: dict[str, list[str]] = {}
    for task, case in kept:
        cases.setdefault(task, []).append(case)
    fewest = min(count for each in asked if (count := sum((each.task, case) in kept for case in each.cases)))
    attempts = min(max(attempts_needed(fewest, alpha), repeats), _MOST_ATTEMPTS)
    return Chosen(cases=cases, attempts=attempts, left=len(unique) - len(kept), anchor=against_anchor)


def answer(suspicion: Suspicion, control: Control | None, pairing: Pairing, alpha: float) -> Answer:
    """What the control arm says of one suspicion. `pairing`: the task against that side which the suspicion is about,
    with its stored attempts as today's validators score them.

    The base *holds* where the change does worse than it on the same cases, asked at the same time (stratified
    permutation test of the attempts, p ≤ alpha). It *fell* where that is not so and it has made at least `EXPLAINED` of
    the drop itself, measured against the change's attempts then and now alike, which also keeps cases that merely
    flip from being blamed on the model. Everything between is *unclear*.
    """
    if control is None:
        return Answer(word="silent", text="the control arm was not asked")
    if control.silent:
        return Answer(word="silent", text=control.silent)
    arms = _arms(suspicion, control, pairing)
    asked = len(set(suspicion.cases) & _asked(control, suspicion.task))
    if not asked:
        return Answer(word="silent", text=f"none of the cases of {suspicion.task} was asked again")
    if len(arms) < _ANSWERED * asked:
        text = f"only {len(arms)} of {asked} cases were answered again on both sides"
        return Answer(word="silent", text=text + _unanswered(control, suspicion.task))
    sign = 1.0 if suspicion.higher_is_better else -1.0
    base = [[sign * value for value in arm.base] for arm in arms]
    change = [[sign * value for value in arm.change] for arm in arms]
    stored = fmean(sign * arm.stored for arm in arms)
    then, now, again = fmean(sign * arm.then for arm in arms), _mean(change), _mean(base)
    shown = _shown(suspicion, arms)
    p = permuted_within(base, change)
    if p <= alpha:
        return Answer(word="holds", text=f"{shown}: the base still does better than the change, p = {p:.2g}")
    drop = stored - max(then, now)
    if drop > 0 and stored - again >= EXPLAINED * (stored - min(then, now)):
        return Answer(word="fell", text=f"{shown}: the base does as badly now as the change")
    return Answer(word="unclear", text=f"{shown}: that cannot tell the change from a model that moved, or from noise")


def overall(answers: Sequence[Answer]) -> ControlWord:
    """Of several suspicions: one that the change has to answer for is enough, and all must be explained otherwise."""
    words = {each.word for each in answers}
    order: tuple[ControlWord, ...] = ("holds", "unclear", "silent", "fell")
    return next((word for word in order if word in words), "silent")


class _Arm(msgspec.Struct, frozen=True):
    """One case: its values in the baseline and in the run, and of each fresh attempt of either arm."""

    stored: float
    then: float
    base: list[float]
    change: list[float]


def _asked(control: Control, task: str) -> set[str]:
    return {case.id for each in control.base if each.name == task for case in each.cases}


def _unanswered(control: Control, task: str) -> str:
    """ "; the base: ANTHROPIC_API_KEY is not set": the first thing that kept a side from answering, empty for none."""
    for side, tasks in (("base", control.base), ("change", control.change)):
        for case in _by_id(tasks, task).values():
            for attempt in case.attempts:
                if attempt.infrastructure is not None:
                    return f"; the {side}: {attempt.infrastructure.message}"
    return ""


def _arms(suspicion: Suspicion, control: Control, pairing: Pairing) -> list[_Arm]:
    base, change = _by_id(control.base, suspicion.task), _by_id(control.change, suspicion.task)
    pairs = {each.now.id: each for each in pairing.pairs}
    arms = []
    for case in suspicion.cases:
        if case not in base or case not in change or case not in pairs:
            continue
        pair = pairs[case]
        stored, then, again, now = (
            _values(suspicion.metric, each) for each in (pair.baseline, pair.now, base[case], change[case])
        )
        if stored and then and again and now:
            arms.append(_Arm(fmean(stored), fmean(then), again, now))
    return arms


def _by_id(tasks: Sequence[TaskResult], name: str) -> Mapping[str, CaseResult]:
    return {case.id: case for task in tasks if task.name == name for case in task.cases}


def _values(metric: str, case: CaseResult) -> list[float]:
    """The metric of each scored attempt by itself."""
    alone = (msgspec.structs.replace(case, attempts=[attempt]) for attempt in case.attempts if _is_scored(attempt))
    return [value for each in alone if (value := case_value(metric, each, 1)) is not None]


def _is_scored(attempt: Attempt) -> bool:
    return attempt.status == "scored"


def _mean(cases: Sequence[Sequence[float]]) -> float:
    return fmean(fmean(values) for values in cases)


def _shown(suspicion: Suspicion, arms: Sequence[_Arm]) -> str:
    """ "3 cases of refunds asked again, pass_rate: baseline then 1.00, base now 0.92, change now 0.00"."""
    many = "1 case" if len(arms) == 1 else f"{len(arms)} cases"
    then = "accepted baseline then" if suspicion.anchor else "baseline then"
    return (
        f"{many} of {suspicion.task} asked again, {suspicion.metric}: {then} {fmean(arm.stored for arm in arms):.2f}, "
        f"base now {_mean([arm.base for arm in arms]):.2f}, change now {_mean([arm.change for arm in arms]):.2f}"
    )
