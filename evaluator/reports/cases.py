"""The lists of cases: regressed, failed, fixed, and those that pass in some attempts only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from msgspec import UNSET

from evaluator.metrics import case_value
from evaluator.reports import numbers
from evaluator.reports.escape import compact_json, shorten
from evaluator.reports.figures import comparison_of
from evaluator.reports.view_model import CaseRow, FindingRow, FlipRow, Listing
from evaluator.results import Attempt, CaseChange, CaseResult, Finding, RuleResult, Run
from evaluator.vocabulary import AMOUNT_METRICS, SHARE_METRICS

_FINDINGS_PER_CASE = 20
_VALUE_BYTES = 400
_MESSAGE_BYTES = 300
_ANSWER_BYTES = 80
_TOOL_BYTES = 80
_UNREAD = ("truncated", "unparseable")


def regressed(run: Run) -> Listing[CaseRow]:
    """Cases that passed less often than in the baseline: critical ones first, then the largest drop."""
    cases = {(task.name, case.id): case for task in run.tasks for case in task.cases}
    rows = []
    for change in _sorted(_changes(run, "regressed")):
        case = cases.get((change.task, change.id))
        lost = _lost(case) if case is not None else []
        rows.append(_change_row(change, lost[0] if lost else None))
    return Listing(rows)


def fixed(run: Run) -> Listing[CaseRow]:
    """Cases that pass more often than in the baseline."""
    return Listing([_change_row(change) for change in _sorted(_changes(run, "fixed"))])


def failed(run: Run) -> Listing[CaseRow]:
    """Cases beside the regressed ones: those that the verdict or a warning rests on, failed or not, which come first,
    and failed ones that were not compared. What failed in the baseline already and concerns no rule is left out."""
    rows = []
    for task in run.tasks:
        listed = _regressed_ids(run, task.name)
        rules = _decisive_rules(run, task.name, ("fail", "warn"))
        worse = {case_id for rule in rules for case_id in rule.worse}
        limits = [rule for rule in rules if rule.evidence is None]
        known = _known(run, task.name)
        for case in task.cases:
            if case.id in listed:
                continue
            lost = _lost(case)
            decisive = case.id in worse or any(speaks_of(rule, case) for rule in limits)
            if decisive or (lost and case.id not in known):
                row = failed_row(task.name, case) if lost else _passing_row(task.name, case)
                rows.append((not decisive, not case.critical, row))
    return Listing([row for *_, row in sorted(rows, key=lambda each: each[:2])])


def rests_on_failed(run: Run) -> bool:
    """Whether the verdict rests on cases that the regressed ones do not show: a limit on a figure itself has failed, or
    a figure has become worse in cases that pass as often as before."""
    return run.verdict == "regression" and any(_decisive_rules(run, task.name, ("fail",)) for task in run.tasks)


def _decisive_rules(run: Run, task: str, outcomes: Sequence[str]) -> list[RuleResult]:
    """Rules of these outcomes on how well a task's cases are answered, which the regressed cases do not explain: limits
    on a figure itself, and limits on a change that other cases have part in."""
    listed = _regressed_ids(run, task)
    return [
        rule
        for rule in run.rules
        if rule.task == task
        and rule.outcome in outcomes
        and rule.now is not None
        and rule.metric not in AMOUNT_METRICS
        and (rule.evidence is None or not listed.issuperset(rule.worse))
    ]


def _regressed_ids(run: Run, task: str) -> set[str]:
    return {change.id for change in _changes(run, "regressed") if change.task == task}


def speaks_of(rule: RuleResult, case: CaseResult) -> bool:
    """Whether a case is of the rule's slice and keeps its metric from being as good as it can be."""
    if rule.slice is not None and rule.slice not in case.slices:
        return False
    if rule.metric in ("pass_rate", "all_k_pass_rate"):
        return bool(_lost(case))
    value = case_value(rule.metric, case, 1)
    return value is not None and (value < 1 if rule.metric in SHARE_METRICS else value > 0)


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


def _change_row(change: CaseChange, attempt: Attempt | None = None) -> CaseRow:
    """`attempt`: whose findings they are, where it is known."""
    whole = {change.baseline, change.now} <= {0.0, 1.0}
    before, after = numbers.pair("pass_rate", change.baseline, change.now)
    return CaseRow(
        task=change.task,
        id=change.id,
        critical=change.critical,
        rates="" if whole else f"{before} → {after}",
        mode=change.failure_mode or "",
        findings=_findings(change.findings, attempt),
    )


def failed_row(task: str, case: CaseResult) -> CaseRow:
    """A case with a failed attempt, by the findings of the first one."""
    attempts, lost = scored(case), _lost(case)
    return CaseRow(
        task=task,
        id=case.id,
        critical=case.critical,
        rates="" if len(lost) == len(attempts) else f"failed {len(lost)} of {len(attempts)}",
        mode=lost[0].failure_mode or "",
        findings=_findings(lost[0].findings, lost[0]),
    )


def _passing_row(task: str, case: CaseResult) -> CaseRow:
    """With what there is to say of the first attempt of which there is something."""
    attempt = next((attempt for attempt in scored(case) if attempt.findings), None)
    return CaseRow(
        task=task,
        id=case.id,
        critical=case.critical,
        rates="passed",
        mode="",
        findings=_findings(attempt.findings, attempt) if attempt is not None else Listing(),
        passes=True,
    )


def scored(case: CaseResult) -> list[Attempt]:
    """The attempts of a case that have a verdict."""
    return [attempt for attempt in case.attempts if attempt.status == "scored"]


def _lost(case: CaseResult) -> list[Attempt]:
    return [attempt for attempt in scored(case) if not attempt.passed]


def _unread_answer(attempt: Attempt) -> str:
    """The beginning of a failed answer where its scorer could not read it: no finding quotes it."""
    if attempt.failure_mode not in _UNREAD or attempt.transcript is None:
        return ""
    said = attempt.transcript
    text = said.text or (said.calls[0].arguments if said.calls else "")
    return shorten(text.strip(), _ANSWER_BYTES) if text else ""


def _findings(findings: Sequence[Finding], attempt: Attempt | None) -> Listing[FindingRow]:
    """Without notes, unless there is nothing else. What came instead of something that could be read stands at the
    first finding, if that is about the whole answer and none of them quotes what came."""
    findings = [finding for finding in findings if not finding.note] or findings
    shown = [
        FindingRow(
            about=_about(finding),
            path=shorten(finding.path, _VALUE_BYTES),
            keyword=finding.keyword,
            wanted="" if finding.wanted is UNSET else compact_json(finding.wanted, _VALUE_BYTES),
            got="" if finding.got is UNSET else compact_json(finding.got, _VALUE_BYTES),
            note=shorten(finding.message or "", _MESSAGE_BYTES),
        )
        for finding in findings[:_FINDINGS_PER_CASE]
    ]
    answer = _unread_answer(attempt) if attempt is not None else ""
    if answer and shown and not shown[0].about and not any(row.got for row in shown):
        shown[0] = replace(shown[0], got=answer)
    return Listing(shown, len(findings) - len(findings[:_FINDINGS_PER_CASE]))


def _about(finding: Finding) -> str:
    """ "step 3 issue_refund": the expected step that a finding is about, else the call: "call 4 issue_refund"."""
    tool = shorten(finding.tool or "", _TOOL_BYTES)
    if finding.step is not None:
        return f"step {finding.step} {tool}".rstrip()
    return f"call {finding.call} {tool}".rstrip() if finding.call is not None else tool


def flips(run: Run) -> Listing[FlipRow]:
    """Cases that passed in some attempts and failed in others, the least certain first."""
    rows = []
    for task in run.tasks:
        for case in task.cases:
            attempts, lost = scored(case), _lost(case)
            if 0 < len(lost) < len(attempts):
                modes = Counter(attempt.failure_mode or "" for attempt in lost)
                row = FlipRow(
                    task=task.name,
                    id=case.id,
                    critical=case.critical,
                    passed=f"{len(attempts) - len(lost)} of {len(attempts)}",
                    modes=[(mode, numbers.count(times)) for mode, times in modes.most_common()],
                )
                rows.append((abs(len(lost) / len(attempts) - 0.5), row))
    return Listing([row for _, row in sorted(rows, key=lambda each: each[0])])
