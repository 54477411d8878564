"""The whole story: trap.yaml → canaries → tasks → attempts → scores → comparison → verdict → results.json.

`evaluate` calls a model; `score` takes what somebody else produced; `compare` takes two finished runs. What they share
after the transcripts is in `judgement`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from evaluator import attempts, canaries, fingerprint, formats
from evaluator.attempts import Made
from evaluator.baselines import BaselineState, Found
from evaluator.baselines.file import not_writable, write_atomically
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
REPORTS = ("comment.md", "report.html")


def evaluate(
    config: Config,
    *,
    folder: Path,
    output: Path,
    cache: Path,
    baseline: BaselineState | None,
    progress: Progress,
    environ: Mapping[str, str],
    rules: Config | None = None,
    notes: Sequence[Reason] = (),
    model: str | None = None,
    tasks: Sequence[str] | None = None,
    commit: str | None = None,
    stop: StopSignal | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Run:
    """Runs what `config` says and writes `output`/results.json; the run with its verdict.

    `folder`: where trap.yaml's paths start. `rules`: the configuration to judge by where it is not `config` itself (on
    a pull request it is the base's): its gate, its prices, no fewer than its repeats, and all of its tasks. `notes`:
    first lines of the report. `model`, `tasks`: overrides; None takes the configuration's. `commit`: of the repository
    under test. `stop`: asks to end early; what is there is judged and written all the same.

    Raises UserError for bad configuration or input, before anything is paid for.
    """
    from evaluator.config.subject import fingerprint_of, load_subject
    from evaluator.runners import calling, client
    from evaluator.runners.schedule import Job

    started, began = _now(), clock()
    rules = rules or config
    config = _held_to(config, rules)
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
        calling.refuse_unpriced(config, rules.gate, subject.model)
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
    # Without a sound ruler every task was left out, none was removed by the change.
    chosen = {task.name for task in selected} if sound else set()
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
        unselected=_left(config, rules, chosen) if tasks or not sound else [],
        expected=[task.name for task in rules.tasks if not tasks or task.name in chosen] if sound else [],
        warnings=warnings,
    )
    return _written(judge(measured, baseline, rules.gate, allow_missing=rules.baseline.allow_missing), output)


def score(
    source: str,
    *,
    outputs: Path | None,
    format_name: str | None,
    config: Config | None,
    task_name: str | None,
    folder: Path,
    output: Path,
    cache: Path,
    baseline: BaselineState | None,
    environ: Mapping[str, str],
    clock: Callable[[], float] = time.monotonic,
) -> Run:
    """Scores what somebody else produced for the task at `source`: the rows of `outputs`, else what the source itself
    has recorded. Without `config` only coverage and canaries are judged; `task_name` says which of its tasks is meant
    where several have this source.

    Raises UserError for bad input.
    """
    from evaluator.runners.recorded import read_outputs

    started, began = _now(), clock()
    ruler = run_canaries(config, folder, cache, environ)
    wanted = _task_of(source, format_name, config, folder, task_name)
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
    planned = attempts.planned(task, rows, wanted.repeats)
    repeats = wanted.repeats if config is not None else min(attempts.counts(rows, task).values(), default=1)
    result = _result(task, made, planned, repeats, deterministic=True)
    mark = fingerprint.build([task], {}, ruler.version)
    others = [each.name for each in config.tasks if each.name != task.name] if config is not None else []
    measured = Measured(
        name=config.name if config is not None else None,
        started=started,
        seconds=clock() - began,
        fingerprint=msgspec.structs.replace(mark, answered=fingerprint.answered([result])),
        canaries=ruler,
        tasks=[result],
        selection=[task.name] if others else None,
        unselected=others,
        warnings=_notes(strangers),
    )
    if config is None:
        return _written(judge(measured, None, GateConfig(rules=[])), output)
    return _written(judge(measured, baseline, config.gate, allow_missing=config.baseline.allow_missing), output)


def clear(output: Path) -> None:
    """Removes what an earlier run left in `output`, so that a run without a result leaves none behind.

    Raises UserError `not-writable` where `output` cannot be a folder with results: before anything is paid for.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
        for name in (RESULTS, *REPORTS):
            (output / name).unlink(missing_ok=True)
        (output / ".writable").write_bytes(b"")
        (output / ".writable").unlink()
    except OSError as error:
        raise not_writable(output, error) from error


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


def _held_to(config: Config, rules: Config) -> Config:
    """`config` with what it may not set for itself: the price that a cost rule goes by, and fewer attempts than the
    rules' own, which would make pass^k easier and every drop harder to see."""
    if rules is config:
        return config
    least = {task.name: task.repeats for task in rules.tasks}
    tasks = [msgspec.structs.replace(task, repeats=max(task.repeats, least.get(task.name, 1))) for task in config.tasks]
    return msgspec.structs.replace(config, price=rules.price, tasks=tasks)


def _left(config: Config, rules: Config, chosen: Collection[str]) -> list[str]:
    """The tasks of either that were not chosen, each once."""
    return [name for name in dict.fromkeys(t.name for t in (*config.tasks, *rules.tasks)) if name not in chosen]


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


def _task_of(source: str, format_name: str | None, config: Config | None, folder: Path, name: str | None) -> TaskConfig:
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
