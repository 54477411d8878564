"""Critical cases: which fail the gate by themselves, and which were only unlucky. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from evaluator import control
from evaluator.comparison import Pair, Pairing, critically_failed
from evaluator.control import Suspicion
from evaluator.results import Reason
from evaluator.rules import Facts

# Attempts of a critical case that can tell by themselves.
_TELLING = 3
# Names that a sentence lists before it counts the others.
_NAMED = 5


def of_critical(task: str, ids: Sequence[str], one: str, many: str) -> str:
    """ "t: the critical cases a, b and c were not scored." """
    if len(ids) == 1:
        return f"{task}: the critical case {ids[0]} {one}."
    *first, last = ids if len(ids) <= _NAMED else [*ids[:_NAMED], f"{len(ids) - _NAMED} more"]
    return f"{task}: the critical cases {', '.join(first)} and {last} {many}."


class _Again(msgspec.Struct, frozen=True):
    """A critical case that was asked again: how often the change passed it, of `made` attempts in all and of the
    `fresh` ones, and how often the base did, of `asked`."""

    passed: int
    made: int
    fresh: int
    base: int
    asked: int


def _asked_again(task: str, pair: Pair, facts: Facts) -> _Again | None:
    """What became of a critical case that failed in so few attempts that those of the control arm count as well:
    "failed in all its attempts" is no word about a single one. None where it was not asked again."""
    own = [attempt for attempt in pair.now.attempts if attempt.status == "scored"]
    if facts.control is None or len(own) >= _TELLING:
        return None
    base, change = (control.attempts_of(arm, task, pair.now.id) for arm in (facts.control.base, facts.control.change))
    if not base or not change:
        return None
    return _Again(
        passed=sum(one.passed is True for one in (*own, *change)),
        made=len(own) + len(change),
        fresh=len(change),
        base=sum(one.passed is True for one in base),
        asked=len(base),
    )


def _acquitted(task: str, pair: Pair, facts: Facts) -> bool:
    """Whether a critical case passes at least half of all its attempts, and when asked again no fewer than the base."""
    again = _asked_again(task, pair, facts)
    return (
        again is not None
        and 2 * again.passed >= again.made
        and (again.passed * again.asked >= again.base * again.fresh)
    )


def acquittals(facts: Facts) -> list[Reason]:
    """Critical cases that failed and are not held against the change, which a reader has to know."""
    lines = {}
    for pairings in (facts.pairings, facts.anchored):
        for task, pairing in pairings.items():
            for each in pairing.pairs:
                again = _asked_again(task, each, facts) if critically_failed(each) else None
                if again is None or not _acquitted(task, each, facts):
                    continue
                text = (
                    f"{task}: the critical case {each.now.id} failed and was asked again: in all the change passes "
                    f"{again.passed} of {again.made} attempts, the base {again.base} of {again.asked} now."
                )
                lines[text] = Reason(kind="note", task=task, text=text)
    return list(lines.values())


def drops(facts: Facts) -> list[tuple[Reason, Suspicion]]:
    """Critical cases that passed in the baseline, or when it was last accepted, and fail now: a reason for each task
    and side, with what may have caused it."""
    return [*_drops(facts.pairings, facts, anchor=False), *_drops(facts.anchored, facts, anchor=True)]


def _drops(pairings: Mapping[str, Pairing], facts: Facts, *, anchor: bool) -> Iterator[tuple[Reason, Suspicion]]:
    then = "accepted baseline" if anchor else "baseline"
    for task, pairing in pairings.items():
        failed = [
            each.now.id for each in pairing.pairs if critically_failed(each) and not _acquitted(task, each, facts)
        ]
        if not failed:
            continue
        text = of_critical(task, failed, f"passed in the {then} and fails now", f"passed in the {then} and fail now")
        suspicion = Suspicion(
            task=task, metric="pass_rate", higher_is_better=True, cases=failed, anchor=anchor, lone=True
        )
        yield Reason(kind="critical", task=task, text=text), suspicion
