"""Tasks → the attempts to be made, and outcomes → scored attempts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from evaluator import scoring
from evaluator.cases import Case, Recorded, Subject, Task, made_with
from evaluator.results import Attempt, Status
from evaluator.scoring import Ruler, Scorer
from evaluator.transcript import Infrastructure, Transcript


class Made(msgspec.Struct, frozen=True):
    """What became of one attempt. `not_run`: nobody tried, in contrast to a try that failed. `stale`: what changed
    since it was recorded, in words; empty where it answers for today's tree."""

    case_id: str
    number: int
    result: Transcript | Infrastructure
    not_run: bool = False
    stale: str = ""


def scored(task: Task, made: Iterable[Made], ruler: Ruler | None = None) -> dict[str, list[Attempt]]:
    """Case id → its attempts in order, scored where there is a transcript. Each case's scorer is compiled once.
    `ruler`: of a task with a judge of its own."""
    ruler = ruler or scoring.ruler(task.scorer)
    scorers = {case.id: ruler.prepare(case) or _unjudged for case in task.cases}
    attempts: dict[str, list[Attempt]] = {case.id: [] for case in task.cases}
    for each in sorted(made, key=lambda one: one.number):
        attempts[each.case_id].append(_attempt(ruler.version, scorers[each.case_id], each))
    return attempts


def _unjudged(_: Transcript) -> Infrastructure:
    return Infrastructure(kind="judge_missing", message="the judge does not know this case")


def _attempt(version: str, score: Scorer, made: Made) -> Attempt:
    if isinstance(made.result, Infrastructure):
        status: Status = "not_run" if made.not_run else "infrastructure"
        return Attempt(number=made.number, status=status, infrastructure=made.result)
    if made.stale:
        old = Infrastructure(kind="stale", message=made.stale)
        return Attempt(number=made.number, status="stale", transcript=made.result, infrastructure=old)
    verdict = score(made.result)
    if isinstance(verdict, Infrastructure):
        return Attempt(number=made.number, status="infrastructure", transcript=made.result, infrastructure=verdict)
    return Attempt(
        number=made.number,
        status="scored",
        passed=verdict.passed,
        failure_mode=verdict.failure_mode,
        values=verdict.values,
        scorer=version,
        findings=verdict.findings,
        transcript=made.result,
    )


def absent(task: Task, repeats: int) -> list[Made]:
    """The attempts at cases that the source lists and does not hold: planned, and made by nobody."""
    return [
        Made(case.id, number, Infrastructure(kind="missing", message=case.absent), not_run=True)
        for case in task.cases
        if case.absent
        for number in range(1, repeats + 1)
    ]


def recorded(
    task: Task, rows: Sequence[Recorded], subject: Subject | None = None, *, marked: bool = False
) -> tuple[list[Made], list[str]]:
    """What somebody else produced for the cases of `task`: a case without a row is one attempt that was not made. Also
    the case ids of rows that belong to no case, each once.

    `subject`: what the tree under test asks with; a recording that was made with another is stale. None: there is no
    tree to hold recordings to. `marked`: so is one that does not say what it was made with.
    """
    known = {case.id: case for case in task.cases}
    made = [
        Made(row.case_id, row.number, _answer(row), stale=_stale(row, known[row.case_id], subject, marked))
        for row in rows
        if row.case_id in known
    ]
    silent = known.keys() - {row.case_id for row in rows}
    nothing = Infrastructure(kind="no_output", message="there is no output for this case")
    made += [Made(case_id, 1, nothing, not_run=True) for case_id in sorted(silent) if not known[case_id].absent]
    made += [each for each in absent(task, 1) if each.case_id in silent]
    return made, sorted({row.case_id for row in rows} - known.keys())


def _answer(row: Recorded) -> Transcript | Infrastructure:
    """What was recorded; an answer that the provider held back is none, as in a live run."""
    if row.transcript.stop_reason == "content_filter":
        return Infrastructure(
            kind="content_filter", message="the provider held the answer back", usage=row.transcript.usage
        )
    return row.transcript


def _stale(row: Recorded, case: Case, subject: Subject | None, marked: bool) -> str:
    """How the recording's subject differs from today's, in words; empty where it does not, or does not say and need
    not."""
    if subject is None or row.subject_digest is None:
        return "it does not say what it was made with" if marked else ""
    today = made_with(subject, case)
    if row.subject_digest == today.digest():
        return ""
    before, now = row.subject or {}, today.entries()
    differing = [name for name in sorted(before.keys() | now.keys()) if before.get(name) != now.get(name)]
    what = ", ".join(differing[:5]) if before and differing else "the subject"
    return f"recorded before a change of {what}: a recording cannot answer for it"


def counts(rows: Iterable[Recorded], task: Task) -> Mapping[str, int]:
    """Case id → its attempts, going by the highest attempt number, for the cases of `task` that have any."""
    known = {case.id for case in task.cases}
    highest: dict[str, int] = {}
    for row in rows:
        if row.case_id in known:
            highest[row.case_id] = max(highest.get(row.case_id, 0), row.number)
    return highest


def planned(task: Task, rows: Sequence[Recorded], repeats: int) -> dict[str, int]:
    """Case id → attempts that were to be made: at least `repeats`, and for a case without a row as many as any other
    case has. Otherwise a case that is missing would weigh less than one that is there."""
    found = counts(rows, task)
    most = max(found.values(), default=1)
    return {case.id: max(repeats, found.get(case.id, most)) for case in task.cases}
