"""The control arm: what the base does *now* on the cases that got worse. Pure.

A drop since the baseline has two suspects: the change, and whatever else moved since (the model, the provider). The
suspected cases are therefore asked again now, in the same minutes, once as the change asks and once as the baseline
did, each with fresh attempts: the attempts that made a case suspicious are no fair sample of it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import zip_longest
from statistics import fmean

import msgspec

from evaluator.comparison import Pairing
from evaluator.decision import ControlWord
from evaluator.metrics import case_value
from evaluator.permutation import attempts_needed, permuted_within
from evaluator.results import Attempt, CaseResult, Control, TaskResult
from evaluator.vocabulary import AMOUNT_METRICS

# Share of the drop that the base must have made as well, for the drop not to be the change's.
EXPLAINED = 0.75
# Share of the asked cases that both arms must have answered, for their answers to say anything.
_ANSWERED = 0.75
# Attempts of a case in each arm: with fewer, a case that merely flips looks broken; more tell hardly more.
_FEWEST_ATTEMPTS = 3
_MOST_ATTEMPTS = 8
# Asked cases that can speak for all suspected ones, of which they are a random sample.
_ENOUGH = 10


class Suspicion(msgspec.Struct, frozen=True, kw_only=True):
    """A drop that is to be explained: `cases` of `task` whose `metric` became worse. `anchor`: since the accepted
    baseline, not the current one. `proved`: it is more than noise, by its test or because no test applies. `lone`: each
    of its cases counts by itself, as critical ones do."""

    task: str
    metric: str
    higher_is_better: bool
    cases: list[str]
    anchor: bool = False
    proved: bool = True
    lone: bool = False


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What the control arm says of a suspicion, with the figures in words."""

    word: ControlWord
    text: str


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked again. `attempts`: (task, case id) → attempts in each arm; `left`: suspected cases beyond the
    budget. `anchor`: the base is the accepted baseline, since nothing is suspected against the current one."""

    attempts: dict[tuple[str, str], int]
    left: int
    anchor: bool


def chosen(suspicions: Sequence[Suspicion], most: int, alpha: float, seed: str) -> Chosen | None:
    """The cases to ask again, at most `most`; None where there is nothing to ask.

    Each suspicion's cases are drawn by `seed`, which nobody knows beforehand: an order that a change could guess would
    let it hide what it broke behind what the model broke. Suspicions take turns.
    """
    against_anchor = all(each.anchor for each in suspicions)
    asked = [each for each in suspicions if each.anchor == against_anchor]
    draw = random.Random(seed)  # noqa: S311 - a sample, not a secret
    lists = [[(each.task, case) for case in draw.sample(each.cases, len(each.cases))] for each in asked]
    unique = list(dict.fromkeys(pair for turn in zip_longest(*lists) for pair in turn if pair is not None))
    kept = unique[:most]
    if not kept:
        return None
    attempts = dict.fromkeys(kept, _FEWEST_ATTEMPTS)
    for each in asked:
        own = [(each.task, case) for case in each.cases if (each.task, case) in attempts]
        if own:
            needed = attempts_needed(1 if each.lone else len(own), alpha / len(suspicions))
            attempts |= {pair: min(max(attempts[pair], needed), _MOST_ATTEMPTS) for pair in own}
    return Chosen(attempts=attempts, left=len(unique) - len(kept), anchor=against_anchor)


def answer(suspicion: Suspicion, control: Control | None, pairing: Pairing, alpha: float) -> Answer:
    """What the control arm says of one suspicion. `pairing`: the task against that side which the suspicion is about,
    with its stored attempts as today's validators score them.

    The base *holds* where the change does worse than it on the same cases, asked at the same time (stratified
    permutation test of the attempts, p ≤ alpha). It *fell* where that is not so and
    - it has made at least `EXPLAINED` of the drop itself, against the change's attempts then and now alike;
    - no case is lost to the change alone: passed by the base each time now and by the change never;
    - enough of the suspected cases were asked, and each of them was answered on both sides.
    Cases are suspected because they did well then and badly now, so by chance alone they do worse than then when asked
    again: the drop is counted from no more than what the task's cases did on the whole. Everything between is
    *unclear*.
    """
    if control is None:
        return Answer(word="silent", text="the control arm was not asked")
    if control.silent:
        return Answer(word="silent", text=control.silent)
    asked = set(suspicion.cases) & {case.id for case in _cases(control.base, suspicion.task)}
    if not asked or control.anchor != suspicion.anchor:
        return Answer(word="silent", text=f"none of the cases of {suspicion.task} was asked again")
    arms = _arms(suspicion, control, pairing)
    if len(arms) < _ANSWERED * len(asked):
        text = f"only {len(arms)} of {len(asked)} cases were answered again on both sides"
        return Answer(word="silent", text=text + _unanswered(control, suspicion.task))
    sign = 1.0 if suspicion.higher_is_better else -1.0
    base = [[sign * value for value in arm.base] for arm in arms]
    change = [[sign * value for value in arm.change] for arm in arms]
    shown = _shown(suspicion, arms)
    p = permuted_within(base, change)
    if p <= alpha:
        return Answer(word="holds", text=f"{shown}: the base still does better than the change, p = {p:.2g}")
    stored = min(fmean(sign * arm.stored for arm in arms), _usual(suspicion, pairing, sign))
    then, now, again = fmean(sign * arm.then for arm in arms), _mean(change), _mean(base)
    fell = stored - max(then, now) > 0 and stored - again >= EXPLAINED * (stored - min(then, now))
    lost = any(min(theirs) > max(ours) for theirs, ours in zip(base, change, strict=True))
    few = len(asked) < min(len(suspicion.cases), max(_ENOUGH, len(suspicion.cases) / 2))
    if suspicion.lone:
        fell = fell and all(max(values) <= min(sign * arm.then for arm in arms) for values in base)
    if fell and not lost and not few and len(arms) == len(asked):
        return Answer(word="fell", text=f"{shown}: the base does as badly now as the change")
    return Answer(word="unclear", text=f"{shown}: that cannot tell the change from a model that moved, or from noise")


def overall(answers: Sequence[Answer]) -> ControlWord:
    """Of several suspicions: one that the change has to answer for is enough, and all must be explained otherwise."""
    words = {each.word for each in answers}
    order: tuple[ControlWord, ...] = ("holds", "unclear", "silent", "fell")
    return next((word for word in order if word in words), "silent")


def attempts_of(arm: Sequence[TaskResult], task: str, case_id: str) -> list[Attempt]:
    """The scored attempts at one case in one arm."""
    return [a for case in _cases(arm, task) if case.id == case_id for a in case.attempts if a.status == "scored"]


class _Arm(msgspec.Struct, frozen=True):
    """One case: its values in the baseline and in the run, and of each fresh attempt of either arm."""

    stored: float
    then: float
    base: list[float]
    change: list[float]


def _cases(arm: Sequence[TaskResult], task: str) -> list[CaseResult]:
    return [case for each in arm if each.name == task for case in each.cases]


def _unanswered(control: Control, task: str) -> str:
    """ "; the base: ANTHROPIC_API_KEY is not set": the first thing that kept a side from answering, empty for none."""
    for side, arm in (("base", control.base), ("change", control.change)):
        for case in _cases(arm, task):
            for attempt in case.attempts:
                if attempt.infrastructure is not None:
                    return f"; the {side}: {attempt.infrastructure.message}"
    return ""


def _arms(suspicion: Suspicion, control: Control, pairing: Pairing) -> list[_Arm]:
    base, change = ({case.id: case for case in _cases(arm, suspicion.task)} for arm in (control.base, control.change))
    pairs = {each.now.id: each for each in pairing.pairs}
    arms = []
    for case in suspicion.cases:
        if case not in base or case not in change or case not in pairs:
            continue
        pair = pairs[case]
        sides = (pair.baseline, pair.now, base[case], change[case])
        if len({side.digest for side in sides}) > 1:
            continue  # another case under the same name
        stored, then, again, now = (_values(suspicion.metric, each) for each in sides)
        if stored and then and again and now:
            arms.append(_Arm(fmean(stored), fmean(then), again[:_MOST_ATTEMPTS], now[:_MOST_ATTEMPTS]))
    return arms


def _usual(suspicion: Suspicion, pairing: Pairing, sign: float) -> float:
    """What the task's compared cases did on that side, suspected or not, in the good direction."""
    values = [values for each in pairing.pairs if (values := _values(suspicion.metric, each.baseline))]
    return fmean(sign * fmean(each) for each in values)


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
    # Dollars of one attempt need more digits than shares do.
    form = ".4g" if suspicion.metric in AMOUNT_METRICS else ".2f"
    stored, base, change = fmean(arm.stored for arm in arms), [arm.base for arm in arms], [arm.change for arm in arms]
    return (
        f"{many} of {suspicion.task} asked again, {suspicion.metric}: {then} {stored:{form}}, "
        f"base now {_mean(base):{form}}, change now {_mean(change):{form}}"
    )
