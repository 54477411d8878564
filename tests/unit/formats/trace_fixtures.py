"""Fixtures of a refund agent, written to disk and loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluator import formats
from evaluator.cases import SourceRef, Task
from evaluator.config.types import TaskConfig
from evaluator.errors import UserError

STEPS = [
    {"tool": "lookup_order", "args": {"order_id": "4821"}},
    {"tool": "issue_refund", "args": {"order_id": "4821", "amount": 24.5}},
]
CALLS = [
    {"turn": 1, "tool": "lookup_order", "args": {"order_id": "4821"}, "result": {"total": 49.0}},
    {"turn": 2, "tool": "issue_refund", "args": {"order_id": "4821", "amount": 49.0}, "result": {"ok": True}},
]


def fixture(**changes: Any) -> dict[str, Any]:
    """A fixture without a recording; a change to `...` leaves the key out."""
    plain = {"task_id": "partial", "input": "Half of it was broken.", "expected_invocations": STEPS} | changes
    return {key: value for key, value in plain.items() if value is not ...}


def spec(name: str, *required: str, **properties: Any) -> dict[str, Any]:
    """A tool spec in OpenAI's shape."""
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": "", "parameters": parameters}


def write(folder: Path, *fixtures: Any, name: str = "fixture-{}.json") -> None:
    """Each fixture to a file of its own, `name` with its number; text and bytes as they are."""
    for number, content in enumerate(fixtures, 1):
        path = folder / name.format(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str | bytes) else json.dumps(content, indent=1)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def load(folder: Path, **config: Any) -> Task:
    """The task in the folder."""
    return formats.load(TaskConfig(name="t", source="./t", **config), folder, SourceRef(location="./t"))


def loaded(folder: Path, *fixtures: Any, **config: Any) -> Task:
    """The task of these fixtures."""
    write(folder, *fixtures)
    return load(folder, **config)


def refusal(folder: Path, *fixtures: Any, **config: Any) -> str:
    """What is said of these fixtures, which are all malformed."""
    write(folder, *fixtures)
    with pytest.raises(UserError) as refused:
        load(folder, **{"format": "trace", **config})
    assert refused.value.code == "task-malformed"
    return str(refused.value)
