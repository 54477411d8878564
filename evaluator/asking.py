"""Tasks → what the models answer, scored: the first pass of a run, and the second one of its control arm."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from evaluator import arms, log, models, task_results, unchanged
from evaluator.attempts import Made
from evaluator.baselines import BaselineState, Found
from evaluator.cases import Subject, Task
from evaluator.config.types import Config, TaskConfig
from evaluator.control import Suspicion
from evaluator.judgement import Judgement
from evaluator.judging import stage
from evaluator.judging.bench import Asked, Bench
from evaluator.progress import Progress
from evaluator.results import Control, Fingerprint, LiveCanaries, TaskResult
from evaluator.scoring import Ruler
from evaluator.transcript import Transcript

if TYPE_CHECKING:  # asyncio, which most commands do without
    from evaluator.runners.command import Solution
    from evaluator.runners.schedule import Job, Outcome
    from evaluator.runners.stopping import StopSignal


@dataclass(frozen=True)
class Line:
    """What a run asks, and how. `rules`: the configuration that it is judged by; `wanted`: the settings of `tasks`, in
    the same order; `mark`: the fingerprint but for the subject; `started`: reading of the monotonic clock from which
    the time limit counts; `solution`: the command that answers, where no model does; `paid`: dollars for each attempt
    that was answered so far, live canaries and control arms included, None where nobody knows."""

    config: Config
    rules: Config
    tasks: list[Task]
    wanted: list[TaskConfig]
    mark: Fingerprint
    bench: Bench
    baseline: BaselineState | None
    journal: Path
    answers: Path | None
    progress: Progress
    environ: Mapping[str, str]
    stop: StopSignal | None
    started: float
    solution: Solution | None
    paid: list[float | None] = field(default_factory=list)

    @property
    def repeats(self) -> dict[str, int]:
        """Task name → attempts of each case."""
        return {task.name: task.repeats for task in self.wanted}

    @property
    def tries(self) -> dict[str, int]:
        """Task name → tries of an attempt whose answer has the wrong shape."""
        return {task.name: task.retry.max_attempts for task in self.wanted}


class Answers(msgspec.Struct, frozen=True):
    """What one model answered, scored. `rulers`: those of tasks with a judge of their own."""

    tasks: list[TaskResult]
    rulers: dict[str, Ruler]
    live: LiveCanaries | None


def first(line: Line, subjects: Mapping[str, Subject]) -> tuple[dict[str, Answers], list[str]]:
    """Every attempt of the plan, by the name of its subject, and what a reader should know of the calling.

    Raises UserError `price-unknown` before the first call.
    """
    from evaluator.live import plan as live
    from evaluator.runners import calling, plan

    command = line.solution is not None
    for subject in subjects.values():
        calling.refuse_unpriced(line.config, line.rules.gate, subject.model, command=command)
    planned = plan.jobs(line.tasks, line.repeats, retry=line.tries, models=list(subjects))
    silent = _no_live_canaries(line, command=command)
    canaries = live.Prepared([], {}, dict.fromkeys(subjects, silent)) if silent else live.prepare(planned, subjects)
    outcomes, said = calling.make(
        [*canaries.jobs, *planned],
        {**subjects, **canaries.subjects},
        line.config,
        line.mark,
        journal=line.journal,
        progress=line.progress,
        environ=line.environ,
        stop=line.stop,
        started=line.started,
        solution=line.solution,
        answers=line.answers,
    )
    line.paid.extend(_costs(outcomes))
    found = {}
    for key, subject in subjects.items():
        made = _by_task(line.tasks, [each for each in outcomes if each.job.model == key])
        rulers = stage.rulers(line.bench, line.tasks, made, models.baseline_of(line.baseline, subject.model))
        results = [
            stage.with_notes(
                _with_tries(task_results.live(task, wanted.repeats, made[task.name], rulers), wanted), line.bench
            )
            for task, wanted in zip(line.tasks, line.wanted, strict=True)
        ]
        found[key] = Answers(results, rulers, live.collect(outcomes, canaries, key))
    return found, said


def kept(line: Line, subjects: Mapping[str, Subject], marks: Mapping[str, Fingerprint]) -> dict[str, Answers] | str:
    """The baseline's own answers, scored again, where nothing that matters differs from it; else what does."""
    if line.solution is not None:
        return "a command is the solution"
    found: dict[str, Answers] = {}
    for key, subject in subjects.items():
        state = models.baseline_of(line.baseline, subject.model)
        if why := unchanged.difference(state, subject, marks[key], line.tasks, line.wanted):
            return why
        rulers = stage.rulers(line.bench, line.tasks, {task.name: [] for task in line.tasks}, state)
        stored = state.baseline.run if isinstance(state, Found) else None
        live = LiveCanaries(silent="nothing that matters differs from the baseline, so nothing was asked")
        found[key] = Answers(unchanged.answers(stored, rulers) if stored is not None else [], rulers, live)
    return found


def again(line: Line, judgement: Judgement, subject: Subject) -> Control:
    """The control arm for what `judgement` suspects, or why there is none."""
    if why := _no_control(line, judgement):
        return Control(silent=why)
    return arms.ask(
        _open(judgement),
        models.baseline_of(line.baseline, subject.model),
        subject,
        line.tasks,
        most=line.rules.drift.control_cases,
        alpha=line.rules.gate.alpha,
        tries=line.tries,
        make=partial(_make_again, line, subject),
        score=partial(_score_again, line.bench),
    )


def _no_live_canaries(line: Line, *, command: bool) -> str:
    if command:
        return "a command is the solution, and what it asks nobody sees"
    if not line.rules.drift.live_canaries:
        return "they are turned off (drift.live_canaries: false)"
    return ""


def _no_control(line: Line, judgement: Judgement) -> str:
    if line.solution is not None:
        return "a command is the solution, and the baseline does not keep its files"
    if judgement.run.unchanged or not _open(judgement):
        return "nothing of what is asked differs from the baseline"
    if line.stop is not None and line.stop.reason is not None:
        return "the run was stopped before the control arm was asked"
    return ""


def _open(judgement: Judgement) -> list[Suspicion]:
    """The suspicions that asking again can tell something about. Where nothing of what is asked differs, that is
    whether a case that counts by itself failed by chance, and whether what was asked for the anchor still does well."""
    return [each for each in judgement.suspicions if not judgement.alike or each.anchor or each.lone]


def _make_again(line: Line, own: Subject, jobs: Sequence[Job], subjects: Mapping[str, Subject]) -> list[Outcome]:
    """The attempts of both arms, within what the limits leave. Raises CannotAskError where that is nothing."""
    from evaluator.runners import calling, client, keys

    for subject in subjects.values():  # before either arm is asked: the answers of one alone would tell nothing
        client.unsupported_params(subject, with_tools=False)  # raises where its model cannot be called at all
        if missing := keys.missing_key(client.provider(subject.model), os.environ, subject.params):
            raise arms.CannotAskError(f"there is no key for {subject.model}, set {missing}")
    limits, price = line.config.limits, line.config.price
    if any(subject.model != own.model for subject in subjects.values()):
        price = None  # it is that of one model
    if limits.max_cost_usd is not None:
        known = [cost for cost in line.paid if cost is not None]
        unpriced = [s.model for s in subjects.values() if not client.price_known(s.model, price)]
        left = limits.max_cost_usd - math.fsum(known)
        if unpriced or len(known) < len(line.paid) or left <= 0:
            why = f"the price of {unpriced[0]} is unknown" if unpriced else "nothing is left of it"
            raise arms.CannotAskError(f"limits.max_cost_usd cannot be kept, {why}")
        limits = msgspec.structs.replace(limits, max_cost_usd=left)
    log.info("control arm", cases=len({(job.task, job.case_id) for job in jobs}), attempts=len(jobs))
    outcomes, _ = calling.make(
        jobs,
        subjects,
        msgspec.structs.replace(line.config, limits=limits, price=price),
        line.mark,
        journal=line.journal.with_suffix(".control.jsonl"),
        progress=line.progress,
        environ=line.environ,
        stop=line.stop,
        started=line.started,
    )
    line.paid.extend(_costs(outcomes))
    return outcomes


def _score_again(bench: Bench, task: Task, made: Sequence[Made], planned: Mapping[str, int]) -> TaskResult:
    answers = [Asked(each.case_id, each.result) for each in made if isinstance(each.result, Transcript)]
    rulers = bench.rulers({task.name: answers})
    return task_results.of(task, made, planned, max(planned.values()), rulers, deterministic=False)


def _costs(outcomes: Sequence[Outcome]) -> list[float | None]:
    """Of every attempt that was paid for; a failure without usage was not answered at all."""
    usages = [each.result.usage for each in outcomes if isinstance(each.result, Transcript) or each.result.usage]
    return [usage.cost_usd if usage is not None else None for usage in usages]


def _with_tries(result: TaskResult, wanted: TaskConfig) -> TaskResult:
    return msgspec.structs.replace(result, tries=wanted.retry.max_attempts)


def _by_task(tasks: Sequence[Task], outcomes: Sequence[Outcome]) -> dict[str, list[Made]]:
    made: dict[str, list[Made]] = {task.name: [] for task in tasks}
    for each in outcomes:
        made[each.job.task].append(Made(each.job.case_id, each.job.number, each.result, each.not_run))
    return made
