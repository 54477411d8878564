"""arena@1: the final answer, mostly JSON, and the use of tools, by checks that must all hold.

`Case.expected`: `checks` (docs/scoring.md). Modes and figures: docs/arena.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from evaluator.cases import Case
from evaluator.results import Finding, Score
from evaluator.scoring.checks import Check, UnknownCheckError, compile_checks
from evaluator.scoring.outcome import MalformedError
from evaluator.scoring.patterns import PatternTimeoutError
from evaluator.transcript import Infrastructure, Transcript

VERSION = "arena@1"

Scorer = Callable[[Transcript], Score | Infrastructure]
# A failure mode with a finding that speaks for it.
Told = tuple[str, Finding]

# In the order in which they are decided, which is that of vocabulary.FAILURE_MODES.
MODES = ("truncated", "unparseable", "schema_invalid", "wrong_value", "tool_not_used", "check_failed")

# What a check of a kind says where it fails and there was something to look at; any other kind is `check_failed`.
MODE_OF = {
    "json_schema": "schema_invalid",
    **dict.fromkeys(("contains", "icontains", "iregex", "numeric_equals", "json_path_equals"), "wrong_value"),
    **dict.fromkeys(("tool_used", "min_tool_calls", "suspended"), "tool_not_used"),
}
_ON_JSON = frozenset({"json_valid", "json_schema", "json_path_equals"})
# The words of `JsonFault`: with one of them a check says that there was no JSON to look at.
_NO_JSON = frozenset(
    {"json", "duplicate_key", "depth", "size", "not_finite", "integer_size", "surrogate", "byte_order_mark"}
)


def prepare(case: Case) -> Scorer:
    """A function from transcript to score, with the checks of the case compiled once.

    Where the case itself is at fault, a function that gives Infrastructure: `malformed_expected`, `unknown_check` or
    `pattern_timeout`. A case without a check is at fault: nothing could fail it.
    """
    try:
        checks = _checks(case)
    except (MalformedError, PatternTimeoutError) as error:
        fault = _infrastructure(error)
        return lambda _: fault

    def score(transcript: Transcript) -> Score | Infrastructure:
        try:
            return _score(checks, transcript)
        except (MalformedError, PatternTimeoutError) as error:  # of a part that only this answer reached
            return _infrastructure(error)

    return score


def _checks(case: Case) -> list[Check]:
    checks = compile_checks((case.expected or {}).get("checks"))
    if not checks:
        raise MalformedError("there are no checks")
    return checks


def _infrastructure(error: Exception) -> Infrastructure:
    if isinstance(error, UnknownCheckError):
        return Infrastructure(kind="unknown_check", message=str(error))
    timeout = isinstance(error, PatternTimeoutError)
    return Infrastructure(kind="pattern_timeout" if timeout else "malformed_expected", message=str(error))


def _score(checks: list[Check], transcript: Transcript) -> Score:
    failed = [(check.kind, finding) for check in checks if (finding := check(transcript)) is not None]
    told = [*_ending(transcript), *((_mode(kind, finding), finding) for kind, finding in failed)]
    told.sort(key=lambda each: MODES.index(each[0]))
    values = {"score": 0.0 if told else 1.0}
    if any(check.kind == "json_schema" for check in checks):
        values["schema_valid"] = 0.0 if any(kind == "json_schema" for kind, _ in failed) else 1.0
    return Score(
        passed=not told,
        failure_mode=told[0][0] if told else None,
        values=values,
        findings=_distinct(finding for _, finding in told),
    )


def _ending(transcript: Transcript) -> Iterator[Told]:
    """What is wrong with how the answer ended, whatever the checks say."""
    if transcript.stop_reason == "length":
        yield "truncated", Finding(path="$", keyword="truncated", message="the output ended at the token limit")
    elif transcript.cut:
        message = f"the output was longer than what is kept, by {transcript.cut} characters"
        yield "truncated", Finding(path="$", keyword="truncated", message=message)
    if transcript.limit is not None:
        message = "the conversation was ended before there was a final answer"
        yield "unparseable", Finding(path="$", keyword=transcript.limit, message=message)
    elif transcript.text is None or not transcript.text.strip():
        yield "unparseable", Finding(path="$", keyword="empty", message="the answer is empty")


def _mode(kind: str, finding: Finding) -> str:
    """The mode of a failed check. Without an answer, or without JSON where it is looked into, the fault is that."""
    if finding.keyword == "empty" or (kind in _ON_JSON and finding.keyword in _NO_JSON):
        return "unparseable"
    return MODE_OF.get(kind, "check_failed")


def _distinct(findings: Iterator[Finding]) -> list[Finding]:
    """Without those that several checks give alike, such as that there is no JSON."""
    found: list[Finding] = []
    for finding in findings:
        if finding not in found:
            found.append(finding)
    return found
