"""A record → the right text of each family's structure. Pure."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from evaluator.scoring.closure_structures import DEFAULT_DELIMITERS


class Record(NamedTuple):
    """A JSON value; `name` is the function's where it is a call, and `value` is then its arguments."""

    value: Any
    name: str | None = None


class Text(NamedTuple):
    """A structure written out. `start`, `end`: where in it the JSON stands that can be cut, the whole where it is no
    JSON but plain text."""

    whole: str
    start: int
    end: int


def record_of(item: Any) -> Record:
    """What an item of the list is: `{"name", "arguments"}` with nothing else is a call, everything else a value."""
    if isinstance(item, dict) and item.keys() == {"name", "arguments"}:
        name, arguments = item["name"], item["arguments"]
        if isinstance(name, str) and name and isinstance(arguments, dict):
            return Record(arguments, name)
    return Record(item)


def json_object(record: Record) -> Text | None:
    """The object; None where the value is none, or empty."""
    return _plain(_json(record.value)) if isinstance(record.value, dict) and record.value else None


def json_array(record: Record) -> Text | None:
    """The array, or an object's values as one; None where there is nothing to put into it."""
    items = list(record.value.values()) if isinstance(record.value, dict) else record.value
    return _plain(_json(items)) if isinstance(items, list) and items else None


def nested_json(record: Record) -> Text | None:
    """The call as an object, or the value within one, so that at least two containers are open; None for a scalar."""
    if not isinstance(record.value, dict | list) or not record.value:
        return None
    if record.name is not None:
        return _plain(_call(record))
    return _plain(_json({"value": record.value}))


def json_string(record: Record) -> Text | None:
    """The text itself, or the JSON text of the value, as a JSON string, whose quotes are then escaped."""
    content = record.value if isinstance(record.value, str) else _json(record.value)
    return _plain(_json(content)) if content else None


def tool_call(record: Record) -> Text | None:
    """The call between its delimiters; None where the record is no call."""
    return None if record.name is None else _delimited("tool_call", _call(record))


def tool_call_with_text(record: Record) -> Text | None:
    """The same with the arguments as JSON text, as on OpenAI's wire, which has an escape for every quote."""
    if record.name is None or not record.value:
        return None
    return _delimited("tool_call", _json({"name": record.name, "arguments": _json(record.value)}))


def reasoning(record: Record) -> Text | None:
    """Sentences about the record between the delimiters; None where there is nothing to say."""
    if record.name is not None:
        said = [f"The right function is {record.name}.", *_sentences(record.value)]
    elif isinstance(record.value, dict | list) and record.value:
        said = ["The wanted value has these parts.", *_sentences(record.value)]
    else:
        return None
    return _delimited("reasoning", "\n".join(said))


def code_fence(record: Record) -> Text | None:
    """The JSON of the record, one member a line, in a fenced code block; None for a scalar."""
    if not isinstance(record.value, dict | list) or not record.value:
        return None
    value = record.value if record.name is None else {"name": record.name, "arguments": record.value}
    inner = json.dumps(value, ensure_ascii=False, indent=2)
    head = "```json\n"
    return Text(f"{head}{inner}\n```", len(head), len(head) + len(inner))


def _sentences(value: Any) -> list[str]:
    parts = value.items() if isinstance(value, dict) else enumerate(value, 1)
    return [f"{name} is {_json(part)}." for name, part in parts]


def _call(record: Record) -> str:
    return _json({"name": record.name, "arguments": record.value})


def _delimited(kind: str, inner: str) -> Text:
    opener, closer = DEFAULT_DELIMITERS[kind]
    head = f"{opener}\n"
    return Text(f"{head}{inner}\n{closer}", len(head), len(head) + len(inner))


def _plain(text: str) -> Text:
    return Text(text, 0, len(text))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
