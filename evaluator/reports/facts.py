"""The line of plain facts (coverage, canaries, cost, tokens, time) and the footer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from evaluator.metrics import case_value, totals
from evaluator.reports import numbers
from evaluator.reports.models import all_runs, model_of
from evaluator.results import Run, TaskResult, Totals
from evaluator.transcript import Usage


def facts(run: Run) -> list[str]:
    """Short phrases. Of several models, the sums over all of them."""
    seconds = max(each.totals.seconds for each in all_runs(run))  # models run side by side
    spent = ["no model was asked"] if run.unchanged else [_cost(run), *_tokens(run)]
    return [_coverage(run), _canaries(run), *spent, *_beside(run), numbers.duration(seconds)]


def _coverage(run: Run) -> str:
    scored = sum(each.totals.scored for each in all_runs(run))
    planned = sum(each.totals.planned for each in all_runs(run))
    return f"{numbers.count(scored)} of {numbers.counted(planned, 'planned attempt')} scored"


def _canaries(run: Run) -> str:
    cases = run.canaries.cases
    if not cases:
        return "no canary was scored"
    good = sum(case.ok for case in cases)
    return f"{numbers.count(good)} of {numbers.counted(len(cases), 'canary', 'canaries')} as expected"


def _cost(run: Run) -> str:
    runs = [each for each in all_runs(run) if each.totals.attempts]
    if not runs:
        return "no attempt was made"
    sums = [each.totals for each in runs]
    known = [t.cost_usd for t in sums if t.cost_usd is not None and t.cost_state != "unknown"]
    if not known:
        why = "no price known for this model" if run.subject is not None else "recorded outputs carry no price"
        return f"cost unknown ({why})"
    if any(t.cost_state != "known" for t in sums):
        unpriced = numbers.counted(sum(_unpriced(task) for each in runs for task in each.tasks), "attempt")
        return f"cost at least {numbers.money(math.fsum(known))} ({unpriced} without a known price)"
    return f"cost {numbers.money(math.fsum(known))}"


def _unpriced(task: TaskResult) -> int:
    return sum(
        case_value("cost_usd", replace(case, attempts=[attempt]), 1) is None
        for case in task.cases
        for attempt in case.attempts
    )


def _tokens(run: Run) -> list[str]:
    into = [each.totals.input_tokens for each in all_runs(run) if each.totals.input_tokens is not None]
    out = [each.totals.output_tokens for each in all_runs(run) if each.totals.output_tokens is not None]
    if not into and not out:
        return []
    return [f"{_sum_or_unknown(into)} tokens in, {_sum_or_unknown(out)} out"]


def _sum_or_unknown(tokens: Sequence[int]) -> str:
    return numbers.count(sum(tokens)) if tokens else "unknown"


def _beside(run: Run) -> list[str]:
    """What the witnesses that ask a model have spent, which is in no total: "plus $0.0020 and 1,234 tokens for live
    canaries and the control arm"."""
    live = [each.live.usage or Usage() for each in all_runs(run) if each.live is not None and each.live.canaries]
    control = [totals([*arm.base, *arm.change], 0.0) for each in all_runs(run) if (arm := each.control) is not None]
    control = [spent for spent in control if spent.attempts]
    if not live and not control:
        return []
    asked: list[Usage | Totals] = [*live, *control]
    partial = any(spent.cost_state == "partial" for spent in control)
    dollars = _summed([spent.cost_usd for spent in asked], numbers.money, partial=partial)
    amounts = [amount for spent in asked for amount in (spent.input_tokens, spent.output_tokens)]
    tokens = _summed(amounts, lambda count: numbers.counted(round(count), "token"))
    whom = " and ".join(name for name, spent in (("live canaries", live), ("the control arm", control)) if spent)
    return [f"plus {dollars or 'an unknown cost'} and {tokens or 'an unknown number of tokens'} for {whom}"]


def _summed(values: Sequence[float | None], shown: Callable[[float], str], *, partial: bool = False) -> str:
    """A sum, "at least" it where a part of it is unknown; empty where all of it is."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    return ("at least " if partial or len(known) < len(values) else "") + shown(math.fsum(known))


def footer(run: Run) -> str:
    """What was run, when, with what."""
    parts = [f"trapgate {run.evaluator}", f"{run.started[:16].replace('T', ' ')} UTC"]
    if run.commit:
        parts.append(f"commit {run.commit[:12]}")
    if run.subject is not None:
        models = [model_of(each) for each in all_runs(run)]
        parts.append(f"{'model' if len(models) == 1 else 'models'} {', '.join(models)}")
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
