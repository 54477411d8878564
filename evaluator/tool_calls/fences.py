"""Fenced blocks of an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_FENCE = re.compile(r"[ \t]{0,3}(`{3,})([^`]*)")


class Block(NamedTuple):
    """A closed fenced block: what stands in it, and its place in the text with both fences."""

    content: str
    start: int
    end: int


def blocks(text: str) -> Iterator[Block]:
    """The closed fenced blocks of `text`, in order."""
    ticks = ""
    opened = content = position = 0
    for line in text.split("\n"):  # not splitlines: a string of JSON may hold other line separators
        start, position = position, min(position + len(line) + 1, len(text))
        fence = _FENCE.fullmatch(line.rstrip())
        if not ticks and fence:
            ticks, opened, content = fence.group(1), start, position
        elif ticks and fence and len(fence.group(1)) >= len(ticks) and not fence.group(2):
            yield Block(text[content:start].strip(), opened, position)
            ticks = ""


def unfenced(text: str) -> str:
    """What stands in the one fenced block that `text` is, else `text`; stripped."""
    stripped = text.strip()
    if not stripped.startswith("```"):
        return stripped
    first = next(blocks(stripped), None)
    return first.content if first is not None and (first.start, first.end) == (0, len(stripped)) else stripped
