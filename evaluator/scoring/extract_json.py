"""extract_json@1: the JSON value in an answer that may have prose or a code fence around it.

The whole text, else the first fenced block that parses, else the first balanced object or array that parses. Where a
balanced span does not parse, the search goes on after it: a fragment of a refused document is not an answer.
Linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from evaluator.json_text import JsonFault, parse_json

VERSION = "extract_json@1"

_OPENER = re.compile(r"[\[{]")
# Inside an opened span: a complete string, the quote of a string that never ends on its line, or a bracket.
_INSIDE = re.compile(r'(?P<string>"[^"\\\n\r]*+(?:\\.[^"\\\n\r]*+)*+")|(?P<broken>"[^\n\r]*+)|(?P<bracket>[\[\]{}])')
_FENCE = re.compile(r"[ \t]{0,3}(`{3,})([^`]*)")
_CLOSER_OF = {"{": "}", "[": "]"}


def extract_json(text: str, *, wants_object: bool = False) -> Any:
    """The first JSON value found in `text`, or the `JsonFault` of the whole text where there is none.

    With `wants_object` only an object is taken; other values are passed over.
    """
    stripped = text.strip()
    whole = parse_json(stripped)
    if _fits(whole, wants_object):
        return whole
    for candidate in chain(_fenced_blocks(text), _balanced_spans(text)):
        value = parse_json(candidate)
        if _fits(value, wants_object):
            return value
    return whole if isinstance(whole, JsonFault) else JsonFault("json", "there is no object in the text", 1, 1)


def balanced_end(text: str, start: int) -> int | None:
    """The end of the object or array that opens at `start`, strings respected; None where it does not close."""
    return _scan(text, start)[0]


def _fits(value: Any, wants_object: bool) -> bool:
    return isinstance(value, dict) if wants_object else not isinstance(value, JsonFault)


def _fenced_blocks(text: str) -> Iterator[str]:
    ticks = ""
    block: list[str] = []
    for line in text.splitlines(keepends=True):
        fence = _FENCE.fullmatch(line.rstrip())
        if not ticks and fence:
            ticks, block = fence.group(1), []
        elif ticks and fence and len(fence.group(1)) >= len(ticks) and not fence.group(2):
            yield "".join(block)
            ticks = ""
        elif ticks:
            block.append(line)


def _balanced_spans(text: str) -> Iterator[str]:
    """The outermost spans that close, in order. Where an outer bracket never closes, the spans inside it are taken."""
    position = 0
    while opener := _OPENER.search(text, position):
        end, inner, position = _scan(text, opener.start())
        if end is not None:
            yield text[opener.start() : end]
        else:
            yield from (text[inner_start:inner_end] for inner_start, inner_end in inner)


def _scan(text: str, start: int) -> tuple[int | None, list[tuple[int, int]], int]:
    """Follow the brackets from the opener at `start`.

    Gives the end of its span or None, the outermost closed spans inside an unclosed one, and where to go on. It stops
    at what no JSON can hold, a closer of the wrong kind or a string that does not end on its line.
    """
    stack: list[int] = []
    closed: list[tuple[int, int]] = []
    position = start
    while token := _INSIDE.search(text, position):
        position = token.end()
        if token.lastgroup == "broken":
            return None, closed, position
        bracket = token.group()
        if bracket in _CLOSER_OF:
            stack.append(token.start())
        elif token.lastgroup == "bracket":
            opened = stack.pop()
            if _CLOSER_OF[text[opened]] != bracket:
                return None, closed, position
            if not stack:
                return position, [], position
            while closed and closed[-1][0] > opened:
                closed.pop()
            closed.append((opened, position))
    return None, closed, len(text)
