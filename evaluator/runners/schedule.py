"""Jobs → outcomes: so many at a time, within the limits of money and time, and exactly one outcome for every job.

What is not run says why. A signal or a limit ends the calling, never the reporting. A key that is refused or missing,
or a server that is not there, ends the calling of its model.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from evaluator import log
from evaluator.cases import Frozen, Request
from evaluator.config.types import Limits
from evaluator.progress import Progress
from evaluator.runners.journal import Journal, Key
from evaluator.runners.stopping import StopSignal
from evaluator.transcript import Infrastructure, Transcript

# Seconds that calls in flight are given to finish after a signal: the platform kills some 10 s after it.
GRACE = 5.0
# Seconds that a cancelled call may take to let go before it is left behind; it has its outcome already.
_LET_GO = 1.0


@dataclass(frozen=True)
class Job:
    """An attempt to be made; `number` counts from 1 within the case.

    `tools`: specs that the case offers; `frozen`: what its tools answered when it was recorded; `retry`: tries in all
    where an answer's shape is wrong; `model`: which of the run's models is asked, empty for the only one; `fresh`: it
    asks about the provider of this very moment, so no answer of an earlier run will do, and none is kept for a later.
    """

    task: str
    case_id: str
    number: int
    request: Request
    tools: list[dict[str, Any]] = field(default_factory=list)
    frozen: list[Frozen] = field(default_factory=list)
    retry: int = 1
    model: str = ""
    fresh: bool = False


def key_of(job: Job) -> Key:
    """What tells the job from all others of a plan."""
    return job.model, job.task, job.case_id, job.number


class Runner(Protocol):
    """Whatever makes attempts. A failure is a value; an exception is a bug."""

    def given_up(self, model: str) -> Infrastructure | None:
        """Why no further attempt by this model is worth making, None as long as one is."""
        ...

    async def attempt(self, job: Job) -> Transcript | Infrastructure:
        """One attempt."""
        ...


@dataclass(frozen=True)
class Outcome:
    """What became of a job. `not_run`: no call was made for it. `resumed`: it was paid for by an earlier run."""

    job: Job
    result: Transcript | Infrastructure
    not_run: bool = False
    resumed: bool = False


async def run(
    jobs: Sequence[Job],
    runner: Runner,
    *,
    limits: Limits,
    progress: Progress,
    stop: StopSignal,
    journal: Journal | None = None,
    clock: Callable[[], float] = time.monotonic,
    started: float | None = None,
    grace: float = GRACE,
) -> list[Outcome]:
    """The outcome of every job, in the order of `jobs`.

    `limits.timeout` counts from `started`, a reading of `clock` (now, where it is None). The cost limit stops new
    attempts once it is reached; those in flight then, at most `limits.concurrency`, still finish and may exceed it.
    Transcripts of an earlier run count, since they were paid for, and so do the answers that a failed attempt had. An
    attempt of unknown cost under a cost limit stops new attempts too: a limit that can't be watched is reached.
    """
    schedule = _Schedule(jobs, runner, limits, progress, journal)
    deadline = None if limits.timeout is None else (clock() if started is None else started) + limits.timeout
    progress.start(len(jobs))
    try:
        schedule.resume()
        if schedule.waiting:
            await schedule.work(stop, lambda: None if deadline is None else max(0.0, deadline - clock()), grace)
    finally:
        progress.finish()
    return schedule.outcomes()


class _Schedule:
    def __init__(
        self, jobs: Sequence[Job], runner: Runner, limits: Limits, progress: Progress, journal: Journal | None
    ) -> None:
        self._jobs = jobs
        self._runner = runner
        self._limits = limits
        self._progress = progress
        self._journal = journal
        self._spent = 0.0
        self._in_flight: set[int] = set()
        self._outcomes: dict[int, Outcome] = {}
        self._ended: Infrastructure | None = None
        self._given_up: dict[str, Infrastructure] = {}

    @property
    def waiting(self) -> list[int]:
        return [index for index in range(len(self._jobs)) if index not in self._outcomes]

    def resume(self) -> None:
        if self._journal is None:
            return
        for index, job in enumerate(self._jobs):
            transcript = None if job.fresh else self._journal.finished.get(key_of(job))
            if transcript is not None:
                self._settle(index, Outcome(job, transcript, resumed=True))

    def outcomes(self) -> list[Outcome]:
        return [self._outcomes.get(index) or self._not_run(job) for index, job in enumerate(self._jobs)]

    def _not_run(self, job: Job) -> Outcome:
        why = self._given_up.get(job.model) or self._ended or Infrastructure(kind="cancelled", message="not run")
        return Outcome(job, why, not_run=True)

    async def work(self, stop: StopSignal, time_left: Callable[[], float | None], grace: float) -> None:
        if stop.reason is not None:
            self._stopped(stop.reason)
            return
        if time_left() == 0.0:
            self._out_of_time()
            return
        workers = asyncio.ensure_future(self._workers())
        stopping = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait({workers, stopping}, timeout=time_left(), return_when=asyncio.FIRST_COMPLETED)
            if stop.reason is not None:
                cut = self._stopped(stop.reason)
                left = time_left()
                await asyncio.wait({workers}, timeout=grace if left is None else min(grace, left))
            elif not workers.done():
                cut = self._out_of_time()
            for index in self._in_flight:
                why = Infrastructure(kind=cut.kind, message=f"cut off: {cut.message}")
                self._outcomes[index] = Outcome(self._jobs[index], why)
        finally:
            stopping.cancel()
            workers.cancel()
            await asyncio.wait({workers, stopping}, timeout=_LET_GO)
        if workers.done() and not workers.cancelled():
            workers.result()  # an exception in here is a bug and is raised

    async def _workers(self) -> None:
        waiting = self.waiting
        todo = iter(waiting)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._limits.concurrency, len(waiting))):
                    group.create_task(self._worker(todo))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from errors

    async def _worker(self, todo: Iterator[int]) -> None:
        while self._ended is None:
            index = next(todo, None)
            if index is None:
                return
            job = self._jobs[index]
            if self._is_given_up(job.model):
                continue
            self._in_flight.add(index)
            try:
                result = await self._runner.attempt(job)
            finally:
                self._in_flight.discard(index)
            if self._journal is not None and not job.fresh:
                self._journal.append(key_of(job), result)
            self._settle(index, Outcome(job, result))

    def _is_given_up(self, model: str) -> bool:
        why = self._runner.given_up(model)
        if why is not None:
            self._give_up(model, why, said=why.message)
        return model in self._given_up

    def _give_up(self, model: str, why: Infrastructure, said: str | None = None) -> None:
        """`said`: the reason for the log, None where it has words of the provider."""
        if self._ended is None and model not in self._given_up:  # the first reason is why jobs are not run
            log.warning("no more attempts", model=model or None, kind=why.kind, why=said)
            self._given_up[model] = why

    def _settle(self, index: int, outcome: Outcome) -> None:
        self._outcomes[index] = outcome
        result = outcome.result
        failed = isinstance(result, Infrastructure)
        cost = result.usage.cost_usd if result.usage is not None else None
        self._progress.attempt(failed=failed, cost_usd=cost, resumed=outcome.resumed)
        if isinstance(result, Infrastructure) and result.kind == "authentication":
            refused = Infrastructure(kind=result.kind, message=f"not run after a refused key: {result.message}")
            self._give_up(outcome.job.model, refused)
        # A failure without usage is of an attempt that was not answered at all.
        if not failed or result.usage is not None:
            self._spend(cost)

    def _spend(self, cost: float | None) -> None:
        self._spent += cost or 0.0
        limit = self._limits.max_cost_usd
        if limit is None:
            return
        if cost is None:
            self._end("cost_limit", f"the limit of ${limit:.2f} can't be watched: the cost of an attempt is unknown")
        elif self._spent >= limit:
            self._end("cost_limit", f"the limit of ${limit:.2f} was reached at ${self._spent:.4f}")

    def _stopped(self, reason: str) -> Infrastructure:
        return self._end("cancelled", f"the run was stopped by {reason}")

    def _out_of_time(self) -> Infrastructure:
        return self._end("time_limit", f"the run's limit of {self._limits.timeout:g} s was reached")

    def _end(self, kind: str, message: str) -> Infrastructure:
        why = Infrastructure(kind=kind, message=message)
        if self._ended is None:
            log.warning("no more attempts", kind=kind, why=message)
        self._ended = self._ended or why  # the first reason is why jobs are not run
        return why
