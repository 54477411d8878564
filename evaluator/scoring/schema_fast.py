"""A quick yes to the question whether a JSON value is valid, for the plain part of JSON Schema.

The jsonschema package decides and explains; but most calls are valid, and it takes ten times as long to say so. A test
here never says that a value is invalid: it says "valid", or nothing. It knows the keywords of which it is known to
agree with the package (a differential test holds them together); a part of a schema with any other keyword gets no yes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

IsValid = Callable[[Any], bool]

# Drafts in which the keywords below mean the same; draft 4 and before differ (1.0 is no integer there).
DIALECTS = frozenset(
    (
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-06/schema",
    )
)

# What says nothing about validity; `format` is an annotation where no format checker is given.
_SILENT = frozenset(
    (
        *("$comment", "$schema", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"),
        *("format", "$defs", "definitions"),
    )
)


def compile_fast(schema: Any) -> IsValid | None:
    """A function that says True only for values that are valid by `schema`, a schema by its draft's own definition of
    2020-12 down to draft 6. None where it would never say so."""
    return _compile(schema)


def _compile(schema: Any) -> IsValid | None:
    if schema is True:
        return _anything
    if not isinstance(schema, dict):
        return None
    tests: list[IsValid] = []
    about_objects = {keyword: value for keyword, value in schema.items() if keyword in _OF_OBJECTS}
    for keyword, value in schema.items():
        if keyword in _SILENT or keyword in about_objects:
            continue
        compiler = _KEYWORDS.get(keyword)
        test = compiler(value) if compiler is not None else None
        if test is None:
            return None
        tests.append(test)
    if about_objects:
        tests.append(_object(about_objects))
    return tests[0] if len(tests) == 1 else _all(tests)


def _anything(_: Any) -> bool:
    return True


def _all(tests: list[IsValid]) -> IsValid:
    if not tests:
        return _anything
    if len(tests) == 2:
        first, second = tests
        return lambda value: first(value) and second(value)

    def every(value: Any) -> bool:
        for test in tests:  # noqa: SIM110 - a generator takes twice as long
            if not test(value):
                return False
        return True

    return every


_IS: dict[str, IsValid] = {
    "object": lambda value: type(value) is dict,
    "array": lambda value: type(value) is list,
    "string": lambda value: type(value) is str,
    "boolean": lambda value: type(value) is bool,
    "null": lambda value: value is None,
    "number": lambda value: type(value) is int or type(value) is float,
    "integer": lambda value: type(value) is int or (type(value) is float and value.is_integer()),
}


def _type(words: Any) -> IsValid | None:
    tests = [_IS.get(word) for word in (words if isinstance(words, list) else [words])]
    known = [test for test in tests if test is not None]
    if len(known) < len(tests) or not known:
        return None
    return known[0] if len(known) == 1 else _some(known)


def _some(tests: list[IsValid]) -> IsValid:
    def some(value: Any) -> bool:
        for test in tests:  # noqa: SIM110 - a generator takes twice as long
            if test(value):
                return True
        return False

    return some


def _enum(values: Any) -> IsValid | None:
    """Scalars only: of the others the package decides."""
    if not isinstance(values, list):
        return None
    allowed = {(type(value) is bool, value) for value in values if not isinstance(value, list | dict)}
    return lambda value: type(value) in _SCALARS and (type(value) is bool, value) in allowed


_SCALARS = frozenset((str, int, float, bool, type(None)))


def _const(wanted: Any) -> IsValid | None:
    return _enum([wanted])


def _bound(holds: Callable[[Any, Any], bool]) -> Callable[[Any], IsValid | None]:
    """A keyword that bounds numbers and lets all else pass."""

    def compiler(limit: Any) -> IsValid | None:
        if type(limit) is not int and type(limit) is not float:
            return None
        return lambda value: (type(value) is not int and type(value) is not float) or holds(value, limit)

    return compiler


def _length(kind: type[str] | type[list[Any]], holds: Callable[[int, Any], bool]) -> Callable[[Any], IsValid | None]:
    """A keyword that bounds the length of values of one kind and lets all else pass."""

    def compiler(limit: Any) -> IsValid | None:
        if type(limit) is not int:
            return None
        return lambda value: not isinstance(value, kind) or holds(len(value), limit)

    return compiler


def _items(schema: Any) -> IsValid | None:
    test = _compile(schema)
    if test is None:
        return lambda value: type(value) is not list or not value
    return lambda value: type(value) is not list or all(map(test, value))


def _any_of(schemas: Any) -> IsValid | None:
    tests = [test for schema in schemas if (test := _compile(schema)) is not None] if isinstance(schemas, list) else []
    return _some(tests) if tests else None


def _all_of(schemas: Any) -> IsValid | None:
    tests = [_compile(schema) for schema in schemas] if isinstance(schemas, list) else [None]
    known = [test for test in tests if test is not None]
    return _all(known) if len(known) == len(tests) else None


_OF_OBJECTS = frozenset(("properties", "required", "additionalProperties"))


def _object(keywords: dict[str, Any]) -> IsValid:
    """`properties`, `required` and `additionalProperties` in one go over the members."""
    required = tuple(keywords.get("required", ()))
    members = {name: _compile(schema) or _never for name, schema in keywords.get("properties", {}).items()}
    others = _compile(keywords.get("additionalProperties", True)) or _never

    def is_valid(value: Any) -> bool:
        if type(value) is not dict:
            return True
        for name in required:
            if name not in value:
                return False
        for name, member in value.items():  # noqa: SIM110 - a generator takes twice as long
            if not members.get(name, others)(member):
                return False
        return True

    return is_valid


def _never(_: Any) -> bool:
    return False


_KEYWORDS: dict[str, Callable[[Any], IsValid | None]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "minimum": _bound(lambda value, limit: bool(value >= limit)),
    "maximum": _bound(lambda value, limit: bool(value <= limit)),
    "exclusiveMinimum": _bound(lambda value, limit: bool(value > limit)),
    "exclusiveMaximum": _bound(lambda value, limit: bool(value < limit)),
    "minLength": _length(str, lambda length, limit: bool(length >= limit)),
    "maxLength": _length(str, lambda length, limit: bool(length <= limit)),
    "minItems": _length(list, lambda length, limit: bool(length >= limit)),
    "maxItems": _length(list, lambda length, limit: bool(length <= limit)),
    "items": _items,
    "anyOf": _any_of,
    "allOf": _all_of,
}
