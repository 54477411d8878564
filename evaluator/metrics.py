"""Attempts → the figures of a case, a slice, a task, a run. Pure.

Attempts to a case mean, cases to a task mean: every case weighs the same however many attempts it had. Only scored
attempts enter a share; what was not scored is in coverage.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from evaluator.cases import Task
from evaluator.results import Attempt, CaseResult, Metric, SliceResult, TaskResult, Totals
from evaluator.statistics import wilson
from evaluator.vocabulary import AMOUNT_METRICS, FAILURE_MODE_PREFIX, SHARE_METRICS


def case_value(metric: str, case: CaseResult, k: int) -> float | None:
    """One case's value of a metric: the mean over its scored attempts, None where it has none.

    `k` is the k of pass^k. An amount (cost, tokens) is the mean per attempt, and None as soon as one is unknown.
    """
    if metric in AMOUNT_METRICS:
        amounts = [_amount(metric, attempt) for attempt in case.attempts]
        known = [amount for amount in amounts if amount is not None]
        return fmean(known) if known and len(known) == len(amounts) else None
    scored = [attempt for attempt in case.attempts if attempt.status == "scored"]
    if not scored:
        return None
    if metric == "pass_rate":
        return fmean(attempt.passed is True for attempt in scored)
    if metric == "all_k_pass_rate":
        return pass_hat_k(len(scored), sum(attempt.passed is True for attempt in scored), k)
    if metric.startswith(FAILURE_MODE_PREFIX):
        mode = metric.removeprefix(FAILURE_MODE_PREFIX)
        return fmean(attempt.failure_mode == mode for attempt in scored)
    values = [attempt.values[metric] for attempt in scored if metric in attempt.values]
    return fmean(values) if values else None


def pass_hat_k(n: int, passed: int, k: int) -> float | None:
    """Unbiased estimate that k attempts all pass: C(passed, k) / C(n, k); None with fewer than k attempts.

    Yao et al. (2024), τ-bench, arXiv:2406.12045, section 3.
    """
    if not 1 <= k <= n:
        return None
    return math.comb(passed, k) / math.comb(n, k)


def metric_of(metric: str, cases: Iterable[CaseResult], k: int) -> Metric | None:
    """A metric over cases: the mean of their values with Wilson's interval, or the sum of an amount (exact, no
    interval; None as soon as one attempt's amount is unknown). None where no case has a value."""
    cases = list(cases)
    if metric in AMOUNT_METRICS:
        amounts = [_amount(metric, attempt) for case in cases for attempt in case.attempts]
        if not amounts or any(amount is None for amount in amounts):
            return None
        return Metric(value=math.fsum(amount for amount in amounts if amount is not None), n=len(cases))
    values = [value for case in cases if (value := case_value(metric, case, k)) is not None]
    if not values:
        return None
    share = fmean(values)
    interval = wilson(share, len(values))
    assert interval is not None  # noqa: S101 - values is not empty
    return Metric(value=share, n=len(values), low=interval[0], high=interval[1])


def summarize(
    task: Task,
    attempts: Mapping[str, Sequence[Attempt]],
    *,
    repeats: int,
    planned_per_case: Mapping[str, int],
    deterministic: bool,
    faults: Mapping[str, str],
) -> TaskResult:
    """A task with the attempts of each case id → its result.

    `planned_per_case`: attempts that were to be made; what is missing from `attempts` shows in coverage.
    """
    cases = [
        CaseResult(
            id=case.id,
            digest=case.digest(),
            request=case.request,
            expected=case.expected,
            options=case.options,
            slices=case.slices,
            critical=case.critical,
            attempts=list(attempts.get(case.id, ())),
        )
        for case in task.cases
    ]
    names = sorted({name for case in cases for name in case.slices})
    whole = _summary(cases, repeats, planned_per_case)
    return TaskResult(
        name=task.name,
        format=task.format,
        source=task.source,
        scorer=task.scorer,
        repeats=repeats,
        deterministic=deterministic,
        planned=whole.planned,
        scored=whole.scored,
        metrics=whole.metrics,
        failure_modes=whole.failure_modes,
        slices={
            name: _summary([case for case in cases if name in case.slices], repeats, planned_per_case) for name in names
        },
        cases=cases,
        skipped=task.skipped,
        notes=task.notes,
        faults=dict(faults),
    )


def _summary(cases: Sequence[CaseResult], k: int, planned_per_case: Mapping[str, int]) -> SliceResult:
    scored = [attempt for case in cases for attempt in case.attempts if attempt.status == "scored"]
    figures = ((name, metric_of(name, cases, k)) for name in (*SHARE_METRICS, *AMOUNT_METRICS))
    return SliceResult(
        planned=sum(planned_per_case[case.id] for case in cases),
        scored=len(scored),
        metrics={name: figure for name, figure in figures if figure is not None},
        failure_modes=dict(sorted(Counter(a.failure_mode for a in scored if a.failure_mode).items())),
    )


def totals(tasks: Sequence[TaskResult], seconds: float) -> Totals:
    """Sums over every attempt of a run; `seconds` is its wall time."""
    attempts = [attempt for task in tasks for case in task.cases for attempt in case.attempts]
    costs = [_amount("cost_usd", attempt) for attempt in attempts]
    known = [cost for cost in costs if cost is not None]
    return Totals(
        attempts=len(attempts),
        planned=sum(task.planned for task in tasks),
        scored=sum(task.scored for task in tasks),
        infrastructure=dict(
            sorted(Counter(a.infrastructure.kind for a in attempts if a.infrastructure is not None).items())
        ),
        input_tokens=_sum_known("input_tokens", attempts),
        output_tokens=_sum_known("output_tokens", attempts),
        cost_usd=math.fsum(known) if known or not costs else None,
        cost_state="known" if len(known) == len(costs) else "partial" if known else "unknown",
        seconds=seconds,
    )


def _sum_known(metric: str, attempts: Sequence[Attempt]) -> int | None:
    amounts = [amount for attempt in attempts if (amount := _amount(metric, attempt)) is not None]
    return int(sum(amounts)) if amounts else None


def _amount(metric: str, attempt: Attempt) -> float | None:
    """Tokens or dollars of one attempt, None where unknown. One that was never sent, or was answered by an HTTP error,
    cost nothing; one that timed out or was cut off may have been billed all the same, so it is unknown."""
    failure = attempt.infrastructure
    if attempt.status == "not_run" or (failure is not None and (failure.http_status or 0) >= 400):
        return 0.0
    usage = attempt.transcript.usage if attempt.transcript is not None else None
    return None if usage is None else getattr(usage, metric)
