"""The first outer structure of a text: where it ends, and what it holds. Pure, linear in the length of the text.

One reader for each of `READERS`. Nothing is repaired: a structure that does not close, or whose text its own grammar
refuses, is `Unclosed`, and the reason says why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evaluator.json_text import JsonFault, parse_json

_CLOSERS = {"{": "}", "[": "]"}
_OPENER = re.compile(r"[{\[]")
# A string that ends, one that does not (it takes the rest of the text), or a bracket.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)|[{}\[\]]', re.DOTALL)
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
# CommonMark 0.31.2, section 4.5: at most three spaces, three or more of a kind; no backtick in the info string of a
# fence of backticks. A line ends at \n, \r\n or \r.
_OPENING_FENCE = re.compile(
    r"(?:^|(?<=[\n\r]))(?P<indent> {0,3})(?P<fence>`{3,}+(?=[^`\n\r]*+(?:[\n\r]|\Z))|~{3,}+)"
    r"[^\n\r]*+(?P<line_end>\r\n|[\n\r])?"
)


class Closed(NamedTuple):
    """A complete structure: what it holds, and where in the text it ends."""

    content: Any
    end: int


class Unclosed(NamedTuple):
    """Why there is no complete structure. `keyword`: `opener` (none begins), `closer` (none ends it), `bracket` (a
    closer of the wrong kind), `repeated_opener`, `call` (JSON, but no call), or a keyword of `JsonFault`."""

    keyword: str
    message: str


@dataclass(frozen=True)
class Delimiters:
    """What opens and closes a tool call and a reasoning block, by format."""

    pairs: Mapping[str, tuple[str, str]] = field(default_factory=lambda: dict(DEFAULT_DELIMITERS))


DEFAULT_DELIMITERS: Mapping[str, tuple[str, str]] = {
    "tool_call": ("<tool_call>", "</tool_call>"),
    "reasoning": ("<think>", "</think>"),
}


def is_closer(text: str, delimiters: Delimiters) -> bool:
    """Whether a text is what closes some structure, and so no marker of anything else."""
    bare = text.strip()
    return set(bare) <= set('}]"`~') or any(bare == closer for _, closer in delimiters.pairs.values())


Reader = Callable[[str, Delimiters], Closed | Unclosed]


def read_json(text: str, _: Delimiters) -> Closed | Unclosed:
    """An object or array: to the bracket that closes the first one, strings respected; then parsed strictly."""
    first = _OPENER.search(text)
    if first is None:
        return Unclosed("opener", "no object or array begins")
    start = first.start()
    end = _end_of_brackets(text, start)
    if isinstance(end, Unclosed):
        return end
    value = parse_json(text[start:end])
    return Unclosed(value.keyword, str(value)) if isinstance(value, JsonFault) else Closed(value, end)


def _end_of_brackets(text: str, start: int) -> int | Unclosed:
    waiting: list[str] = []
    for token in _TOKEN.finditer(text, start):
        mark = token.group()
        if mark in _CLOSERS:
            waiting.append(_CLOSERS[mark])
        elif mark[0] != '"':
            if mark != waiting[-1]:
                return Unclosed("bracket", f"{mark} where {waiting[-1]} is open")
            waiting.pop()
            if not waiting:
                return token.end()
        elif not token.group(1):
            return Unclosed("closer", "a string does not end")
    many = f"{len(waiting)} brackets are" if len(waiting) > 1 else "1 bracket is"
    return Unclosed("closer", f"{many} not closed")


def read_json_string(text: str, _: Delimiters) -> Closed | Unclosed:
    """A JSON string: from the first quote to the first unescaped one."""
    start = text.find('"')
    if start < 0:
        return Unclosed("opener", "no string begins")
    found = _STRING.match(text, start)
    if found is None:
        return Unclosed("closer", "the string does not end")
    value = parse_json(found.group())
    return Unclosed(value.keyword, str(value)) if isinstance(value, JsonFault) else Closed(value, found.end())


def read_tool_call(text: str, delimiters: Delimiters) -> Closed | Unclosed:
    """A call between its delimiters: to the first closer, wherever it stands; the payload is one call in JSON. A second
    opener before it is a repeat."""
    block = _delimited(text, delimiters.pairs["tool_call"])
    if isinstance(block, Unclosed):
        return block
    opener = delimiters.pairs["tool_call"][0]
    if opener in block.content:
        return Unclosed("repeated_opener", f"{opener} stands twice before the call is closed")
    value = parse_json(block.content.strip())
    if isinstance(value, JsonFault):
        return Unclosed(value.keyword, str(value))
    fault = _not_a_call(value)
    return Unclosed("call", fault) if fault else Closed(value, block.end)


def _not_a_call(value: Any) -> str:
    """Why a value is no call `{"name", "arguments"}`; arguments may be the JSON text of an object, as on OpenAI's
    wire."""
    if not isinstance(value, dict):
        return "the payload is not an object"
    if not isinstance(value.get("name"), str) or not value["name"]:
        return "the payload has no name"
    arguments = value.get("arguments")
    if isinstance(arguments, str):
        arguments = parse_json(arguments)
    return "" if isinstance(arguments, dict) else "the payload's arguments are no object"


def read_reasoning(text: str, delimiters: Delimiters) -> Closed | Unclosed:
    """The text between the delimiters, to the first closer; white space around it is no part of it."""
    block = _delimited(text, delimiters.pairs["reasoning"])
    return block if isinstance(block, Unclosed) else Closed(block.content.strip(), block.end)


def _delimited(text: str, pair: tuple[str, str]) -> Closed | Unclosed:
    opener, closer = pair
    start = text.find(opener)
    if start < 0:
        return Unclosed("opener", f"{opener} is not there")
    start += len(opener)
    end = text.find(closer, start)
    if end < 0:
        return Unclosed("closer", f"{closer} is not there")
    return Closed(text[start:end], end + len(closer))


def read_code_fence(text: str, _: Delimiters) -> Closed | Unclosed:
    """The lines between a fence and the one that closes it by CommonMark: of the same kind, at least as long, nothing
    but spaces and tabs after it. Unlike there, the end of the text closes nothing."""
    opening = _OPENING_FENCE.search(text)
    if opening is None:
        return Unclosed("opener", "no code fence begins")
    indent, fence, line_end = opening.groups()
    kind = re.escape(fence[0])
    closing = re.compile(rf"(?:^|(?<=[\n\r])) {{0,3}}{kind}{{{len(fence)},}}+[ \t]*+(?=[\n\r]|\Z)")
    found = closing.search(text, opening.end())
    if found is None or line_end is None:
        return Unclosed("closer", f"no line closes the fence {fence[:10]}")
    content = re.sub(r"\r\n?", "\n", text[opening.end() : found.start()])
    if indent:
        content = re.sub(rf"(?m)^ {{1,{len(indent)}}}", "", content)
    return Closed(content.removesuffix("\n"), found.end())


READERS: Mapping[str, Reader] = {
    "json": read_json,
    "json_string": read_json_string,
    "tool_call": read_tool_call,
    "reasoning": read_reasoning,
    "code_fence": read_code_fence,
}
