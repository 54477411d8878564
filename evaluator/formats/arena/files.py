"""arena.toml and corpus.json: what is asked of every item, and what `search` finds."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evaluator.cases import Passage
from evaluator.config import json_positions
from evaluator.config.wording import did_you_mean
from evaluator.corpus import SEARCH
from evaluator.errors import UserError
from evaluator.formats.confined import TaskFolder
from evaluator.formats.included import some
from evaluator.formats.trace.values import Fault
from evaluator.yaml_scalars import quoted

MANIFEST, DATASET, CORPUS = "arena.toml", "dataset.jsonl", "corpus.json"
TOOLS = (SEARCH["name"],)

_KEYS = ("id", "description", "tools", "system_prompt_intent")
_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)$")


class Manifest(NamedTuple):
    """`tools`: names; `intent`: what the model is told before each item, None for nothing. `is_read` False where the
    file could not be, so that nothing is known of it."""

    tools: Sequence[str] = ()
    intent: str | None = None
    is_read: bool = True


_LONGEST_MANIFEST = 64 * 1024


def read_manifest(folder: TaskFolder, notes: list[str]) -> Manifest:
    """What arena.toml says; what is wrong with it is a problem of the folder."""
    path = folder.directory / MANIFEST
    if not path.exists():
        folder.report(path, "there is no such file", "It says which tools there are and what the model is told.")
        return Manifest(is_read=False)
    text = folder.read(path)
    values = _toml(folder, path, text) if text is not None else None
    if text is None or values is None:
        return Manifest(is_read=False)
    unknown = [key for key in values if key not in _KEYS]
    if unknown:
        notes.append(f"{MANIFEST} has keys that are not read: {some(unknown)}")
    for key in ("id", "description", "system_prompt_intent"):
        if not isinstance(values.get(key, ""), str):
            folder.report(path, f"{key}: not a text", "", *_place_of(text, key))
    intent = values.get("system_prompt_intent")
    return Manifest(_tools(folder, path, text, values), intent.strip() or None if isinstance(intent, str) else None)


def read_corpus(folder: TaskFolder, notes: list[str], *, wanted: bool) -> list[Passage]:
    """The passages of corpus.json, none where search is not `wanted`."""
    path = folder.directory / CORPUS
    if not wanted:
        if path.exists():
            notes.append(f"{CORPUS} is not read, since {MANIFEST} does not name the tool search")
        return []
    if not path.exists():
        mend = 'It is a list of {"title", "text"}; or leave the tool out.'
        folder.report(path, f"there is no such file, and {MANIFEST} names the tool search", mend)
        return []
    text = folder.read(path)
    if text is None:
        return []
    try:
        document = json_positions.load(text, folder.show(path))
    except UserError as error:
        folder.problems += error.problems
        return []
    faults = [fault.problem(document) for fault in _corpus_faults(document.value)]
    folder.problems += faults
    if faults:
        return []
    unknown = dict.fromkeys(key for entry in document.value for key in entry if key not in ("title", "text"))
    if unknown:
        notes.append(f"{CORPUS} has keys that are not read: {some(list(unknown))}")
    return [Passage(title=entry["title"], text=entry["text"]) for entry in document.value]


def _corpus_faults(value: Any) -> list[Fault]:
    if not isinstance(value, list) or not value:
        return [Fault((), 'not a list of {"title", "text"} with something in it')]
    found = []
    for place, entry in enumerate(value):
        if not isinstance(entry, dict):
            found.append(Fault((place,), 'a passage is an object {"title", "text"}'))
            continue
        for key in ("title", "text"):
            if not isinstance(entry.get(key), str) or not entry[key].strip():
                said = "is missing" if key not in entry else "is not a text with something in it"
                found.append(Fault((place, key), said))
    return found


def _toml(folder: TaskFolder, path: Path, text: str) -> dict[str, Any] | None:
    if (
        len(text) > _LONGEST_MANIFEST
        or max((line.split("=", 1)[0].count(".") for line in text.splitlines()), default=0) > 100
    ):
        folder.report(path, f"longer than {_LONGEST_MANIFEST} characters, or with a key of more than 100 parts")
        return None
    try:
        return tomllib.loads(text)
    except ValueError as error:  # an integer of too many digits is one too
        said = str(error)
        place = _PLACE.search(said)
        line, column = (int(place.group(1)), int(place.group(2))) if place else (0, 0)
        folder.report(path, f"not TOML: {_PLACE.sub('', said)[:200]}", "", line, column)
    except RecursionError:
        folder.report(path, "nested too deeply to be read")
    return None


def _tools(folder: TaskFolder, path: Path, text: str, values: dict[str, Any]) -> list[str]:
    tools = values.get("tools", [])
    place = _place_of(text, "tools")
    if not isinstance(tools, list) or not all(isinstance(name, str) for name in tools):
        folder.report(path, "tools: not a list of names", f"Known is {', '.join(TOOLS)}.", *place)
        return []
    for name in dict.fromkeys(tools):
        if name not in TOOLS:
            message = f"tool not supported: {quoted(name)}{did_you_mean(name, TOOLS)}"
            folder.report(path, message, f"Known is {', '.join(TOOLS)}.", *place)
    return tools


def _place_of(text: str, key: str) -> tuple[int, int]:
    """Line and column of a key; zeros where several lines look like it, for TOML's own reader keeps no places."""
    lines = [number for number, line in enumerate(text.split("\n"), 1) if re.match(rf"{key}\s*=", line)]
    return (lines[0], 1) if len(lines) == 1 else (0, 0)
