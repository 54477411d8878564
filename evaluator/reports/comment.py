"""The comment on a pull request."""

from __future__ import annotations

from evaluator.reports import budget, markdown
from evaluator.reports.view import view
from evaluator.results import Run

# GitHub takes 65,536 characters; the rest is for the hidden marker that finds the comment again.
MAX_BYTES = 65_000


def render(run: Run, *, max_bytes: int = MAX_BYTES, reported_by: str = "") -> str:
    """The report of `run` as Markdown of at most `max_bytes` bytes, the most important first.
    `reported_by`: as in `view`."""
    return budget.fit(view(run, reported_by), markdown.render, max_bytes)
