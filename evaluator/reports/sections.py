"""What stands below the metric table: cases, coverage, slices, canaries, cost and the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

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
from evaluator.results import Attempt, CaseChange, CaseResult, Finding, Metric, RuleResult, Run, TaskResult
from evaluator.vocabulary import AMOUNT_METRICS, FAILURE_MODE_PREFIX, SHARE_METRICS

_FINDINGS_PER_CASE = 20
_VALUE_BYTES = 400
_MESSAGE_BYTES = 300
_MESSAGES_PER_KIND = 3
_ANSWER_BYTES = 80
_UNREAD = ("truncated", "unparseable")


def regressed(run: Run) -> Listing[CaseRow]:
    """Cases that passed less often than in the baseline: critical ones first, then the largest drop."""
    cases = {(task.name, case.id): case for task in run.tasks for case in task.cases}
    rows = []
    for change in _sorted(_changes(run, "regressed")):
        case = cases.get((change.task, change.id))
        answer = _unread_answer(_lost(case)) if case is not None else ""
        rows.append(_change_row(change, answer))
    return Listing(rows)


def fixed(run: Run) -> Listing[CaseRow]:
    """Cases that pass more often than in the baseline."""
    return Listing([_change_row(change) for change in _sorted(_changes(run, "fixed"))])


def failed(run: Run) -> Listing[CaseRow]:
    """Failed cases beside the regressed ones: those that the verdict or a warning rests on, which come first, and those
    that were not compared. What failed in the baseline already and concerns no rule is left out."""
    listed = {(change.task, change.id) for change in _changes(run, "regressed")}
    rows = []
    for task in run.tasks:
        floors = _floors(run, task.name, ("fail", "warn"))
        known = _known(run, task.name)
        for case in task.cases:
            decisive = any(rule.slice is None or rule.slice in case.slices for rule in floors)
            if _lost(case) and (task.name, case.id) not in listed and (decisive or case.id not in known):
                rows.append((not decisive, not case.critical, _failed_row(task.name, case)))
    return Listing([row for *_, row in sorted(rows, key=lambda each: each[:2])])


def rests_on_failed(run: Run) -> bool:
    """Whether a limit on the figures themselves has failed: then it is the failed cases that the verdict rests on."""
    return run.verdict == "regression" and any(_floors(run, task.name, ("fail",)) for task in run.tasks)


def _floors(run: Run, task: str, outcomes: Sequence[str]) -> list[RuleResult]:
    """Rules of these outcomes on how well a task's cases are answered now, whatever the baseline says."""
    return [
        rule
        for rule in run.rules
        if rule.task == task
        and rule.outcome in outcomes
        and rule.evidence is None
        and rule.now is not None
        and rule.metric not in AMOUNT_METRICS
    ]


def _known(run: Run, task: str) -> set[str]:
    """Ids of the cases of a task that were held against the baseline."""
    compared = comparison_of(run, task)
    if compared is None:
        return set()
    ids = {case.id for each in run.tasks if each.name == task for case in each.cases}
    return ids - {*compared.added, *compared.not_comparable, *compared.unscored}


def _changes(run: Run, which: str) -> Iterator[CaseChange]:
    for part in run.comparison.tasks if run.comparison is not None else ():
        yield from part.regressed if which == "regressed" else part.fixed


def _sorted(changes: Iterable[CaseChange]) -> list[CaseChange]:
    return sorted(changes, key=lambda c: (not c.critical, -abs(c.now - c.baseline), c.task, c.id))


def _change_row(change: CaseChange, answer: str = "") -> CaseRow:
    whole = {change.baseline, change.now} <= {0.0, 1.0}
    before, after = numbers.pair("pass_rate", change.baseline, change.now)
    return CaseRow(
        task=change.task,
        id=change.id,
        critical=change.critical,
        rates="" if whole else f"{before} → {after}",
        mode=change.failure_mode or "",
        findings=_findings(change.findings, answer),
    )


def _failed_row(task: str, case: CaseResult) -> CaseRow:
    attempts, lost = scored(case), _lost(case)
    return CaseRow(
        task=task,
        id=case.id,
        critical=case.critical,
        rates="" if len(lost) == len(attempts) else f"failed {len(lost)} of {len(attempts)}",
        mode=lost[0].failure_mode or "",
        findings=_findings(lost[0].findings, _unread_answer(lost)),
    )


def scored(case: CaseResult) -> list[Attempt]:
    """The attempts of a case that have a verdict."""
    return [attempt for attempt in case.attempts if attempt.status == "scored"]


def _lost(case: CaseResult) -> list[Attempt]:
    return [attempt for attempt in scored(case) if not attempt.passed]


def _unread_answer(lost: Sequence[Attempt]) -> str:
    """The beginning of the first failed answer where its scorer could not read it: no finding quotes it."""
    if not lost or lost[0].failure_mode not in _UNREAD or lost[0].transcript is None:
        return ""
    said = lost[0].transcript
    text = said.text or (said.calls[0].arguments if said.calls else "")
    return shorten(text.strip(), _ANSWER_BYTES) if text else ""


def _findings(findings: Sequence[Finding], answer: str = "") -> Listing[FindingRow]:
    """`answer`: what came instead of something that could be read; it stands at the first finding, if that has none."""
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
    if answer and shown and not shown[0].got:
        shown[0] = replace(shown[0], got=answer)
    return Listing(shown, len(findings) - len(findings[:_FINDINGS_PER_CASE]))


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
