"""A log as it lies on disk, JSON or JSON Lines → its records, each with its place."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from evaluator.config import json_positions
from evaluator.errors import Problem, UserError
from evaluator.json_text import JsonFault, parse_json
from evaluator.yaml_text import Document, Path_

MOST_BYTES = 256 * 1024 * 1024
MOST_PROBLEMS = 50

MEND = (
    "Import reads OpenAI chat logs and Anthropic messages, as JSON or JSON Lines: a list of messages, "
    '{"messages": [...]} or {"request": {...}, "response": {...}} for each conversation.'
)


class _Source:
    """A JSON text of the file, with the positions of what is in it; they are looked up only for what is refused."""

    def __init__(self, file: str, text: str, first_line: int = 1) -> None:
        self.file = file
        self._text = text
        self.first_line = first_line

    @cached_property
    def _document(self) -> Document | None:
        try:
            return json_positions.load("\n" * (self.first_line - 1) + self._text, self.file)
        except UserError:  # it holds what positions are not kept for: nested too deeply, or huge integers
            return None

    def position(self, path: Path_) -> tuple[int, int]:
        return self._document.position(path) if self._document else (self.first_line, 1)


class Record:
    """One conversation as it was logged; `line` is where it begins. A path is relative to the record."""

    def __init__(self, value: Any, source: _Source, base: Path_ = ()) -> None:
        self.value = value
        self.line = source.position(base)[0] if base else source.first_line
        self._source = source
        self._base = base

    def problem(self, path: Path_, message: str, mend: str = "") -> Problem:
        """What is wrong at `path`."""
        whole = (*self._base, *path)
        return Problem(self._source.file, *self._source.position(whole), f"{_written(whole)}: {message}", mend)


def read(path: Path) -> list[Record]:
    """The records of the log at `path`. Raises UserError `import-unreadable` with every line that cannot be read."""
    file = str(path)
    text = _text(path, file)
    lines = [(number, line.strip()) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return _of_lines(lines, file)
    value = parse_json(text)
    if not isinstance(value, JsonFault):
        return _of_document(value, file, text)
    if len(lines) > 1 and not isinstance(parse_json(lines[0][1]), JsonFault):
        return _of_lines(lines, file)
    mend = "Write it as JSON Lines, one conversation to a line." if value.keyword == "size" else MEND
    raise UserError("import-unreadable", Problem(file, value.line, value.column, value.message, mend))


def is_message(value: Any) -> bool:
    """Whether a value is a chat message and no record of a conversation."""
    return isinstance(value, dict) and "role" in value and "messages" not in value


def _text(path: Path, file: str) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            message = f"larger than {MOST_BYTES // 1024 // 1024} MiB, the most that is read"
            raise UserError("import-unreadable", Problem(file, 0, 0, message, "Split the log."))
        return data.removeprefix(b"\xef\xbb\xbf").decode()
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise UserError("import-unreadable", Problem(file, 0, 0, message, "Give the path of a log file.")) from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError("import-unreadable", Problem(file, line, 1, "not UTF-8", "Save the log as UTF-8.")) from error


def _of_document(value: Any, file: str, text: str) -> list[Record]:
    source = _Source(file, text)
    if not isinstance(value, list) or not value or all(map(is_message, value)):
        return [Record(value, source)]
    return [Record(item, source, (index,)) for index, item in enumerate(value)]


def _of_lines(lines: list[tuple[int, str]], file: str) -> list[Record]:
    records: list[Record] = []
    problems: list[Problem] = []
    for number, line in lines:
        value = parse_json(line)
        if isinstance(value, JsonFault):
            mend = "" if problems else "Each line is one conversation in JSON."
            problems.append(Problem(file, number, value.column, value.message, mend))
        else:
            records.append(Record(value, _Source(file, line, number)))
    if problems:
        raise UserError("import-unreadable", *problems[:MOST_PROBLEMS])
    if len(records) > 1 and all(is_message(record.value) for record in records):
        return [Record([record.value for record in records], _Source(file, "", records[0].line))]
    return records


def _written(path: Path_) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
