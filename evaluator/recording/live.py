"""A task of traces run live → its fixtures, with what the model did written into them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from evaluator import fingerprint, loading
from evaluator.baselines.file import ensure_writable
from evaluator.cases import Case, Subject, Task, digest_of, made_with
from evaluator.config.types import Config, TaskConfig
from evaluator.errors import Problem, UserError, user_error
from evaluator.formats.confined import TaskFolder, shown_as
from evaluator.formats.trace import NAME, files
from evaluator.json_text import parse_json
from evaluator.progress import Progress
from evaluator.recording.scrub import Scrubber
from evaluator.recording.write import fixture_with_recordings, recording_of, write_fixture
from evaluator.scoring.schema import SchemaError, compile_schema
from evaluator.transcript import Infrastructure, Transcript

if TYPE_CHECKING:  # asyncio, which most commands do without
    from evaluator.runners.schedule import Outcome
    from evaluator.runners.stopping import StopSignal


@dataclass(frozen=True)
class RecordedLive:
    """`written`: the fixtures, each with every attempt that was answered. `lost`: attempts without an answer, by kind
    of failure. `notes`: what a reader should know; `masked`: secrets that were left out."""

    written: list[Path]
    attempts: int
    lost: dict[str, int]
    notes: list[str]
    masked: int


def record(
    config: Config,
    *,
    folder: Path,
    cache: Path,
    task_name: str | None,
    output: Path | None,
    progress: Progress,
    environ: Mapping[str, str],
    model: str | None = None,
    stop: StopSignal | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> RecordedLive:
    """Runs a task of traces with the subject of `config` and writes its fixtures with the recordings: into `output`, or
    in place where it is None.

    A fixture of which no attempt was answered stays as it is. So does every one that would be rewritten in place by a
    run that was cut short: the next run goes on from its journal, which is of these fixtures. Raises UserError for bad
    input, before anything is paid for: `model-missing`, `record-format`, `record-in-place`, `not-writable`.
    """
    from evaluator.config.subject import load_subject
    from evaluator.runners import calling, plan

    began = clock()
    wanted = _task(config, task_name)
    if model is None and config.command is not None:
        message = "only a model is recorded, and a command is the solution"
        raise user_error("model-missing", message, where=config.path, mend="Name one with --model provider/name.")
    subject = load_subject(config, folder, model)
    config = msgspec.structs.replace(config, price=config.price_of(subject.model))
    task, directory = loading.load_with_folder(wanted, folder, cache, environ)
    if task.format != NAME:
        message = f"only traces are recorded, and the format of {task.name} is {task.format}"
        raise user_error("record-format", message, where=f"tasks.{task.name}")
    task = loading.with_tools(task, subject.tools)
    targets = _targets(task, directory, output)
    for place in {target.path.parent for target in targets.values()}:
        ensure_writable(place)
    calling.refuse_unpriced(config, config.gate, subject.model)
    outcomes, said = calling.make(
        plan.jobs([task], {task.name: wanted.repeats}),
        {"": subject},
        config,
        fingerprint.build([task], subject.entries(), "record"),
        journal=cache / "journals" / f"record-{digest_of(str((output or directory).resolve()))[:16]}.jsonl",
        progress=progress,
        environ=environ,
        stop=stop,
        started=began,
        masks=True,
    )
    answered = sum(isinstance(each.result, Transcript) for each in outcomes)
    lost = Counter(each.result.kind for each in outcomes if isinstance(each.result, Infrastructure))
    notes = [*said, *_other_models(config, subject)]
    if output is None and calling.worth_resuming(outcomes):
        notes.append(f"cut short: no fixture was changed, and the next run goes on from {answered} recorded attempts")
        return RecordedLive([], 0, dict(sorted(lost.items())), notes, 0)
    scrubber = Scrubber(environ)
    written = [
        path for case in task.cases if (path := _write(case, subject, targets[case.id], outcomes, scrubber)) is not None
    ]
    return RecordedLive(written, answered, dict(sorted(lost.items())), notes, scrubber.masked)


def _other_models(config: Config, subject: Subject) -> list[str]:
    others = [model for model in config.models if model != subject.model]
    return [f"recorded with {subject.model} alone, not with {', '.join(others)}"] if others else []


@dataclass(frozen=True)
class _Target:
    path: Path
    fixture: dict[str, Any]


def _task(config: Config, name: str | None) -> TaskConfig:
    if name is None and len(config.tasks) > 1:
        names = ", ".join(task.name for task in config.tasks)
        message = "several tasks, and one is recorded at a time"
        raise user_error("record-format", message, where=config.path, mend=f"Say which with --task: {names}.")
    return loading.selected(config, [name] if name else None)[0]


def _targets(task: Task, directory: Path, output: Path | None) -> dict[str, _Target]:
    """Case id → where its fixture is written, and the fixture as it stands."""
    chosen = {case.id for case in task.cases}
    found = files.read(TaskFolder(directory, shown_as(task.source))).entries
    entries = {entry.value["task_id"]: entry for entry in found if entry.value["task_id"] in chosen}
    if output is not None:
        if output.resolve() in (directory, directory / files.FOLDER):
            message = "this is the folder of the task itself, where every case would stand twice"
            raise user_error(
                "record-in-place", message, where=str(output), mend="Leave --output out, or name another folder."
            )
        return {
            case.id: _Target(output / _file_name(case.id), _with_tools(entries[case.id].value, case))
            for case in task.cases
        }
    if task.source.commit is not None:
        message = "a pinned source cannot be recorded in place"
        raise user_error("record-in-place", message, where=f"tasks.{task.name}", mend="Name a folder with --output.")
    problems = [
        Problem(entry.file, entry.line, 1, "only a fixture in a JSON file of its own is recorded in place")
        for entry in entries.values()
        if entry.path.suffix != ".json"
    ]
    if problems:
        mend = Problem(
            f"tasks.{task.name}", 0, 0, "some fixtures would lose their form", "Name a folder with --output."
        )
        raise UserError("record-in-place", *problems[:20], mend)
    return {case_id: _Target(entry.path, entry.value) for case_id, entry in entries.items()}


def _with_tools(fixture: dict[str, Any], case: Case) -> dict[str, Any]:
    """Elsewhere the files that a fixture names are not at hand: all that is on offer is written into it, since inline
    tools must have each that the fixture names."""
    return fixture if case.request.tools_file is None else {**fixture, "tools": case.offered()}


def _file_name(case_id: str) -> str:
    plain = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in case_id).lstrip(".")
    return f"{plain if plain == case_id else f'{plain[:80]}-{digest_of(case_id)[:8]}'}.json"


def _write(
    case: Case, subject: Subject, target: _Target, outcomes: Sequence[Outcome], scrubber: Scrubber
) -> Path | None:
    whole = made_with(subject, case)
    recordings = [
        recording_of(
            each.result,
            number=each.job.number,
            model=each.result.model or subject.model,
            date=datetime.now(UTC).isoformat(timespec="seconds"),
            subject_parts=whole.entries(),
            subject_digest=whole.digest(),
            schema_checks=_schema_checks(each.result, case),
        )
        for each in outcomes
        if each.job.case_id == case.id and isinstance(each.result, Transcript)
    ]
    if not recordings:
        return None
    write_fixture(target.path, fixture_with_recordings(target.fixture, scrubber.value(recordings)))
    return target.path


def _schema_checks(transcript: Transcript, case: Case) -> list[dict[str, Any]]:
    """For each call of an offered tool whether its arguments were valid by that tool's schema."""
    schemas = {spec["name"]: spec.get("parameters", {}) for spec in case.offered()}
    checks = []
    for step, call in enumerate(transcript.calls, 1):
        if call.tool not in schemas:
            continue
        try:
            schema = compile_schema(schemas[call.tool])
        except SchemaError:  # said when the task was loaded
            continue
        arguments = parse_json(call.arguments)
        is_call = call.fault is None and isinstance(arguments, dict)  # no schema vouches for what could not be read
        checks.append({"step": step, "valid": is_call and schema.findings(arguments) == []})
    return checks
