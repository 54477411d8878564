"""One failure that kept every missing attempt of a run from its verdict: most often a key that is not set."""

from __future__ import annotations

from typing import NamedTuple

from evaluator.reports import numbers
from evaluator.reports.causes import first_cause
from evaluator.reports.escape import shorten
from evaluator.reports.figures import comparison_of
from evaluator.reports.models import all_runs
from evaluator.results import Attempt, Reason, Run

_MESSAGE_BYTES = 240
# Before the same message, of attempts that were not made or not ended because of others.
_BECAUSE = ("not run after a refused key: ", "not run, since nothing answers: ", "cut off: ")
NO_KEY = "no key: set "
# Kinds whose messages say all of it.
_PLAIN = frozenset({"no_key", "cancelled", "time_limit", "cost_limit"})
# In a reason of a run that has answers: that it is about attempts without a verdict.
_ABOUT_ATTEMPTS = (" planned attempts ", " was not scored", " were not scored")


class Failure(NamedTuple):
    """`message`: without what differs between the attempts; `attempts` have no verdict for it, of `planned` ones;
    `answered`: they had an answer all the same, and it was not scored."""

    kind: str
    message: str
    attempts: int
    planned: int
    answered: bool

    @property
    def is_total(self) -> bool:
        """Whether nothing was scored at all."""
        return self.attempts == self.planned


def leading(run: Run) -> Failure | None:
    """The failure that an inconclusive run rests on: the only one, the same for every attempt that is missing, in every
    model. None where there are several, or where the verdict rests on something else first."""
    first = first_cause(run)
    if run.verdict != "inconclusive" or first is None or first.kind != "coverage":
        return None
    failure = _only_failure(run)
    return failure if failure is not None and (failure.is_total or _is_of_attempts(run, first)) else None


def said(run: Run) -> str:
    """ "nothing was scored: no key: set OPENAI_API_KEY", "2 of 60 attempts have no answer: rate_limit: HTTP 429 after 5
    tries", without a full stop; empty where no failure leads."""
    failure = leading(run)
    if failure is None:
        return ""
    kind = "" if failure.kind in _PLAIN or failure.message.startswith(NO_KEY) else failure.kind
    parts = [_share(failure), kind, shorten(failure.message, _MESSAGE_BYTES).rstrip(".")]
    return ": ".join(part for part in parts if part)


def _share(failure: Failure) -> str:
    if failure.is_total:
        return "nothing was scored"
    verb = "has" if failure.attempts == 1 else "have"
    what = "verdict" if failure.answered else "answer"
    return f"{numbers.count(failure.attempts)} of {numbers.counted(failure.planned, 'attempt')} {verb} no {what}"


def _only_failure(run: Run) -> Failure | None:
    tasks = [task for each in all_runs(run) for task in each.tasks]
    planned = sum(task.planned for task in tasks)
    missing = planned - sum(task.scored for task in tasks)
    lost = [a for task in tasks for case in task.cases for a in case.attempts if a.status != "scored"]
    known = [(a.infrastructure.kind, _message(a)) for a in lost if a.infrastructure is not None and a.status != "stale"]
    if not known or not len(known) == len(lost) == missing:
        return None
    kinds = {kind for kind, _ in known}
    # What came of a call says more than why none was made after it, and begins like it.
    shortest = min((message for _, message in known), key=len)
    if len(kinds) > 1 or not all(message.startswith(shortest) for _, message in known):
        return None
    return Failure(kinds.pop(), shortest, missing, planned, any(each.transcript is not None for each in lost))


def _message(attempt: Attempt) -> str:
    text = " ".join(attempt.infrastructure.message.split()) if attempt.infrastructure is not None else ""
    for start in _BECAUSE:
        text = text.removeprefix(start)
    return text


def _is_of_attempts(run: Run, reason: Reason) -> bool:
    """Whether a reason speaks of attempts without a verdict, and of no case that the change has removed."""
    removed = any(
        compared is not None and compared.removed
        for each in all_runs(run)
        if (compared := comparison_of(each, reason.task or "")) is not None
    )
    return not removed and any(part in reason.text for part in _ABOUT_ATTEMPTS)
