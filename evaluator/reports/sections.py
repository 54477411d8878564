"""What stands below the metric table: cases, coverage, slices, canaries, cost and the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import UNSET

from evaluator.reports import numbers
from evaluator.reports.escape import compact_json, shorten
from evaluator.reports.figures import comparison_of
from evaluator.reports.view_model import (
    CanaryRow,
    CaseRow,
    CoverageRow,
    FindingRow,
    Listing,
    ModeRow,
    NamedList,
    SliceRow,
    TaskNote,
)
from evaluator.results import Attempt, CaseChange, Finding, Metric, Run, TaskResult
from evaluator.vocabulary import FAILURE_MODE_PREFIX, SHARE_METRICS

_FINDINGS_PER_CASE = 20
_VALUE_BYTES = 400
_MESSAGE_BYTES = 300


def regressed(run: Run) -> Listing[CaseRow]:
    """Cases that passed less often than in the baseline: critical ones first, then the largest drop."""
    return Listing([_change_row(change) for change in _sorted(_changes(run, "regressed"))])


def fixed(run: Run) -> Listing[CaseRow]:
    """Cases that pass more often than in the baseline."""
    return Listing([_change_row(change) for change in _sorted(_changes(run, "fixed"))])


def failed(run: Run) -> Listing[CaseRow]:
    """Failed cases of the tasks that nothing was compared with: without a baseline, what a reader wants to see."""
    tasks = [task for task in run.tasks if comparison_of(run, task.name) is None]
    return Listing([row for task in tasks for row in _failed_rows(task)])


def _changes(run: Run, which: str) -> Iterator[CaseChange]:
    for part in run.comparison.tasks if run.comparison is not None else ():
        yield from part.regressed if which == "regressed" else part.fixed


def _sorted(changes: Iterable[CaseChange]) -> list[CaseChange]:
    return sorted(changes, key=lambda c: (not c.critical, -abs(c.now - c.baseline), c.task, c.id))


def _change_row(change: CaseChange) -> CaseRow:
    whole = {change.baseline, change.now} <= {0.0, 1.0}
    before, after = numbers.pair("pass_rate", change.baseline, change.now)
    return CaseRow(
        task=change.task,
        id=change.id,
        critical=change.critical,
        rates="" if whole else f"{before} → {after}",
        mode=change.failure_mode or "",
        findings=_findings(change.findings),
    )


def _failed_rows(task: TaskResult) -> Iterator[CaseRow]:
    for case in task.cases:
        scored = [attempt for attempt in case.attempts if attempt.status == "scored"]
        lost = [attempt for attempt in scored if not attempt.passed]
        if lost:
            yield CaseRow(
                task=task.name,
                id=case.id,
                critical=case.critical,
                rates="" if len(lost) == len(scored) else f"failed {len(lost)} of {len(scored)}",
                mode=lost[0].failure_mode or "",
                findings=_findings(lost[0].findings),
            )


def _findings(findings: Sequence[Finding]) -> Listing[FindingRow]:
    shown = [
        FindingRow(
            path=shorten(finding.path, _VALUE_BYTES),
            keyword=finding.keyword,
            wanted="" if finding.wanted is UNSET else compact_json(finding.wanted, _VALUE_BYTES),
            got="" if finding.got is UNSET else compact_json(finding.got, _VALUE_BYTES),
            note=shorten(finding.message or "", _MESSAGE_BYTES),
        )
        for finding in findings[:_FINDINGS_PER_CASE]
    ]
    return Listing(shown, len(findings) - len(shown))


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
    attempts = [attempt for case in task.cases for attempt in case.attempts if attempt.status != "scored"]
    first: dict[str, Attempt] = {}
    for attempt in attempts:
        first.setdefault(_kind(attempt), attempt)
    for kind, number in Counter(map(_kind, attempts)).most_common():
        failure = first[kind].infrastructure
        message = f": {shorten(failure.message, _MESSAGE_BYTES)}" if failure is not None and failure.message else ""
        yield f"{numbers.count(number)} × {kind}{message}"
    without = task.planned - task.scored - len(attempts)
    if without > 0:
        yield f"{numbers.count(without)} × no attempt was made or recorded"


def _kind(attempt: Attempt) -> str:
    if attempt.infrastructure is not None:
        return attempt.infrastructure.kind
    return "stale recording" if attempt.status == "stale" else "not run"


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
                    f"{metric} {numbers.rate(part.metrics[metric].value)}"
                    for metric in SHARE_METRICS
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
