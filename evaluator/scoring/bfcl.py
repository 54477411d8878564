"""bfcl@1: function calls against accepted values, as the Berkeley Function Calling Leaderboard judges them.

`Case.expected`: `calls`, the wanted calls (`bfcl_calls.compile_calls`), none where no call is right; and `functions`,
the names on offer where calls stand in the text. Options: `matching`, `optimal` or `greedy` (upstream's, which depends
on the order of the calls), and `calls`, `native` or `prompt`. Rules: docs/bfcl.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from evaluator import tool_calls
from evaluator.cases import Case
from evaluator.json_text import JsonFault, parse_json
from evaluator.results import Finding, Score
from evaluator.scoring.bfcl_calls import Decoded, WantedCall, accepts, compile_calls, paired
from evaluator.scoring.bounds import bounded
from evaluator.scoring.outcome import MalformedError
from evaluator.transcript import Call, Infrastructure, Transcript

VERSION = "bfcl@1"
MATCHINGS = ("optimal", "greedy")

Scorer = Callable[[Transcript], Score | Infrastructure]


def prepare(case: Case) -> Scorer:
    """A function from transcript to score; Infrastructure `malformed_expected` where the case itself is at fault."""
    expected = case.expected or {}
    try:
        wanted = compile_calls(expected.get("calls"))
        greedy = _matching(case.options) == "greedy"
    except MalformedError as error:
        fault = Infrastructure(kind="malformed_expected", message=str(error))
        return lambda _: fault
    names = expected.get("functions", []) if case.options.get("calls") == "prompt" else None

    def score(transcript: Transcript) -> Score:
        unreadable, calls = _decoded(transcript, names)
        if unreadable is not None:
            mode, finding = unreadable
            return Score(passed=False, failure_mode=mode, values=_values(wanted, 0, 0.0), findings=[finding])
        if not wanted and not calls and not (transcript.text or "").strip():
            # No call is right here, but saying nothing at all is no way to pass.
            empty = Finding(path="$", keyword="empty", message="neither a call nor an answer")
            return Score(passed=False, failure_mode="unparseable", values=_values(wanted, 0, 0.0), findings=[empty])
        return judged(wanted, calls, greedy=greedy)

    return score


def _matching(options: dict[str, Any]) -> str:
    matching = options.get("matching", MATCHINGS[0])
    if matching not in MATCHINGS:
        raise MalformedError(f"the option matching is {bounded(matching)!r}; it is {' or '.join(MATCHINGS)}")
    return str(matching)


def judged(wanted: Sequence[WantedCall], calls: Sequence[Decoded], *, greedy: bool = False) -> Score:
    """The score of calls that could be read."""
    if accepts(wanted, calls, greedy=greedy):
        return Score(passed=True, values=_values(wanted, None, 1.0))
    findings: list[Finding] = []
    mode = None
    if len(wanted) != len(calls):
        mode = "wrong_count"
        findings.append(Finding(path="$", keyword="count", wanted=len(wanted), got=len(calls), message="tool calls"))
    right = 0
    pairs = paired(wanted, calls, greedy=greedy)
    for number, index in pairs:
        each, step = wanted[number], number + 1
        tool = bounded(each.tool)
        if index is None:
            findings.append(Finding(path="$", keyword="missing_call", wanted=tool, step=step, tool=tool))
            continue
        call = calls[index]
        look = each.look(call, {"step": step, "call": index + 1, "tool": bounded(call.tool)})
        mode = mode or look.mode
        right += look.right
        findings += look.findings
    findings += _extra(calls, {pair.call for pair in pairs})
    return Score(passed=False, failure_mode=mode, values=_values(wanted, right, 0.0), findings=findings)


def _extra(calls: Sequence[Decoded], used: set[int | None]) -> Iterator[Finding]:
    for index, call in enumerate(calls):
        if index not in used:
            tool = bounded(call.tool)
            yield Finding(path="$", keyword="extra_call", got=tool, call=index + 1, tool=tool)


def _values(wanted: Sequence[WantedCall], right: int | None, score: float) -> dict[str, float]:
    """`right` None: all of the wanted arguments."""
    total = sum(each.total for each in wanted)
    values = {"score": score}
    if total:
        values["argument_score"] = 1.0 if right is None else right / total
    return values


def _decoded(transcript: Transcript, names: Sequence[str] | None) -> tuple[tuple[str, Finding] | None, list[Decoded]]:
    """Why the calls cannot be read (mode and finding), or None and the calls. `names`: of the functions, where calls
    stand in the text."""
    if transcript.stop_reason == "length":
        return ("truncated", _truncated("the answer ended at the token limit")), []
    if transcript.cut:
        return ("truncated", _truncated(f"the answer was longer than what is kept, by {transcript.cut} characters")), []
    calls: list[Call] = transcript.calls
    if names is not None and not calls and transcript.text:
        calls = tool_calls.in_text(transcript.text, names).calls
    decoded = []
    for number, call in enumerate(calls, 1):
        arguments = _arguments(call, number)
        if isinstance(arguments, Finding):
            return ("unparseable", arguments), []
        decoded.append(Decoded(call.tool, arguments))
    return None, decoded


def _truncated(message: str) -> Finding:
    return Finding(path="$", keyword="truncated", message=message)


def _arguments(call: Call, number: int) -> dict[str, Any] | Finding:
    tool = bounded(call.tool)
    got = bounded(call.arguments)
    if call.fault is not None:
        message = f"the call is malformed: {call.fault[:300]}"
        return Finding(path="$", keyword="call", got=got, call=number, tool=tool, message=message)
    value = parse_json(call.arguments)
    if isinstance(value, JsonFault):
        message = f"the arguments cannot be read: {value}"
        return Finding(path="$", keyword=value.keyword, got=got, call=number, tool=tool, message=message)
    if not isinstance(value, dict):
        message = "the arguments are not an object"
        return Finding(path="$", keyword="type", wanted="object", got=bounded(value), call=number, message=message)
    return value
