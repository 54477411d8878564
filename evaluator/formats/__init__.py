"""Directory → Task. A format is one module with `detect(directory)` and `load(…)`, and one line in `FORMATS`.

Formats translate what a source holds into cases; they score nothing. All a source holds is somebody else's: what is
malformed is a `UserError` that names every problem at once, and no path leads out of the directory.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from evaluator.cases import SourceRef, Task
from evaluator.config.types import TaskConfig
from evaluator.errors import UserError, user_error

FORMATS = {
    "trapstreet": "evaluator.formats.trapstreet",
    "trace": "evaluator.formats.trace",
    "arena": "evaluator.formats.arena",
    "closure": "evaluator.formats.closure",
    "bfcl": "evaluator.formats.bfcl",
}
# Formats whose tasks can bring a judge of their own.
OWN_JUDGES = frozenset({"trapstreet"})


class Format(Protocol):
    """What a module named in `FORMATS` offers."""

    def detect(self, directory: Path) -> bool:
        """Whether `directory` looks like a task of this format."""

    def load(self, config: TaskConfig, directory: Path, source: SourceRef) -> Task:
        """The task in `directory`, filtered by `config.include`. Raises UserError with every problem found."""


def load(config: TaskConfig, directory: Path, source: SourceRef) -> Task:
    """The task in a local directory, in the format that `config` names or, where it names none, that is detected.

    Raises UserError: `format-unsupported`, `format-unknown` (none detected), `judge-unsupported`, or what the format
    finds wrong.
    """
    name = config.format or _detected(directory)
    if name is None:
        raise user_error(
            "format-unknown",
            f"{source.location} looks like no task: there is no traptask.yaml, no folder inputs/, no "
            "fixture, no arena.toml, no BFCL file and no row of a closure suite",
            where=_place(config),
            mend="Check the source's path (#subdirectory=… for git), or name the format.",
        )
    if name not in FORMATS:
        raise _unsupported(config, name)
    if config.judge != "builtin" and name not in OWN_JUDGES:
        raise user_error(
            "judge-unsupported",
            f"judge: {config.judge} on the format {name}, whose tasks bring no judge of their own",
            where=_place(config),
            mend="Write `judge: builtin`, or leave it out.",
        )
    return _format(name).load(config, directory, source)


def _detected(directory: Path) -> str | None:
    return next((name for name in FORMATS if _format(name).detect(directory)), None)


def _format(name: str) -> Format:
    return cast(Format, import_module(FORMATS[name]))


def _unsupported(config: TaskConfig, name: str) -> UserError:
    supported = ", ".join(FORMATS)
    return user_error(
        "format-unsupported",
        f"the format {name} is not supported; supported: {supported}",
        where=_place(config),
        mend="Name a supported format, or leave `format` out to have it detected.",
    )


def _place(config: TaskConfig) -> str:
    return f"tasks.{config.name}"
