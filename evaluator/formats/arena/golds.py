"""A right answer to an item, as far as its checks determine one: it must pass before any model is asked."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from evaluator.cases import Case
from evaluator.corpus import SEARCH, search
from evaluator.results import Score
from evaluator.scoring import arena
from evaluator.scoring.answer_checks import is_index
from evaluator.scoring.argument_schemas import UNKNOWN, example, target
from evaluator.transcript import Call, Transcript

Check = dict[str, Any]

NEUTRAL = "Done."
_MOST_CALLS = 64
_DEEPEST = 20
_ANYTHING = "x"
_MOST_ITEMS = 20
_MOST_PARTS = 10_000
_ON_JSON = frozenset({"json_valid", "json_schema", "json_path_equals"})


def gold_of(case: Case) -> Transcript | None:
    """A transcript that passes; None where the checks do not say enough, or exclude each other."""
    checks = (case.expected or {})["checks"]
    text = _record(checks) if any(check["type"] in _ON_JSON for check in checks) else _prose(checks)
    if text is None:
        return None
    gold = Transcript(text=text, calls=_calls(case, checks), stop_reason="stop")
    score = arena.prepare(case)(gold)
    return gold if isinstance(score, Score) and score.passed else None


def _record(checks: list[Check]) -> str | None:
    """The JSON of the least value that the schemas ask for, with the values that stand at paths."""
    paths = [(check["path"].split("."), check["value"]) for check in checks if check["type"] == "json_path_equals"]
    schemas = [check["schema"] for check in checks if check["type"] == "json_schema"]
    value = _least(schemas[0], schemas[0], _Room()) if schemas else UNKNOWN
    if value is UNKNOWN:
        value = [] if paths and is_index(paths[0][0][0]) else {}
    for keys, wanted in paths:
        value = _with(value, keys, wanted) if len(keys) <= _DEEPEST else UNKNOWN
    return None if value is UNKNOWN else json.dumps(value, ensure_ascii=False)


class _Room:
    """How many parts of a schema may still be looked at, and values made: a schema of schemas asks for any number."""

    def __init__(self) -> None:
        self.left = _MOST_PARTS

    def taken(self, parts: int = 1) -> bool:
        """Whether there was room for so many more."""
        self.left -= parts
        return self.left >= 0


def _least(root: Any, schema: Any, room: _Room, depth: int = 0) -> Any:
    """A small value for `schema`, a part of `root`: its own example, else what it requires; UNKNOWN where that cannot
    be told. A member that is not known is left out, since a check may give it."""
    if not isinstance(root, dict) or depth > _DEEPEST or not room.taken():
        return UNKNOWN
    known = example(root, schema)
    part = target(root, schema)
    if known is not UNKNOWN:
        return known
    if part is True or part == {}:
        return _ANYTHING
    if not isinstance(part, dict):
        return UNKNOWN
    for option in (*part.get("anyOf", ()), *part.get("oneOf", ())):
        chosen = _least(root, option, room, depth + 1)
        if chosen is not UNKNOWN:
            return chosen
    kinds = part.get("type")
    if kinds == "array":
        before = room.left
        item = _least(root, part.get("items", {"type": "string"}), room, depth + 1)
        least = part.get("minItems", 0)
        number = min(least, _MOST_ITEMS) if isinstance(least, int) else 0
        if item is UNKNOWN or not room.taken((before - room.left) * max(0, number - 1)):
            return UNKNOWN
        return [deepcopy(item) for _ in range(number)]
    if kinds == "object" or "properties" in part:
        properties, required = part.get("properties", {}), part.get("required", [])
        members = ((name, _least(root, properties.get(name, {}), room, depth + 1)) for name in required)
        return {name: value for name, value in members if value is not UNKNOWN}
    return UNKNOWN


def _with(value: Any, keys: list[str], wanted: Any) -> Any:
    """`value` with `wanted` at the path, made where it is not there; UNKNOWN where there is no room."""
    if not keys:
        return deepcopy(wanted)
    key, rest = keys[0], keys[1:]
    if isinstance(value, list) or (value is UNKNOWN and is_index(key)):
        items = value if isinstance(value, list) else []
        if not is_index(key) or int(key) > len(items):
            return UNKNOWN
        child = _with(items[int(key)] if int(key) < len(items) else UNKNOWN, rest, wanted)
        return UNKNOWN if child is UNKNOWN else [*items[: int(key)], child, *items[int(key) + 1 :]]
    members = value if isinstance(value, dict) else {}
    child = _with(members.get(key, UNKNOWN), rest, wanted)
    return UNKNOWN if child is UNKNOWN else {**members, key: child}


def _prose(checks: list[Check]) -> str:
    """What checks on text want to find, one after the other."""
    parts = [str(check["value"]) for check in checks if check["type"] in ("contains", "icontains", "numeric_equals")]
    return " ".join(parts) or NEUTRAL


def _calls(case: Case, checks: list[Check]) -> list[Call]:
    """As many searches for the whole input as are wanted."""
    number = min(max((_searches(check) for check in checks), default=0), _MOST_CALLS)
    query = case.request.messages[-1]["content"]
    arguments = json.dumps({"query": query}, ensure_ascii=False)
    result = search(case.request.corpus, query) if number else None
    return [Call(tool=SEARCH["name"], arguments=arguments, turn=turn, result=result) for turn in range(1, number + 1)]


def _searches(check: Check) -> int:
    if check["type"] == "min_tool_calls":
        return int(check["value"])
    if check["type"] == "call_counts":
        return int(check["counts"].get(SEARCH["name"], 0))
    return 1 if check["type"] == "tool_used" and check["name"] == SEARCH["name"] else 0
