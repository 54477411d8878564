"""Fixtures and the tools that they name, read and checked: every fault is a problem of the folder."""

from __future__ import annotations

import json
from collections.abc import Iterator

from evaluator.cases import Origin
from evaluator.config import json_positions
from evaluator.config.tools import Reading, Spec
from evaluator.errors import Problem
from evaluator.formats.confined import TaskFolder
from evaluator.formats.trace import files, origins, shape
from evaluator.formats.trace.faults import faults
from evaluator.formats.trace.files import Entry
from evaluator.formats.trace.fixture import Fixture
from evaluator.formats.trace.tools import ToolFiles
from evaluator.formats.trace.values import Fault
from evaluator.yaml_scalars import quoted

# Finding the places of faults is slow, and of very many the first are enough.
MOST_EXPLAINED = 200
MOST_LOOKED_THROUGH = 32 * 1024 * 1024


class Reader:
    """Reads the fixtures of a folder, once. `notes`: what a reader of the report should know."""

    def __init__(self, folder: TaskFolder) -> None:
        self._folder = folder
        self._files = ToolFiles(folder)
        self._inline: dict[str, list[Spec]] = {}
        self._first: dict[str, Entry] = {}
        self._faulty = 0
        self._explained = 0
        self._looked_through = 0
        self.notes: list[str] = []

    def fixtures(self) -> list[Fixture]:
        """The fixtures without a fault; what is wrong with the others is in `folder.problems`."""
        found = files.read(self._folder)
        fixtures = [fixture for entry in found.entries if (fixture := self._checked(entry)) is not None]
        if self._faulty > self._explained:
            message = f"{self._faulty} fixtures have faults, of which those of {self._explained} are listed"
            self._folder.problems.append(Problem(self._folder.shown_as, 0, 0, message))
        for path in found.aside:
            if path not in self._files.paths:
                self.notes.append(f"{self._folder.show(path)} is no fixture and was not read as one")
        return fixtures

    def specs(self, fixture: Fixture) -> list[Spec]:
        """The inline tools of a fixture without a fault."""
        return self._inline[_key(fixture.tools)] if isinstance(fixture.tools, list) and fixture.tools else []

    def files(self, fixture: Fixture) -> dict[str, list[Spec]]:
        """The tools of the file or folder that a fixture without a fault names, under that name; empty for none."""
        return self._files.named(fixture.tools) if isinstance(fixture.tools, str) else {}

    def origin(self, fixture: Fixture) -> Origin:
        """Where a fixture without a fault was written."""
        return origins.origin_of(self._first[fixture.task_id])

    def _checked(self, entry: Entry) -> Fixture | None:
        fixture = shape.fixture_of(entry.value)
        found = [*faults(entry.value), *self._same_id(entry), *self._tool_faults(entry)]
        bad_specs = self._bad_specs(entry)
        if isinstance(fixture, Fixture) and not found and not bad_specs:
            return fixture
        self._faulty += 1
        if len(self._folder.problems) < MOST_EXPLAINED and self._looked_through < MOST_LOOKED_THROUGH:
            self._explained += 1
            self._looked_through += entry.cost
            self._folder.problems += self._explanation(entry, fixture, found, bad_specs)
        return None

    @staticmethod
    def _explanation(entry: Entry, fixture: Fixture | str, found: list[Fault], bad_specs: bool) -> Iterator[Problem]:
        document = entry.document()
        if isinstance(fixture, str):
            yield from shape.problems(document, fixture)
        yield from (fault.problem(document) for fault in found)
        if bad_specs:
            reading = Reading()
            reading.add(document)
            yield from reading.problems

    def _same_id(self, entry: Entry) -> Iterator[Fault]:
        name = entry.value.get("task_id") if isinstance(entry.value, dict) else None
        if isinstance(name, str) and (first := self._first.setdefault(name, entry)) is not entry:
            yield Fault(("task_id",), f"{quoted(name)} is already the name of {first.file}:{first.line}")

    def _tool_faults(self, entry: Entry) -> Iterator[Fault]:
        tools = _tools_of(entry)
        if isinstance(tools, str) and tools:
            yield from self._files.read(tools)

    def _bad_specs(self, entry: Entry) -> bool:
        """Whether the inline specs of an entry are no tools; those that are, are kept."""
        tools = _tools_of(entry)
        if not isinstance(tools, list) or not tools:
            return False
        if _key(tools) not in self._inline:
            reading = Reading()
            reading.add(json_positions.load(_key(tools), entry.file))
            self._inline[_key(tools)] = [] if reading.problems else reading.tools
        return not self._inline[_key(tools)]


def _tools_of(entry: Entry) -> object:
    return entry.value.get("tools") if isinstance(entry.value, dict) else None


def _key(tools: object) -> str:
    """The same text for the same specs: hundreds of fixtures may bring the same ones."""
    return json.dumps({"tools": tools})
