"""The JSON Schema keywords that the jsonschema package leaves unbounded or unlocated, as this project has them.

Imported only where a schema is compiled: the package takes a tenth of a second to load.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from evaluator.scoring.allowance import ALLOWANCE
from evaluator.scoring.patterns import BoundedPattern, PatternTimeoutError, compile_pattern

MAX_REFERENCES = 10_000  # followed in one check; a schema of thirty nested pairs of references would follow 2^30

_pattern = lru_cache(maxsize=1024)(compile_pattern)


class BudgetSpentError(Exception):
    """More references were followed than one check may."""


class Budget:
    """How many references one check may still follow. Threads that share it only make it looser for each other."""

    def __init__(self) -> None:
        self.left = MAX_REFERENCES

    def renew(self) -> None:
        """Start a new check."""
        self.left = MAX_REFERENCES

    def spend(self) -> None:
        """Count one reference. Raises BudgetSpentError, and PatternTimeoutError where the attempt's time is over."""
        self.left -= 1
        if self.left < 0:
            raise BudgetSpentError
        if self.left % 64 == 0 and ALLOWANCE.left() <= 0:
            raise PatternTimeoutError("checking the attempt's calls against their schemas took too long")


BUDGET = Budget()


@lru_cache(maxsize=16)
def bounded_validator(draft: Any) -> Any:
    """The validator class of a draft with this module's keywords in place of its own, where the draft has them."""
    ours = {name: function for name, function in _KEYWORDS.items() if name in draft.VALIDATORS}
    counted = {name: _counted(draft.VALIDATORS[name]) for name in _REFERENCES if name in draft.VALIDATORS}
    derive: Any = extend  # its stub is untyped
    return derive(draft, {**ours, **counted})


_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


def _counted(follow: Any) -> Any:
    def reference(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        BUDGET.spend()
        yield from follow(validator, value, instance, schema) or ()

    return reference


def _pattern_keyword(validator: Any, source: str, instance: Any, _: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and not _pattern(source).found_in(instance):
        yield ValidationError("does not match the pattern")


def _pattern_properties(validator: Any, schemas: Any, instance: Any, _: Any) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    for source, subschema in schemas.items():
        pattern = _pattern(source)
        for name, value in instance.items():
            if pattern.found_in(name):
                yield from validator.descend(value, subschema, path=name, schema_path=source)


def _additional_properties(validator: Any, additional: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """One error for each property too many, at its own path."""
    if not validator.is_type(instance, "object"):
        return
    declared = schema.get("properties", {})
    patterns: list[BoundedPattern] = [_pattern(source) for source in schema.get("patternProperties", {})]
    for name, value in instance.items():
        if name in declared or any(pattern.found_in(name) for pattern in patterns):
            continue
        if additional is False:
            yield ValidationError("is not among the declared properties", path=deque([name]), instance=value)
        else:
            yield from validator.descend(value, additional, path=name)


def _required(validator: Any, names: Any, instance: Any, _: Any) -> Iterator[ValidationError]:
    """One error for each missing property, at the path where it is missing."""
    if validator.is_type(instance, "object"):
        for name in names:
            if name not in instance:
                yield ValidationError("is missing", path=deque([name]))


def _unique_items(validator: Any, unique: Any, instance: Any, _: Any) -> Iterator[ValidationError]:
    """Linear, where comparing each with each would take minutes on a large array of objects."""
    if unique and validator.is_type(instance, "array") and len({_key(item) for item in instance}) < len(instance):
        yield ValidationError("has items that are equal")


def _key(value: Any) -> Any:
    """A hashable stand-in, equal exactly where JSON Schema calls two values equal: 1 is 1.0 and is not true."""
    if isinstance(value, list):
        return ("array", tuple([_key(item) for item in value]))
    if isinstance(value, dict):
        return ("object", frozenset([(name, _key(member)) for name, member in value.items()]))
    return (isinstance(value, bool), value)


_KEYWORDS = {
    "pattern": _pattern_keyword,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "required": _required,
    "uniqueItems": _unique_items,
}
