"""What stands below the lists of cases: coverage, modes, slices, canaries and the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from evaluator.reports import numbers
from evaluator.reports.escape import shorten
from evaluator.reports.figures import comparison_of
from evaluator.reports.view_model import (
    CanaryRow,
    CoverageRow,
    Listing,
    ModeRow,
    NamedList,
    SliceRow,
    TaskNote,
)
from evaluator.results import Attempt, Metric, Run, TaskResult
from evaluator.vocabulary import COUNT_METRICS, FAILURE_MODE_PREFIX, SHARE_METRICS

_MESSAGE_BYTES = 300
_MESSAGES_PER_KIND = 3


def coverage(run: Run) -> Listing[CoverageRow]:
    """Tasks of which something planned was not scored."""
    return Listing(
        [
            CoverageRow(
                task=task.name,
                scored=numbers.count(task.scored),
                planned=numbers.count(task.planned),
                share=numbers.rate(task.scored / task.planned) if task.planned else numbers.NOTHING,
                why=Listing(list(_why_unscored(task))),
            )
            for task in run.tasks
            if task.scored < task.planned or task.planned == 0
        ]
    )


def _why_unscored(task: TaskResult) -> Iterator[str]:
    """Most frequent kind first, with its most frequent messages."""
    attempts = [attempt for case in task.cases for attempt in case.attempts if attempt.status != "scored"]
    for kind, number in Counter(map(_kind, attempts)).most_common():
        messages = Counter(_message(attempt) for attempt in attempts if _kind(attempt) == kind)
        first = messages.most_common(_MESSAGES_PER_KIND)
        yield from (f"{numbers.count(times)} × {kind}{f': {text}' if text else ''}" for text, times in first)
        others = number - sum(times for _, times in first)
        if others:
            yield f"{numbers.count(others)} × {kind} with other messages"
    without = task.planned - task.scored - len(attempts)
    if without > 0:
        yield f"{numbers.count(without)} × no attempt was made or recorded"


def _message(attempt: Attempt) -> str:
    return shorten(attempt.infrastructure.message, _MESSAGE_BYTES) if attempt.infrastructure is not None else ""


def _kind(attempt: Attempt) -> str:
    if attempt.status == "stale":
        return "stale recording"
    return attempt.infrastructure.kind if attempt.infrastructure is not None else "not run"


def unpaired(run: Run) -> Listing[NamedList]:
    """Cases that could not be held against the baseline, and why."""
    rows = []
    for part in run.comparison.tasks if run.comparison is not None else ():
        for what, names in (
            ("changed in the task source, not comparable", part.not_comparable),
            ("removed since the baseline", part.removed),
            ("not scored on both sides", part.unscored),
            ("new, not in the baseline", part.added),
        ):
            if names:
                rows.append(NamedList(part.task, what, Listing(names)))
    rows += [NamedList(t.name, "skipped by the task itself", Listing(t.skipped)) for t in run.tasks if t.skipped]
    return Listing(rows)


def modes(run: Run) -> Listing[ModeRow]:
    """Failure modes of each task, most frequent first."""
    rows = []
    for task in run.tasks:
        compared = comparison_of(run, task.name)
        before = compared.baseline_metrics if compared is not None else {}
        for mode, number in sorted(task.failure_modes.items(), key=lambda item: (-item[1], item[0])):
            known = before.get(FAILURE_MODE_PREFIX + mode)
            rows.append(
                ModeRow(
                    task=task.name,
                    mode=mode,
                    attempts=numbers.count(number),
                    share=numbers.rate(number / task.scored) if task.scored else numbers.NOTHING,
                    baseline=numbers.rate(known.value) if known is not None else numbers.NOTHING,
                )
            )
    return Listing(rows)


def slices(run: Run) -> Listing[SliceRow]:
    """Every slice of every task with its own figures."""
    return Listing(
        [
            SliceRow(
                task=task.name,
                name=name,
                scored=f"{numbers.count(part.scored)} of {numbers.count(part.planned)}",
                pass_rate=_with_interval(part.metrics.get("pass_rate")),
                others=", ".join(
                    f"{metric} {numbers.figure(metric, part.metrics[metric].value)}"
                    for metric in (SHARE_METRICS if task.pooled else (*SHARE_METRICS, *COUNT_METRICS))
                    if metric in part.metrics and metric not in _implied(task)
                ),
            )
            for task in run.tasks
            for name, part in task.slices.items()
        ]
    )


def _implied(task: TaskResult) -> tuple[str, ...]:
    """Figures that have a column of their own, or say nothing new with one attempt a case."""
    return ("pass_rate",) if task.repeats > 1 else ("pass_rate", "all_k_pass_rate")


def _with_interval(metric: Metric | None) -> str:
    if metric is None:
        return numbers.NOTHING
    return f"{numbers.rate(metric.value)}{numbers.interval(metric.low, metric.high)}"


def canaries(run: Run) -> Listing[CanaryRow]:
    """The canaries that scored otherwise than they must."""
    return Listing([CanaryRow(c.id, c.expected, c.got) for c in run.canaries.cases if not c.ok])


def faults(run: Run) -> Listing[TaskNote]:
    """Cases that are wrong in themselves."""
    return Listing([TaskNote(task.name, case, text) for task in run.tasks for case, text in task.faults.items()])


def task_notes(run: Run) -> Listing[TaskNote]:
    """What a task's source has to say."""
    return Listing([TaskNote(task.name, "", text) for task in run.tasks for text in task.notes])
