"""What the provider's live canaries say beside the baseline's. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from evaluator.live import canaries
from evaluator.live.canaries import PLAIN
from evaluator.live.results import INVALID, REFUSED, VALID, shortened
from evaluator.results import LiveCanaries, LiveCanary, Witness

_ANSWERED = frozenset({VALID, INVALID})


class Pair(NamedTuple):
    """One canary, sent in both runs exactly alike."""

    before: LiveCanary
    now: LiveCanary


def moved(before: LiveCanaries | None, now: LiveCanaries | None, *, same_model: bool) -> tuple[Witness, list[str]]:
    """The provider's witness, and each canary that moved, in words.

    A canary moved that was accepted and is refused in all attempts; or that was valid in all and is invalid in all,
    where the provider of the baseline did hold its model to schemas: where it did not, validity is the model's luck.
    Only canaries that were sent exactly alike are compared.
    """
    if before is None or now is None or not same_model or not before.canaries or not now.canaries:
        return _witness("silent", _incomparable(before, now, same_model=same_model)), []
    pairs = _pairs(before, now)
    told = [pair for pair in pairs if _speaks(pair.before) and _speaks(pair.now)]
    if not told:
        return _witness("silent", _unheard(pairs)), []
    unheld = _mechanisms_not_held(before)
    said = [text for pair in told if (text := _move(pair, held=_mechanism(pair.now) not in unheld))]
    silent = len(pairs) - len(told)
    rest = f"; {_counted(silent)} got no answer, then or now" if silent else ""
    if said:
        return _witness("moved", f"{len(said)} of {_counted(len(told))} moved: {said[0]}{rest}"), said
    refused = sum(_is_refused(pair.now) and _is_refused(pair.before) for pair in told)
    as_before = f", {refused} of them refused then and now" if refused else ""
    return _witness("steady", f"{_counted(len(told))} answered as in the baseline{as_before}{rest}"), []


def _incomparable(before: LiveCanaries | None, now: LiveCanaries | None, *, same_model: bool) -> str:
    if now is None or not now.canaries:
        return shortened(now.silent) if now is not None and now.silent else "this run sent no live canaries"
    if before is None:
        return "the baseline has no live canaries"
    if not same_model:
        return "the baseline's live canaries were sent to another model"
    return f"the baseline sent no live canaries{f': {shortened(before.silent)}' if before.silent else ''}"


def _unheard(pairs: Sequence[Pair]) -> str:
    if not pairs:
        return "no live canary was sent in the form that the baseline's had"
    failed = [each for pair in pairs for each in reversed(pair) if not _speaks(each)]
    side = "of this run" if failed[0] is pairs[0].now else "of the baseline"
    words = sorted({word for word in failed[0].attempts if word not in _ANSWERED})
    why = shortened(": ".join(part for part in (", ".join(words), failed[0].message) if part))
    return f"the live canaries {side} got no answer: {why or 'none was made'}"


def _pairs(before: LiveCanaries, now: LiveCanaries) -> list[Pair]:
    """In the order of their ids; without the reference, which has no schema that could be refused."""
    known = {(each.id, each.digest): each for each in before.canaries}
    return [
        Pair(known[each.id, each.digest], each)
        for each in sorted(now.canaries, key=lambda each: each.id)
        if each.id != PLAIN and (each.id, each.digest) in known
    ]


def _move(pair: Pair, *, held: bool) -> str:
    """How the canary moved, in words, empty where it did not."""
    before, now = pair
    if _is_accepted(before) and _is_refused(now):
        said = f": {shortened(now.message)}" if now.message else ""
        return f"{_feature(now)}: accepted → refused{said}"
    if held and _is_all(before, VALID) and _is_all(now, INVALID):
        return f"{_feature(now)}: valid → invalid in {len(now.attempts)} of {len(now.attempts)} attempts"
    return ""


def _mechanisms_not_held(before: LiveCanaries) -> set[str]:
    """The mechanisms by which some canary was valid in one attempt and invalid in another.

    A provider that holds its model to schemas gives no such canary. Without this rule a model whose answers are now
    valid, now invalid would move some canary by chance: of nine, each sent three times, with a probability of up to
    0.13. With it that is at most 1/64 whatever the model (docs/live-canaries.md).
    """
    return {_mechanism(each) for each in before.canaries if set(each.attempts) >= _ANSWERED}


def _mechanism(canary: LiveCanary) -> str:
    return canary.id.partition("/")[0]


def _speaks(canary: LiveCanary) -> bool:
    return _is_accepted(canary) or _is_refused(canary)


def _is_accepted(canary: LiveCanary) -> bool:
    return not _ANSWERED.isdisjoint(canary.attempts)


def _is_refused(canary: LiveCanary) -> bool:
    return _is_all(canary, REFUSED)


def _is_all(canary: LiveCanary, word: str) -> bool:
    return set(canary.attempts) == {word}


def _feature(canary: LiveCanary) -> str:
    known = canaries.by_id(canary.id)
    return known.feature if known is not None else shortened(canary.id)


def _counted(number: int) -> str:
    return "1 live canary" if number == 1 else f"{number} live canaries"


def _witness(state: Literal["steady", "moved", "silent"], text: str) -> Witness:
    return Witness(name="live_canaries", state=state, text=text)
