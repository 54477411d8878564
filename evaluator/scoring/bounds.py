"""What findings may hold: values that are short, well-formed and always encodable, and paths that a reader can follow.

A model's answer can be megabytes of nested lists; a finding quotes it, it does not carry it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from math import isfinite
from typing import Any

from evaluator.transcript import well_formed

MAX_STRING = 200
MAX_NODES = 40
MAX_NESTING = 6
MAX_PREVIEW = 240
_MAX_INTEGER = 1 << 64
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def bounded(value: Any) -> Any:
    """`value` itself where it is short, finite and well-formed, else a string that shows its beginning."""
    if value is None or type(value) is bool:
        return value
    if type(value) is str:
        return value if len(value) <= MAX_STRING and value.isascii() else well_formed(_cut(value, MAX_STRING))
    if _is_small(value):
        return value
    return _cut("".join(_pieces(value)), MAX_PREVIEW)


def json_path(parts: Iterable[str | int]) -> str:
    """`$.a[0].b`; a key that is no plain name is quoted, a long one is cut."""
    path = "$"
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        elif len(part) <= MAX_STRING and _PLAIN_KEY.fullmatch(part):
            path += "." + part
        else:
            path += f"[{json.dumps(well_formed(_cut(part, 80)), ensure_ascii=False)}]"
    return path if len(path) <= 1000 else path[:1000] + "…"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + "…"


def _is_small(value: Any) -> bool:
    nodes = 0
    pending = [(value, 0)]
    while pending:
        node, depth = pending.pop()
        nodes += 1
        if nodes > MAX_NODES or depth > MAX_NESTING:
            return False
        if isinstance(node, str):
            if len(node) > MAX_STRING or (not node.isascii() and well_formed(node) is not node):
                return False
        elif isinstance(node, float):
            if not isfinite(node):
                return False
        elif isinstance(node, int):
            if not -_MAX_INTEGER < node < _MAX_INTEGER:
                return False
        elif isinstance(node, dict):
            if len(node) > MAX_NODES:
                return False
            pending.extend((part, depth + 1) for pair in node.items() for part in pair)
        elif isinstance(node, list):
            if len(node) > MAX_NODES:
                return False
            pending.extend((item, depth + 1) for item in node)
        elif node is not None:
            return False
    return True


def _pieces(value: Any) -> Iterator[str]:
    """The beginning of the JSON text of `value`, in pieces; what lies deep or far is left out."""
    written = 0
    for piece in _walk(value, 0):
        yield piece
        written += len(piece)
        if written > MAX_PREVIEW:
            return


def _walk(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield json.dumps(well_formed(_cut(value, MAX_STRING)), ensure_ascii=False)
    elif isinstance(value, dict | list) and depth > MAX_NESTING:
        yield "…"
    elif isinstance(value, dict):
        yield "{"
        for number, (key, member) in enumerate(value.items()):
            yield (", " if number else "") + json.dumps(well_formed(_cut(str(key), MAX_STRING)), ensure_ascii=False)
            yield ": "
            yield from _walk(member, depth + 1)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for number, item in enumerate(value):
            if number:
                yield ", "
            yield from _walk(item, depth + 1)
        yield "]"
    else:
        yield _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, int) and not -_MAX_INTEGER < value < _MAX_INTEGER:
        return f"an integer of {value.bit_length()} bits"
    return json.dumps(value, default=repr)  # NaN and Infinity by their names: this is a text to read, not JSON
