"""The names of the wrappers, and what all of them share."""

from __future__ import annotations

import json
from typing import Any

from evaluator.transcript import Call, well_formed

# `Call.wrapper` None is a native call of OpenAI's shape (`tool_calls`).
WRAPPERS = {
    "function_call": "OpenAI's older `function_call` of a message",
    "anthropic": "`tool_use` content blocks",
    "gemini": "`functionCall` parts",
    "tool_call_tag": "tags in the text: `<tool_call>`, `<function=name>`, or a marker that opens the answer",
    "json": "bare or fenced JSON with a name and arguments",
    "python": "Python-style calls",
}

# Calls of one message that are read. What follows them is one call with a fault.
MOST_CALLS = 1000

ARGUMENT_KEYS = ("arguments", "args", "parameters")
_MOST_OF_AN_ID = 200


def call(name: Any, arguments: Any, wrapper: str | None, identity: Any = None) -> Call:
    """A call of outside values. Arguments that are text stay as they are; left out or null they are `{}`."""
    tool = well_formed(name) if isinstance(name, str) else ""
    fault = None if tool.strip() else "the call has no name"
    try:
        written = "{}" if arguments is None else arguments_text(arguments)
    except (RecursionError, TypeError, ValueError) as error:
        written, fault = "", f"the arguments cannot be written as JSON: {error}"
    return Call(tool=tool, arguments=written, id=_identity(identity), wrapper=wrapper, fault=fault)


def arguments_text(arguments: Any) -> str:
    """Text as it is, anything else as JSON. Raises what `json.dumps` raises."""
    return well_formed(arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False))


def faulty(text: str, fault: str, wrapper: str | None, tool: str = "") -> Call:
    """What was meant as a call and is none: the text as it came."""
    return Call(tool=well_formed(tool), arguments=well_formed(text), wrapper=wrapper, fault=well_formed(fault))


def bounded(calls: list[Call]) -> list[Call]:
    """At most `MOST_CALLS` of `calls`, and then one that says what was left out."""
    if len(calls) <= MOST_CALLS:
        return calls
    left_out = f"{len(calls)} calls in one message: those after the first {MOST_CALLS} are not read"
    return [*calls[:MOST_CALLS], faulty("", left_out, calls[MOST_CALLS].wrapper)]


def _identity(value: Any) -> str | None:
    return well_formed(value)[:_MOST_OF_AN_ID] if isinstance(value, str) and value else None
