"""The whole story: trap.yaml → canaries → tasks → attempts → scores → comparison → verdict → results.json.

`evaluate` calls a model; `score` takes what somebody else produced; `compare` takes two finished runs. What they share
after the transcripts is in `judgement`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
from evaluator.errors import UserError, user_error
from evaluator.judgement import Measured, judge
from evaluator.judging.bench import Asked, Bench, asked_of, open_bench
from evaluator.metrics import summarize
from evaluator.progress import Progress
from evaluator.results import CanaryResults, Fingerprint, Reason, Run, TaskResult, encode
from evaluator.scoring import FOREIGN, Ruler
from evaluator.scoring.self_check import self_check
from evaluator.sources import location
from evaluator.sources.fetch import fetch
from evaluator.transcript import Transcript

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
    unsafe_judges: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Run:
    """Runs what `config` says and writes `output`/results.json; the run with its verdict.

    `folder`: where trap.yaml's paths start. `rules`: the configuration to judge by where it is not `config` itself (on
    a pull request it is the base's): its gate, its prices, no fewer than its repeats, and all of its tasks. `notes`:
    first lines of the report. `model`, `tasks`: overrides; None takes the configuration's. `commit`: of the repository
    under test. `stop`: asks to end early; what is there is judged and written all the same. `unsafe_judges`: run the
    tasks' own judges even where nothing isolates them.

    Raises UserError for bad configuration or input, before anything is paid for.
    """
    from evaluator.config.subject import fingerprint_of, load_subject
    from evaluator.runners import calling, client
    from evaluator.runners.schedule import Job

    started, began = _now(), clock()
    rules = rules or config
    config = _held_to(config, rules)
    ruler = run_canaries(config, folder, cache, environ)
    sound = _is_sound(ruler)
    selected = _selected(config, tasks)
    subject = load_subject(config, folder, model)
    if sound:
        client.warm_up()
    loaded = [_load(task, folder, cache, environ) for task in selected]
    mark = fingerprint.build(loaded, fingerprint_of(subject), ruler.version)
    warnings = [*notes, *(Reason(kind="config", text=note) for note in config.notes)]
    results: list[TaskResult] = []
    rulers: Mapping[str, Ruler] = {}
    judges = open_bench(
        loaded if sound else [],
        environ=environ,
        workspace=folder,
        unsafe=unsafe_judges,
        stop=lambda: stop is not None and stop.reason is not None,
    )
    with judges as bench:
        mark = _with_judges(mark, bench)
        ruler = _with_witnesses(ruler, bench)
        warnings += _about_judges(bench, baseline)
        sound = _is_sound(ruler)
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
            made = {
                task.name: [
                    Made(each.job.case_id, each.job.number, each.result, each.not_run)
                    for each in outcomes
                    if each.job.task == task.name
                ]
                for task in loaded
            }
            rulers = _rulers(bench, loaded, made, baseline)
            for task, wanted in zip(loaded, selected, strict=True):
                planned = {case.id: wanted.repeats for case in task.cases}
                result = _result(task, made[task.name], planned, wanted.repeats, rulers, deterministic=False)
                results.append(_with_notes(result, bench))
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
    run = judge(measured, baseline, rules.gate, allow_missing=rules.baseline.allow_missing, rulers=rulers)
    return _written(run, output)


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
    unsafe_judges: bool = False,
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
    mark = fingerprint.build([task], {}, ruler.version)
    with open_bench([task], environ=environ, workspace=folder, unsafe=unsafe_judges) as bench:
        mark = _with_judges(mark, bench)
        ruler = _with_witnesses(ruler, bench)
        warnings = [*_about_judges(bench, baseline), *_notes(strangers)]
        rulers = _rulers(bench, [task], {task.name: made}, baseline)
        result = _with_notes(_result(task, made, planned, repeats, rulers, deterministic=True), bench)
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
        warnings=warnings,
    )
    if config is None:
        return _written(judge(measured, None, GateConfig(rules=[]), rulers=rulers), output)
    run = judge(measured, baseline, config.gate, allow_missing=config.baseline.allow_missing, rulers=rulers)
    return _written(run, output)


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


def compare(
    baseline: Found,
    run: Run,
    *,
    config: Config | None,
    folder: Path,
    cache: Path,
    environ: Mapping[str, str],
    unsafe_judges: bool = False,
) -> Run:
    """`run` judged anew against `baseline`, both sides scored by today's validators, by the gate of `config` if given.

    Raises UserError `judge-needed` where a task was judged by its own judge and `config` does not lead to that: stored
    verdicts that nothing can repeat are not believed.
    """
    canaries = run_canaries(config, folder, cache, environ)
    tasks = {task.name: task for task in _judged_tasks(run, config, folder, cache, environ)}
    with open_bench(tasks.values(), environ=environ, workspace=folder, unsafe=unsafe_judges) as bench:
        canaries = _with_witnesses(canaries, bench)
        asked = [asked_of(results, tasks) for results in (run.tasks, baseline.baseline.run.tasks)]
        rulers = bench.rulers({name: [each for side in asked for each in side.get(name, [])] for name in tasks})
        warnings = _about_judges(bench, baseline)
    rescored = rescore(run.tasks, rulers)
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
        warnings=warnings,
        rescored=rescored.changes,
    )
    return judge(measured, baseline, config.gate if config is not None else GateConfig(), rulers=rulers)


def _judged_tasks(
    run: Run, config: Config | None, folder: Path, cache: Path, environ: Mapping[str, str]
) -> Iterator[Task]:
    """The tasks of `run` that have a judge of their own, as `config` leads to them, each with every case of the run."""
    for result in run.tasks:
        if result.scorer not in FOREIGN:
            continue
        wanted = next((task for task in config.tasks if task.name == result.name), None) if config else None
        if wanted is None or wanted.judge == "builtin":
            raise _judge_needed(result.name, "its verdicts are those of the task's own judge, which is not at hand")
        task = _load(wanted, folder, cache, environ)
        today = {case.id: case.digest() for case in task.cases}
        others = [case.id for case in result.cases if today.get(case.id) != case.digest]
        if others or task.scorer != result.scorer:
            what = (
                f"the task now has other cases ({', '.join(others[:5])})" if others else "its judge decides otherwise"
            )
            raise _judge_needed(result.name, what)
        yield task


def _judge_needed(name: str, what: str) -> UserError:
    return user_error(
        "judge-needed",
        f"the stored verdicts of {name} cannot be repeated: {what}",
        where=name,
        mend="Give the trap.yaml that the results were made by with --config.",
    )


def run_canaries(config: Config | None, folder: Path, cache: Path, environ: Mapping[str, str]) -> CanaryResults:
    """The built-in canaries, and those that `config` adds, scored by today's validators."""
    results = canaries.run(canaries.load(canaries.builtin_directory()))
    if config is None or config.canaries in (None, "builtin"):
        return results
    own = canaries.run(canaries.load(_fetched(config.canaries, folder, cache, environ)))
    return CanaryResults(version=f"{results.version} + {own.version}", cases=[*results.cases, *own.cases])


def check(
    config: Config, *, folder: Path, cache: Path, environ: Mapping[str, str], unsafe_judges: bool = False
) -> list[tuple[Task, dict[str, str]]]:
    """Every task of `config`, loaded, with what is wrong with its cases (case id → why) and with its own judge (what it
    was asked → what it said). No model is needed."""
    from evaluator.config.subject import load_subject

    run_canaries(config, folder, cache, environ)
    load_subject(config, folder, None)
    tasks = [_load(task, folder, cache, environ) for task in config.tasks]
    with open_bench(tasks, environ=environ, workspace=folder, unsafe=unsafe_judges) as bench:
        broken = [canary for canary in bench.witnessed() if not canary.ok]
        rulers = bench.rulers({})
    return [
        (
            task,
            self_check(task, rulers.get(task.name))
            | {c.id.removeprefix(f"{task.name}: "): c.got for c in broken if c.id.startswith(f"{task.name}: ")},
        )
        for task in tasks
    ]


def _is_sound(ruler: CanaryResults) -> bool:
    return bool(ruler.cases) and all(canary.ok for canary in ruler.cases)


def _with_judges(mark: Fingerprint, bench: Bench) -> Fingerprint:
    return msgspec.structs.replace(mark, scorers={**mark.scorers, **bench.fingerprint})


def _with_witnesses(ruler: CanaryResults, bench: Bench) -> CanaryResults:
    """The canaries, and what the tasks' own judges say to answers that they must know."""
    return msgspec.structs.replace(ruler, cases=[*ruler.cases, *bench.witnessed()])


def _about_judges(bench: Bench, baseline: BaselineState | None) -> list[Reason]:
    """First lines of the report: that judges were not isolated, and which are others than the baseline's."""
    said = [bench.note] if bench.note else []
    if isinstance(baseline, Found):
        before = baseline.baseline.run.fingerprint.scorers
        said += [
            f"The {name} is another than the baseline's: {before[name]} → {version}."
            for name, version in bench.fingerprint.items()
            if name.startswith("judge of ") and before.get(name, version) != version
        ]
    return [Reason(kind="note", text=text) for text in said]


def _rulers(
    bench: Bench, tasks: Sequence[Task], made: Mapping[str, Sequence[Made]], baseline: BaselineState | None
) -> dict[str, Ruler]:
    """The rulers of tasks with judges of their own, which have then judged all that was made and all the baseline has."""
    by_name = {task.name: task for task in tasks}
    stored = asked_of(baseline.baseline.run.tasks, by_name) if isinstance(baseline, Found) else {}
    new = {
        name: [Asked(each.case_id, each.result) for each in found if isinstance(each.result, Transcript)]
        for name, found in made.items()
    }
    return bench.rulers({name: [*new[name], *stored.get(name, [])] for name in new})


def _with_notes(result: TaskResult, bench: Bench) -> TaskResult:
    return msgspec.structs.replace(result, notes=[*result.notes, *bench.notes(result.name, result.cases)])


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
    task: Task,
    made: Sequence[Made],
    planned: Mapping[str, int],
    repeats: int,
    rulers: Mapping[str, Ruler],
    *,
    deterministic: bool,
) -> TaskResult:
    ruler = rulers.get(task.name)
    return summarize(
        task,
        attempts.scored(task, made, ruler),
        repeats=repeats,
        planned_per_case=planned,
        deterministic=deterministic,
        faults=self_check(task, ruler),
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
