"""Where a structure's text may be cut for each control, as offsets. Pure.

The rest of the text is what a right answer writes; what makes a control hard is what else could be written there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from evaluator.closure.texts import Text

_TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*")|(?P<open>[{\[])|(?P<close>[}\]])|(?P<scalar>[^\s{}\[\],:"]+)|[,:]', re.DOTALL
)
_UNIT = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL)
_CLOSERS_AT_END = re.compile(r"[\s}\]]*\Z")


class _Token(NamedTuple):
    kind: str
    start: int
    end: int
    depth: int
    is_key: bool


def before_the_closers(text: Text) -> list[int]:
    """JSON: nothing but closers is left."""
    end = _CLOSERS_AT_END.search(text.whole, text.start, text.end)
    return [end.start()] if end is not None and end.start() > text.start else []


def at_the_end(text: Text) -> list[int]:
    """Text between delimiters: the content is complete, and only what closes it is left."""
    return [text.end]


def before_the_quote(text: Text) -> list[int]:
    """A string: only its quote is left."""
    return [text.end - 1]


def between_members(text: Text) -> list[int]:
    """JSON: after a member of the outermost container, or before its first, where it could be closed too early."""
    return _between(text, deepest=1)


def between_any_members(text: Text) -> list[int]:
    """The same in every container."""
    return _between(text, deepest=None)


def _between(text: Text, deepest: int | None) -> list[int]:
    found = []
    tokens = list(_tokens(text))
    for token, following in pairwise(tokens):
        if deepest is not None and token.depth > deepest:
            continue
        opens = token.kind == "open" and following.kind != "close"
        ends = token.kind in ("string", "scalar", "close") and text.whole[following.start] == ","
        if opens or ends:
            found.append(token.end)
    return found


def inside_values(text: Text) -> list[int]:
    """JSON: inside a string, number or word that is a value, where it could be ended too early; where all are of one
    character, before one."""
    inside: list[int] = []
    before: list[int] = []
    for token in _tokens(text):
        if token.is_key or token.kind not in ("string", "scalar"):
            continue
        before.append(token.start)
        inside += _inside_string(text.whole, token) if token.kind == "string" else range(token.start + 1, token.end)
    return inside or before


def inside_the_string(text: Text) -> list[int]:
    """A string: between two of its characters, where it could be ended too early."""
    return [place for token in _tokens(text) if token.kind == "string" for place in _inside_string(text.whole, token)]


def inside_escapes(text: Text) -> list[int]:
    """After the backslash of an escape, whichever string it is in."""
    return [
        unit.start() + 1
        for token in _tokens(text)
        if token.kind == "string"
        for unit in _UNIT.finditer(text.whole, token.start + 1, token.end - 1)
        if unit.group().startswith("\\")
    ]


def between_lines(text: Text) -> list[int]:
    """Text: after a line that is not its last."""
    return [text.start + found.start() for found in re.finditer("\n", text.whole[text.start : text.end])]


def after_the_opener(text: Text) -> list[int]:
    """Right where the content begins."""
    return [text.start]


def _inside_string(whole: str, token: _Token) -> list[int]:
    units = list(_UNIT.finditer(whole, token.start + 1, token.end - 1))
    return [unit.start() for unit in units[1:]]


def _tokens(text: Text) -> Iterator[_Token]:
    """The tokens of the JSON; `depth` counts the containers that a token stands in, an opener's own included."""
    depth = 0
    matches = list(_TOKEN.finditer(text.whole, text.start, text.end))
    for place, found in enumerate(matches):
        kind = found.lastgroup or "mark"
        depth += kind == "open"
        following = matches[place + 1].group() if place + 1 < len(matches) else ""
        depth -= kind == "close"
        yield _Token(kind, found.start(), found.end(), depth, kind == "string" and following == ":")
