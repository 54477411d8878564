"""The artifact of a run that is not trusted → the report of it, or why there is none.

The bytes may be anything. What they say stays a stranger's word: nothing is scored again here, since the file brings
the answers and what is expected of them alike.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import FrameType

from evaluator.errors import UserError
from evaluator.github import artifacts
from evaluator.github.artifacts import FILE, MOST_FILE_BYTES, UnusableError
from evaluator.json_text import JsonFault, parse_json
from evaluator.reports import comment, summary
from evaluator.results import Run, decode_run

# The largest honest results take a fifth of it. Others are made so that a report of them would take hours.
SECONDS = 30.0
_AGAIN = 0.05
# Commas and opening brackets, of which there are never fewer than values but one: what a value takes in memory, not
# what it takes in the file, is what a file of nothing but `[],[],` is made for. 3,000 cases with three attempts of
# three calls each have 574,000 in 15 MB.
MOST_VALUES = 1_500_000

_LONGEST_REASON = 300


@dataclass(frozen=True)
class Report:
    """Markdown of one run, for the pull request and for the job summary."""

    comment: str
    summary: str


def report(
    archive: bytes, *, commit: str, by: str, comment_bytes: int, summary_bytes: int, seconds: float = SECONDS
) -> Report:
    """What an artifact reports. `commit`: the one that it has to be of; `by`: whose word it is, as in
    `evaluator.reports.view`.

    Raises UnusableError where it is not what an honest run leaves, or cannot be shown within `seconds`.
    """
    return _within(seconds, partial(_report, archive, commit, by, comment_bytes, summary_bytes))


def _report(archive: bytes, commit: str, by: str, comment_bytes: int, summary_bytes: int) -> Report:
    try:
        run = read(artifacts.results(archive), commit)
        return Report(
            comment=comment.render(run, max_bytes=comment_bytes, reported_by=by),
            summary=summary.render(run, max_bytes=summary_bytes, reported_by=by),
        )
    except UnusableError:
        raise
    except Exception as error:  # a figure that no run has, for one, breaks the formatting of figures
        raise UnusableError(f"{FILE} cannot be shown ({type(error).__name__})") from error


def read(data: bytes, commit: str) -> Run:
    """The run that `data` is the results.json of. Raises UnusableError."""
    _refuse_odd_json(data)
    try:
        run = decode_run(data, FILE)
    except UserError as error:
        raise UnusableError(error.problems[0].message[:_LONGEST_REASON]) from error
    if run.commit != commit:
        raise UnusableError(f"{FILE} is of another commit than the run, which is of {commit[:12]}")
    return run


def _refuse_odd_json(data: bytes) -> None:
    """What one reader may read otherwise than another, and what is too deep or too much to be shown."""
    values = sum(map(data.count, (b",", b"[", b"{")))
    if values > MOST_VALUES:
        raise UnusableError(f"{FILE} has up to {values:,} values, more than the {MOST_VALUES:,} that are read")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise UnusableError(f"{FILE} is not UTF-8") from error
    fault = parse_json(text, MOST_FILE_BYTES)
    if isinstance(fault, JsonFault):
        raise UnusableError(f"{FILE}: {str(fault)[:_LONGEST_REASON]}")


class _TimeIsOver(BaseException):
    """No error: nothing on the way may catch it."""


def _within(seconds: float, work: Callable[[], Report]) -> Report:
    """What `work` returns. Raises UnusableError where it takes longer. In the main thread only, as all signals."""
    running = False  # an alarm may ring at any moment, also while it is switched off

    def ring(_number: int, _frame: FrameType | None) -> None:
        if running:
            raise _TimeIsOver

    former = signal.signal(signal.SIGALRM, ring)
    try:
        try:
            running = True
            # Again and again: where it rings while Python clears up, its exception is ignored.
            signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
            return work()
        finally:
            running = False
    except _TimeIsOver:
        raise UnusableError(f"its report takes longer than {seconds:g} s") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
