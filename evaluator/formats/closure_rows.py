"""The rows of a structure-closure task: which files are read, and what each line holds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import msgspec

from evaluator.formats.confined import TaskFolder
from evaluator.json_text import JsonFault, parse_json
from evaluator.scoring.closure import JSON_FORMATS
from evaluator.scoring.closure_structures import READERS

ROWS = ".jsonl"
PARQUET = ".parquet"
CONTROLS = (
    "close_required",
    "continue_required",
    "value_continue_required",
    "escape_continue_required",
    "opener_retention",
)
MAX_BYTES = 256 * 1024 * 1024
_LONGEST_LINE = 8 * 1024 * 1024
_LONGEST_LOOKED_AT = 1024 * 1024
_TELLING = frozenset({"case_id", "family", "control", "prefix"})
# Columns that are known, and not read: what a right answer is in tokens is no part of the question.
_IGNORED = frozenset({"target_token_ids"})

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
TokenId = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]


class Row(msgspec.Struct, kw_only=True):
    """One line. `prompt_hash`: SHA-256 hex of the prompt, see `prompt_digest`. `path`, `file`, `line`: where it stands,
    as a path in the folder and as a reader knows it."""

    case_id: Name
    family: Name
    control: str
    format: str
    prefix: str
    expected: Any
    task_id: str | int = ""
    instruction: str = ""
    prompt_token_ids: Annotated[list[TokenId], msgspec.Meta(min_length=1)] | None = None
    prompt_hash: str | None = None
    critical: bool = False
    path: str = ""
    file: str = ""
    line: int = 0

    @property
    def group(self) -> str:
        """`family/control`, which is reported by itself."""
        return f"{self.family}/{self.control}"

    @property
    def whole_text(self) -> str | None:
        """The right text from the beginning of the prefix on, where `expected` is that; None where it is the content of
        the structure."""
        expected = self.expected
        return expected if isinstance(expected, str) and expected.startswith(self.prefix) else None

    @property
    def content(self) -> str:
        """What the structure must hold, where `expected` is that: text, of JSON formats the JSON text of it."""
        return self.expected if isinstance(self.expected, str) else json.dumps(self.expected, ensure_ascii=False)


_FIELDS = frozenset(Row.__struct_fields__) - {"path", "file", "line"}


def prompt_text(instruction: str, prefix: str) -> str:
    """The prompt of a completion: the instruction, a line end where it has none, and the prefix as it is."""
    separator = "\n" if instruction and not instruction[-1].isspace() else ""
    return f"{instruction}{separator}{prefix}"


def prompt_digest(instruction: str, prefix: str, token_ids: list[int] | None) -> str:
    """SHA-256 hex of the prompt: of the token ids as JSON without white space (`[1,2]`) where there are any, else of
    the UTF-8 of `prompt_text`."""
    prompt = prompt_text(instruction, prefix) if token_ids is None else json.dumps(token_ids, separators=(",", ":"))
    return hashlib.sha256(prompt.encode()).hexdigest()


def look_like_rows(directory: Path) -> bool:
    """Whether a folder holds a file whose first line is a row; or one of Parquet, so that it is said what to do."""
    if not directory.is_dir():
        return False
    files = sorted(path for path in directory.iterdir() if path.is_file() and not path.is_symlink())
    if any(path.suffix == PARQUET for path in files):
        return True
    return any(_begins_with_a_row(path) for path in files if path.suffix == ROWS)


def _begins_with_a_row(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            line = stream.readline(_LONGEST_LOOKED_AT).decode("utf-8", "replace").strip()
    except OSError:
        return False
    value = parse_json(line)
    return isinstance(value, dict) and value.keys() >= _TELLING


def read(folder: TaskFolder, file: str | None, notes: list[str]) -> list[Row]:
    """The rows of `file`, or of every file *.jsonl of the folder, in order. Faults are added to `folder.problems`,
    columns that nobody knows to `notes`."""
    rows: list[Row] = []
    seen: dict[str, str] = {}
    unknown: set[str] = set()
    for path in _files(folder, file):
        relative, shown = path.relative_to(folder.directory).as_posix(), folder.show(path)
        for line, text in _lines(folder, path):
            row = _row(folder, path, line, text, unknown)
            if row is None:
                continue
            row.path, row.file, row.line = relative, shown, line
            place = f"{row.file}:{line}"
            if (first := seen.setdefault(row.case_id, place)) != place:
                folder.report(path, f"$.case_id: {row.case_id[:80]!r} stands in {first} already", "", line, 1)
            rows.append(row)
    if unknown:
        notes.append(f"keys of rows that have no effect: {', '.join(sorted(unknown)[:10])}")
    return rows


def _files(folder: TaskFolder, file: str | None) -> list[Path]:
    if file is not None:
        path = folder.directory / file
        if ".." in Path(file).parts or not folder.inside(path):
            folder.report(folder.directory, f"options.file: {file!r} leads out of the task's directory")
            return []
        if not path.is_file():
            folder.report(path, "there is no such file", "options.file names the file with the rows.")
            return []
        found = [path]
    else:
        found = [path for path in folder.names(folder.directory) if path.suffix in (ROWS, PARQUET) and path.is_file()]
        if any(path.suffix == ROWS for path in found):
            found = [path for path in found if path.suffix == ROWS]
    for path in found:
        if path.suffix == PARQUET:
            folder.report(path, "Parquet is not read; rows are JSON Lines", _convert(path.name))
    return [path for path in found if path.suffix != PARQUET]


def _convert(name: str) -> str:
    rows = name.removesuffix(PARQUET) + ROWS
    duckdb = f"""duckdb -c "COPY (FROM '{name}') TO '{rows}' (FORMAT json)\""""
    pandas = f"""pandas.read_parquet('{name}').to_json('{rows}', orient='records', lines=True, force_ascii=False)"""
    return f'Convert it and keep the result in its place: {duckdb}, or python -c "import pandas; {pandas}"'


def _lines(folder: TaskFolder, path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, each with its number."""
    if path.stat().st_size > MAX_BYTES:
        folder.report(path, f"larger than {MAX_BYTES // 1024 // 1024} MiB, the most that is read", "Split it.")
        return
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(iter(lambda: stream.readline(_LONGEST_LINE + 1), b""), 1):
                if len(line) > _LONGEST_LINE:
                    too_long = f"a line of more than {_LONGEST_LINE} bytes"
                    folder.report(path, too_long, "Write one row to a line.", number, 1)
                    return
                try:
                    text = line.decode("utf-8").strip()
                except UnicodeDecodeError as error:
                    folder.report(path, "not UTF-8 text", "", number, error.start + 1)
                    continue
                if text:
                    yield number, text
    except OSError as error:
        folder.report(path, f"cannot be read: {error.strerror}")


def _row(folder: TaskFolder, path: Path, line: int, text: str, unknown: set[str]) -> Row | None:
    value = parse_json(text)
    if isinstance(value, JsonFault):
        folder.report(path, value.message, "", line, value.column)
        return None
    if not isinstance(value, dict):
        folder.report(path, "$: not an object", "Each line is a row, a JSON object.", line, 1)
        return None
    unknown.update(islice(value.keys() - _FIELDS - _IGNORED, 10))
    try:
        row = msgspec.convert({key: value[key] for key in value.keys() & _FIELDS}, Row)
    except msgspec.ValidationError as error:
        folder.report(path, _said(error), "" if folder.problems else _WANTED, line, 1)
        return None
    fault = _fault(row)
    if fault:
        folder.report(path, fault[0], fault[1], line, 1)
        return None
    return row


_WANTED = "A row has case_id, family, control, format, prefix and expected."


def _said(error: msgspec.ValidationError) -> str:
    """ "$.case_id: Expected `str`, got `int`", as other faults of JSON are said."""
    message, _, where = str(error).partition(" - at `")
    return f"{where.rstrip('`') or '$'}: {message}"


def _fault(row: Row) -> tuple[str, str] | None:
    """What is wrong with a row whose types are right, and how to mend it."""
    if row.control not in CONTROLS:
        return f"$.control: unknown control {row.control[:80]!r}", f"Known are {', '.join(CONTROLS)}."
    if "/" in row.family:
        return "$.family: a name with a slash", "The slash parts family and control."
    if row.format not in READERS:
        return f"$.format: unknown format {row.format[:80]!r}", f"Known are {', '.join(READERS)}."
    if row.whole_text is None and row.format not in JSON_FORMATS and not isinstance(row.expected, str):
        return f"$.expected: the content of a {row.format} is a text", ""
    if row.prompt_hash is not None:
        actual = prompt_digest(row.instruction, row.prefix, row.prompt_token_ids)
        if row.prompt_hash.removeprefix("sha256:").lower() != actual:
            what = "the token ids" if row.prompt_token_ids is not None else "instruction and prefix"
            mend = "The row was changed, or its hash is of something else."
            return f"$.prompt_hash: the SHA-256 of {what} is {actual}", mend
    return None
