"""traptask.yaml: which cases a trapstreet task declares and where their files stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from evaluator import yaml_text
from evaluator.errors import Problem, UserError
from evaluator.formats.confined import TaskFolder

FILE = "traptask.yaml"

_KNOWN = frozenset(("name", "dirs", "cases", "judge", "grader", "setup_cmd", "declared_outputs"))
_KNOWN_OF_CASE = frozenset(("id", "description", "tags", "skip"))
_NOT_RUN = ("setup_cmd", "judge", "grader")


class DeclaredCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case as traptask.yaml has it; `line` is where, 0 where the file does not name it."""

    id: str
    tags: list[str] = []
    skip: bool = False
    line: int = 0


class TrapTask(msgspec.Struct, frozen=True, kw_only=True):
    """`cases` None: every folder of inputs is one. `scored` False: there is no traptask.yaml, so nothing is expected.
    `inputs` and `expected` are relative to the task's directory."""

    cases: list[DeclaredCase] | None = None
    scored: bool = True
    inputs: str = "inputs"
    expected: str = "expected"
    notes: list[str] = []


def read_traptask(folder: TaskFolder) -> TrapTask:
    """What traptask.yaml says. Faults of its content are added to `folder.problems`.

    Raises UserError where it is no YAML at all.
    """
    path = folder.directory / FILE
    if not path.exists() and not path.is_symlink():
        note = f"there is no {FILE}: every folder of inputs/ is a case, and none is scored"
        return TrapTask(scored=False, notes=[note])
    text = folder.read(path)
    if text is None:
        raise UserError("task-malformed", *folder.problems)
    document = yaml_text.load(text, folder.show(path))
    if not isinstance(document.value, dict):
        raise UserError("task-malformed", document.problem((), "not a mapping of keys and values"))
    return _Reader(folder, document).read()


class _Reader:
    def __init__(self, folder: TaskFolder, document: yaml_text.Document) -> None:
        self._folder = folder
        self._document = document
        self._value: dict[str, Any] = document.value

    def read(self) -> TrapTask:
        return TrapTask(
            cases=self._cases() if "cases" in self._value else None,
            inputs=self._directory("inputs"),
            expected=self._directory("expected"),
            notes=self._notes(),
        )

    def _report(self, path: tuple[str | int, ...], message: str, mend: str = "") -> None:
        self._folder.problems.append(self._document.problem(path, message, mend))

    def _directory(self, which: str) -> str:
        dirs = self._value.get("dirs") or {}
        if not isinstance(dirs, dict):
            if which == "inputs":  # once is enough
                self._report(("dirs",), "dirs is a mapping with inputs and expected")
            return which
        name = dirs.get(which)
        if name is None:
            return which
        if not isinstance(name, str) or not name or Path(name).is_absolute() or ".." in Path(name).parts:
            self._report(("dirs", which), f"dirs.{which} is a path inside the task's directory")
            return which
        return name

    def _cases(self) -> list[DeclaredCase]:
        listed = self._value["cases"]
        if not isinstance(listed, list):
            self._report(("cases",), "cases is a list")
            return []
        cases = [case for number, item in enumerate(listed) if (case := self._case(number, item)) is not None]
        seen: dict[str, DeclaredCase] = {}
        for case in cases:
            if case.id in seen:
                file = self._document.file
                message = f"the case {case.id!r} is declared twice, first in line {seen[case.id].line}"
                self._folder.problems.append(Problem(file, case.line, 0, message))
            seen.setdefault(case.id, case)
        return list(seen.values())

    def _case(self, number: int, item: Any) -> DeclaredCase | None:
        here = ("cases", number)
        if not isinstance(item, dict) or "id" not in item:
            self._report(here, "a case is a mapping with an id")
            return None
        id_node = self._document.node((*here, "id"))
        case_id = id_node.text if id_node else None  # as written: `id: 12` names the folder 12
        if not case_id or Path(case_id).name != case_id or case_id in (".", ".."):
            self._report((*here, "id"), "the id of a case is the name of its folder")
            return None
        skip = item.get("skip", False)
        if not isinstance(skip, bool):
            self._report((*here, "skip"), "skip is true or false")
            return None
        line, _ = self._document.position(here)
        return DeclaredCase(id=case_id, tags=self._tags((*here, "tags"), item.get("tags")), skip=skip, line=line)

    def _tags(self, path: tuple[str | int, ...], tags: Any) -> list[str]:
        if tags is None:
            return []
        node = self._document.node(path)
        texts = [child.text for child in node.children.values()] if node and isinstance(tags, list) else [None]
        kept = [text for text in texts if text]
        if len(kept) < len(texts):
            self._report(path, "tags is a list of words")
        return list(dict.fromkeys(kept))

    def _notes(self) -> list[str]:
        unknown = [key for key in self._value if key not in _KNOWN]
        cases = self._value.get("cases")
        for item in cases if isinstance(cases, list) else []:
            if isinstance(item, dict):
                unknown += [f"cases.{key}" for key in item if key not in _KNOWN_OF_CASE]
        notes = [f"{FILE}: unknown key {key} has no effect" for key in dict.fromkeys(unknown)]
        own = [key for key in _NOT_RUN if self._value.get(key)]
        if own:
            notes.append(f"{FILE}: {', '.join(own)} of the source not run; the built-in judge decides")
        return notes
