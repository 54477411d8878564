"""Attempts → the figures of a case, a slice, a task, a run. Pure.

Attempts to a case mean, cases to a task mean: every case weighs the same however many attempts it had. Only scored
attempts enter a share; what was not scored is in coverage.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from msgspec import UNSET

from evaluator import origins
from evaluator.cases import Task
from evaluator.results import Attempt, CaseResult, Metric, SliceResult, TaskResult, Totals
from evaluator.statistics import mean_interval, wilson
from evaluator.transcript import Usage
from evaluator.vocabulary import AMOUNT_METRICS, COUNT_METRICS, FAILURE_MODE_PREFIX, SHARE_METRICS


def case_value(metric: str, case: CaseResult, k: int) -> float | None:
    """One case's value of a metric: the mean over its scored attempts, None where it has none.

    `k` is the k of pass^k. An amount (cost, tokens) is the sum over all its attempts, None as soon as one is unknown.
    """
    if metric in AMOUNT_METRICS:
        return _sum(metric, [case])
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
    """A metric over cases: the mean of their values with Wilson's interval (of a count, Student's), or the sum of an
    amount (exact, no interval; None as soon as one attempt's amount is unknown). None where no case has a value."""
    cases = list(cases)
    if metric in AMOUNT_METRICS:
        amount = _sum(metric, cases)
        return Metric(value=amount, n=len(cases)) if amount is not None else None
    values = [value for case in cases if (value := case_value(metric, case, k)) is not None]
    if not values:
        return None
    if metric in COUNT_METRICS:
        around = mean_interval(values)
        low, high = (max(0.0, around[0]), around[1]) if around is not None else (None, None)
        return Metric(value=fmean(values), n=len(values), low=low, high=high)
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
            golds=case.golds,
            cluster=case.cluster,
            origin=UNSET if case.origin is None else origins.kept(case.origin, attempts.get(case.id, ())),
            attempts=list(attempts.get(case.id, ())),
        )
        for case in task.cases
    ]
    names = sorted({name for case in cases for name in case.slices})
    whole = _summary(cases, repeats, planned_per_case, shares=task.pooled)
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
        tools=task.tools,
        pooled=task.pooled,
    )


def _summary(
    cases: Sequence[CaseResult], k: int, planned_per_case: Mapping[str, int], *, shares: bool = True
) -> SliceResult:
    """`shares` false: amounts alone, for cases whose shares are not to be taken together."""
    scored = [attempt for case in cases for attempt in case.attempts if attempt.status == "scored"]
    # A figure that no attempt has is none of all of them either.
    known = {name for attempt in scored for name in attempt.values} | {"pass_rate", "all_k_pass_rate"}
    means = [name for name in (*SHARE_METRICS, *COUNT_METRICS) if shares and name in known]
    figures = ((name, metric_of(name, cases, k)) for name in (*means, *AMOUNT_METRICS))
    modes = Counter(a.failure_mode for a in scored if a.failure_mode and shares)
    return SliceResult(
        planned=sum(planned_per_case[case.id] for case in cases),
        scored=len(scored),
        metrics={name: figure for name, figure in figures if figure is not None},
        failure_modes=dict(sorted(modes.items())),
    )


def totals(tasks: Sequence[TaskResult], seconds: float) -> Totals:
    """Sums over every attempt of a run; `seconds` is its wall time."""
    cases = [case for task in tasks for case in task.cases]
    attempts = [attempt for case in cases for attempt in case.attempts]
    costs = _amounts("cost_usd", cases)
    known = [cost for cost in costs if cost is not None]
    return Totals(
        attempts=len(attempts),
        planned=sum(task.planned for task in tasks),
        scored=sum(task.scored for task in tasks),
        infrastructure=dict(
            sorted(Counter(a.infrastructure.kind for a in attempts if a.infrastructure is not None).items())
        ),
        input_tokens=_known_tokens("input_tokens", cases),
        output_tokens=_known_tokens("output_tokens", cases),
        cost_usd=math.fsum(known) if known or not costs else None,
        cost_state="known" if len(known) == len(costs) else "partial" if known else "unknown",
        seconds=seconds,
    )


def _known_tokens(metric: str, cases: Iterable[CaseResult]) -> int | None:
    known = [amount for amount in _amounts(metric, cases) if amount is not None]
    return int(math.fsum(known)) if known else None


def _sum(metric: str, cases: Iterable[CaseResult]) -> float | None:
    """None as soon as one amount is unknown, or where there is no attempt at all."""
    cases = list(cases)
    amounts = _amounts(metric, cases)
    known = [amount for amount in amounts if amount is not None]
    if len(known) < len(amounts) or not any(case.attempts for case in cases):
        return None
    return math.fsum(known)


def _amounts(metric: str, cases: Iterable[CaseResult]) -> list[float | None]:
    """Tokens or dollars of every attempt that may have cost something, None where unknown. One that was never sent, or
    was answered by an HTTP error, cost nothing; one that timed out or was cut off may have been billed all the same. A
    conversation that failed has cost what its answers had cost by then."""
    return [
        getattr(usage, metric, None)
        for case in cases
        for attempt in case.attempts
        if attempt.status != "not_run"
        for usage in _usages(attempt)
    ]


def _usages(attempt: Attempt) -> list[Usage | None]:
    """The usage of what the attempt was billed for, in parts; None for a part of which it is not known."""
    failure = attempt.infrastructure
    parts = [attempt.transcript.usage] if attempt.transcript is not None else []
    if failure is not None and failure.usage is not None:
        parts.append(failure.usage)
    if attempt.transcript is None and not _http_error(attempt):
        parts.append(None)
    return parts


def _http_error(attempt: Attempt) -> bool:
    return attempt.infrastructure is not None and (attempt.infrastructure.http_status or 0) >= 400
