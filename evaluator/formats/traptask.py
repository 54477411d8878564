"""traptask.yaml: which cases a trapstreet task declares and where their files stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import msgspec

from evaluator import yaml_text
from evaluator.cases import Program
from evaluator.errors import Problem, UserError
from evaluator.formats.confined import TaskFolder

FILE = "traptask.yaml"

_KNOWN = frozenset(("name", "dirs", "cases", "judge", "grader", "setup_cmd", "declared_outputs"))
_KNOWN_OF_CASE = frozenset(("id", "description", "tags", "skip"))
_NOT_RUN = ("setup_cmd", "judge", "grader")
# Seconds, where the file does not say; those of judge and grader are trapstreet's.
_JUDGE_SECONDS, _GRADER_SECONDS, _SETUP_SECONDS = 300.0, 120.0, 600.0
_MOST_SECONDS = 86_400
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")


class DeclaredCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case as traptask.yaml has it; `line` is where, 0 where the file does not name it."""

    id: str
    tags: list[str] = []
    skip: bool = False
    line: int = 0


class TrapTask(msgspec.Struct, frozen=True, kw_only=True):
    """`cases` None: every folder of inputs is one. `scored` False: there is no traptask.yaml, so nothing is expected.
    `inputs` and `expected` are relative to the task's directory. `judge`, `grader`, `setup` only where they were asked
    for."""

    cases: list[DeclaredCase] | None = None
    scored: bool = True
    inputs: str = "inputs"
    expected: str = "expected"
    notes: list[str] = []
    judge: Program | None = None
    grader: Program | None = None
    setup: Program | None = None


def read_traptask(folder: TaskFolder, *, own_judge: bool = False) -> TrapTask:
    """What traptask.yaml says, with its commands where `own_judge` asks for them. Faults of its content are added to
    `folder.problems`.

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
    return _Reader(folder, document, own_judge).read()


class _Reader:
    def __init__(self, folder: TaskFolder, document: yaml_text.Document, own_judge: bool) -> None:
        self._folder = folder
        self._own_judge = own_judge
        self._document = document
        self._value: dict[str, Any] = document.value

    def read(self) -> TrapTask:
        return TrapTask(
            cases=self._cases() if "cases" in self._value else None,
            inputs=self._directory("inputs"),
            expected=self._directory("expected"),
            notes=self._notes(),
            judge=self._program("judge", _JUDGE_SECONDS) if self._own_judge else None,
            grader=self._program("grader", _GRADER_SECONDS) if self._own_judge else None,
            setup=self._setup() if self._own_judge else None,
        )

    def _report(self, path: tuple[str | int, ...], message: str, mend: str = "") -> None:
        self._folder.problems.append(self._document.problem(path, message, mend))

    def _program(self, key: str, seconds: float) -> Program | None:
        program = self._value.get(key)
        if program is None:
            return None
        if not isinstance(program, dict):
            self._report((key,), f"{key} is a mapping with cmd")
            return None
        cmd = self._command((key, "cmd"), program.get("cmd"))
        timeout, envvar = program.get("timeout", seconds), program.get("manifest_envvar")
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= _MOST_SECONDS:
            self._report((key, "timeout"), f"{key}.timeout is a number of seconds above 0 and at most {_MOST_SECONDS}")
            return None
        if envvar is not None and not (isinstance(envvar, str) and _VARIABLE.fullmatch(envvar)):
            self._report((key, "manifest_envvar"), f"{key}.manifest_envvar is the name of an environment variable")
            return None
        return Program(cmd=cmd, timeout=float(timeout), envvar=envvar) if cmd else None

    def _setup(self) -> Program | None:
        command = self._value.get("setup_cmd")
        cmd = self._command(("setup_cmd",), command) if command else []
        return Program(cmd=cmd, timeout=_SETUP_SECONDS) if cmd else None

    def _command(self, path: tuple[str, ...], command: Any) -> list[str]:
        """The arguments of a command line; empty, and reported, where it is none."""
        try:
            words = shlex.split(command) if isinstance(command, str) else command
        except ValueError as error:
            self._report(path, f"{'.'.join(path)} cannot be split into arguments: {error}")
            return []
        if isinstance(words, list) and words and all(isinstance(w, str) and "\0" not in w for w in words) and words[0]:
            return words
        self._report(path, f"{'.'.join(path)} is a command line", "It is run without a shell, in the task's folder.")
        return []

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
        if own and not self._own_judge:
            notes.append(f"{FILE}: {', '.join(own)} of the source not run; the built-in judge decides")
        return notes
