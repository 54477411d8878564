"""The fixtures of a folder: which files are read, and what each holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from evaluator import yaml_text
from evaluator.config import json_positions
from evaluator.errors import UserError
from evaluator.formats.confined import TaskFolder
from evaluator.json_text import JsonFault, parse_json
from evaluator.yaml_scalars import INT64
from evaluator.yaml_text import MAX_DEPTH, Document

FOLDER = "fixtures"
SUFFIXES = (".json", ".jsonl", ".yaml", ".yml")

# Files of other purposes that may lie beside fixtures.
_OTHERS = ("trap.yaml", "trap.yml", "traptask.yaml")
# Keys by which a file without a `task_id` is known as a fixture all the same.
_TELLING = frozenset(("task_id", "input", "expected_invocations", "expected_paths", "actual_invocations", "recordings"))
_MOST_LOOKED_AT = 50
_LONGEST_LOOKED_AT = 1024 * 1024
_YAML_KEY = re.compile(r"""^(["']?)task_id\1[ \t]*:""", re.MULTILINE)


class Found(NamedTuple):
    """The fixtures of a folder, and what lies beside them without being one: `aside`, files and folders."""

    entries: list[Entry]
    aside: list[Path]


class Entry:
    """One fixture as it was written. `value` is plain JSON; `line` is where it begins, `file` how its file is named."""

    def __init__(self, path: Path, file: str, text: str, value: Any, line: int, document: Document | None) -> None:
        self.path = path
        self.file = file
        self.value = value
        self.line = line
        self._text = text
        self._document = document

    @property
    def cost(self) -> int:
        """Characters that are looked through to find the positions."""
        return self.line + len(self._text)

    @property
    def positions(self) -> Document | None:
        """The fixture with the position of each value where these are known already, as they are in YAML."""
        return self._document

    def document(self) -> Document:
        """The fixture with the position of each value: slow, so only for what has to be explained."""
        if self._document is None:
            self._document = json_positions.load("\n" * (self.line - 1) + self._text, self.file)
        return self._document


def look_like_fixtures(directory: Path) -> bool:
    """Whether a folder holds a fixture, by a look at the first files."""
    files = [path for path in _files_in(directory) if path.name not in _OTHERS]
    files += _files_in(directory / FOLDER)
    return any(_looks_like_one(path) for path in files[:_MOST_LOOKED_AT])


def read(folder: TaskFolder) -> Found:
    """Every fixture of the folder, by file name and line. What cannot be read is added to `folder.problems`.

    In the folder itself a file without any key of a fixture is left aside; in `fixtures/` every file is a fixture.
    """
    found = Found([], [])
    for path in folder.names(folder.directory):
        if path.suffix in SUFFIXES and path.name not in _OTHERS and not path.is_dir():
            known = len(folder.problems)
            entries = [entry for entry in _entries(folder, path) if _is_meant_as_one(entry.value)]
            found.entries.extend(entries)
            if not entries and len(folder.problems) == known:
                found.aside.append(path)
        elif path.is_dir() and path.name != FOLDER and look_like_fixtures(path):
            found.aside.append(path)
    inner = folder.directory / FOLDER
    for path in folder.names(inner) if inner.is_dir() and folder.inside(inner) else ():
        if path.is_dir():
            found.aside.append(path)
        elif path.suffix in SUFFIXES:
            found.entries.extend(_entries(folder, path))
    return found


def _is_meant_as_one(value: Any) -> bool:
    if isinstance(value, list):
        return any(isinstance(item, dict) and "task_id" in item for item in value)
    return isinstance(value, dict) and not _TELLING.isdisjoint(value)


def _files_in(directory: Path) -> list[Path]:
    if not directory.is_dir() or directory.is_symlink():
        return []
    named = sorted(path for path in directory.iterdir() if path.suffix in SUFFIXES and not path.name.startswith("."))
    return [path for path in named if path.is_file() and not path.is_symlink()]


def _looks_like_one(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            text = stream.read(_LONGEST_LOOKED_AT).decode("utf-8", "replace")
    except OSError:
        return False
    if path.suffix in (".yaml", ".yml"):
        return _YAML_KEY.search(text) is not None
    value = parse_json(text.strip().split("\n")[0] if path.suffix == ".jsonl" else text)
    if isinstance(value, JsonFault):
        return '"task_id"' in text  # so that what is wrong with it is said
    # Rows of other formats have a task_id beside their case_id.
    return isinstance(value, dict) and "task_id" in value and "case_id" not in value


def _entries(folder: TaskFolder, path: Path) -> Iterator[Entry]:
    text = folder.read(path)
    if text is None:
        return
    file = folder.show(path)
    if path.suffix != ".jsonl":
        entry = _entry(folder, path, file, text, 1)
        if entry is not None:
            yield entry
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            entry = _entry(folder, path, file, line, number)
            if entry is not None:
                yield entry


def _entry(folder: TaskFolder, path: Path, file: str, text: str, line: int) -> Entry | None:
    try:
        if path.suffix in (".yaml", ".yml"):
            document = yaml_text.load(text, file)
            return Entry(path, file, text, document.value, line, document)
        value = parse_json(text)
        if isinstance(value, JsonFault):
            folder.report(path, value.message, "", line + value.line - 1, value.column)
            return None
        entry = Entry(path, file, text, value, line, None)
        if not _is_kept(value):
            entry.document()  # says where
    except UserError as error:
        folder.problems += error.problems
        return None
    return entry


def _is_kept(value: Any) -> bool:
    """Whether a value is within the bounds of what can be stored: its depth, and integers of 64 bits."""
    level = [value]
    for _ in range(MAX_DEPTH):
        if any(type(node) is int and node not in INT64 for node in level):
            return False
        level = [
            child
            for node in level
            if isinstance(node, dict | list)
            for child in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return True
    return False
