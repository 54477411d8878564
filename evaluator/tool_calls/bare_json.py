"""JSON that is a call, or several."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

from evaluator.json_text import JsonFault, parse_json
from evaluator.tool_calls.wrappers import ARGUMENT_KEYS, MOST_CALLS, bounded, call, faulty
from evaluator.transcript import Call

_NAME = r'[\[\s]*\{\s*"name"\s*:\s*"([^"\\\n]{1,200})"'
_NAMED = re.compile(_NAME)
# The beginning of an object that nobody writes who does not mean a call.
_MEANT = re.compile(_NAME + r'\s*,\s*"(?:arguments|args|parameters)"\s*:')
_DECODER = json.JSONDecoder()
_BETWEEN = re.compile(r"[\s,;]*")
# Keys beside the name and the arguments that say nothing else than that this is a call.
_CALL_KEYS = frozenset({"name", "id", "type", "call_id", *ARGUMENT_KEYS})


def read(text: str, tools: Collection[str]) -> list[Call] | None:
    """The calls of a text that is JSON as a whole; an empty list where it is JSON of another kind, None where it is
    none. Text that begins as a call of one of `tools` and is no JSON is a call with a fault."""
    if text[:1] not in ("{", "[", '"'):
        return None
    value = values_of(text)
    if not isinstance(value, JsonFault):
        return calls_of(value, tools) or []
    meant = _MEANT.match(text)
    if meant is None or meant.group(1) not in tools:
        return None
    return [faulty(text, str(value), "json", meant.group(1))]


def values_of(text: str) -> Any:
    """The value of a JSON text, or the values of several objects in a row; a `JsonFault` where it is neither."""
    value = parse_json(text)
    several = _sequence(text) if isinstance(value, JsonFault) else None
    return value if several is None else several


def name_at_head(text: str) -> str:
    """The name in text that begins as a call and need not be JSON; empty where it does not begin so."""
    head = _NAMED.match(text)
    return head.group(1) if head else ""


def calls_of(value: Any, tools: Collection[str], wrapper: str = "json") -> list[Call] | None:
    """The calls that a JSON value is: an object with `name` and `arguments`, `args` or `parameters`, also within
    `function`; a list of such; `{"tool_calls": [...]}`. None where it, or a part of it, is something else.

    An object with further keys is a call only where it names one of `tools`. In a tag the name alone makes a call."""
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    items = value if isinstance(value, list) else [value]
    calls = [_call(item, tools, wrapper) for item in items[: MOST_CALLS + 1]]
    found = [item for item in calls if item is not None]
    return bounded(found) if found and len(found) == len(calls) else None


def _sequence(text: str) -> list[Any] | None:
    """The values of a text of several JSON objects, one after the other; None where it is anything else."""
    values: list[Any] = []
    position = 0
    while position < len(text):
        if text[position] != "{":
            return None
        try:
            _, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            return None
        value = parse_json(text[position:end])
        if isinstance(value, JsonFault):
            return None
        values.append(value)
        position = _BETWEEN.match(text, end).end()  # type: ignore[union-attr]  # it matches nothing, too
    return values


def _call(item: Any, tools: Collection[str], wrapper: str) -> Call | None:
    if not isinstance(item, dict):
        return None
    inner = item.get("function", item.get("function_call"))
    function = inner if isinstance(inner, dict) else item
    name = function.get("name")
    if not isinstance(name, str) or not name.strip():
        return None
    tagged = wrapper != "json"
    key = next((key for key in ARGUMENT_KEYS if key in function), None)
    if not tagged and (key is None or not (name in tools or _CALL_KEYS.issuperset(function))):
        return None
    given = [each for each in ARGUMENT_KEYS if each in function]
    if len(given) > 1:  # two readers would take it for two different calls
        return faulty(json.dumps(function), f"arguments under several names: {', '.join(given)}", wrapper, name)
    arguments: Any = {} if key is None else function[key]
    return call(name, "null" if arguments is None else arguments, wrapper, item.get("id"))
