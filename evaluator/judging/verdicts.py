"""How a judge ended → its verdict. Pure.

A judge that crashed, was too slow, printed no JSON or no score has given no verdict: an infrastructure failure of that
case, never the model's failure and never a pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from evaluator.isolation.command import TIMED_OUT, Finished
from evaluator.json_text import JsonFault, parse_json
from evaluator.results import Finding, Score
from evaluator.transcript import Infrastructure, well_formed

NO_JSON = 125  # the exit code that trapstreet writes down for a judge that ended well and printed no JSON
_FULL = 1.0 - 1e-9
_LONGEST = 500


class Judgement(NamedTuple):
    """`metrics`: what the judge printed, None where that was no JSON. `exit_code` as a grader gets it."""

    score: Score | Infrastructure
    metrics: Any = None
    exit_code: int = 0


def judgement(finished: Finished, *, empty: bool) -> Judgement:
    """What a judge says. `empty`: there was no answer, so a failed one is `unparseable`."""
    if finished.limit == "stopped":
        return Judgement(Infrastructure(kind="cancelled", message="the run was stopped"), None, finished.exit_code)
    if finished.exit_code == TIMED_OUT:
        return _none("judge_timeout", f"it ran out of time, after {finished.seconds:.0f} s", TIMED_OUT)
    if finished.error or finished.limit or finished.exit_code not in (0, NO_JSON):
        return _none("judge_crashed", _crash(finished), finished.exit_code)
    metrics = printed(finished)
    if finished.exit_code == NO_JSON or isinstance(metrics, JsonFault):
        return _none(
            "judge_no_json", f"it printed no JSON: {metrics if finished.exit_code == 0 else _tail(finished)}", NO_JSON
        )
    return Judgement(_scored(metrics, empty), metrics, 0)


def printed(finished: Finished) -> Any:
    """The JSON that a command printed, or a JsonFault."""
    try:
        return parse_json(finished.stdout.decode("utf-8").strip())
    except UnicodeDecodeError:
        return JsonFault("json", "its output is not UTF-8 text", 1, 1)


def _scored(metrics: Any, empty: bool) -> Score | Infrastructure:
    score = metrics.get("score") if isinstance(metrics, dict) else None
    if score is None:
        return Infrastructure(kind="judge_no_score", message="it gave no score")
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        return Infrastructure(kind="judge_no_score", message=f"its score is no number from 0 to 1: {str(score)[:80]}")
    if score >= _FULL:
        return Score(passed=True, values={"score": 1.0})
    reason = metrics.get("reason")
    said = well_formed(reason)[:_LONGEST] if isinstance(reason, str) and reason else f"score {score:g}"
    finding = Finding(path="$", keyword="judge", message=said)
    mode = "unparseable" if empty else "wrong_value"
    return Score(passed=False, failure_mode=mode, values={"score": float(score)}, findings=[finding])


def _none(kind: str, message: str, exit_code: int) -> Judgement:
    return Judgement(Infrastructure(kind=kind, message=well_formed(message)[:_LONGEST]), None, exit_code)


def _crash(finished: Finished) -> str:
    if finished.error:
        return f"it could not be run: {finished.error}"
    how = f"it exceeded its bound of {finished.limit}" if finished.limit else f"exit code {finished.exit_code}"
    return f"{how}: {_tail(finished)}"


def _tail(finished: Finished) -> str:
    """The last line of what it wrote to standard error, where a traceback has its message."""
    lines = finished.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].strip()[:300] if lines else "it wrote nothing to standard error"
