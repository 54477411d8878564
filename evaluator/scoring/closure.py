"""closure@1: does the continuation of a begun structure close it, and with what it should hold?

`Case.expected`: `format` (a key of `READERS`), and `text`, the whole right text from the beginning of the prefix on, or
`content`, what the structure holds. `Case.options`: `turn_end` (markers) and `delimiters`. Rules: docs/closure.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evaluator.cases import Case
from evaluator.json_text import JsonFault, parse_json
from evaluator.results import Finding, Score
from evaluator.scoring.bounds import bounded, json_path
from evaluator.scoring.closure_structures import (
    DEFAULT_DELIMITERS,
    READERS,
    Closed,
    Delimiters,
    Reader,
    Unclosed,
    is_closer,
)
from evaluator.scoring.json_call import strictly_equal
from evaluator.transcript import Infrastructure, Transcript

VERSION = "closure@1"

# Formats whose content is a JSON value; that of the others is text.
JSON_FORMATS = frozenset({"json", "tool_call"})
_SHOWN = 120


class MalformedExpectedError(Exception):
    """What is expected of a case is nothing that any answer could be."""


def prepare(case: Case) -> Callable[[Transcript], Score | Infrastructure]:
    """A function from transcript to score. Where the case itself is at fault, one that gives Infrastructure
    `malformed_expected`."""
    expected = case.expected or {}
    prefix = case.request.prefix or ""
    delimiters = delimiters_of(case.options)
    # No closer is ever taken away, whatever a marker is called.
    markers = [marker for marker in case.options.get("turn_end", []) if not is_closer(marker, delimiters)]
    try:
        reader = _reader_of(expected)
        wanted = content_of(expected, reader, delimiters)
    except MalformedExpectedError as error:
        fault = Infrastructure(kind="malformed_expected", message=str(error))
        return lambda _: fault

    def score(transcript: Transcript) -> Score:
        if transcript.text is None:
            return _failed("unparseable", Finding(path="$", keyword="text", message="the answer has no text"))
        continuation = without_turn_end(transcript.text, transcript.stop_reason, markers)
        text = prefix + continuation
        found = reader(text, delimiters)
        if isinstance(found, Unclosed):
            return _failed("syntax_incomplete", _unclosed(found, text, transcript))
        return _closed(found, wanted, text)

    return score


def _reader_of(expected: dict[str, Any]) -> Reader:
    reader = READERS.get(expected.get("format", ""))
    if reader is None:
        raise MalformedExpectedError(f"no format {expected.get('format')!r}; known are {', '.join(READERS)}")
    return reader


def delimiters_of(options: dict[str, Any]) -> Delimiters:
    """The delimiters of a case's options, the usual ones where it has none."""
    given = {name: (pair[0], pair[1]) for name, pair in options.get("delimiters", {}).items()}
    return Delimiters({**DEFAULT_DELIMITERS, **given}) if given else _USUAL


_USUAL = Delimiters(DEFAULT_DELIMITERS)


def content_of(expected: dict[str, Any], reader: Reader, delimiters: Delimiters) -> Any:
    """What the structure must hold. Raises MalformedExpectedError."""
    if "text" in expected:
        found = reader(expected["text"], delimiters)
        if isinstance(found, Unclosed):
            raise MalformedExpectedError(f"the expected text is no complete {expected['format']}: {found.message}")
        if expected["text"][found.end :].strip():
            raise MalformedExpectedError(f"the expected text goes on after the {expected['format']}")
        return found.content
    if "content" not in expected:
        raise MalformedExpectedError("neither the expected text nor the expected content is given")
    content = expected["content"]
    if isinstance(content, str) and expected["format"] in JSON_FORMATS:
        value = parse_json(content)
        if isinstance(value, JsonFault):
            raise MalformedExpectedError(f"the expected content is no JSON: {value}")
        return value
    if expected["format"] not in JSON_FORMATS and not isinstance(content, str):
        raise MalformedExpectedError(f"the expected content of a {expected['format']} is a text")
    if expected["format"] == "reasoning":
        return content.strip() if isinstance(content, str) else content
    return content.removesuffix("\n") if expected["format"] == "code_fence" and isinstance(content, str) else content


def without_turn_end(text: str, stop_reason: str | None, markers: list[str]) -> str:
    """`text` without one turn-end marker at its end where the model stopped by itself; as it is where it did not."""
    if stop_reason != "stop":
        return text
    ends = [marker for marker in markers if text.endswith(marker)]
    return text.removesuffix(max(ends, key=len)) if ends else text


def _closed(found: Closed, wanted: Any, text: str) -> Score:
    rest = text[found.end :].strip()
    preserved = strictly_equal(found.content, wanted)
    findings = [] if preserved else [_difference(found.content, wanted)]
    if rest:
        shown = bounded(rest[:_SHOWN])
        findings.append(
            Finding(path="$", keyword="trailing_content", got=shown, message="stands after the structure", note=True)
        )
    return Score(
        passed=preserved,
        failure_mode=None if preserved else "content_changed",
        values=_values(syntax=True, content=preserved, trailing=bool(rest)),
        findings=findings,
    )


def _failed(mode: str, finding: Finding) -> Score:
    return Score(
        passed=False,
        failure_mode=mode,
        values=_values(syntax=False, content=False, trailing=False),
        findings=[finding],
    )


def _values(*, syntax: bool, content: bool, trailing: bool) -> dict[str, float]:
    return {
        "score": float(content),
        "syntax_complete": float(syntax),
        "content_preserved": float(content),
        "trailing_content": float(trailing),
        "whole_response_success": float(content and not trailing),
    }


def _unclosed(found: Unclosed, text: str, transcript: Transcript) -> Finding:
    message = found.message
    if transcript.stop_reason == "length":
        message += "; the answer ended at the token limit"
    if transcript.cut:
        message += f"; {transcript.cut} characters of it were not kept"
    return Finding(path="$", keyword=found.keyword, got=bounded(_tail(text)), message=message)


def _tail(text: str) -> str:
    return text if len(text) <= _SHOWN else "…" + text[-_SHOWN:]


def _difference(got: Any, wanted: Any) -> Finding:
    """The first place where two contents differ. Walks without recursion: both can be 500 levels deep."""
    pending: list[tuple[_Path, Any, Any]] = [(None, got, wanted)]
    while pending:
        path, one, other = pending.pop()
        if type(one) is dict and type(other) is dict:
            if one.keys() != other.keys():
                return _other_keys(path, one, other)
            pending += [((path, key), one[key], other[key]) for key in reversed(other)]
        elif type(one) is list and type(other) is list:
            if len(one) != len(other):
                where, said = _written(path), "not as many items"
                return Finding(path=where, keyword="items", wanted=len(other), got=len(one), message=said)
            pending += [((path, n), one[n], other[n]) for n in range(len(other) - 1, -1, -1)]
        elif not strictly_equal(one, other):
            return _other_value(_written(path), one, other)
    raise ValueError("equal contents have no difference")


# The way to a value, from its end: (the way to what holds it, its key or index).
_Path = tuple[Any, str | int] | None


def _written(path: _Path) -> str:
    parts: list[str | int] = []
    while path is not None:
        path, part = path
        parts.append(part)
    return json_path(reversed(parts))


def _other_keys(path: _Path, got: dict[str, Any], wanted: dict[str, Any]) -> Finding:
    for key in wanted:
        if key not in got:
            place = _written((path, key))
            return Finding(path=place, keyword="required", wanted=bounded(wanted[key]), message="it is missing")
    extra = next(key for key in got if key not in wanted)
    place = _written((path, extra))
    return Finding(path=place, keyword="additionalProperties", got=bounded(got[extra]), message="nobody expected it")


def _other_value(where: str, got: Any, wanted: Any) -> Finding:
    if not isinstance(got, str) or not isinstance(wanted, str) or max(len(got), len(wanted)) <= _SHOWN:
        return Finding(path=where, keyword="value", wanted=bounded(wanted), got=bounded(got))
    pairs = zip(got, wanted, strict=False)
    same = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(got), len(wanted)))
    start = max(0, same - 20)
    return Finding(
        path=where,
        keyword="value",
        wanted=bounded(wanted[start : start + _SHOWN]),
        got=bounded(got[start : start + _SHOWN]),
        message=f"differs from character {same + 1} on",
    )
