"""`trapgate build closure`: a file of values and call records → a folder with a suite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evaluator.baselines.file import write_atomically
from evaluator.closure.suite import Suite, build, files
from evaluator.errors import Problem, UserError, user_error
from evaluator.json_text import JsonFault, parse_json

MAX_BYTES = 256 * 1024 * 1024
_WANTED = 'Give a JSON list, or JSON Lines, of values or of calls {"name": "f", "arguments": {…}}.'


def build_suite(source: Path, output: Path, *, seed: int, tasks: int | None) -> tuple[Suite, list[Path]]:
    """Writes the suite of the items in `source` into the folder `output`; also the files that were written.

    Raises UserError: `build-input` for a file that cannot be read or has too few items, `build-output` where the folder
    holds something already, for rows of two suites would be one task.
    """
    items = _items(source)
    if tasks is not None and not 0 < tasks <= len(items):
        what = f"--tasks {tasks}, and the file has {len(items)} items"
        raise user_error("build-input", what, where=str(source), mend=f"Ask for 1 to {len(items)}.")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        mend = "Name another folder, or remove what is there."
        raise user_error("build-output", "not an empty folder", where=str(output), mend=mend)
    suite = build(items, seed=seed, tasks=tasks)
    if not suite.rows:
        what = "no item has a structure that could be cut: they are empty, or numbers"
        raise user_error("build-input", what, where=str(source), mend=_WANTED)
    written = []
    for name, text in files(suite):
        write_atomically(output / name, text.encode())
        written.append(output / name)
    return suite, written


def _items(source: Path) -> list[Any]:
    text = _text(source)
    value = parse_json(text.strip())
    if isinstance(value, list):
        return value
    if not isinstance(value, JsonFault):
        return [value]
    if text.lstrip().startswith("[") and "\n" not in text.strip():
        raise UserError("build-input", Problem(str(source), value.line, value.column, value.message, _WANTED))
    items: list[Any] = []
    problems: list[Problem] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        item = parse_json(line.strip())
        if isinstance(item, JsonFault):
            mend = "" if problems else _WANTED
            problems.append(Problem(str(source), number, item.column, item.message, mend))
        items.append(item)
    if problems or not items:
        nothing = Problem(str(source), 0, 0, "the file holds nothing", _WANTED)
        raise UserError("build-input", *(problems[:20] or [nothing]))
    return items


def _text(source: Path) -> str:
    try:
        with source.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        what = f"cannot be read: {error.strerror or error}"
        raise user_error("build-input", what, where=str(source), mend=_WANTED) from error
    if len(data) > MAX_BYTES:
        what = f"larger than {MAX_BYTES // 1024 // 1024} MiB, the most that is read"
        raise user_error("build-input", what, where=str(source), mend="Give a part of it.")
    try:
        return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        raise user_error("build-input", "not UTF-8 text", where=str(source), mend=_WANTED) from error
