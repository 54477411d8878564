"""The artifact of a run that is not trusted → the report of it, or why there is none.

The bytes may be anything. What they say stays a stranger's word: nothing is scored again here, since the file brings
the answers and what is expected of them alike.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from msgspec.structs import replace

from evaluator.errors import UserError
from evaluator.github import artifacts
from evaluator.github.artifacts import FILE, MOST_FILE_BYTES, UnusableError
from evaluator.json_text import JsonFault, parse_json
from evaluator.reports import comment, summary
from evaluator.results import Reason, Run, decode_run

# The largest honest results take a fifth of it. Others are made so that a report of them would take hours.
SECONDS = 30.0

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
    with _at_most(seconds):
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
    """The run that `data` is the results.json of, without what only this repository may say. Raises UnusableError."""
    _refuse_odd_json(data)
    try:
        run = decode_run(data, FILE)
    except UserError as error:
        raise UnusableError(error.problems[0].message[:_LONGEST_REASON]) from error
    if run.commit != commit:
        raise UnusableError(f"{FILE} is of another commit than the run, which is of {commit[:12]}")
    return replace(_as_reported(run), beside=[_as_reported(each) for each in run.beside])


def _refuse_odd_json(data: bytes) -> None:
    """What one reader may read otherwise than another, and what is too deep to be shown."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise UnusableError(f"{FILE} is not UTF-8") from error
    fault = parse_json(text, MOST_FILE_BYTES)
    if isinstance(fault, JsonFault):
        raise UnusableError(f"{FILE}: {str(fault)[:_LONGEST_REASON]}")


def _as_reported(run: Run) -> Run:
    """Nobody accepted it here, and its first lines are not for its own remarks: they stand with the warnings."""
    notes = [replace(each, kind="config") for each in (*run.reasons, *run.warnings) if _is_note(each)]
    return replace(
        run,
        accepted=None,
        reasons=[each for each in run.reasons if not _is_note(each)],
        warnings=[*notes, *(each for each in run.warnings if not _is_note(each))],
    )


def _is_note(reason: Reason) -> bool:
    return reason.kind == "note"


class _TimeIsOver(BaseException):
    """No error: nothing on the way may catch it."""


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Ends what is inside by UnusableError where it takes longer. In the main thread only, as all signals."""

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise _TimeIsOver

    former = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _TimeIsOver:
        raise UnusableError(f"its report takes longer than {seconds:g} s") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
