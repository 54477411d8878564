"""The tool specs in files that fixtures name by a path inside the task."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from evaluator import yaml_text
from evaluator.config import json_positions
from evaluator.config.subject import TOOL_SUFFIXES
from evaluator.config.tools import Reading, Spec
from evaluator.errors import UserError
from evaluator.formats.confined import TaskFolder
from evaluator.formats.trace.values import Fault
from evaluator.yaml_scalars import quoted

_PATH: tuple[str | int, ...] = ("tools",)


class ToolFiles:
    """Reads each path once, however many fixtures name it. `paths`: the files that were read."""

    def __init__(self, folder: TaskFolder) -> None:
        self._folder = folder
        self._read: dict[str, list[Spec]] = {}
        self.paths: set[Path] = set()

    def named(self, tools: str) -> dict[str, list[Spec]]:
        """The specs at a path that was read, under its plain form: `tools/` and `./tools` are `tools`."""
        name = str(PurePosixPath(tools))
        return {name: self._read[name]}

    def read(self, tools: str) -> Iterator[Fault]:
        """Read what is at the path. A fault of the path is given back, one of the files is a problem of the folder."""
        plain = PurePosixPath(tools)
        if plain.is_absolute() or ".." in plain.parts or "\0" in tools:
            yield Fault(_PATH, f"{quoted(tools)} leads out of the task's folder", "Write a path inside of it.")
            return
        name = str(plain)
        if name in self._read:
            return
        path = self._folder.directory / plain
        found = self._files(path)
        if not found:
            mend = "Name a file *.json, *.yaml or *.yml of the task, or a folder of such."
            yield Fault(_PATH, f"there are no tools at {quoted(tools)}", mend)
            return
        self.paths |= set(found)
        self._read[name] = self._specs(found)

    def _files(self, path: Path) -> list[Path]:
        if not path.exists() or not self._folder.inside(path):
            return []
        candidates = self._folder.names(path) if path.is_dir() else [path]
        return [each for each in candidates if each.suffix in TOOL_SUFFIXES and not each.is_dir()]

    def _specs(self, paths: list[Path]) -> list[Spec]:
        reading = Reading()
        for path in paths:
            text = self._folder.read(path)
            if text is None:
                continue
            load = json_positions.load if path.suffix == ".json" else yaml_text.load
            try:
                reading.add(load(text, self._folder.show(path)))
            except UserError as error:
                self._folder.problems += error.problems
        self._folder.problems += reading.problems
        return reading.tools
