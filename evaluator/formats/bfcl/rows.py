"""The rows of the files, joined with their answers and checked: every fault is a problem of the folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from evaluator.errors import Problem
from evaluator.formats.bfcl import shape
from evaluator.formats.bfcl.files import CATEGORIES, CategoryFile
from evaluator.formats.confined import TaskFolder
from evaluator.json_text import JsonFault, parse_json
from evaluator.scoring.bounds import bounded


class Row(NamedTuple):
    """A case as it was written. `answer`: its wanted calls, `[{name: {parameter: [accepted values]}}]`."""

    id: str
    category: str
    messages: list[dict[str, Any]]
    functions: list[dict[str, Any]]
    answer: list[dict[str, dict[str, list[Any]]]]
    file: str
    line: int


class _Line(NamedTuple):
    number: int
    value: dict[str, Any]


class Reader:
    """Reads the files of a folder."""

    def __init__(self, folder: TaskFolder) -> None:
        self._folder = folder
        self._first: dict[str, str] = {}

    def rows(self, file: CategoryFile) -> list[Row]:
        """The rows of a category without a fault; what is wrong with the others is in `folder.problems`."""
        questions = self._by_id(file.questions)
        answers = self._by_id(file.answers) if file.answers is not None else None
        rows = []
        for name, line in (questions or {}).items():
            place = f"{self._folder.show(file.questions)}:{line.number}"
            first = self._first.setdefault(name, place)
            if first != place:
                self._report(file.questions, line, [f"$.id: {bounded(name)!r} is already the id of {first}"])
            faults = list(shape.question_faults(line.value))
            self._report(file.questions, line, faults)
            if faults or (file.answers is not None and answers is None):
                continue
            answer = self._answer(name, line, file, answers)
            if answer is not None:
                functions = line.value["function"]
                messages = line.value["question"][0]
                shown = self._folder.show(file.questions)
                rows.append(Row(name, file.category, messages, functions, answer, shown, line.number))
        for name, line in (answers or {}).items():
            if file.answers is not None and questions is not None and name not in questions:
                fault = f"$.id: there is no question {bounded(name)!r} in {file.questions.name}"
                self._report(file.answers, line, [fault])
        return rows

    def _answer(
        self, name: str, question: _Line, file: CategoryFile, answers: dict[str, _Line] | None
    ) -> list[dict[str, Any]] | None:
        if file.answers is None or answers is None:
            return []
        line = answers.get(name)
        if line is None:
            fault = f"{bounded(name)!r} has no answer in {self._folder.show(file.answers)}"
            self._report(file.questions, question, [fault])
            return None
        faults = list(shape.answer_faults(line.value, question.value["function"], CATEGORIES[file.category]))
        self._report(file.answers, line, faults)
        answer: list[dict[str, Any]] = line.value.get("ground_truth", [])
        return None if faults else answer

    def _by_id(self, path: Path) -> dict[str, _Line] | None:
        """id → row, None where the file cannot be read."""
        if not path.exists() and not path.is_symlink():
            self._folder.report(path, "there is no such file", "It holds the answers, joined by id.")
            return None
        text = self._folder.read(path)
        if text is None:
            return None
        rows: dict[str, _Line] = {}
        for line in self._lines(path, text):
            name = line.value.get("id")
            if not isinstance(name, str) or not name.isprintable() or name != name.strip() or not name:
                self._report(path, line, ["$.id: is a text without control characters and spaces around it"])
            elif name in rows:
                self._report(path, line, [f"$.id: {bounded(name)!r} is already the id of line {rows[name].number}"])
            else:
                rows[name] = line
        return rows

    def _lines(self, path: Path, text: str) -> Iterator[_Line]:
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            value = parse_json(line.rstrip("\r"))
            if isinstance(value, JsonFault):
                self._folder.report(path, value.message, "A line is one JSON object.", number, value.column)
            elif not isinstance(value, dict):
                self._folder.report(path, "$: not an object", "A line is one JSON object.", number, 1)
            else:
                yield _Line(number, value)

    def _report(self, path: Path, line: _Line, faults: list[str]) -> None:
        shown = self._folder.show(path)
        self._folder.problems += [Problem(shown, line.number, 1, fault) for fault in faults]
