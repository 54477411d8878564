"""Checks of one item that no transcript satisfies together, as far as that can be told at a glance."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from evaluator.scoring.answer_checks import is_index
from evaluator.scoring.argument_schemas import UNKNOWN, complaints, members, type_complaints
from evaluator.scoring.json_call import strictly_equal

Check = dict[str, Any]

# Each check is held against each other one; no honest item has more.
MOST_CHECKS = 100


def contradictions(checks: list[Check]) -> Iterator[tuple[int, int, str]]:
    """Places of two checks and why they exclude each other."""
    for (one, first), (other, second) in combinations(enumerate(checks[:MOST_CHECKS]), 2):
        why = _why(first, second) or _why(second, first)
        if why is not None:
            yield one, other, why


def _why(one: Check, other: Check) -> str | None:
    kinds = (one["type"], other["type"])
    if kinds == ("contains", "not_contains") and other["value"] in one["value"]:
        return "the one text stands in the other"
    if kinds == ("json_path_equals", "json_path_equals") and one["path"] == other["path"] and _apart(one, other):
        return f"{one['path']} cannot have both values"
    if kinds == ("json_schema", "json_path_equals"):
        return _refused(one["schema"], other)
    return _why_of_calls(one, other)


def _why_of_calls(one: Check, other: Check) -> str | None:
    if one["type"] in ("tool_used", "tool_not_used") and other["type"] == "call_counts":
        wanted = other["counts"].get(one["name"])
        used = one["type"] == "tool_used"
        return f"{one['name']} is wanted and counted otherwise" if wanted is not None and (wanted > 0) != used else None
    if one["type"] == "tool_used" and other["type"] == "tool_not_used" and one["name"] == other["name"]:
        return f"{one['name']} is wanted and forbidden"
    if one["type"] == other["type"] == "call_counts":
        both = [name for name, number in one["counts"].items() if other["counts"].get(name, number) != number]
        return f"{both[0]} has two counts" if both else None
    most = _most_calls(other)
    least = _least_calls(one)
    return f"at least {least} calls are wanted, and at most {most}" if most is not None and least > most else None


def _least_calls(check: Check) -> int:
    kind = check["type"]
    if kind in ("min_tool_calls", "suspended"):
        return int(check.get("value", 1))
    if kind == "call_counts":
        return sum(check["counts"].values())
    return 1 if kind == "tool_used" else 0


def _most_calls(check: Check) -> int | None:
    if check["type"] == "no_tool":
        return 0
    return int(check["value"]) if check["type"] == "max_tool_calls" else None


def _apart(one: Check, other: Check) -> bool:
    first, second = one["value"], other["value"]
    if isinstance(first, str) and isinstance(second, str):
        return first.strip().casefold() != second.strip().casefold()
    if type(first) in (int, float) and type(second) in (int, float):
        return bool(abs(first - second) > (one.get("tol", 0) + other.get("tol", 0)) * (1 + 1e-9))
    return not strictly_equal(first, second)


def _refused(schema: Any, check: Check) -> str | None:
    """Why the schema has no room for the value, by those of its parts that apply to it alone."""
    root = schema if isinstance(schema, dict) else {}
    part: Any = root
    for name in check["path"].split("."):
        known = members(root, part)
        if known is None or is_index(name):
            return None
        if known.closed and name not in known.schemas:
            return f"the schema has no room for {check['path']}"
        part = known.of(name)
        if part is UNKNOWN:
            return None
    if "tol" in check:
        return None
    # Of a text another case and white space around it are as right, which may be what the schema wants.
    find = type_complaints if isinstance(check["value"], str) else complaints
    return f"the schema refuses the value of {check['path']}" if find(root, part, check["value"]) else None
