"""JSON Schema for schemas and instances that nobody vouches for: bounded in time, and without the network.

The jsonschema package validates. What it leaves open is closed here: references are resolved inside the schema only,
patterns run within a time limit, recursion and repeated references end, and every error is a `Finding`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from evaluator.results import Finding
from evaluator.scoring.bounds import bounded, json_path
from evaluator.scoring.patterns import PatternError, PatternTimeoutError, compile_pattern
from evaluator.scoring.schema_fast import DIALECTS, IsValid, compile_fast
from evaluator.transcript import Infrastructure

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

VERSION = "schema@1"

MAX_FINDINGS = 20
MAX_SCHEMA_NESTING = 100

# Where schemas stand inside a schema: under these keywords directly, in a list, or as the members of an object.
_IN_KEYWORD = frozenset(
    (
        *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not"),
        *("propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
    )
)
_IN_LIST = frozenset(("allOf", "anyOf", "items", "oneOf", "prefixItems"))
_IN_MEMBERS = frozenset(("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"))

_GORILLA = {"dict": "object", "float": "number", "tuple": "array"}


class SchemaError(ValueError):
    """The schema itself is not usable; the message says why. A fault of the task, never of an answer."""


class SchemaCheck:
    """A compiled schema."""

    __slots__ = ("_is_surely_valid", "_validator")

    def __init__(self, validator: Any, is_surely_valid: IsValid | None = None) -> None:
        self._validator = validator
        self._is_surely_valid = is_surely_valid

    def findings(self, instance: Any) -> list[Finding] | Infrastructure:
        """What is wrong with a JSON value, at most `MAX_FINDINGS`; empty where it is valid.

        Infrastructure where a pattern of the schema did not end in time, or a reference leads nowhere.
        """
        if self._is_surely_valid is not None and self._is_surely_valid(instance):
            return []
        from referencing.exceptions import Unresolvable

        from evaluator.scoring.schema_keywords import BUDGET, BudgetSpentError

        BUDGET.renew()
        try:
            return [_finding(error) for error in islice(self._validator.iter_errors(instance), MAX_FINDINGS)]
        except PatternTimeoutError as timeout:
            return Infrastructure(kind="pattern_timeout", message=str(timeout))
        except (PatternError, Unresolvable) as error:  # in a part of the schema that only a reference reaches
            return Infrastructure(kind="malformed_schema", message=str(error)[:300])
        except RecursionError:
            return [Finding(path="$", keyword="depth", message="nested too deeply to be checked against the schema")]
        except OverflowError:
            return [Finding(path="$", keyword="not_finite", message="holds a number too large to be checked")]
        except BudgetSpentError:
            return [Finding(path="$", keyword="size", message="too large to be checked against the schema")]


def _finding(error: ValidationError) -> Finding:
    keyword = str(error.validator or "false")  # the schema `false` has no keyword
    path = json_path(error.absolute_path)
    wanted = UNSET if error.validator is None else bounded(error.validator_value)
    if keyword == "required":
        return Finding(path=path, keyword=keyword, wanted=wanted)
    return Finding(path=path, keyword=keyword, wanted=wanted, got=bounded(error.instance))


def compile_schema(schema: Any) -> SchemaCheck:
    """A check for `schema`, draft by its `$schema`, else 2020-12. Equal schemas share one check.

    Raises SchemaError for what is no schema, refers outside itself, or cannot be checked within bounds.
    """
    try:
        return _compile(json.dumps(schema, sort_keys=True))
    except (TypeError, RecursionError) as error:
        raise SchemaError(f"not a JSON Schema: {error}") from error


def translate_gorilla(schema: Any) -> Any:
    """`schema` with the type words of Gorilla function specs as JSON Schema has them: `dict` is object, `float` number,
    `tuple` array, and `any` no constraint. Only where a schema stands: a property that is named "type" stays.

    Raises SchemaError beyond `MAX_SCHEMA_NESTING`.
    """
    return _translated(schema, 0)


def _translated(schema: Any, depth: int) -> Any:
    if depth > MAX_SCHEMA_NESTING:
        raise SchemaError(f"nested more than {MAX_SCHEMA_NESTING} schemas deep")
    if not isinstance(schema, dict):
        return schema
    result: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword == "type":
            words = value if isinstance(value, list) else [value]
            if "any" in words:
                continue
            known = [_GORILLA.get(word, word) if isinstance(word, str) else word for word in words]
            result[keyword] = known if isinstance(value, list) else known[0]
        elif keyword in _IN_MEMBERS and isinstance(value, dict):
            result[keyword] = {name: _translated(member, depth + 1) for name, member in value.items()}
        elif keyword in _IN_LIST and isinstance(value, list):
            result[keyword] = [_translated(item, depth + 1) for item in value]
        elif keyword in _IN_KEYWORD:
            result[keyword] = _translated(value, depth + 1)
        else:
            result[keyword] = value
    return result


def _subschemas(schema: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    if depth > MAX_SCHEMA_NESTING:
        raise SchemaError(f"nested more than {MAX_SCHEMA_NESTING} schemas deep")
    if not isinstance(schema, dict):
        return
    yield schema
    for keyword, value in schema.items():
        inner: list[Any] = []
        if keyword in _IN_MEMBERS and isinstance(value, dict):
            inner = list(value.values())
        elif keyword in _IN_LIST and isinstance(value, list):
            inner = value
        elif keyword in _IN_KEYWORD:
            inner = [value]
        for item in inner:
            yield from _subschemas(item, depth + 1)


_UNKNOWN: Any = object()


@lru_cache(maxsize=1024)
def _compile(text: str) -> SchemaCheck:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError as InvalidSchemaError
    from jsonschema.validators import validator_for
    from referencing import Registry

    from evaluator.scoring.schema_keywords import bounded_validator

    schema = json.loads(text)
    draft: Any = Draft202012Validator
    dialect: Any = None
    if isinstance(schema, dict) and "$schema" in schema:
        # Taken out: on meeting it the package would switch back to its own, unbounded keywords.
        dialect = schema.pop("$schema")
        draft = validator_for({"$schema": dialect}, default=_UNKNOWN) if isinstance(dialect, str) else _UNKNOWN
        if draft is _UNKNOWN:
            raise SchemaError(f"unknown draft {str(dialect)[:80]!r} in $schema")
    try:
        draft.check_schema(schema, format_checker=None)
    except InvalidSchemaError as error:
        raise SchemaError(f"not a JSON Schema: {error.message[:200]} at {json_path(error.absolute_path)}") from error
    _refuse_unbounded(schema)
    _refuse_outside_references(schema, draft)
    is_surely_valid = compile_fast(schema) if dialect is None or dialect in DIALECTS else None
    return SchemaCheck(bounded_validator(draft)(schema, registry=Registry()), is_surely_valid)


def _refuse_unbounded(schema: Any) -> None:
    keys: set[str] = set()
    pending = [schema]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            if isinstance(node.get("$schema"), str):
                raise SchemaError("$schema inside a schema: one draft holds for all of it")
            keys.update(node)
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)
    if {"patternProperties", "unevaluatedProperties"} <= keys:
        raise SchemaError("patternProperties together with unevaluatedProperties cannot be checked in bounded time")
    for part in _subschemas(schema):
        patterns = part.get("patternProperties", {})
        for source in [*patterns, *([part["pattern"]] if "pattern" in part else [])]:
            try:
                compile_pattern(source)
            except PatternError as error:
                raise SchemaError(f"the pattern {str(source)[:80]!r}: {error}") from error


def _refuse_outside_references(schema: Any, draft: Any) -> None:
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012, specification_with

    specification = specification_with(draft.META_SCHEMA.get("$schema", ""), default=DRAFT202012)
    resolver = REGISTRY.resolver_with_root(specification.create_resource(schema))
    parts = list(_subschemas(schema))
    has_inner_ids = any(isinstance(part.get("$id"), str) for part in parts[1:])
    for part in parts:
        for keyword in ("$ref", "$dynamicRef"):
            reference = part.get(keyword)
            if not isinstance(reference, str):
                continue
            try:
                resolver.lookup(reference)
            except Unresolvable as error:
                if has_inner_ids and not _is_absolute(reference):
                    continue  # relative to an inner $id: known only when it is followed
                raise SchemaError(
                    f"the reference {reference[:200]!r} leads out of the schema; references are never fetched"
                ) from error


def _is_absolute(reference: str) -> bool:
    return "://" in reference
