"""Files of the leaderboard's shape, written to a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evaluator import formats
from evaluator.cases import SourceRef, Task
from evaluator.config.types import TaskConfig

PLAY: dict[str, Any] = {
    "name": "music.play",
    "description": "Play an artist.",
    "parameters": {
        "type": "dict",
        "properties": {
            "artist": {"type": "string", "description": "Who."},
            "minutes": {"type": "float"},
            "seats": {"type": "tuple", "items": {"type": "integer"}},
            "mood": {"type": "any"},
        },
        "required": ["artist"],
    },
}
STOP: dict[str, Any] = {"name": "stop", "parameters": {"type": "dict", "properties": {}, "required": []}}


def question(name: str, text: str = "Play Sia.", **changes: Any) -> dict[str, Any]:
    """A row of questions."""
    return {"id": name, "question": [[{"role": "user", "content": text}]], "function": [PLAY, STOP]} | changes


def answer(name: str, *calls: dict[str, Any]) -> dict[str, Any]:
    """A row of answers."""
    return {"id": name, "ground_truth": list(calls) or [{"music.play": {"artist": ["Sia"], "minutes": ["", 20.0]}}]}


def write(folder: Path, **files: Any) -> Path:
    """`simple_python=[rows]` and `simple_python__answers=[rows]`; a text is written as it is."""
    (folder / "possible_answer").mkdir(exist_ok=True)
    for key, rows in files.items():
        category, _, answers = key.partition("__")
        path = (folder / "possible_answer" if answers else folder) / f"BFCL_v4_{category}.json"
        text = rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows)
        path.write_text(text, encoding="utf-8")
    return folder


def load(folder: Path, **config: Any) -> Task:
    """The task in the folder, shown as `./t`."""
    return formats.load(TaskConfig(name="t", source="./t", **config), folder, SourceRef(location="./t"))
