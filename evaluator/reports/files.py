"""The files that people and other programs read beside results.json. A report is one module and one line here."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from evaluator.baselines.file import write_atomically
from evaluator.results import Run

# File → the module that renders it. By name, for who only clears a folder needs no template engine.
FILES: dict[str, str] = {
    "comment.md": "evaluator.reports.comment",
    "report.html": "evaluator.reports.page",
    "junit.xml": "evaluator.reports.junit",
}


class Report(Protocol):
    """What a module named in `FILES` offers."""

    def render(self, run: Run) -> str:
        """The whole file."""


def render(name: str, run: Run) -> str:
    """The text of the file `name` of `FILES` for `run`."""
    return cast(Report, import_module(FILES[name])).render(run)


def write(folder: Path, run: Run) -> None:
    """Writes every file of `FILES` into `folder`. `run` holds no secret (`evaluator.redacted`): to mask one in a
    finished text could break its markup."""
    for name in FILES:
        write_atomically(folder / name, render(name, run).encode())
