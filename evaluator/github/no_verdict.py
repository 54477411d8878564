"""The comment of a run without a verdict, or without one yet: it takes the place of one that told the verdict of an
earlier commit."""

from __future__ import annotations

from evaluator.errors import Problem, UserError
from evaluator.reports.escape import code, prose

_MORE_BYTES = 100


def of_error(error: UserError, commit: str, max_bytes: int) -> str:
    """Markdown of at most `max_bytes` bytes: what the user has to mend, as many problems as fit."""
    text = _head("configuration error", commit)
    for number, problem in enumerate(error.problems):
        item = _item(problem)
        if len((text + item).encode()) > max_bytes - _MORE_BYTES:
            return f"{text}- … and {len(error.problems) - number} more, in the log of the job.\n"
        text += item
    return text


def of_crash(text: str, commit: str) -> str:
    """Markdown: what broke."""
    return _head("internal error", commit) + f"{prose(text)}\n"


def of_cancelled(text: str, commit: str) -> str:
    """Markdown: who stopped the run, and when."""
    return _head("cancelled", commit) + f"{prose(text)}\n"


def of_beginning(commit: str) -> str:
    """Markdown of a run that goes on."""
    return (
        f"### ⏳ trapgate: evaluating {code(commit[:12])}: no verdict yet\n\n"
        "The verdict will stand here. Should this stay, the run was killed before it could say anything: see its log.\n"
    )


def _head(what: str, commit: str) -> str:
    return f"### ⛔ trapgate: {what}: no verdict for {code(commit[:12])}\n\n"


def _item(problem: Problem) -> str:
    place = f"{problem.file}:{problem.line}:{problem.column}" if problem.line else problem.file
    head = f"{code(place)}: " if place else ""
    mend = f"\n  {prose(problem.mend)}" if problem.mend else ""
    return f"- {head}{prose(problem.message)}{mend}\n"
