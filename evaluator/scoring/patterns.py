"""Regular expressions that somebody else wrote: compiled within bounds, searched within a time.

A task's or a schema's pattern can be made to run for years (`(a+)+$`) or, with nested repeats, to fill the memory while
it is compiled. The `regex` package gives the timeout; the size is counted here before it is compiled.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import regex

from evaluator.scoring.allowance import ALLOWANCE

SECONDS = 1.0
MAX_PATTERN = 10_000
MAX_WRITTEN_OUT = 50_000

_PART = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]|(?P<open>\()|(?P<close>\))|\{(?P<times>[0-9]+)(?:,[0-9]*)?\}|.", re.S
)
_FLAGS = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL, "x": regex.VERBOSE}


class PatternError(ValueError):
    """The pattern is not usable; the message says why."""


class PatternTimeoutError(Exception):
    """A search took longer than `SECONDS`: nothing can be said of the text."""


class BoundedPattern:
    """A compiled pattern whose search ends in time."""

    __slots__ = ("_compiled", "source")

    def __init__(self, source: str, compiled: regex.Pattern[str]) -> None:
        self.source = source
        self._compiled = compiled

    def found_in(self, text: str) -> bool:
        """Whether the pattern matches anywhere in `text`. Raises PatternTimeoutError."""
        left = ALLOWANCE.left()
        if left <= 0:
            raise PatternTimeoutError(f"the pattern {self.source[:80]!r} was not tried: scoring took too long before")
        try:
            return self._compiled.search(text, timeout=min(SECONDS, left)) is not None
        except TimeoutError as error:
            raise PatternTimeoutError(
                f"the pattern {self.source[:80]!r} took longer than {SECONDS:g} s on {len(text)} characters"
            ) from error


def compile_pattern(source: Any, flags: Any = "") -> BoundedPattern:
    """A pattern from its text and the letters of its flags (`i`, `m`, `s`, `x`). Raises PatternError."""
    if not isinstance(source, str):
        raise PatternError("a pattern is a string")
    if not isinstance(flags, str) or set(flags) - set(_FLAGS):
        raise PatternError(f"flags are letters of {''.join(_FLAGS)!r}")
    if len(source) > MAX_PATTERN:
        raise PatternError(f"a pattern of {len(source)} characters, more than {MAX_PATTERN}")
    if _written_out(source) > MAX_WRITTEN_OUT:
        raise PatternError(f"its repeats written out are longer than {MAX_WRITTEN_OUT} parts")
    combined = 0
    for letter in flags:
        combined |= _FLAGS[letter]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a note on future set syntax, meant for the pattern's author
            return BoundedPattern(source, regex.compile(source, combined))
    except (regex.error, RecursionError, OverflowError, ValueError) as error:
        raise PatternError(f"not a regular expression: {error}") from error


def _written_out(source: str) -> int:
    """The number of parts when every `{n}` is written out n times: what compiling costs."""
    totals = [0]
    last = 0
    for part in _PART.finditer(source):
        if part["open"]:
            totals.append(0)
            continue
        if part["times"]:
            times = int(part["times"][:9])
            totals[-1] += last * max(times - 1, 0)
            last *= max(times, 1)
            continue
        last = 1
        if part["close"] and len(totals) > 1:
            last = max(totals.pop(), 1)
        totals[-1] += last
    return sum(totals)
