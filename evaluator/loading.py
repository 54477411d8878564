"""What a configuration names → tasks and canaries, fetched, checked and read."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from evaluator import canaries, formats, log
from evaluator.cases import SUBJECT, Case, Task
from evaluator.config.types import Config, TaskConfig
from evaluator.errors import Problem, UserError, user_error
from evaluator.formats import trace
from evaluator.results import CanaryResults
from evaluator.scoring import tries
from evaluator.sources import location
from evaluator.sources.fetch import fetch


def run_canaries(config: Config | None, folder: Path, cache: Path, environ: Mapping[str, str]) -> CanaryResults:
    """The built-in canaries, and those that `config` adds, scored by today's validators."""
    results = canaries.run(canaries.load(canaries.builtin_directory()))
    if config is None or config.canaries in (None, "builtin"):
        return results
    own = canaries.run(canaries.load(_fetched(config.canaries, folder, cache, environ)))
    return CanaryResults(version=f"{results.version} + {own.version}", cases=[*results.cases, *own.cases])


def selected(config: Config, names: Sequence[str] | None) -> list[TaskConfig]:
    """The tasks of these names, all where there are none. Raises UserError `task-unknown`."""
    known = [task.name for task in config.tasks]
    for name in names or ():
        if name not in known:
            raise user_error(
                "task-unknown",
                f"there is no task {name!r}",
                where=config.path,
                mend=f"The tasks are: {', '.join(known)}.",
            )
    return [task for task in config.tasks if not names or task.name in names]


def load(wanted: TaskConfig, folder: Path, cache: Path, environ: Mapping[str, str]) -> Task:
    """The task that `wanted` describes, from its fetched source. Raises UserError."""
    return load_with_folder(wanted, folder, cache, environ)[0]


def load_with_folder(wanted: TaskConfig, folder: Path, cache: Path, environ: Mapping[str, str]) -> tuple[Task, Path]:
    """The same, with the folder where the source's files are."""
    began = time.monotonic()
    fetched = fetch(location.parse(wanted.source, where=wanted.name), base=folder, cache=cache, environ=environ)
    task = formats.load(wanted, fetched.directory, fetched.ref)
    cases = task.cases
    log.info(
        "source read",
        task=wanted.name,
        commit=task.source.commit[:12] if task.source.commit else None,
        format=task.format,
        cases=len(cases),
        skipped=len(task.skipped) or None,
        seconds=time.monotonic() - began,
    )
    if wanted.retry.score == "last" and wanted.retry.max_attempts > 1:
        asked_otherwise = {tries.OPTION: f"last of {wanted.retry.max_attempts}"}
        cases = [msgspec.structs.replace(case, options=case.options | asked_otherwise) for case in cases]
    return msgspec.structs.replace(task, cases=cases, notes=[*task.notes, *fetched.notes]), fetched.directory


def with_tools(task: Task, tools: list[dict[str, Any]]) -> Task:
    """`task` with the tools that trap.yaml names on offer in each of its cases."""
    found = task
    if tools:
        offered = {**task.tools, SUBJECT: tools}
        cases = [msgspec.structs.replace(case, tools=offered) for case in task.cases]
        found = msgspec.structs.replace(task, tools=offered, cases=cases)
        found = trace.with_all_tools(found, task) if task.format == trace.NAME else found
    return msgspec.structs.replace(found, cases=[_held_to_read_only(case) for case in found.cases])


def _held_to_read_only(case: Case) -> Case:
    """Which tools only read is part of a case's digest, whoever says it: extra calls of such a tool are no fault, and a
    change could excuse its own."""
    names = sorted(spec["name"] for spec in case.offered() if spec.get("read_only") is True)
    return msgspec.structs.replace(case, options=case.options | {"read_only": names}) if names else case


def refuse_without_files(tasks: Iterable[Task]) -> None:
    """Raises UserError `format-unsupported` for tasks that a command cannot solve, since they have no files for it."""
    problems = [
        Problem(
            f"tasks.{task.name}",
            0,
            0,
            f"a command is the solution, and a task of the format {task.format} has no files for it to read",
            "Name a model in trap.yaml, or score what the command recorded: trapgate score.",
        )
        for task in tasks
        if task.inputs is None
    ]
    if problems:
        raise UserError("format-unsupported", *problems)


def _fetched(source: str, folder: Path, cache: Path, environ: Mapping[str, str]) -> Path:
    return fetch(location.parse(source, where="canaries"), base=folder, cache=cache, environ=environ).directory


def task_of(source: str, format_name: str | None, config: Config | None, folder: Path, name: str | None) -> TaskConfig:
    """The task of `config` that has this source, or one of its own name where there is no configuration."""
    if config is None:
        return TaskConfig(name=name or _name_of(source), source=source, format=format_name)
    fitting = [
        task
        for task in config.tasks
        if name in (None, task.name) and (task.source == source or _same_folder(folder / task.source, Path(source)))
    ]
    if len(fitting) == 1:
        return fitting[0]
    named = next((task for task in config.tasks if task.name == name), None)
    if named is not None:  # the same task, recorded elsewhere
        return msgspec.structs.replace(named, source=source, format=format_name or named.format)
    if fitting:
        raise user_error(
            "source-unknown",
            f"several tasks of {config.path} have the source {source}",
            where=source,
            mend="Say which with --task: " + ", ".join(task.name for task in fitting) + ".",
        )
    raise user_error(
        "source-unknown",
        f"no task of {config.path} has the source {source}",
        where=source,
        mend="Name one of: " + ", ".join(f"{task.source} ({task.name})" for task in config.tasks) + ".",
    )


def _same_folder(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):  # not there, or not even a path
        return False


def _name_of(source: str) -> str:
    return source.rstrip("/").rsplit("/", 1)[-1].rsplit("=", 1)[-1] or "task"
