"""Do the task's own expected answers pass? One that cannot is a fault of the task, or drift of a scorer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice

from msgspec import UNSET

from evaluator.cases import Case, Origin, Task
from evaluator.results import Finding, Score
from evaluator.scoring import Ruler, expected_calls, ruler
from evaluator.scoring.bounds import bounded, json_path
from evaluator.scoring.expected_calls import Place
from evaluator.transcript import Infrastructure, Transcript

TRACE = "trace"

# What a scorer says of a case whatever the answer is.
_MALFORMED = frozenset(
    {"malformed_expected", "malformed_schema", "unknown_matcher", "unknown_normalizer", "unknown_check"}
)
_MOST_SAID = 3


def self_check(task: Task, measure: Ruler | None = None) -> dict[str, str]:
    """Case id → what is wrong, for each case whose own scorer refuses it or one of its golds, or whose golds its own
    function spec forbids; of a trace also where the tools on offer rule out what it expects.
    `measure`: of a task with a judge of its own."""
    measure = measure or ruler(task.scorer)
    faults = ((case.id, _fault(measure, case, is_trace=task.scorer == TRACE)) for case in task.cases)
    return {case_id: fault for case_id, fault in faults if fault is not None}


def _fault(measure: Ruler, case: Case, *, is_trace: bool) -> str | None:
    scorer = measure.prepare(case)
    if scorer is None:
        return None
    # Any answer tells a case that can't be scored at all.
    probes = case.golds or [Transcript(text="")]
    scores = [scorer(probe) for probe in probes]
    for score in scores:
        if isinstance(score, Infrastructure) and (case.golds or score.kind in _MALFORMED):
            what = "the expected answer" if case.golds else "the case"
            return _at(case.origin, (), f"{what} cannot be scored ({score.kind}): {score.message}")
    if case.request.prefix is not None:
        silent = scorer(Transcript(text="", stop_reason="stop"))
        if isinstance(silent, Score) and silent.passed:
            return _at(case.origin, (), "nothing is left to be written: an answer that says nothing passes")
    if is_trace and case.expected is not None:
        doubts = [_at(case.origin, doubt.place, doubt.message) for doubt in expected_calls.doubts(case)]
        if doubts:
            return _some(doubts)
    faults = (_gold_fault(score) for score in scores if case.golds and isinstance(score, Score))
    return next((_at(case.origin, (), fault) for fault in faults if fault is not None), None)


def _gold_fault(score: Score) -> str | None:
    if not score.passed:
        return f"the expected answer fails its own scorer as {score.failure_mode}{_where(score)}"
    if score.values.get("schema_valid") == 0.0:
        return f"the expected answer passes but is not valid by the case's function spec{_where(score)}"
    return None


def _where(score: Score) -> str:
    said = [_said(finding) for finding in score.findings if not finding.note]
    return f": {_some(said)}" if said else ""


def _said(finding: Finding) -> str:
    """The step, the tool, the place, and what was wanted and got there. Each call of a gold is made for a step."""
    step = f"step {finding.step} " if finding.step is not None else ""
    tool = f"{finding.tool} " if finding.tool is not None else ""
    sides = [
        f"{word} {json.dumps(bounded(value), ensure_ascii=False)}"
        for word, value in (("wanted", finding.wanted), ("got", finding.got))
        if value is not UNSET
    ]
    details = [*sides, *([finding.message] if finding.message else [])]
    return f"{step}{tool}{finding.path} ({finding.keyword})" + (f": {', '.join(details)}" if details else "")


def _some(said: Iterable[str]) -> str:
    """The first of them, and how many more there are."""
    rest = iter(said)
    first = list(islice(rest, _MOST_SAID))
    more = sum(1 for _ in rest)
    return "; also ".join(first) + (f"; and {more} more" if more else "")


def _at(origin: Origin | None, place: Place, message: str) -> str:
    """`message` behind the file, and the line as far as it is known: that of the value, or of what holds it."""
    if origin is None:
        return message
    line = origin.line
    while place:
        found = origin.lines.get(json_path(place))
        if found is not None:
            line = found
            break
        place = place[:-1]
    return f"{origin.file}:{line}: {message}" if line else f"{origin.file}: {message}"
