"""Paths that name a field of a call's arguments, `$.customer.name` or `$["odd key"]`."""

from __future__ import annotations

import re
from typing import Any

from evaluator.json_text import parse_json
from evaluator.scoring.bounds import bounded
from evaluator.scoring.outcome import MalformedError

Parts = tuple[str, ...]

_PART = re.compile(r"""\.(?P<plain>[A-Za-z_][A-Za-z0-9_-]*)|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]|(?P<index>\[[0-9*]+\])""")


def parse_field_path(path: Any) -> Parts:
    """The keys that lead to a field, at least one; `bounds.json_path` writes them.

    Raises MalformedError, also for a path into an array: that is one field as a whole.
    """
    if not isinstance(path, str) or not path.startswith("$"):
        raise MalformedError(f"the path of a rule begins with $, as in $.amount, not {bounded(path)!r}")
    parts: list[str] = []
    position = 1
    while position < len(path):
        part = _PART.match(path, position)
        if part is not None and part["index"]:
            array = bounded(path[:position])
            raise MalformedError(
                f"{bounded(path)!r} leads into an array, one field as a whole: put the rule at {array!r}"
            )
        key = part and (part["plain"] or parse_json(part["quoted"]))
        if part is None or not isinstance(key, str):
            raise MalformedError(f'{bounded(path)!r} is no path of keys, as in $.customer.name or $["odd key"]')
        parts.append(key)
        position = part.end()
    if not parts:
        raise MalformedError("a rule at $ is of no field; a step without args accepts any arguments")
    return tuple(parts)
