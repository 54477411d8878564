"""Outputs that somebody else produced: JSON Lines → recorded transcripts. Every bad line is reported at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any

from msgspec import UNSET

from evaluator.cases import Recorded
from evaluator.errors import Problem, UserError, user_error
from evaluator.json_text import MAX_CHARACTERS, JsonFault, parse_json
from evaluator.runners.answer import stop_reason_of
from evaluator.runners.bounds import bounded
from evaluator.transcript import Call, Transcript, Usage

MOST_PROBLEMS = 50

_MEND = (
    'Each line is one object: {"case_id": "…", "attempt": 1, "text": "…", "tool_calls": [], "stop_reason": "stop", '
    '"usage": {}}; only case_id is required.'
)
_WANTED = {str: "a string", int: "a whole number", float: "a number", list: "a list", dict: "an object"}


def read_outputs(path: Path) -> list[Recorded]:
    """The recorded transcripts of `path`, in the file's order.

    Rows are `{"case_id", "attempt", "text", "tool_calls", "stop_reason", "limit", "usage", "subject"}`; other keys are
    ignored, so are blank lines. Without `attempt`, the rows of a case are numbered in order. A tool call is OpenAI's
    `{"function": {"name", "arguments"}}` or `{"name" or "tool", "arguments" or "args"}`, with arguments as text or as
    an object; beside them `turn`, and `result`, what the tool answered. `subject` is `{"digest", "parts"}`, what the
    answer was made with.

    Raises UserError `outputs-unreadable` or `outputs-invalid` (every problem, as file:line, up to `MOST_PROBLEMS`).
    """
    recorded: list[Recorded] = []
    problems: list[Problem] = []
    seen: dict[tuple[str, int], int] = {}
    used: dict[str, int] = {}
    for line_number, text in _lines(path):
        try:
            row = _row(text)
            case_id = row.text("case_id", required=True) or ""
            number = row.whole("attempt")
            if number is None:
                number = used.get(case_id, 0) + 1
            transcript = _transcript(row)
            subject = row.object("subject")
            made_with = (None, None) if subject is None else (subject.text("digest"), subject.texts("parts"))
        except _BadRowError as error:
            problems.append(Problem(str(path), line_number, error.column, str(error), "" if problems else _MEND))
            continue
        first = seen.setdefault((case_id, number), line_number)
        if first != line_number:
            twice = f"attempt {number} of case {case_id[:80]!r} stands in line {first} already"
            problems.append(Problem(str(path), line_number, 1, twice, "Leave one of them out, or number them apart."))
            continue
        used[case_id] = max(used.get(case_id, 0), number)
        digest, parts = made_with
        recorded.append(
            Recorded(case_id=case_id, number=number, transcript=transcript, subject_digest=digest, subject=parts)
        )
    if problems:
        more = len(problems) - MOST_PROBLEMS
        shown = problems[:MOST_PROBLEMS]
        if more > 0:
            shown.append(Problem(str(path), problems[MOST_PROBLEMS].line, 1, f"this line and {more - 1} more are bad"))
        raise UserError("outputs-invalid", *shown)
    return recorded


class _BadRowError(Exception):
    def __init__(self, message: str, column: int = 1) -> None:
        super().__init__(message)
        self.column = column


class _Fields:
    """An object of a row, whose members are asked for by type. `path` names it in errors."""

    def __init__(self, members: dict[str, Any], path: str) -> None:
        self._members = members
        self._path = path

    def text(self, *names: str, required: bool = False) -> str | None:
        value: str | None = self._get(names, str, required)
        if required and not value:
            raise _BadRowError(f"{self._path}.{names[0]} is empty")
        return value

    def whole(self, *names: str, least: int = 1) -> int | None:
        value: int | None = self._get(names, int)
        if value is not None and value < least:
            raise _BadRowError(f"{self._path}.{names[0]} is {value}, it is at least {least}")
        return value

    def dollars(self, name: str) -> float | None:
        value = self._get((name,), float)
        if value is not None and not (isfinite(value) and value >= 0):
            raise _BadRowError(f"{self._path}.{name} is no amount of dollars")
        return None if value is None else float(value)

    def object(self, name: str) -> _Fields | None:
        value = self._get((name,), dict)
        return None if value is None else _Fields(value, f"{self._path}.{name}")

    def objects(self, name: str) -> list[_Fields]:
        items = self._get((name,), list) or []
        for index, item in enumerate(items):
            if not isinstance(item, dict):
                raise _BadRowError(f"{self._path}.{name}[{index}] is not an object")
        return [_Fields(item, f"{self._path}.{name}[{index}]") for index, item in enumerate(items)]

    def texts(self, name: str) -> dict[str, str] | None:
        value: dict[str, str] | None = self._get((name,), dict)
        if value is not None and not all(isinstance(each, str) for each in value.values()):
            raise _BadRowError(f"{self._path}.{name} has a value that is not a string")
        return value

    def arguments(self) -> str:
        value = next((self._members[key] for key in ("arguments", "args") if self._members.get(key) is not None), None)
        if value is None:
            return "{}"
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def value(self, name: str) -> Any:
        return self._members.get(name, UNSET)

    def _get(self, names: tuple[str, ...], kind: type, required: bool = False) -> Any:
        for name in names:
            value = self._members.get(name)
            if value is None:
                continue
            accepted = (int, float) if kind is float else kind
            if not isinstance(value, accepted) or (isinstance(value, bool)):
                raise _BadRowError(f"{self._path}.{name} is not {_WANTED[kind]}")
            return value
        if required:
            raise _BadRowError(f"{self._path}.{names[0]} is missing")
        return None


def _row(text: str) -> _Fields:
    value = parse_json(text)
    if isinstance(value, JsonFault):
        raise _BadRowError(value.message, value.column)
    if not isinstance(value, dict):
        raise _BadRowError("the line is JSON, but not an object")
    return _Fields(value, "$")


def _transcript(row: _Fields) -> Transcript:
    usage = row.object("usage")
    return bounded(
        Transcript(
            text=row.text("text"),
            calls=[_call(call) for call in row.objects("tool_calls")],
            stop_reason=stop_reason_of(row.text("stop_reason")),
            limit=row.text("limit"),
            usage=None if usage is None else _usage(usage),
        )
    )


def _call(call: _Fields) -> Call:
    function = call.object("function") or call
    return Call(
        tool=function.text("name", "tool", required=True) or "",
        arguments=function.arguments(),
        turn=call.whole("turn") or 1,
        id=call.text("id"),
        result=call.value("result"),
        fault=call.text("fault"),
        wrapper=call.text("wrapper"),
    )


def _usage(usage: _Fields) -> Usage:
    return Usage(
        input_tokens=usage.whole("input_tokens", "prompt_tokens", least=0),
        output_tokens=usage.whole("output_tokens", "completion_tokens", least=0),
        cost_usd=usage.dollars("cost_usd"),
    )


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Line numbers and texts without the blank ones. A line that can't be text comes as one that is no JSON."""
    longest = 4 * MAX_CHARACTERS
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(longest + 1):
                number += 1
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if len(line) > longest:
                    raise UserError(
                        "outputs-invalid",
                        Problem(
                            str(path), number, 1, f"a line of more than {longest} bytes", "Write one row to a line."
                        ),
                    )
                text = line.decode(errors="replace").strip()
                if text:
                    yield number, text
    except OSError as error:
        raise user_error(
            "outputs-unreadable",
            f"can't be read: {error.strerror or error}",
            where=str(path),
            mend="Give --outputs the path of a JSON Lines file.",
        ) from error
