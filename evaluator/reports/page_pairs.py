"""Two sides of a comparison, as the page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from evaluator.reports.escape import compact_json
from evaluator.results import Finding

# `right`: as expected; `differs`; `missing`: nothing came; `extra`: nothing was expected; `excused`: so, and no fault;
# `plain`: the two are not held against each other.
State = Literal["right", "differs", "missing", "extra", "excused", "plain"]

# Longer values are cut once more where they are shown; this only bounds what is written.
_WRITTEN = 1_000_000
_UNREADABLE = (msgspec.DecodeError, RecursionError, UnicodeError)


@dataclass(frozen=True)
class Side:
    """`title` names it ("step 3 issue_refund"); `text` is JSON where `is_json`; `note`: what else there is to say;
    `result`: what the tool answered, empty where nothing is known."""

    title: str
    text: str
    is_json: bool = False
    note: str = ""
    result: str = ""


@dataclass(frozen=True)
class Pair:
    """`paths`: JSON paths of the fields that differ, into the JSON of what came; `places`: into that of what was
    wanted, None where they are the same."""

    state: State
    wanted: Side | None
    got: Side | None
    paths: Sequence[str] = ()
    places: Sequence[str] | None = None


def text_side(title: str, text: str) -> Side:
    """A side of a text that may be JSON."""
    return Side(title, text, is_json=is_json(text))


def is_json(text: str) -> bool:
    """Whether `text` is an object or a list of JSON."""
    return text.lstrip()[:1] in ("{", "[") and parsed(text) is not None


def parsed(text: str) -> Any:
    """The JSON value of a text; None where it has none."""
    try:
        return msgspec.json.decode(text)
    except _UNREADABLE:
        return None


def json_text(value: Any) -> str:
    """A JSON value on one line; a sentence in brackets for one that cannot be written."""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        # Integers and texts that only Python's own module writes. It is ten times as slow.
        return compact_json(value, _WRITTEN)


def paths(findings: Sequence[Finding]) -> list[str]:
    """The fields that findings are about, notes and what is about the whole left out."""
    return list(dict.fromkeys(f.path for f in findings if not f.note and f.path not in ("", "$"))) if findings else []
