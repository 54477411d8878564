"""A plan of attempts, made by a model within the limits: the checks before the first call, the calls, the journal."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from evaluator.cases import Subject, digest_of
from evaluator.config.types import Config, GateConfig
from evaluator.errors import Problem, UserError
from evaluator.progress import Progress
from evaluator.results import Fingerprint
from evaluator.runners import client, schedule
from evaluator.runners.journal import Journal
from evaluator.runners.model import ModelRunner
from evaluator.runners.schedule import Job, Outcome
from evaluator.runners.stopping import StopSignal
from evaluator.transcript import Transcript


def refuse_unpriced(config: Config, gate: GateConfig, model: str) -> None:
    """Raises UserError `price-unknown` where a limit or rule on cost could not be kept, before anything is paid for."""
    if client.price_known(model, config.price):
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
    subject: Subject,
    config: Config,
    fingerprint: Fingerprint,
    *,
    journal: Path,
    progress: Progress,
    environ: Mapping[str, str],
    stop: StopSignal | None,
    started: float,
) -> tuple[list[Outcome], list[str]]:
    """The outcome of every job, in order, and what a reader should know of the calling, one sentence each.

    `started`: the reading of the monotonic clock from which the run's time limit counts.
    """
    calling = _make(plan, subject, config, fingerprint, journal, progress, environ, stop or StopSignal(), started)
    return asyncio.run(calling)


async def _make(
    plan: Sequence[Job],
    subject: Subject,
    config: Config,
    fingerprint: Fingerprint,
    journal_path: Path,
    progress: Progress,
    environ: Mapping[str, str],
    stop: StopSignal,
    started: float,
) -> tuple[list[Outcome], list[str]]:
    runner = ModelRunner(
        subject,
        price=config.price,
        case_timeout=config.limits.case_timeout,
        concurrency=config.limits.concurrency,
        environ=environ,
    )
    journal = Journal.open(
        journal_path,
        plan=digest_of([msgspec.to_builtins(subject), msgspec.to_builtins(plan)]),
        fingerprint=digest_of(msgspec.to_builtins(fingerprint)),
    )
    complete = False
    try:
        outcomes = await schedule.run(
            plan, runner, limits=config.limits, journal=journal, progress=progress, stop=stop, started=started
        )
        complete = all(isinstance(outcome.result, Transcript) for outcome in outcomes)
    finally:
        journal.close(complete)
        await runner.close()
    return outcomes, [*runner.warnings(), *journal.notes]
