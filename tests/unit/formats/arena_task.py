"""A task of records about ferries, written to disk and loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluator import formats
from evaluator.cases import SourceRef, Task
from evaluator.config.types import TaskConfig
from evaluator.errors import UserError

MANIFEST = """\
id = "ferries"
description = "Records about ferries."
tools = ["search"]
system_prompt_intent = "Look the ferry up and answer with JSON only."
"""
CORPUS = [
    {"title": "Tern", "text": "The ferry Tern was built in 1994 and is 62 metres long."},
    {"title": "Gannet", "text": "The ferry Gannet was built in 2003. With 88 metres it is longer than the Tern."},
]
SCHEMA = {
    "type": "object",
    "required": ["name", "built", "length_m", "sources"],
    "properties": {
        "name": {"type": "string"},
        "built": {"type": "integer"},
        "length_m": {"type": "number"},
        "sources": {"type": "array", "items": {"type": "string"}, "minItems": 1},
    },
    "additionalProperties": False,
}
CHECKS = [
    {"type": "json_schema", "schema": SCHEMA},
    {"type": "json_path_equals", "path": "name", "value": "Tern"},
    {"type": "json_path_equals", "path": "built", "value": 1994},
    {"type": "json_path_equals", "path": "length_m", "value": 62, "tol": 1},
    {"type": "tool_used", "name": "search"},
]
RECORD = {"name": "Tern", "built": 1994, "length_m": 62, "sources": ["Tern"]}


def item(**changes: Any) -> dict[str, Any]:
    """An item without a fault; a change to `...` leaves the key out."""
    plain = {"id": "tern", "input": "Return the record of the Tern.", "checks": CHECKS} | changes
    return {key: value for key, value in plain.items() if value is not ...}


def write(folder: Path, *items: Any, manifest: str | None = MANIFEST, corpus: Any = CORPUS) -> Path:
    """The three files; an item that is text is a line as it is. `manifest` and `corpus` None are left out."""
    lines = [line if isinstance(line, str) else json.dumps(line) for line in items or [item()]]
    (folder / "dataset.jsonl").write_text("".join(f"{line}\n" for line in lines))
    if manifest is not None:
        (folder / "arena.toml").write_text(manifest)
    if corpus is not None:
        (folder / "corpus.json").write_text(corpus if isinstance(corpus, str) else json.dumps(corpus, indent=1))
    return folder


def load(folder: Path, **config: Any) -> Task:
    """The task in the folder."""
    return formats.load(TaskConfig(name="t", source="./t", **config), folder, SourceRef(location="./t"))


def loaded(folder: Path, *items: Any, **files: Any) -> Task:
    """The task of these items."""
    return load(write(folder, *items, **files))


def refused(folder: Path, *items: Any, **files: Any) -> list[str]:
    """What is said of a task that has faults, a line each."""
    with pytest.raises(UserError) as raised:
        loaded(folder, *items, **files)
    assert raised.value.code == "task-malformed"
    return [str(problem).split("\n", 1)[0].removeprefix("./t/") for problem in raised.value.problems]
