"""Which files of a folder hold which categories."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from evaluator.formats.confined import TaskFolder

ANSWERS = "possible_answer"

# Category → how many calls are right: one, several, or none.
CATEGORIES = {
    "simple_python": "one",
    "multiple": "one",
    "parallel": "several",
    "parallel_multiple": "several",
    "irrelevance": "none",
    "live_simple": "one",
    "live_multiple": "one",
    "live_parallel": "several",
    "live_parallel_multiple": "several",
    "live_irrelevance": "none",
}

_NAME = re.compile(r"BFCL_v(\d+)_(\w+)\.json")
_VERSION = "4"


class CategoryFile(NamedTuple):
    """A file of one category, and the one with its answers, None where no call is right."""

    category: str
    questions: Path
    answers: Path | None


class Found(NamedTuple):
    """The files of a folder."""

    supported: list[CategoryFile]
    unsupported: list[Path]


def look_like_bfcl(directory: Path) -> bool:
    """Whether a file there has such a name."""
    return any(_NAME.fullmatch(path.name) for path in directory.iterdir())


def find(folder: TaskFolder) -> Found:
    """The files in `folder` by name; other files are left alone."""
    found = Found([], [])
    for path in folder.names(folder.directory):
        name = _NAME.fullmatch(path.name)
        if name is None:
            continue
        version, category = name.groups()
        if version != _VERSION or category not in CATEGORIES:
            found.unsupported.append(path)
            continue
        answers = folder.directory / ANSWERS / path.name
        found.supported.append(CategoryFile(category, path, None if CATEGORIES[category] == "none" else answers))
    return found
