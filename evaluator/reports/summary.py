"""The job summary: the comment's own template, with room for nearly everything."""

from __future__ import annotations

from evaluator.reports import budget, markdown
from evaluator.reports.view import view
from evaluator.results import Run

# GitHub shows nothing of a step summary over 1,048,576 bytes; other parts of the step may have written to it.
MAX_BYTES = 1_000_000


def render(run: Run, *, max_bytes: int = MAX_BYTES, reported_by: str = "") -> str:
    """The report of `run` as Markdown of at most `max_bytes` bytes. `reported_by`: as in `view`."""
    return budget.fit(view(run, reported_by), markdown.render, max_bytes)
