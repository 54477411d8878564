"""Arena tasks: arena.toml, dataset.jsonl and corpus.json → cases (docs/arena.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from evaluator.cases import Case, Passage, Request, SourceRef, Task
from evaluator.config.types import TaskConfig
from evaluator.config.wording import bounded
from evaluator.corpus import SEARCH
from evaluator.errors import UserError
from evaluator.formats import labels
from evaluator.formats.arena.files import CORPUS, DATASET, MANIFEST, Manifest, read_corpus, read_manifest
from evaluator.formats.arena.golds import gold_of
from evaluator.formats.arena.items import Item, Reader
from evaluator.formats.confined import TaskFolder, shown_as
from evaluator.formats.included import included, nothing_left, some, text_calls_of

NAME = "arena"
MALFORMED = "task-malformed"
MAX_TURNS = 16
# Each case keeps its corpus in every stored result, so that it can be asked again.
MOST_STORED = 64 * 1024 * 1024

_UNREAD = ("mock_script.json", "canned turns for another program, which are not used")


def detect(directory: Path) -> bool:
    """Whether `directory` holds an arena.toml."""
    return (directory / MANIFEST).is_file()


def load(config: TaskConfig, directory: Path, source: SourceRef) -> Task:
    """The task in `directory`, its cases filtered by `config.include`.

    Raises UserError: `task-malformed` with every problem of every file, `task-option`, `task-empty`.
    """
    text_calls = text_calls_of(config, NAME)
    folder = TaskFolder(directory, shown_as(source))
    notes: list[str] = []
    manifest = read_manifest(folder, notes)
    corpus = read_corpus(folder, notes, wanted=SEARCH["name"] in manifest.tools)
    reader = Reader(folder, manifest.tools if manifest.is_read else None)
    items = reader.items()
    if folder.problems:
        raise UserError(MALFORMED, *bounded(folder.problems, folder.shown_as))
    chosen = [item for item in items if included(item.id, item.tags, config.include)]
    if not chosen:
        none = f"An item is a line of {DATASET}: an object with id, input and checks."
        raise nothing_left(config, len(items), 0, none=none, listed_in=f"id and tags of the items in {DATASET}")
    _refuse_vast(folder, corpus, len(chosen))
    cases = [_case(item, manifest, corpus, text_calls) for item in chosen]
    if (directory / _UNREAD[0]).exists():
        notes.append(f"{_UNREAD[0]} has {_UNREAD[1]}")
    return Task(
        name=config.name,
        format=NAME,
        source=source,
        scorer=NAME,
        cases=cases,
        notes=[*notes, *reader.notes(), *_without_gold(cases)],
    )


def _case(item: Item, manifest: Manifest, corpus: list[Passage], text_calls: bool) -> Case:
    system = [{"role": "system", "content": manifest.intent}] if manifest.intent else []
    request = Request(
        messages=[*system, {"role": "user", "content": item.input}],
        tools=[SEARCH] if SEARCH["name"] in manifest.tools else [],
        max_turns=MAX_TURNS,
        text_calls=text_calls,
        answer_schema=_answer_schema(item.checks),
        corpus=corpus,
    )
    case = Case(
        id=item.id,
        request=request,
        expected={"checks": item.checks},
        slices=labels.slices(item.tags),
        critical=labels.CRITICAL in item.tags,
        cluster=labels.cluster(item.tags),
        origin=item.origin,
    )
    gold = gold_of(case)
    return msgspec.structs.replace(case, golds=[gold] if gold is not None else [])


def _answer_schema(checks: list[dict[str, Any]]) -> dict[str, Any] | None:
    """That of the first check on a schema that says something."""
    schemas = (check["schema"] for check in checks if check["type"] == "json_schema")
    return next((schema for schema in schemas if isinstance(schema, dict) and schema), None)


def _refuse_vast(folder: TaskFolder, corpus: list[Passage], cases: int) -> None:
    size = sum(len(passage.title) + len(passage.text) for passage in corpus)
    if size * cases > MOST_STORED:
        message = f"{size} characters are stored with each of {cases} cases, more than {MOST_STORED} in all"
        folder.report(folder.directory / CORPUS, message, "Shorten the corpus, or split the task.")
        raise UserError(MALFORMED, *folder.problems)


def _without_gold(cases: list[Case]) -> list[str]:
    unchecked = [case.id for case in cases if not case.golds]
    if not unchecked:
        return []
    return [f"no right answer follows from the checks, so they were not tried on one: {some(unchecked)}"]
