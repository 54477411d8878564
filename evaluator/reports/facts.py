"""The line of plain facts (coverage, canaries, cost, tokens, time) and the footer."""

from __future__ import annotations

from msgspec.structs import replace

from evaluator.metrics import case_value
from evaluator.reports import numbers
from evaluator.results import Run, TaskResult


def facts(run: Run) -> list[str]:
    """Short phrases, at most one with a dollar sign: two on a line would be set as a formula."""
    return [_coverage(run), _canaries(run), _cost(run), *_tokens(run), numbers.duration(run.totals.seconds)]


def _coverage(run: Run) -> str:
    return f"{numbers.count(run.totals.scored)} of {numbers.counted(run.totals.planned, 'planned attempt')} scored"


def _canaries(run: Run) -> str:
    cases = run.canaries.cases
    if not cases:
        return "no canary was scored"
    good = sum(case.ok for case in cases)
    return f"{numbers.count(good)} of {numbers.counted(len(cases), 'canary', 'canaries')} as expected"


def _cost(run: Run) -> str:
    totals = run.totals
    if totals.attempts == 0:
        return "no attempt was made"
    if totals.cost_usd is None or totals.cost_state == "unknown":
        why = "no price known for this model" if run.subject is not None else "recorded outputs carry no price"
        return f"cost unknown ({why})"
    if totals.cost_state == "partial":
        unpriced = numbers.counted(sum(_unpriced(task) for task in run.tasks), "attempt")
        return f"cost at least {numbers.money(totals.cost_usd)} ({unpriced} without a known price)"
    return f"cost {numbers.money(totals.cost_usd)}"


def _unpriced(task: TaskResult) -> int:
    return sum(
        case_value("cost_usd", replace(case, attempts=[attempt]), 1) is None
        for case in task.cases
        for attempt in case.attempts
    )


def _tokens(run: Run) -> list[str]:
    into, out = run.totals.input_tokens, run.totals.output_tokens
    if into is None and out is None:
        return []
    return [f"{_tokens_or_unknown(into)} tokens in, {_tokens_or_unknown(out)} out"]


def _tokens_or_unknown(tokens: int | None) -> str:
    return "unknown" if tokens is None else numbers.count(tokens)


def footer(run: Run) -> str:
    """What was run, when, with what."""
    parts = [f"trapgate {run.evaluator}", f"{run.started[:16].replace('T', ' ')} UTC"]
    if run.commit:
        parts.append(f"commit {run.commit[:12]}")
    if run.subject is not None:
        parts.append(f"model {run.subject.model}")
    return " · ".join(parts)


def versions(run: Run) -> list[str]:
    """What the figures depend on besides the change: packages, canary set, task sources, models that answered."""
    packages = ", ".join(f"{name} {version}" for name, version in run.fingerprint.packages.items())
    sources = [
        f"{task.name}: {task.source.location} at {task.source.commit or task.source.digest or 'an unknown state'}"
        for task in run.tasks
    ]
    answered = [
        f"{what} that answered: {', '.join(names)}" for what, names in run.fingerprint.answered.items() if names
    ]
    return [packages, f"canaries {run.canaries.version}", *sources, *answered]
