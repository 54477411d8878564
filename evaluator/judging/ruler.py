"""Judgements → the ruler by which a task is scored. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from evaluator import scoring
from evaluator.cases import Case, OwnJudge, Task
from evaluator.judging.judge import key
from evaluator.judging.verdicts import Judgement
from evaluator.results import CaseResult, Finding, Score
from evaluator.scoring import AGREES, Ruler, Scorer
from evaluator.transcript import Infrastructure, Transcript

DIFFER = "judges_differ"
BUILTIN = "trapstreet"


def build(task: Task, own: OwnJudge, judgements: Mapping[str, Judgement]) -> Ruler:
    """The ruler of `task`: the verdicts of its judge or, where that does not decide, the built-in ones beside them.

    A case whose digest is not today's has none: the judge sees today's expected files only.
    """
    digests = {case.id: case.digest() for case in task.cases}

    def prepare(case: Case) -> Scorer | None:
        if digests.get(case.id) != case.digest():
            return None
        if own.decides:
            return lambda transcript: _verdict(case.id, transcript, judgements)
        builtin = scoring.prepare(BUILTIN, case)
        return lambda transcript: _compared(builtin(transcript), _verdict(case.id, transcript, judgements))

    version = f"judge:task@{own.version}"
    if not own.decides:
        version = f"{scoring.version_of(BUILTIN)}+{version}"
    return Ruler(prepare, version, f"the task's judge `{own.judge}` ({own.version})")


def is_cut(transcript: Transcript) -> bool:
    """Whether part of the answer is missing: it has failed, whatever a judge would say to the rest."""
    return transcript.stop_reason == "length" or transcript.cut > 0


def _verdict(case_id: str, transcript: Transcript, judgements: Mapping[str, Judgement]) -> Score | Infrastructure:
    if is_cut(transcript):
        finding = Finding(path="$", keyword="truncated", message="the answer is not complete, so it was not judged")
        return Score(passed=False, failure_mode="truncated", values={"score": 0.0}, findings=[finding])
    said = judgements.get(key(case_id, transcript))
    if said is None:
        return Infrastructure(kind="judge_missing", message="the judge was not asked about this answer")
    return said.score


def _compared(ours: Score | Infrastructure, theirs: Score | Infrastructure) -> Score | Infrastructure:
    """Ours, with what the task's own judge says to it."""
    if isinstance(ours, Infrastructure):
        return ours
    if isinstance(theirs, Infrastructure):
        finding = Finding(
            path="$", keyword=theirs.kind, message=f"the task's own judge gave no verdict: {theirs.message}"
        )
        return msgspec.structs.replace(ours, findings=[*ours.findings, finding])
    agrees = ours.passed == theirs.passed
    findings = list(ours.findings)
    if not agrees:
        said = (
            "accepts this answer, the built-in one refuses it"
            if theirs.passed
            else "refuses this answer, the built-in one accepts it"
        )
        findings.append(Finding(path="$", keyword=DIFFER, message=f"the task's own judge {said}"))
    return msgspec.structs.replace(ours, values={**ours.values, AGREES: float(agrees)}, findings=findings)


def disagreements(cases: Sequence[CaseResult]) -> list[str]:
    """Where the two judges differ, and where the task's own gave no verdict, in sentences for the report."""
    scored = {case.id: [each for each in case.attempts if each.status == "scored"] for case in cases}
    differ = [name for name, found in scored.items() if any(each.values.get(AGREES) == 0.0 for each in found)]
    silent = [name for name, found in scored.items() if any(AGREES not in each.values for each in found)]
    return [
        f"{what} on {len(names)} of {len(cases)} cases: {', '.join(names)}"
        for names, what in (
            (differ, "the built-in judge and the task's own differ"),
            (silent, "the task's own judge gave no verdict"),
        )
        if names
    ]
