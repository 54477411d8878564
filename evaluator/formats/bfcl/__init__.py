"""BFCL: the files of the Berkeley Function Calling Leaderboard → cases (docs/bfcl.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evaluator.cases import SourceRef, Task
from evaluator.config.types import TaskConfig
from evaluator.config.wording import bounded
from evaluator.errors import UserError, user_error
from evaluator.formats.bfcl import files
from evaluator.formats.bfcl.case import case_of
from evaluator.formats.bfcl.files import CATEGORIES, Found
from evaluator.formats.bfcl.rows import Reader
from evaluator.formats.confined import TaskFolder, shown_as
from evaluator.formats.included import included, nothing_left
from evaluator.scoring.bfcl import MATCHINGS

NAME = "bfcl"
MALFORMED = "task-malformed"

_OPTIONS = {"calls": ("native", "prompt"), "matching": MATCHINGS}


def detect(directory: Path) -> bool:
    """Whether `directory` holds a file BFCL_v…_….json."""
    return files.look_like_bfcl(directory)


def load(config: TaskConfig, directory: Path, source: SourceRef) -> Task:
    """The task in `directory`, its cases filtered by `config.include`; a category is a tag and a slice.

    Raises UserError: `task-malformed` with every problem of every row, `task-option`, `task-empty`, and
    `format-unsupported` where no file is of a category that can be judged.
    """
    options = _options(config)
    folder = TaskFolder(directory, shown_as(source))
    found = files.find(folder)
    if not found.supported and not folder.problems:
        raise _unsupported(found, folder)
    reader = Reader(folder)
    rows = [row for file in found.supported for row in reader.rows(file)]
    if folder.problems:
        raise UserError(MALFORMED, *bounded(folder.problems, folder.shown_as))
    chosen = [row for row in rows if included(row.id, [row.category], config.include)]
    if not chosen:
        raise nothing_left(
            config,
            len(rows),
            0,
            none="A case is a line of a file BFCL_v4_<category>.json.",
            listed_in="the ids of the rows; the tags are the categories",
        )
    return Task(
        name=config.name,
        format=NAME,
        source=source,
        scorer=NAME,
        cases=[case_of(row, options) for row in chosen],
        notes=_notes(found),
    )


def _options(config: TaskConfig) -> dict[str, Any]:
    """The options as cases carry them: only what differs from the default, which is the first of its values."""
    options: dict[str, Any] = {}
    for key, value in config.options.items():
        known = _OPTIONS.get(key)
        if known is None:
            message = f"unknown option {key}; the format {NAME} has {' and '.join(_OPTIONS)}"
        elif value not in known:
            message = f"{key} is {' or '.join(known)}"
        else:
            options |= {} if value == known[0] else {key: value}
            continue
        raise user_error("task-option", message, where=f"tasks.{config.name}.options")
    return options


def _unsupported(found: Found, folder: TaskFolder) -> UserError:
    names = ", ".join(path.name for path in found.unsupported)
    message = f"not supported yet: {names}" if names else "there is no file BFCL_v4_<category>.json"
    mend = f"The categories that can be judged are: {', '.join(CATEGORIES)}."
    return user_error("format-unsupported", message, where=folder.shown_as, mend=mend)


def _notes(found: Found) -> list[str]:
    if not found.unsupported:
        return []
    names = ", ".join(path.name for path in found.unsupported)
    return [f"not supported yet, so left out: {names}; supported are {', '.join(CATEGORIES)}"]
