"""Scalars of YAML: which value a piece of text stands for, and what of it cannot be kept. See `evaluator.yaml_text`."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import yaml

TAG = "tag:yaml.org,2002:"

_BOOLEANS = yaml.SafeLoader.bool_values
_STAYS_TEXT = re.compile(r"[-+]?0[0-9_]+$|.*:", re.DOTALL)
INT64 = range(-(2**63), 2**63)  # beyond it, results could not be stored


class UnkeptError(ValueError):
    """A scalar that has no value here; the message says why."""


def quoted(text: str, limit: int = 60) -> str:
    """`text` in double quotes for a message: shortened, on one line, nothing unprintable in it."""
    shortened = text if len(text) <= limit else text[: limit - 1] + "…"
    escaped = json.dumps(shortened, ensure_ascii=False)
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in escaped)


def resolved(loader: Any, event: Any) -> Any:
    """The value of a scalar event; `loader` has the implicit tags of YAML 1.1. Raises UnkeptError."""
    text: str = event.value
    tag: str | None = event.tag
    if tag is None or tag == "!":
        tag = loader.resolve(yaml.ScalarNode, text, event.implicit)
        # YAML 1.1 has more implicit types than JSON; what is no JSON type is what was written.
        kind = tag.removeprefix(TAG)
        if kind in ("timestamp", "value", "merge") or (kind in ("int", "float") and _STAYS_TEXT.match(text)):
            kind = "str"
    else:
        kind = tag.removeprefix(TAG)
        if kind not in _CONVERSIONS:
            raise UnkeptError(f"tag {quoted(tag)} is not supported; write the plain value")
    return _CONVERSIONS[kind](text)


def _string(text: str) -> str:
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise UnkeptError("text with a NUL character or half a surrogate pair cannot be kept")
    return text


def _integer(text: str) -> int:
    try:
        number = int(text.replace("_", ""), 0)
    except ValueError as error:
        raise UnkeptError(f"{quoted(text)} is not a whole number that can be read") from error
    if number not in INT64:
        raise UnkeptError(f"{quoted(text)} does not fit in 64 bits")
    return number


def _number(text: str) -> float:
    try:
        number = float(text.replace("_", "").replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UnkeptError(f"{quoted(text)} is not a finite number")
    return number


def _boolean(text: str) -> bool:
    if text.lower() not in _BOOLEANS:
        raise UnkeptError(f"{quoted(text)} is not a boolean")
    return bool(_BOOLEANS[text.lower()])


_CONVERSIONS: dict[str, Any] = {
    "str": _string,
    "int": _integer,
    "float": _number,
    "bool": _boolean,
    "null": lambda _text: None,
}
