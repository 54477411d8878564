"""Structure closure: rows of begun structures that a model is to continue → cases (docs/closure.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evaluator.cases import BY_PREFILL, BY_TEXT, BY_TOKEN_IDS, Case, Origin, Request, SourceRef, Task
from evaluator.config.types import TaskConfig
from evaluator.config.wording import bounded
from evaluator.errors import UserError, user_error
from evaluator.formats import closure_inventory, closure_rows
from evaluator.formats.closure_inventory import Inventory
from evaluator.formats.closure_rows import Row
from evaluator.formats.confined import TaskFolder, shown_as
from evaluator.formats.included import included, nothing_left, some
from evaluator.scoring.closure import delimiters_of
from evaluator.scoring.closure_structures import DEFAULT_DELIMITERS, is_closer
from evaluator.transcript import Transcript

NAME = "closure"
MALFORMED = "task-malformed"

_OPTIONS = {
    "file": "file is the name of the file with the rows",
    "prompting": "prompting is completion or prefill",
    "turn_end": "turn_end is a text, or a list of texts",
    "delimiters": f"delimiters: for {' or '.join(DEFAULT_DELIMITERS)} two different texts, what opens and what closes",
}


def detect(directory: Path) -> bool:
    """Whether `directory` holds a file of rows."""
    return closure_rows.look_like_rows(directory)


def load(config: TaskConfig, directory: Path, source: SourceRef) -> Task:
    """The task in `directory`, its cases filtered by `config.include`: by id, and by family, control or both.

    Raises UserError: `task-malformed` with every problem of every row, `task-option`, `task-empty`.
    """
    options = _options(config)
    folder = TaskFolder(directory, shown_as(source))
    notes: list[str] = []
    rows = closure_rows.read(folder, options.pop("file", None), notes)
    inventory = closure_inventory.read(folder)
    if inventory is not None:
        inventory.check(folder, rows)
    prompting = options.pop("prompting", None)
    chosen = [row for row in rows if included(row.case_id, _tags(row.group), config.include)]
    _refuse_mixed(folder, chosen, prompting)
    if folder.problems:
        raise UserError(MALFORMED, *bounded(folder.problems, folder.shown_as))
    missing = _missing(inventory, rows, config)
    if not chosen and not missing:
        none = "A case is a line of a file *.jsonl, an object with case_id, family, control, format, prefix, expected."
        raise nothing_left(config, len(rows), 0, none=none, listed_in="case_id, family and control of the rows")
    return Task(
        name=config.name,
        format=NAME,
        source=source,
        scorer=NAME,
        cases=[*(_case(row, _condition(row, prompting), options) for row in chosen), *missing],
        notes=[*notes, *_audit(inventory, rows, [case.id for case in missing])],
        pooled=False,
    )


def _options(config: TaskConfig) -> dict[str, Any]:
    """The options, checked; `turn_end` as a list."""
    options: dict[str, Any] = {}
    for key, value in config.options.items():
        if key not in _OPTIONS:
            message = f"unknown option {key}; the format {NAME} has {', '.join(_OPTIONS)}"
            raise user_error("task-option", message, where=f"tasks.{config.name}.options")
        if not _is_right(key, value):
            raise user_error("task-option", _OPTIONS[key], where=f"tasks.{config.name}.options")
        options[key] = [value] if key == "turn_end" and isinstance(value, str) else value
    for marker in options.get("turn_end", []):
        if is_closer(marker, delimiters_of(options)):
            message = f"turn_end: {marker!r} closes a structure, and no closer is ever removed"
            raise user_error("task-option", message, where=f"tasks.{config.name}.options")
    return options


def _is_right(key: str, value: Any) -> bool:
    if key == "prompting":
        return value in ("completion", "prefill")
    if key == "file":
        return _is_text(value)
    if key == "turn_end":
        return _is_text(value) or (isinstance(value, list) and bool(value) and all(map(_is_text, value)))
    if not isinstance(value, dict) or not value or not value.keys() <= DEFAULT_DELIMITERS.keys():
        return False
    return all(_is_pair(pair) for pair in value.values())


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_text, value)) and value[0] != value[1]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _condition(row: Row, prompting: str | None) -> str:
    if prompting == "prefill":
        return BY_PREFILL
    return BY_TEXT if row.prompt_token_ids is None else BY_TOKEN_IDS


def _refuse_mixed(folder: TaskFolder, rows: list[Row], prompting: str | None) -> None:
    """What is measured by token ids is not to stand beside what is measured by text."""
    with_ids = sum(_condition(row, prompting) == BY_TOKEN_IDS for row in rows)
    if 0 < with_ids < len(rows):
        message = f"{with_ids} of {len(rows)} rows have prompt_token_ids: two conditions, which are never pooled"
        mend = "Make two tasks of them (`file`, or `include`), or set `options: {prompting: prefill}`."
        folder.report(folder.directory / rows[0].path, message, mend)


def _tags(group: str) -> list[str]:
    return [group, *group.split("/")]


def _case(row: Row, condition: str, options: dict[str, Any]) -> Case:
    text = row.whole_text
    return Case(
        id=row.case_id,
        request=Request(
            messages=[{"role": "user", "content": row.instruction}] if row.instruction else [],
            prefix=row.prefix,
            prompt_token_ids=row.prompt_token_ids if condition == BY_TOKEN_IDS else None,
            condition=condition,
        ),
        expected={"format": row.format, **({"content": row.content} if text is None else {"text": text})},
        options=options,
        slices=[row.group],
        critical=row.critical,
        cluster=str(row.task_id),
        golds=[Transcript(text=text[len(row.prefix) :])] if text is not None else [],
        origin=Origin(file=row.file, line=row.line),
    )


def _missing(inventory: Inventory | None, rows: list[Row], config: TaskConfig) -> list[Case]:
    """A case for each row that the inventory promises and no file has: planned, and never scored."""
    found = inventory.missing(rows) if inventory is not None else {}
    return [
        Case(
            id=case_id,
            request=Request(messages=[]),
            slices=[group],
            absent=f"{closure_inventory.FILE} lists it, and no row has it",
        )
        for case_id, group in found.items()
        if included(case_id, _tags(group), config.include)
    ]


def _audit(inventory: Inventory | None, rows: list[Row], missing: list[str]) -> list[str]:
    if inventory is None:
        return [f"no {closure_inventory.FILE}: whether all rows are there is not known"]
    notes = []
    if missing:
        notes.append(f"in {closure_inventory.FILE}, but without a row, so missing: {some(missing)}")
    if extra := inventory.unlisted(rows):
        notes.append(f"not in {closure_inventory.FILE}: {some(extra)}")
    return notes
