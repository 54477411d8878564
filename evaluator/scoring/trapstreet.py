"""trapstreet@1: the built-in judge of trapstreet tasks. All matchers of a case must be satisfied.

`Case.expected` is `{"matchers": [{"kind", …}, …]}`; `Case.options` may hold `json_call` ("1" or "upstream") and
`no_hedge` (true adds that matcher). Values: `schema_valid`, `argument_score`, `score` (docs/scoring.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from evaluator.cases import Case
from evaluator.results import Finding, Score
from evaluator.scoring.answer import FunctionCall, Unreadable, answer_text, read_call
from evaluator.scoring.bounds import bounded
from evaluator.scoring.json_call import Check as CallCheck
from evaluator.scoring.json_call import compile_json_call
from evaluator.scoring.matchers import JSON_CALL, TEXT_MATCHERS, kinds
from evaluator.scoring.outcome import MalformedError, Outcome
from evaluator.scoring.patterns import PatternTimeoutError
from evaluator.scoring.schema import SchemaCheck, SchemaError, compile_schema
from evaluator.scoring.text_matchers import TextCheck
from evaluator.transcript import Infrastructure, Transcript
from evaluator.vocabulary import FAILURE_MODES

VERSION = "trapstreet@1"

Scorer = Callable[[Transcript], Score | Infrastructure]


class _Checks(NamedTuple):
    calls: list[CallCheck]
    texts: list[TextCheck]


class _Function(NamedTuple):
    name: str
    parameters: SchemaCheck


def prepare(case: Case) -> Scorer:
    """A function from transcript to score, with everything of the case compiled once.

    Where the case itself is at fault, a function that gives Infrastructure: `malformed_expected`, `unknown_matcher` or
    `malformed_schema`.
    """
    checks = _compile_matchers(case.expected or {}, case.options)
    if isinstance(checks, Infrastructure):
        return _always(checks)
    function: _Function | None = None
    if case.request.function is not None:
        try:
            parameters = compile_schema(case.request.function.get("parameters", {}))
        except SchemaError as error:
            return _always(Infrastructure(kind="malformed_schema", message=f"the function spec: {error}"))
        function = _Function(case.request.function["name"], parameters)

    def score(transcript: Transcript) -> Score | Infrastructure:
        try:
            return _score(checks, function, transcript)
        except PatternTimeoutError as timeout:
            return Infrastructure(kind="pattern_timeout", message=str(timeout))

    return score


def _always(infrastructure: Infrastructure) -> Scorer:
    return lambda _: infrastructure


def _compile_matchers(expected: dict[str, Any], options: dict[str, Any]) -> _Checks | Infrastructure:
    definitions = expected.get("matchers")
    if not isinstance(definitions, list) or not definitions:
        return _malformed("matchers is a list of at least one matcher")
    if options.get("no_hedge"):
        definitions = [*definitions, {"kind": "no_hedge"}]
    checks = _Checks([], [])
    for number, definition in enumerate(definitions):
        where = f"matchers[{number}]"
        if not isinstance(definition, dict) or not isinstance(definition.get("kind"), str):
            return _malformed(f"{where} is an object with a kind")
        kind = definition["kind"]
        try:
            if kind == JSON_CALL:
                checks.calls.append(compile_json_call(definition, options.get("json_call", "1")))
            elif kind in TEXT_MATCHERS:
                checks.texts.append(TEXT_MATCHERS[kind][1](definition))
            else:
                known = ", ".join(kinds())
                message = f"{where}: unknown kind {bounded(kind)!r}; known are {known}"
                return Infrastructure(kind="unknown_matcher", message=message)
        except MalformedError as error:
            return _malformed(f"{where} ({kind}): {error}")
    return checks


def _malformed(message: str) -> Infrastructure:
    return Infrastructure(kind="malformed_expected", message=message)


def _score(checks: _Checks, function: _Function | None, transcript: Transcript) -> Score | Infrastructure:
    values: dict[str, float] = {}
    outcomes: list[Outcome] = []
    schema_findings: list[Finding] = []
    if checks.calls or function:
        call = read_call(transcript)
        outcomes += [check(transcript, call) for check in checks.calls]
        if function is not None:
            invalid = _schema_findings(function, call)
            if isinstance(invalid, Infrastructure):
                return invalid
            values["schema_valid"] = 1.0 if invalid == [] else 0.0
            schema_findings = invalid or []
    if checks.texts:
        outcomes += _text_outcomes(checks, transcript)
    gold = sum(outcome.gold for outcome in outcomes)
    if gold:
        values["argument_score"] = sum(outcome.accepted for outcome in outcomes) / gold
    mode, findings = _verdict(outcomes, schema_findings, transcript)
    values["score"] = 0.0 if mode else 1.0
    return Score(passed=mode is None, failure_mode=mode, values=values, findings=findings)


def _schema_findings(function: _Function, call: FunctionCall | Unreadable) -> list[Finding] | Infrastructure | None:
    """What is invalid in the arguments; None where there is no call of that function to look at."""
    if isinstance(call, Unreadable) or call.name != function.name:
        return None
    found = function.parameters.findings(call.arguments)
    if isinstance(found, Infrastructure):
        return found
    return [
        Finding(path=finding.path, keyword="unexpected_argument", got=finding.got)
        if finding.keyword == "additionalProperties"
        else finding
        for finding in found
    ]


def _text_outcomes(checks: _Checks, transcript: Transcript) -> list[Outcome]:
    text = answer_text(transcript)
    # A native call is an answer only where a call is asked for. Else it would pass what is about words it has not.
    called = bool(checks.calls and transcript.calls)
    if not called and not text.strip():
        empty = Finding(path="$", keyword="empty", message="the answer is empty")
        return [Outcome("unparseable", [empty])]
    found = [check(text) for check in checks.texts]
    return [Outcome("wrong_value", [finding]) for finding in found if finding is not None]


def _verdict(
    outcomes: list[Outcome], schema_findings: list[Finding], transcript: Transcript
) -> tuple[str | None, list[Finding]]:
    """The first failure mode that applies, None where there is none, and the findings, none of them twice."""
    findings: list[Finding] = []
    modes = {outcome.failure_mode for outcome in outcomes}
    if transcript.process is not None and transcript.process.exit_code:
        modes.add("unparseable")
        ended = f"the solution ended with exit code {transcript.process.exit_code}"
        findings.append(Finding(path="$", keyword="exit_code", got=transcript.process.exit_code, message=ended))
    cut_where = _cut(transcript)
    if cut_where is not None:
        modes.add("truncated")
        findings.append(Finding(path="$", keyword="truncated", message=cut_where))
    for outcome in outcomes:
        findings += outcome.findings
    if schema_findings:
        seen = {(finding.path, finding.keyword) for finding in findings}
        findings += [finding for finding in schema_findings if (finding.path, finding.keyword) not in seen]
    for mode in FAILURE_MODES:
        if mode in modes:
            return mode, findings
    return None, findings


def _cut(transcript: Transcript) -> str | None:
    """Why the answer is not all there, None where it is. What was left out may have been what fails it."""
    if transcript.stop_reason == "length":
        return "the output ended at the token limit"
    if transcript.cut:
        return f"the answer was longer than what is kept, by {transcript.cut} characters"
    return None
