"""Calls between tags: `<tool_call>{…}</tool_call>` and `<function=name>{…}</function>`."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from evaluator.json_text import JsonFault, parse_json
from evaluator.tool_calls import bare_json
from evaluator.tool_calls.fences import unfenced
from evaluator.tool_calls.wrappers import MOST_CALLS, faulty
from evaluator.transcript import Call

_WRAPPER = "tool_call_tag"
_OPENER = re.compile(r"<tool_call>|<function=(?P<name>[^<>\s]{1,200})>|<tool_response>")
_FUNCTION = re.compile(r"<function=(?P<name>[^<>\s]{1,200})>(?P<payload>.*?)(?:</function>\s*)?", re.DOTALL)
_STRING = r'"[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+"|(?P<broken>"[^\n]*+)'
_ENDS = {"tool_call": r"</?tool_call>", "function": r"</function>|<function=|</?tool_call>"}
_RAW = {kind: re.compile(rf"(?P<tag>{end})") for kind, end in _ENDS.items()}
_OUTSIDE_STRINGS = {kind: re.compile(rf"{_STRING}|(?P<tag>{end})") for kind, end in _ENDS.items()}
_CALL_BEGINS = re.compile(r"\s*(?:[{\[]|```|<function=|<parameter=)")
_QUOTES = "\"'`“‘«„"


class Tagged(NamedTuple):
    """Calls, and the spans of the text that they and their tags take."""

    calls: list[Call]
    spans: list[tuple[int, int]]


def read(text: str, tools: Collection[str]) -> Tagged:
    """Every tagged call of `text`.

    A tag right after a quotation mark or a backtick is quoted and no call; what stands in a `<tool_response>` is a
    result. A call ends at the first closing tag outside its strings, at the next opener, or with the text; without a
    closing tag it is one only where it begins like one. What is between the tags and is no call has a fault.
    """
    found = Tagged([], [])
    position = 0
    text_is_raw_until = 0
    while opener := _OPENER.search(text, position):
        position = opener.end()
        if opener.group() == "<tool_response>":
            closer = text.find("</tool_response>", position)
            position = len(text) if closer < 0 else closer
            continue
        if opener.start() > 0 and text[opener.start() - 1] in _QUOTES:
            continue
        kind = "tool_call" if opener.group() == "<tool_call>" else "function"
        meant = _CALL_BEGINS.match(text, position) is not None
        if meant:
            end, text_is_raw_until = _end(text, position, kind, text_is_raw_until)
        else:  # prose has no strings; what is not taken as a call is looked at again from the next tag on
            end = _RAW[kind].search(text, position)
        closed = end is not None and end.group() == f"</{kind}>"
        payload = text[position : end.start() if end else len(text)].strip()
        if not closed and not meant:
            continue
        if len(found.calls) >= MOST_CALLS:
            found.calls.append(faulty("", f"more than {MOST_CALLS} calls: the rest is not read", _WRAPPER))
            break
        position = len(text) if end is None else end.end() if closed else end.start()
        name = opener.group("name")
        found.calls.extend(_function(name, payload) if name else _tool_call(payload, tools, closed=closed))
        found.spans.append((opener.start(), position))
    return found


def _end(text: str, start: int, kind: str, raw_until: int) -> tuple[re.Match[str] | None, int]:
    """The tag that ends the call which starts at `start`, None where none does.

    Strings are respected up to one that does not end on its line. From there back to `start` they are not, now or for
    a later call: each part of the text is looked at twice at most.
    """
    if start >= raw_until:
        for token in _OUTSIDE_STRINGS[kind].finditer(text, start):
            if token.lastgroup == "tag":
                return token, raw_until
            if token.lastgroup == "broken":
                raw_until = token.end()
                break
        else:
            return None, raw_until
    return _RAW[kind].search(text, start), raw_until


def _tool_call(payload: str, tools: Collection[str], *, closed: bool) -> list[Call]:
    function = _FUNCTION.fullmatch(payload)
    if function is not None:
        return _function(function["name"], function["payload"].strip())
    value = parse_json(unfenced(payload))
    if isinstance(value, JsonFault):
        fault = str(value) if closed else f"{value}, and the tag is not closed"
        return [faulty(payload, fault, _WRAPPER, bare_json.name_at_head(payload))]
    calls = bare_json.calls_of(value, tools, _WRAPPER)
    return calls or [faulty(payload, "the JSON in the tag is no call: it has no name (line 1, column 1)", _WRAPPER)]


def _function(name: str, payload: str) -> list[Call]:
    if payload.startswith("<parameter="):
        fault = "arguments in tags of their own have no types and are not read (line 1, column 1)"
        return [faulty(payload, fault, _WRAPPER, name)]
    value = parse_json(payload or "{}")
    if isinstance(value, JsonFault):
        return [faulty(payload, str(value), _WRAPPER, name)]
    return [Call(tool=name, arguments=payload or "{}", wrapper=_WRAPPER)]
