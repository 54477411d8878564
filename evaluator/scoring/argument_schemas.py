"""What the schema of a tool says of single arguments: of expected calls and rules, which need not name all of them.

A call that leaves arguments out is not valid as a whole, and yet what it has can be right or wrong. So each value is
held against those parts of the schema alone that apply to it whatever the rest of the call is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from evaluator.results import Finding
from evaluator.scoring.schema import SchemaError, compile_schema
from evaluator.scoring.schema_fast import DIALECTS, compile_fast
from evaluator.transcript import Infrastructure

UNKNOWN: Any = object()

_MOST_REFERENCES = 20
_LONGEST_EXAMPLE = 200
# Keywords by which an object may get members beside those of `properties`.
_ELSEWHERE = frozenset(
    (
        *("$dynamicRef", "$ref", "allOf", "anyOf", "dependencies", "dependentSchemas", "else", "if", "oneOf", "then"),
        "patternProperties",
    )
)


class Members(NamedTuple):
    """The members that a schema has for an object. `schemas`: by name; `others`: that of every further one, UNKNOWN
    where there is none. `closed`: further ones are refused; `listed`: `schemas` are all that the schema speaks of."""

    schemas: dict[str, Any]
    others: Any
    closed: bool
    listed: bool

    def of(self, name: str) -> Any:
        """The schema of one member, UNKNOWN where nothing is said of it."""
        return self.schemas.get(name, self.others)


def members(root: dict[str, Any], schema: Any) -> Members | None:
    """What `schema`, a part of `root`, says of an object's members; None where that cannot be told."""
    schema = target(root, schema)
    if not isinstance(schema, dict):
        return None
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    if not isinstance(properties, dict):
        return None
    patterns = "patternProperties" in schema
    spoken_of = isinstance(others, dict) and bool(others)
    return Members(
        schemas=properties,
        others=others if spoken_of and not patterns else UNKNOWN,
        closed=others is False and not patterns,
        listed=bool(properties) and not spoken_of and _ELSEWHERE.isdisjoint(schema),
    )


def complaints(root: dict[str, Any], schema: Any, value: Any) -> list[Finding]:
    """What is wrong with `value` by `schema`, a part of `root`; empty too where that cannot be told."""
    if root.get("$schema") in (None, *DIALECTS):
        is_surely_valid = compile_fast(schema)  # in no time, while to compile each part of each tool adds up
        if is_surely_valid is not None and is_surely_valid(value):
            return []
    try:
        found = compile_schema(_by_itself(root, schema)).findings(value)
    except SchemaError:  # it refers to a part of `root` that it does not bring along
        return []
    return [] if isinstance(found, Infrastructure) else found


def type_complaints(root: dict[str, Any], schema: Any, value: Any) -> list[Finding]:
    """The same by the type alone, which does not depend on what else the value has."""
    schema = target(root, schema)
    return complaints(root, {"type": schema["type"]}, value) if isinstance(schema, dict) and "type" in schema else []


def example(root: dict[str, Any], schema: Any) -> Any:
    """A value that is valid by `schema`, a part of `root`: one that it gives, else the least of its type; UNKNOWN where
    there is none to be had."""
    part = target(root, schema)
    if not isinstance(part, dict):
        return UNKNOWN
    return next((value for value in _candidates(part) if not complaints(root, schema, value)), UNKNOWN)


def _candidates(schema: dict[str, Any]) -> Iterator[Any]:
    for key in ("enum", "examples"):
        if key == "examples":
            yield from (schema[one] for one in ("const", "default") if one in schema)
        values = schema.get(key)
        yield from values if isinstance(values, list) else ()
    kinds = schema.get("type")
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        yield from _least(kind, schema)


def _least(kind: Any, schema: dict[str, Any]) -> Iterator[Any]:
    if kind == "string":
        length = schema.get("minLength", 1)
        yield "x" * (min(length, _LONGEST_EXAMPLE) if isinstance(length, int) else 1)
    elif kind in ("integer", "number"):
        yield from (1, 0)
        limits = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
        for limit in [schema[key] for key in limits if isinstance(schema.get(key), int | float)]:
            yield from (limit, limit + 1, limit - 1)
    elif kind == "boolean":
        yield False
    elif kind == "array":
        yield []
    elif kind == "object":
        yield {}
    elif kind == "null":
        yield None


def target(root: dict[str, Any], schema: Any) -> Any:
    """What a plain reference inside of `root` leads to; UNKNOWN where it leads elsewhere."""
    for _ in range(_MOST_REFERENCES):
        if not isinstance(schema, dict) or set(schema) - {"description", "title"} != {"$ref"}:
            return schema
        schema = _at(root, schema["$ref"])
    return UNKNOWN


def _at(root: dict[str, Any], pointer: Any) -> Any:
    if not isinstance(pointer, str) or not pointer.startswith("#/"):
        return UNKNOWN
    node: Any = root
    for part in pointer[2:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, dict) or key not in node:
            return UNKNOWN
        node = node[key]
    return node


def _by_itself(root: dict[str, Any], schema: Any) -> Any:
    """`schema` with what it may refer to."""
    if not isinstance(schema, dict):
        return schema
    return {key: root[key] for key in ("$schema", "$defs", "definitions") if key in root} | schema
