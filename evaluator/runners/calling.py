"""A plan of attempts, made by a model within the limits: the checks before the first call, the calls, the journal."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec

from evaluator import log
from evaluator.cases import Subject, digest_of
from evaluator.config.types import Config, GateConfig
from evaluator.errors import Problem, UserError
from evaluator.live import plan as live
from evaluator.progress import Progress
from evaluator.results import Fingerprint
from evaluator.runners import client, schedule
from evaluator.runners.cache import Cached
from evaluator.runners.command import CommandRunner, Solution
from evaluator.runners.journal import Journal
from evaluator.runners.limiter import Limiter
from evaluator.runners.model import ModelRunner
from evaluator.runners.reach import ADDRESSES
from evaluator.runners.schedule import Job, Outcome
from evaluator.runners.stopping import StopSignal
from evaluator.transcript import Infrastructure, Transcript

# Kinds of failure that cut a run short, in contrast to those of a call.
_CUT_SHORT = frozenset({"cancelled", "time_limit", "cost_limit", "authentication"})


def refuse_unpriced(config: Config, gate: GateConfig, model: str, *, command: bool = False) -> None:
    """Raises UserError `price-unknown` where a limit or rule on cost could not be kept, before anything is paid for.
    `command`: a command is the solution, and what it spends nobody sees."""
    if not command and client.price_known(model, config.price):
        return
    mend = "Add `price: {input_per_million: …, output_per_million: …}`, or take the limit away."
    problems = []
    if config.limits.max_cost_usd is not None:
        what = f"limits.max_cost_usd cannot be kept: the price of {model} is unknown"
        problems.append(Problem(config.path, 0, 0, what, mend))
    problems += [
        Problem(config.path, rule.line, 1, f"this rule on cost cannot be judged: the price of {model} is unknown", mend)
        for rule in gate.rules or []
        if rule.metric == "cost_usd"
    ]
    if problems:
        raise UserError("price-unknown", *problems)


def make(
    plan: Sequence[Job],
    subjects: Mapping[str, Subject],
    config: Config,
    fingerprint: Fingerprint,
    *,
    journal: Path,
    progress: Progress,
    environ: Mapping[str, str],
    stop: StopSignal | None,
    started: float,
    solution: Solution | None = None,
    answers: Path | None = None,
    masks: bool = False,
    clock: Callable[[], float] = time.time,
) -> tuple[list[Outcome], list[str]]:
    """The outcome of every job, in order, and what a reader should know of the calling, one sentence each.

    `subjects`: by the names by which jobs say which model is asked; the limits hold for all of them together.
    `solution`: the command that answers, where no model does. `answers`: folder of earlier answers to take instead of
    asking again, None for none. `masks`: a secret in an answer is masked, where it would else be thrown away: for who
    keeps it and does not score it.
    `started`: the reading of the monotonic clock from which the run's time limit counts; `clock` gives seconds since
    the epoch, for the age of the journal.
    """
    open_journal = partial(
        Journal.open,
        journal,
        plan=digest_of([msgspec.to_builtins(subjects), msgspec.to_builtins(plan)]),
        fingerprint=digest_of(msgspec.to_builtins(fingerprint)),
        endpoint=endpoint_of(environ),
        now=clock(),
    )
    runner: Models | CommandRunner
    if solution is not None:
        runner = CommandRunner(solution, config.limits.concurrency)
    else:
        runner = _models(plan, subjects, config, environ, answers, masks=masks)
    _say(plan, subjects, config)
    return asyncio.run(_make(plan, runner, config, open_journal, progress, stop or StopSignal(), started))


def _say(plan: Sequence[Job], subjects: Mapping[str, Subject], config: Config) -> None:
    """How many attempts each model is asked for; those of canaries and of the other arm have a name of their own."""
    counts = Counter(job.model for job in plan)
    for name, attempts in counts.items():
        fresh = Counter(job.task == live.TASK for job in plan if job.model == name and job.fresh)
        log.info(
            "asking",
            model=subjects[name].model,
            attempts=attempts,
            live_canaries=fresh[True] or None,
            control_arm=fresh[False] or None,
            concurrency=config.limits.concurrency,
        )


class OfModel:
    """A model as the runner of jobs: it sees of a job what is asked, and nothing else."""

    def __init__(self, model: ModelRunner) -> None:
        self._model = model
        self.warnings = model.warnings
        self.close = model.close

    def given_up(self, _model: str) -> Infrastructure | None:
        """As of the model."""
        return self._model.given_up

    async def attempt(self, job: Job) -> Transcript | Infrastructure:
        """One attempt."""
        return await self._model.attempt(job.request, tools=job.tools, recorded=job.frozen, retry=job.retry)


class Models:
    """Several models, each asked for the jobs that name it."""

    def __init__(self, runners: Mapping[str, OfModel | Cached]) -> None:
        self._runners = runners

    def given_up(self, model: str) -> Infrastructure | None:
        """As of that model."""
        return self._runners[model].given_up(model)

    def warnings(self) -> list[str]:
        """Those of every model, each once."""
        return list(dict.fromkeys(said for runner in self._runners.values() for said in runner.warnings()))

    async def attempt(self, job: Job) -> Transcript | Infrastructure:
        """One attempt by the model that the job names."""
        return await self._runners[job.model].attempt(job)

    async def close(self) -> None:
        """Closes the connections of all."""
        for runner in self._runners.values():
            await runner.close()


def _models(
    plan: Sequence[Job],
    subjects: Mapping[str, Subject],
    config: Config,
    environ: Mapping[str, str],
    answers: Path | None,
    *,
    masks: bool,
) -> Models:
    with_tools = {job.model for job in plan if job.tools}
    conditions = {job.request.condition for job in plan if job.request.condition is not None}
    limiters: dict[str, Limiter] = {}
    runners: dict[str, OfModel | Cached] = {}
    for name, subject in subjects.items():
        runner = OfModel(
            ModelRunner(
                subject,
                price=config.price,
                case_timeout=config.limits.case_timeout,
                concurrency=config.limits.concurrency,
                limiters=limiters,
                with_tools=name in with_tools,
                conditions=conditions,
                environ=environ,
                masks=masks,
            )
        )
        runners[name] = runner if answers is None else Cached(runner, subject, endpoint_of(environ), answers)
    return Models(runners)


def endpoint_of(environ: Mapping[str, str]) -> str:
    """A digest of everything in `environ` that is named like the address of a server."""
    return digest_of({name: value for name, value in environ.items() if value and name.upper().endswith(ADDRESSES)})


def worth_resuming(outcomes: Sequence[Outcome]) -> bool:
    """Whether the next run may take up the answers of this one: only where it was cut short.

    A run that came to its end is over, failed attempts included. So is one that a limit or a refused key stopped before
    it had any answer of its own: it would stop there each time, on the same old answers. What is asked afresh in every
    run is no such answer.
    """
    outcomes = [outcome for outcome in outcomes if not outcome.job.fresh]
    cut_short = {
        outcome.result.kind
        for outcome in outcomes
        if isinstance(outcome.result, Infrastructure) and (outcome.not_run or outcome.result.kind in _CUT_SHORT)
    }
    answered = any(isinstance(outcome.result, Transcript) and not outcome.resumed for outcome in outcomes)
    return bool(cut_short) and (answered or "cancelled" in cut_short)


async def _make(
    plan: Sequence[Job],
    runner: Models | CommandRunner,
    config: Config,
    open_journal: Callable[[], Journal],
    progress: Progress,
    stop: StopSignal,
    started: float,
) -> tuple[list[Outcome], list[str]]:
    journal = open_journal()
    if journal.finished:
        log.info("resumed", attempts=len(journal.finished))
    over = False
    try:
        outcomes = await schedule.run(
            plan, runner, limits=config.limits, journal=journal, progress=progress, stop=stop, started=started
        )
        over = not worth_resuming(outcomes)
    finally:
        journal.close(over)
        await runner.close()
    return outcomes, [*runner.warnings(), *journal.notes]
