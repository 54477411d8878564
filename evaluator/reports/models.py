"""Several models side by side: a row each, and what each needs most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from evaluator.reports import numbers
from evaluator.reports.verdict import layer_of, look_of_model, verdict_of
from evaluator.reports.view_model import ModelFix, ModelRow
from evaluator.reports.words import FIXES, LAYER_NAMES
from evaluator.results import Run, TaskResult
from evaluator.vocabulary import FAILURE_MODES

_MODES = 3
_PLACES = {mode: place for place, mode in enumerate(FAILURE_MODES)}
_UNKNOWN = "unknown"


def all_runs(run: Run) -> list[Run]:
    """The run of each model, the first one's own first."""
    return [run, *run.beside]


def model_of(run: Run) -> str:
    """The model that a run asked; empty where none was."""
    return run.subject.model if run.subject is not None else ""


def whose(run: Run, part: Run) -> str:
    """ "gpt-4.1: " before what is said of one of several models."""
    return f"{model_of(part)}: " if run.beside else ""


def model_rows(run: Run) -> list[ModelRow]:
    """A row for each model and task; none where there is one model."""
    return [_row(each, task) for each in all_runs(run) for task in each.tasks] if run.beside else []


def _row(run: Run, task: TaskResult) -> ModelRow:
    return ModelRow(
        model=model_of(run),
        look=look_of_model(run),
        task=task.name,
        all_k=_figure(task, "all_k_pass_rate") if task.repeats > 1 else numbers.NOTHING,
        pass_rate=_figure(task, "pass_rate"),
        tool=_figure(task, "tool_score"),
        argument=_figure(task, "argument_score"),
        order=_figure(task, "order_score"),
        extra_calls=_figure(task, "extra_calls"),
        tokens=f"{_tokens(task, 'input_tokens')} / {_tokens(task, 'output_tokens')}",
        cost=_cost_per_passed_case(task),
    )


def _figure(task: TaskResult, metric: str) -> str:
    known = task.metrics.get(metric)
    return numbers.figure(metric, known.value) if known is not None else numbers.NOTHING


def _tokens(task: TaskResult, metric: str) -> str:
    return _figure(task, metric) if metric in task.metrics else _UNKNOWN


def _cost_per_passed_case(task: TaskResult) -> str:
    """Dollars of all attempts, failed ones included, over the attempts that passed: with several attempts a case this
    is what it costs to get a case passed once. An unknown price is never a price of nothing."""
    if not task.scored:
        return numbers.NOTHING
    passed = sum(attempt.passed is True for case in task.cases for attempt in case.attempts)
    if not passed:
        return "no case passed"
    cost = task.metrics.get("cost_usd")
    return numbers.money(cost.value / passed) if cost is not None else _UNKNOWN


def fixes(run: Run) -> list[ModelFix]:
    """For each model with a failed attempt, its most frequent failure modes and the fix that the first calls for."""
    if not run.beside:
        return []
    return [ModelFix(model_of(each), text) for each in all_runs(run) if (text := _fix(each))]


def _fix(run: Run) -> str:
    modes: Counter[str] = Counter()
    for task in run.tasks:
        modes.update(task.failure_modes)
    if not modes:
        return ""
    first = _by_number(modes)[:_MODES]
    others = modes.total() - sum(times for _, times in first)
    mix = [f"`{mode}` × {numbers.count(times)}" for mode, times in first]
    mix += [f"others × {numbers.count(others)}"] if others else []
    attempts = numbers.counted(sum(task.scored for task in run.tasks), "attempt")
    fix = FIXES.get(first[0][0])
    return f"{', '.join(mix)} of {attempts}." + (f" To mend first: {fix}." if fix else "")


def verdicts(run: Run) -> str:
    """ "By model: regression (the change) a, b; pass c.", empty where there is one model."""
    if not run.beside:
        return ""
    named: dict[str, list[str]] = {}
    for each in sorted(all_runs(run), key=lambda each: verdict_of(each) == "pass"):
        named.setdefault(_verdict_and_layer(each), []).append(model_of(each))
    said = [f"{verdict} {', '.join(models)}" for verdict, models in named.items()]
    return f"By model: {'; '.join(said)}."


def _verdict_and_layer(run: Run) -> str:
    layer = layer_of(run)
    return f"{verdict_of(run)} ({LAYER_NAMES[layer]})" if layer is not None else verdict_of(run)


def _by_number(modes: Mapping[str, int]) -> list[tuple[str, int]]:
    """Most frequent first; among equals the one that is decided first."""
    return sorted(modes.items(), key=lambda item: (-item[1], _PLACES.get(item[0], len(_PLACES)), item[0]))
