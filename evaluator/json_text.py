"""parse_json@1: the one strict parser for JSON text that comes from outside.

Stricter than Python's: what two parsers may read differently (duplicate keys, NaN, a number that overflows, a lone
surrogate) and what can exhaust a parser (depth, size, endless digits) is a plain `JsonFault`, never an exception.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any

VERSION = "parse_json@1"

MAX_CHARACTERS = 8 * 1024 * 1024
MAX_DEPTH = 500
MAX_DIGITS = 4300  # Python's own default for int(); fixed here so that no interpreter setting changes a verdict

_TOKEN = re.compile(
    r"""(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+"?)"""
    r"""|(?P<open>[\[{])|(?P<close>[\]}])|(?P<colon>:)"""
    r"""|(?P<number>-?[0-9][0-9.eE+-]*+)|(?P<word>-?[A-Za-z]++)""",
    re.DOTALL,
)
_LONG_DIGITS = re.compile(rf"(?<![0-9])[0-9]{{{MAX_DIGITS + 1}}}")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class JsonFault:
    """Why a text was refused. `keyword`: `json`, `duplicate_key`, `depth`, `size`, `not_finite`, `integer_size`,
    `surrogate` or `byte_order_mark`; `line` and `column` count characters from 1."""

    keyword: str
    message: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.message} (line {self.line}, column {self.column})"


def parse_json(text: str, most: int = MAX_CHARACTERS) -> Any:
    """The value of a JSON text of at most `most` characters, or a `JsonFault`. Linear in its length; never raises."""
    fault = _refused_before_parsing(text, most)
    if fault is not None:
        return fault
    try:
        value = _DECODER.decode(text)
    except _RefusedError as refused:
        return _located(text, refused)
    except json.JSONDecodeError as error:
        return JsonFault("json", f"not JSON: {error.msg}", error.lineno, error.colno)
    except RecursionError:  # only for a caller that is itself deep in the stack
        return JsonFault("depth", "nested too deeply to be read here", 1, 1)
    except ValueError:  # an interpreter whose limit for int() is lower than ours
        return JsonFault("integer_size", f"an integer of more than {sys.get_int_max_str_digits()} digits", 1, 1)
    if "\\u" in text:
        position = _lone_surrogate_escape(text)
        if position is not None:
            return _at(text, "surrogate", "the escape of half a character (a lone surrogate)", position)
    return value


def parse_json_leniently(text: str) -> Any:
    """As Python's `json.loads`, which other tools' judges use: the last duplicate key wins, NaN and Infinity pass.

    A text that it refuses is a `JsonFault` here too.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        return JsonFault("json", f"not JSON: {error.msg}", error.lineno, error.colno)
    except RecursionError:
        return JsonFault("depth", "nested too deeply", 1, 1)
    except ValueError:
        return JsonFault("integer_size", "an integer of too many digits", 1, 1)


class _RefusedError(Exception):
    def __init__(self, keyword: str, message: str) -> None:
        self.keyword = keyword
        self.message = message


def _refused_before_parsing(text: str, most: int) -> JsonFault | None:
    if len(text) > most:
        return JsonFault("size", f"{len(text)} characters, more than the {most} that are read", 1, 1)
    if text.startswith("\ufeff"):
        return JsonFault("byte_order_mark", "begins with a byte-order mark", 1, 1)
    if not text.isascii():
        lone = _SURROGATE.search(text)
        if lone is not None:
            return _at(text, "surrogate", "half a character (a lone surrogate)", lone.start())
    if text.count("[") + text.count("{") > MAX_DEPTH:
        position = _too_deep(text)
        if position is not None:
            return _at(text, "depth", f"nested more than {MAX_DEPTH} levels deep", position)
    if len(text) > MAX_DIGITS and _LONG_DIGITS.search(text):  # cheap look first: digits may stand in a string
        position = _long_number(text)
        if position is not None:
            return _at(text, "integer_size", f"a number of more than {MAX_DIGITS} digits", position)
    return None


def _too_deep(text: str) -> int | None:
    depth = 0
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "open":
            depth += 1
            if depth > MAX_DEPTH:
                return token.start()
        elif token.lastgroup == "close":
            depth -= 1
    return None


def _long_number(text: str) -> int | None:
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "number" and _LONG_DIGITS.search(token.group()):
            return token.start()
    return None


def _lone_surrogate_escape(text: str) -> int | None:
    """Where in a valid JSON text an escape names a surrogate without its other half."""
    high: int | None = None  # start of a high surrogate's escape that waits for its low half
    high_end = -1
    for escape in _ESCAPE.finditer(text):
        if high is not None and escape.start() != high_end:
            return high
        code = int(escape.group(1), 16) if escape.group(1) else 0
        is_low = 0xDC00 <= code <= 0xDFFF
        if (high is not None) != is_low:
            return escape.start() if high is None else high
        high = escape.start() if 0xD800 <= code <= 0xDBFF else None
        high_end = escape.end()
    return high


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise _RefusedError("not_finite", "a number too large for a double")
    return number


def _constant(_: str) -> Any:
    raise _RefusedError("not_finite", "not a JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _RefusedError("duplicate_key", "a key stands twice in one object")
    return members


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_constant)


def _located(text: str, refused: _RefusedError) -> JsonFault:
    """The fault with its place, which the parser's hooks do not know: they see values."""
    places = _repeated_keys(text) if refused.keyword == "duplicate_key" else _not_finite(text)
    token = next(places, None)
    if token is None:
        return JsonFault(refused.keyword, refused.message, 1, 1)
    return _at(text, refused.keyword, f"{refused.message}: {token.group()[:80]}", token.start())


def _not_finite(text: str) -> Iterator[re.Match[str]]:
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "word" and token.group() in ("NaN", "Infinity", "-Infinity"):
            yield token
        elif token.lastgroup == "number":
            try:
                overflows = not isfinite(float(token.group()))
            except ValueError:  # text after the fault need not be JSON
                continue
            if overflows:
                yield token


def _repeated_keys(text: str) -> Iterator[re.Match[str]]:
    open_objects: list[set[str]] = []
    candidate: re.Match[str] | None = None
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "open":
            open_objects.append(set())
        elif token.lastgroup == "close" and open_objects:
            open_objects.pop()
        elif token.lastgroup == "colon" and candidate is not None and open_objects:
            key = json.loads(candidate.group())
            if key in open_objects[-1]:
                yield candidate
            open_objects[-1].add(key)
        candidate = token if token.lastgroup == "string" else None


def _at(text: str, keyword: str, message: str, position: int) -> JsonFault:
    line_start = text.rfind("\n", 0, position) + 1
    return JsonFault(keyword, message, text.count("\n", 0, position) + 1, position - line_start + 1)
