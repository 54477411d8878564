"""Two stored runs → a verdict on the second, as `trapgate compare` gives it: every score is made anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from evaluator import loading, models
from evaluator.baselines import BaselineState, Found
from evaluator.cases import Task
from evaluator.config.types import Config, GateConfig
from evaluator.drift import rescore
from evaluator.errors import UserError, user_error
from evaluator.judgement import Measured, judge
from evaluator.judging import stage
from evaluator.judging.bench import open_bench
from evaluator.results import CanaryResults, Control, Run, TaskResult, models_of
from evaluator.scoring import FOREIGN, Ruler


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
    canaries = loading.run_canaries(config, folder, cache, environ)
    gate = config.gate if config is not None else GateConfig()
    runs = [run, *run.beside]
    tasks = {task.name: task for each in runs for task in _judged_tasks(each, config, folder, cache, environ)}
    with open_bench(tasks.values(), environ=environ, workspace=folder, unsafe=unsafe_judges) as bench:
        canaries = stage.with_witnesses(canaries, bench)
        rulers = stage.rulers_of_stored(
            bench, tasks, [*(t for each in runs for t in _with_control(each)), *stage.stored_tasks(baseline.baseline)]
        )
        warnings = stage.first_lines(bench, baseline)
    names = models_of(run)
    warnings = [*models.notes(baseline, names), *warnings]
    spent = [task for each in runs for task in each.tasks] if run.beside else []
    judged = []
    for name, each in zip(names, runs, strict=True):
        own = models.baseline_of(baseline, name)
        measured = _measured(each, own, canaries, rulers, spent)
        allow_missing = config.baseline.allow_missing if config is not None else False
        judged.append(judge(measured, own, gate, allow_missing=allow_missing, rulers=rulers))
    return models.together(judged, models.lost(baseline, names), warnings)


def _measured(
    run: Run,
    baseline: BaselineState | None,
    canaries: CanaryResults,
    rulers: Mapping[str, Ruler],
    spent: list[TaskResult],
) -> Measured:
    rescored = rescore(run.tasks, rulers)
    return Measured(
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
        spent=spent,
        live=run.live,
        control=_control(run.control, rulers),
        unchanged=run.unchanged,
    )


def _with_control(run: Run) -> list[TaskResult]:
    """All tasks that hold answers of the run."""
    return [*run.tasks, *(run.control.base if run.control else ()), *(run.control.change if run.control else ())]


def _control(control: Control | None, rulers: Mapping[str, Ruler]) -> Control | None:
    """The control arm as today's validators score it."""
    if control is None:
        return None
    base, change = (rescore(tasks, rulers).tasks for tasks in (control.base, control.change))
    return msgspec.structs.replace(control, base=base, change=change)


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
        task = loading.load(wanted, folder, cache, environ)
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


def _left_out(baseline: BaselineState | None, run: Run) -> list[str]:
    """Tasks of the baseline that a run of chosen tasks was never meant to have."""
    names = {task.name for task in run.tasks}
    if run.selection is None or not isinstance(baseline, Found):
        return []
    return [t.name for t in baseline.baseline.run.tasks if t.name not in names]
