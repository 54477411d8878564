"""What a transcript answers: the text that text matchers read, and the one function call that `json_call` reads.

How an answer is unwrapped is trapstreet's behaviour (docs/scoring.md); that native tool calls count is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import UNSET

from evaluator.json_text import JsonFault, parse_json
from evaluator.results import Finding
from evaluator.scoring.bounds import bounded
from evaluator.transcript import Transcript

Parser = Callable[[str], Any]


class FunctionCall(NamedTuple):
    """`name` is what stood where the name belongs, of any type; None where nothing did."""

    name: Any
    arguments: dict[str, Any]


class Unreadable(NamedTuple):
    """Why there is no call. `name` as in FunctionCall where one could be read all the same."""

    failure_mode: str
    finding: Finding


def read_call(transcript: Transcript, parse: Parser = parse_json) -> FunctionCall | Unreadable:
    """The function call that the transcript answers: its only native tool call, else the call in its text.

    `parse` gives a value or a JsonFault.
    """
    calls = transcript.calls
    if len(calls) > 1:
        finding = Finding(path="$", keyword="count", wanted=1, got=len(calls), message="more than one tool call")
        return Unreadable("wrong_count", finding)
    if calls:
        return _with_arguments(calls[0].tool, parse(calls[0].arguments))
    text, value = _unwrap(transcript.text, parse)
    if not text or text.isspace():
        return Unreadable("unparseable", Finding(path="$", keyword="json", message="the answer is empty"))
    if value is UNSET or text.endswith("```"):
        value = parse(_without_fence(text))
    if isinstance(value, JsonFault):
        return _not_json(value)
    if not isinstance(value, dict):
        finding = Finding(path="$", keyword="type", wanted="object", got=bounded(value), message="not an object")
        return Unreadable("unparseable", finding)
    name = value.get("name") or value.get("function") or value.get("function_name") or None
    return _with_arguments(name, value.get("arguments") or value.get("args") or value.get("parameters") or {})


def answer_text(transcript: Transcript, parse: Parser = parse_json) -> str:
    """The text of the answer: stripped, and where all of it is an object whose `answer` is a string, that string."""
    return _unwrap(transcript.text, parse)[0]


def _unwrap(text: str | None, parse: Parser) -> tuple[str, Any]:
    """The answer's text, and its value where it had to be parsed for that (else UNSET)."""
    text = (text or "").strip()
    if not text.startswith("{"):
        return text, UNSET
    value = parse(text)
    inner = value.get("answer") if isinstance(value, dict) else None
    return (inner, UNSET) if isinstance(inner, str) else (text, value)


def _without_fence(text: str) -> str:
    """`text` without one opening fence at its very start and one closing fence at its very end."""
    if text.startswith("```"):
        text = text[3:].removeprefix("json")
    return text.removesuffix("```")


def _with_arguments(name: Any, arguments: Any) -> FunctionCall | Unreadable:
    if isinstance(arguments, JsonFault):
        return _not_json(arguments)
    if not isinstance(arguments, dict):
        finding = Finding(
            path="$", keyword="arguments", got=bounded(arguments), message="the arguments are not an object"
        )
        return Unreadable("unparseable", finding)
    return FunctionCall(name, arguments)


def _not_json(fault: JsonFault) -> Unreadable:
    return Unreadable("unparseable", Finding(path="$", keyword=fault.keyword, message=str(fault)))
