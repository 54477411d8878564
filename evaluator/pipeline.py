"""The whole story: trap.yaml → canaries → tasks → attempts → scores → comparison → verdict → results.json.

`evaluate` calls a model; `score` takes what somebody else produced; `compare` takes two finished runs. What they share
after the transcripts is in `judgement`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from evaluator import attempts, canaries, fingerprint, formats
from evaluator.attempts import Made
from evaluator.baselines import BaselineState, Found
from evaluator.baselines.file import write_atomically
from evaluator.cases import Task, digest_of
from evaluator.config.types import Config, GateConfig, TaskConfig
from evaluator.drift import rescore
from evaluator.errors import user_error
from evaluator.judgement import Measured, judge
from evaluator.metrics import summarize
from evaluator.progress import Progress
from evaluator.results import CanaryResults, Reason, Run, TaskResult, encode
from evaluator.scoring.self_check import self_check
from evaluator.sources import location
from evaluator.sources.fetch import fetch

if TYPE_CHECKING:  # asyncio, which most commands do without
    from evaluator.runners.stopping import StopSignal

RESULTS = "results.json"


def evaluate(
    config: Config,
    *,
    folder: Path,
    output: Path,
    cache: Path,
    baseline: BaselineState | None,
    progress: Progress,
    environ: Mapping[str, str],
    gate: GateConfig | None = None,
    allow_missing: bool | None = None,
    notes: Sequence[Reason] = (),
    model: str | None = None,
    tasks: Sequence[str] | None = None,
    commit: str | None = None,
    stop: StopSignal | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Run:
    """Runs what `config` says and writes `output`/results.json; the run with its verdict.

    `folder`: where trap.yaml's paths start. `gate`, `allow_missing`: the rules to judge by where they are not the
    configuration's own (on a pull request they come from the base). `notes`: first lines of the report. `model`,
    `tasks`: overrides; None takes the configuration's. `commit`: of the repository under test. `stop`: asks to
    end early; what is there is judged and written all the same.

    Raises UserError for bad configuration or input, before anything is paid for.
    """
    from evaluator.config.subject import fingerprint_of, load_subject
    from evaluator.runners import calling, client
    from evaluator.runners.schedule import Job

    started, began = _now(), clock()
    gate = gate or config.gate
    ruler = run_canaries(config, folder, cache, environ)
    sound = bool(ruler.cases) and all(canary.ok for canary in ruler.cases)
    selected = _selected(config, tasks)
    subject = load_subject(config, folder, model)
    if sound:
        client.warm_up()
    loaded = [_load(task, folder, cache, environ) for task in selected]
    mark = fingerprint.build(loaded, fingerprint_of(subject), ruler.version)
    warnings = [*notes, *(Reason(kind="config", text=note) for note in config.notes)]
    results: list[TaskResult] = []
    if sound:  # a broken ruler measures nothing: no call is paid for
        calling.refuse_unpriced(config, gate, subject.model)
        plan = [
            Job(task.name, case.id, number, case.request)
            for task, wanted in zip(loaded, selected, strict=True)
            for case in task.cases
            for number in range(1, wanted.repeats + 1)
        ]
        outcomes, said = calling.make(
            plan,
            subject,
            config,
            mark,
            journal=_journal(cache, output),
            progress=progress,
            environ=environ,
            stop=stop,
            started=began,
        )
        warnings += [Reason(kind="provider", text=text) for text in said]
        for task, wanted in zip(loaded, selected, strict=True):
            made = [
                Made(each.job.case_id, each.job.number, each.result, each.not_run)
                for each in outcomes
                if each.job.task == task.name
            ]
            planned = {case.id: wanted.repeats for case in task.cases}
            results.append(_result(task, made, planned, wanted.repeats, deterministic=False))
    measured = Measured(
        name=config.name,
        started=started,
        seconds=clock() - began,
        fingerprint=msgspec.structs.replace(mark, answered=fingerprint.answered(results)),
        canaries=ruler,
        tasks=results,
        subject=subject,
        commit=commit,
        selection=[task.name for task in selected] if tasks else None,
        unselected=[task.name for task in config.tasks if task not in selected],
        warnings=warnings,
    )
    allowed = config.baseline.allow_missing if allow_missing is None else allow_missing
    return _written(judge(measured, baseline, gate, allow_missing=allowed), output)


def score(
    source: str,
    *,
    outputs: Path | None,
    format_name: str | None,
    config: Config | None,
    folder: Path,
    output: Path,
    cache: Path,
    baseline: BaselineState | None,
    environ: Mapping[str, str],
    clock: Callable[[], float] = time.monotonic,
) -> Run:
    """Scores what somebody else produced for the task at `source`: the rows of `outputs`, else what the source itself
    has recorded. Without `config` only coverage and canaries are judged.

    Raises UserError for bad input.
    """
    from evaluator.runners.recorded import read_outputs

    started, began = _now(), clock()
    ruler = run_canaries(config, folder, cache, environ)
    wanted = _task_of(source, format_name, config, folder)
    # A source given on the command line starts where the user stands, one of trap.yaml where that file is.
    task = _load(wanted, folder if config is not None and wanted in config.tasks else Path(), cache, environ)
    rows = read_outputs(outputs) if outputs is not None else task.recorded
    if not rows:
        raise user_error(
            "outputs-missing",
            "there is nothing to score: the task has no recordings",
            where=source if outputs is None else str(outputs),
            mend="Give a file with --outputs, one JSON object a line.",
        )
    made, strangers = attempts.recorded(task, rows)
    planned = attempts.counts(made)
    result = _result(task, made, planned, min(planned.values(), default=1), deterministic=True)
    mark = fingerprint.build([task], {}, ruler.version)
    measured = Measured(
        name=config.name if config is not None else None,
        started=started,
        seconds=clock() - began,
        fingerprint=msgspec.structs.replace(mark, answered=fingerprint.answered([result])),
        canaries=ruler,
        tasks=[result],
        unselected=[each.name for each in config.tasks if each.name != task.name] if config is not None else [],
        warnings=_notes(strangers),
    )
    if config is None:
        return _written(judge(measured, None, GateConfig(rules=[])), output)
    return _written(judge(measured, baseline, config.gate, allow_missing=config.baseline.allow_missing), output)


def compare(baseline: Found, run: Run, *, gate: GateConfig, canaries: CanaryResults) -> Run:
    """`run` judged anew against `baseline`, both sides scored by today's validators."""
    rescored = rescore(run.tasks)
    measured = Measured(
        name=run.name,
        started=run.started,
        seconds=run.totals.seconds,
        fingerprint=run.fingerprint,
        canaries=canaries,
        tasks=run.tasks,
        subject=run.subject,
        commit=run.commit,
        selection=run.selection,
        unselected=_left_out(baseline, run),
        rescored=rescored.changes,
    )
    return judge(measured, baseline, gate)


def run_canaries(config: Config | None, folder: Path, cache: Path, environ: Mapping[str, str]) -> CanaryResults:
    """The built-in canaries, and those that `config` adds, scored by today's validators."""
    results = canaries.run(canaries.load(canaries.builtin_directory()))
    if config is None or config.canaries in (None, "builtin"):
        return results
    own = canaries.run(canaries.load(_fetched(config.canaries, folder, cache, environ)))
    return CanaryResults(version=f"{results.version} + {own.version}", cases=[*results.cases, *own.cases])


def check(
    config: Config, *, folder: Path, cache: Path, environ: Mapping[str, str]
) -> list[tuple[Task, dict[str, str]]]:
    """Every task of `config`, loaded, with what is wrong with its cases (case id → why). No model is needed."""
    from evaluator.config.subject import load_subject

    run_canaries(config, folder, cache, environ)
    load_subject(config, folder, None)
    tasks = [_load(task, folder, cache, environ) for task in config.tasks]
    return [(task, self_check(task)) for task in tasks]


def _journal(cache: Path, output: Path) -> Path:
    """The journal of runs into `output`. It is trusted, so it lies where no pull request can commit one."""
    return cache / "journals" / f"{digest_of(str(output.resolve()))[:16]}.jsonl"


def _selected(config: Config, names: Sequence[str] | None) -> list[TaskConfig]:
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


def _load(wanted: TaskConfig, folder: Path, cache: Path, environ: Mapping[str, str]) -> Task:
    fetched = fetch(location.parse(wanted.source, where=wanted.name), base=folder, cache=cache, environ=environ)
    task = formats.load(wanted, fetched.directory, fetched.ref)
    return msgspec.structs.replace(task, notes=[*task.notes, *fetched.notes])


def _fetched(source: str, folder: Path, cache: Path, environ: Mapping[str, str]) -> Path:
    return fetch(location.parse(source, where="canaries"), base=folder, cache=cache, environ=environ).directory


def _task_of(source: str, format_name: str | None, config: Config | None, folder: Path) -> TaskConfig:
    """The task of `config` that has this source, or one of its own name where there is no configuration."""
    if config is None:
        return TaskConfig(name=_name_of(source), source=source, format=format_name)
    for task in config.tasks:
        if task.source == source or _same_folder(folder / task.source, Path(source)):
            return task
    raise user_error(
        "source-unknown",
        f"no task of {config.path} has the source {source}",
        where=source,
        mend="Name one of: " + ", ".join(task.source for task in config.tasks) + ".",
    )


def _same_folder(one: Path, other: Path) -> bool:
    return one.is_dir() and other.is_dir() and one.samefile(other)


def _name_of(source: str) -> str:
    return source.rstrip("/").rsplit("/", 1)[-1].rsplit("=", 1)[-1] or "task"


def _result(
    task: Task, made: Sequence[Made], planned: Mapping[str, int], repeats: int, *, deterministic: bool
) -> TaskResult:
    return summarize(
        task,
        attempts.scored(task, made),
        repeats=repeats,
        planned_per_case=planned,
        deterministic=deterministic,
        faults=self_check(task),
    )


def _left_out(baseline: Found, run: Run) -> list[str]:
    """Tasks of the baseline that a run of chosen tasks was never meant to have."""
    names = {task.name for task in run.tasks}
    return [] if run.selection is None else [t.name for t in baseline.baseline.run.tasks if t.name not in names]


def _notes(strangers: Sequence[str]) -> list[Reason]:
    if not strangers:
        return []
    what = "output belongs" if len(strangers) == 1 else "outputs belong"
    return [Reason(kind="note", text=f"{len(strangers)} {what} to no case: {', '.join(strangers[:5])}")]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _written(run: Run, output: Path) -> Run:
    write_atomically(output / RESULTS, encode(run))
    return run
