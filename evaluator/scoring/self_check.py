"""Do the task's own expected answers pass? One that cannot is a fault of the task, or drift of a scorer."""

from __future__ import annotations

from evaluator.cases import Case, Task
from evaluator.results import Finding, Score
from evaluator.scoring import Ruler, Scorer, ruler
from evaluator.transcript import Infrastructure, Transcript

# What a scorer says of a case whatever the answer is.
_MALFORMED = frozenset(
    {"malformed_expected", "malformed_schema", "unknown_matcher", "unknown_normalizer", "unknown_check"}
)


def self_check(task: Task, measure: Ruler | None = None) -> dict[str, str]:
    """Case id → what is wrong, for each case whose own scorer refuses it or one of its golds, or whose golds its own
    function spec forbids.
    `measure`: of a task with a judge of its own."""
    measure = measure or ruler(task.scorer)
    faults = ((case.id, _fault(measure, case)) for case in task.cases)
    return {case_id: fault for case_id, fault in faults if fault is not None}


def _fault(measure: Ruler, case: Case) -> str | None:
    scorer = measure.prepare(case)
    if scorer is None:
        return None
    if not case.golds:
        score = scorer(Transcript(text=""))  # any answer tells a case that can't be scored at all
        if isinstance(score, Infrastructure) and score.kind in _MALFORMED:
            return f"the case cannot be scored ({score.kind}): {score.message}"
        return None
    return next((fault for gold in case.golds if (fault := _gold_fault(scorer, gold)) is not None), None)


def _gold_fault(scorer: Scorer, gold: Transcript) -> str | None:
    score = scorer(gold)
    if isinstance(score, Infrastructure):
        return f"the expected answer cannot be scored ({score.kind}): {score.message}"
    if not score.passed:
        return f"the expected answer fails its own scorer as {score.failure_mode}{_where(score)}"
    if score.values.get("schema_valid") == 0.0:
        return f"the expected answer passes but is not valid by the case's function spec{_where(score)}"
    return None


def _where(score: Score) -> str:
    return ": " + ", ".join(_place(finding) for finding in score.findings) if score.findings else ""


def _place(finding: Finding) -> str:
    return f"{finding.path} ({finding.keyword})"
