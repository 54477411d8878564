"""dataset.jsonl: one item a line, read and checked; every fault is a problem of the folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from evaluator.cases import Origin
from evaluator.config import json_positions
from evaluator.errors import UserError
from evaluator.formats.arena.check_faults import check_faults
from evaluator.formats.arena.files import DATASET
from evaluator.formats.confined import TaskFolder
from evaluator.formats.included import some
from evaluator.formats.trace.values import Fault
from evaluator.yaml_scalars import quoted
from evaluator.yaml_text import Document

_KEYS = ("id", "input", "checks", "tags")


class Item(NamedTuple):
    """One line without a fault."""

    id: str
    input: str
    checks: list[dict[str, Any]]
    tags: list[str]
    origin: Origin


class Reader:
    """Reads the items of a folder, once. `tools`: those that arena.toml names, None where that is not known."""

    def __init__(self, folder: TaskFolder, tools: Sequence[str] | None) -> None:
        self._folder = folder
        self._tools = tools
        self._lines: dict[str, int] = {}
        self._unknown: dict[str, None] = {}

    def items(self) -> list[Item]:
        """The items without a fault; what is wrong with the others is in `folder.problems`."""
        path = self._folder.directory / DATASET
        if not path.exists():
            self._folder.report(path, "there is no such file", "It has one item a line: id, input and checks.")
            return []
        text = self._folder.read(path)
        lines = enumerate((text or "").split("\n"), 1)
        items = (self._item(line, number) for number, line in lines if line.strip())
        return [item for item in items if item is not None]

    def notes(self) -> list[str]:
        """What a reader should know of the items."""
        unknown = list(self._unknown)
        return [f"{DATASET} has keys that are not read: {some(unknown)}"] if unknown else []

    def _item(self, line: str, number: int) -> Item | None:
        file = self._folder.show(self._folder.directory / DATASET)
        try:
            document = json_positions.load(line, file)
        except UserError as error:
            self._folder.problems += [replace(problem, line=number) for problem in error.problems]
            return None
        faults = list(self._faults(document.value, number))
        if faults:
            self._folder.problems += [replace(fault.problem(document), line=number) for fault in faults]
            return None
        return self._kept(document, number, file)

    def _kept(self, document: Document, number: int, file: str) -> Item:
        value = document.value
        self._unknown |= dict.fromkeys(key for key in value if key not in _KEYS)
        tags = list(dict.fromkeys(value.get("tags", [])))
        return Item(value["id"], value["input"], value["checks"], tags, Origin(file=file, line=number))

    def _faults(self, value: Any, number: int) -> Iterator[Fault]:
        if not isinstance(value, dict):
            yield Fault((), "an item is an object with id, input and checks")
            return
        yield from self._id_faults(value, number)
        if "input" not in value:
            yield Fault((), "there is no input")
        elif not isinstance(value["input"], str) or not value["input"].strip():
            yield Fault(("input",), "the input is a text with something in it")
        tags = value.get("tags", [])
        if not isinstance(tags, list) or not all(isinstance(tag, str) and tag.strip() for tag in tags):
            yield Fault(("tags",), "tags are a list of words")
        yield from check_faults(value, self._tools)

    def _id_faults(self, value: dict[str, Any], number: int) -> Iterator[Fault]:
        name = value.get("id")
        if "id" not in value:
            yield Fault((), "there is no id")
        elif not isinstance(name, str) or not name.strip():
            yield Fault(("id",), "the id is a text with something in it")
        elif not name.isprintable() or name != name.strip():
            message = f"{quoted(name)} begins or ends with a space, or has a character that cannot be printed"
            yield Fault(("id",), message)
        elif (first := self._lines.setdefault(name, number)) != number:
            yield Fault(("id",), f"{quoted(name)} is already the id of line {first}")
