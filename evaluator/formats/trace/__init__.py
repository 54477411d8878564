"""Traces: fixtures of tool calls → cases, and what was recorded of them (docs/traces.md)."""

from __future__ import annotations

from pathlib import Path

import msgspec

from evaluator.cases import Case, SourceRef, Task
from evaluator.config.types import TaskConfig
from evaluator.config.wording import bounded
from evaluator.errors import UserError
from evaluator.formats.confined import TaskFolder, shown_as
from evaluator.formats.included import included, nothing_left, text_calls_of
from evaluator.formats.trace import files
from evaluator.formats.trace.case import case_of, recorded_of, request_of
from evaluator.formats.trace.fixture import Fixture
from evaluator.formats.trace.golds import golds_of
from evaluator.formats.trace.notes import notes_of
from evaluator.formats.trace.reading import Reader

NAME = "trace"
MALFORMED = "task-malformed"


def detect(directory: Path) -> bool:
    """Whether `directory` holds a fixture: a file with a `task_id` in it or in its folder fixtures/."""
    return files.look_like_fixtures(directory)


def load(config: TaskConfig, directory: Path, source: SourceRef) -> Task:
    """The task in `directory`, its cases filtered by `config.include`.

    Raises UserError: `task-malformed` with every problem of every fixture, `task-option`, `task-empty`.
    """
    text_calls = text_calls_of(config, NAME)
    folder = TaskFolder(directory, shown_as(source))
    reader = Reader(folder)
    fixtures = reader.fixtures()
    if folder.problems:
        raise UserError(MALFORMED, *bounded(folder.problems, folder.shown_as))
    chosen = [each for each in fixtures if included(each.task_id, each.tags, config.include)]
    wanted = [each for each in chosen if not each.skip]
    if not wanted:
        raise nothing_left(
            config,
            len(fixtures),
            len(chosen),
            none="A case is a fixture: a file *.json, *.yaml or *.jsonl with a task_id, here or in fixtures/.",
            listed_in="task_id and tags of the fixtures",
        )
    cases = [_case(reader, each, text_calls) for each in wanted]
    return Task(
        name=config.name,
        format=NAME,
        source=source,
        scorer=NAME,
        cases=cases,
        recorded=[recorded for each in wanted for recorded in recorded_of(each)],
        skipped=[each.task_id for each in chosen if each.skip],
        notes=[*reader.notes, *notes_of(cases)],
        tools={name: specs for case in cases for name, specs in case.tools.items()},
    )


def with_all_tools(task: Task, before: Task) -> Task:
    """`task`, which is `before` with further tools on offer, with the golds and the notes that it has with these."""
    cases = [_with_golds(case) for case in task.cases]
    outdated = notes_of(before.cases)
    notes = [note for note in task.notes if note not in outdated]
    return msgspec.structs.replace(task, cases=cases, notes=[*notes, *notes_of(cases)])


def _case(reader: Reader, fixture: Fixture, text_calls: bool) -> Case:
    tools = reader.files(fixture)
    request = request_of(fixture, reader.specs(fixture), next(iter(tools), None), text_calls)
    case = case_of(fixture, request, tools, reader.origin(fixture))
    return _with_golds(case)


def _with_golds(case: Case) -> Case:
    return msgspec.structs.replace(case, golds=golds_of(case))
