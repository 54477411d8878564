"""Run → the charts of the page: each metric against the baseline, and the mix of failure modes. Pure.

Places are percent of a chart's width, so that it is drawn at any width without a script. Whatever is drawn stands
beside it in figures as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evaluator.reports import numbers
from evaluator.reports.figures import baseline_metric, comparison_of, headline_metrics
from evaluator.results import Metric, Run, TaskComparison, TaskResult, models_of
from evaluator.vocabulary import AMOUNT_METRICS, COUNT_METRICS, FAILURE_MODE_PREFIX, SHARE_METRICS

_MOST_SLICES = 40
_MOST_MODES = 20
_WORST_FIRST = ("fail", "inconclusive", "warn", "ok")


@dataclass(frozen=True)
class Mark:
    """A figure at its place, with its interval where it has one; `text`: the same in figures."""

    text: str
    at: str
    low: str = ""
    high: str = ""


@dataclass(frozen=True)
class MetricRow:
    """A metric, or a slice's pass rate. `outcome`: that of the worst rule on it, empty where there is none; `change`:
    now − baseline; `scale`: what the whole width stands for."""

    name: str
    outcome: str
    now: Mark | None
    before: Mark | None
    change: str
    scale: str

    @property
    def words(self) -> str:
        """The row as a sentence."""
        now, before = (mark.text if mark is not None else "unknown" for mark in (self.now, self.before))
        return f"{self.name}: now {now}, baseline {before}, change {self.change}"


@dataclass(frozen=True)
class ModeBar:
    """A failure mode's share of the scored attempts, as text and as width, on both sides; empty where it is not
    known."""

    name: str
    now: str
    now_width: str
    before: str
    before_width: str

    @property
    def words(self) -> str:
        """The row as a sentence."""
        return f"{self.name}: now {self.now}, baseline {self.before or 'unknown'}"


@dataclass(frozen=True)
class Chart:
    """The charts of one task by one model. `more`: modes that are not drawn."""

    model: str
    task: str
    metrics: Sequence[MetricRow]
    modes: Sequence[ModeBar]
    more: int


def charts(run: Run) -> list[Chart]:
    """Of each model and task that has a figure; a model is named where there are several."""
    models = models_of(run) if run.beside else [""]
    return [
        chart
        for model, each in zip(models, (run, *run.beside), strict=True)
        for task in each.tasks
        if (chart := _chart(model, each, task)).metrics
    ]


def _chart(model: str, run: Run, task: TaskResult) -> Chart:
    compared = comparison_of(run, task.name)
    outcomes = _outcomes(run, task)
    modes = _modes(task, compared)
    return Chart(
        model=model,
        task=task.name,
        metrics=list(_metrics(task, compared, outcomes) if task.pooled else _slices(task, compared, outcomes)),
        modes=modes[:_MOST_MODES],
        more=len(modes[_MOST_MODES:]),
    )


def _outcomes(run: Run, task: TaskResult) -> dict[tuple[str, str | None], str]:
    """(metric, slice) → the worst outcome of the rules on it."""
    found: dict[tuple[str, str | None], str] = {}
    for rule in run.rules:
        if rule.task == task.name:
            key = (rule.metric, rule.slice)
            found[key] = min(found.get(key, rule.outcome), rule.outcome, key=_WORST_FIRST.index)
    return found


def _metrics(
    task: TaskResult, compared: TaskComparison | None, outcomes: dict[tuple[str, str | None], str]
) -> Iterator[MetricRow]:
    """What counts most first: the standing figures, those of rules, the others."""
    first = [*headline_metrics(task), *(metric for metric, part in outcomes if part is None)]
    known = compared.baseline_metrics.keys() if compared is not None else ()
    for metric in dict.fromkeys((*first, *SHARE_METRICS, *COUNT_METRICS, *AMOUNT_METRICS)):
        if metric.startswith(FAILURE_MODE_PREFIX) or (metric == "all_k_pass_rate" and task.repeats == 1):
            continue
        if metric in task.metrics or metric in known:
            before = baseline_metric(metric, task, compared)
            yield _row(metric, metric, outcomes.get((metric, None), ""), task.metrics.get(metric), before)


def _slices(
    task: TaskResult, compared: TaskComparison | None, outcomes: dict[tuple[str, str | None], str]
) -> Iterator[MetricRow]:
    """The pass rate of each slice, of a task of which no share is taken over all cases. The baseline's is known where
    all cases of a slice are paired."""
    for name, part in list(task.slices.items())[:_MOST_SLICES]:
        now = part.metrics.get("pass_rate")
        evidence = compared.slices.get(name) if compared is not None else None
        before = None
        if now is not None and evidence is not None and evidence.n == now.n:
            before = Metric(value=min(max(now.value - evidence.difference, 0.0), 1.0), n=now.n)
        yield _row(name, "pass_rate", outcomes.get(("pass_rate", name), ""), now, before)


def _row(name: str, metric: str, outcome: str, now: Metric | None, before: Metric | None) -> MetricRow:
    ends = [end for each in (now, before) if each is not None for end in (each.value, each.high or 0.0)]
    scale = 1.0 if metric in SHARE_METRICS else max((end for end in ends if math.isfinite(end)), default=0.0) or 1.0
    if now is not None and before is not None:
        texts: tuple[str, ...] = numbers.pair(metric, before.value, now.value)
    else:
        texts = tuple(numbers.figure(metric, each.value if each is not None else None) for each in (before, now))
    return MetricRow(
        name=name,
        outcome=outcome,
        now=_mark(texts[1], now, scale),
        before=_mark(texts[0], before, scale),
        change=numbers.change(metric, before.value if before else None, now.value if now else None),
        scale=numbers.figure(metric, scale),
    )


def _mark(text: str, metric: Metric | None, scale: float) -> Mark | None:
    if metric is None or not math.isfinite(metric.value):
        return None
    if metric.low is None or metric.high is None:
        return Mark(text, _percent(metric.value / scale))
    whole = text + numbers.interval(metric.low, metric.high)
    return Mark(whole, *(_percent(each / scale) for each in (metric.value, metric.low, metric.high)))


def _modes(task: TaskResult, compared: TaskComparison | None) -> list[ModeBar]:
    """The most frequent first; those that are gone since the baseline last."""
    before = {
        name.removeprefix(FAILURE_MODE_PREFIX): metric.value
        for name, metric in (compared.baseline_metrics if compared is not None else {}).items()
        if name.startswith(FAILURE_MODE_PREFIX) and metric.value > 0
    }
    now = {mode: number / task.scored for mode, number in task.failure_modes.items()} if task.scored else {}
    names = sorted(now.keys() | before.keys(), key=lambda name: (-now.get(name, 0.0), -before.get(name, 0.0), name))
    known = compared is not None and compared.baseline_repeats is not None
    return [
        ModeBar(
            name=name,
            now=numbers.rate(now.get(name, 0.0)),
            now_width=_percent(now.get(name, 0.0)),
            before=numbers.rate(before.get(name, 0.0)) if known else "",
            before_width=_percent(before.get(name, 0.0)) if known else "",
        )
        for name in names
    ]


def _percent(share: float) -> str:
    """ "35.4%", within the chart whatever a result file says."""
    return f"{min(max(share, 0.0), 1.0) * 100:.4g}%"
