"""The quick yes of schema_fast against the jsonschema package, which decides."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

from evaluator.scoring.schema import compile_schema
from evaluator.scoring.schema_fast import DIALECTS, compile_fast

NAMES = st.sampled_from(["a", "b", "c"])
TYPES = st.sampled_from(["object", "array", "string", "boolean", "null", "number", "integer"])
NUMBERS = st.sampled_from([0, 1, -1, 2, 0.0, 1.0, 0.5, 1.5, -0.5, 10**30, 1e30])
SCALARS = st.sampled_from([None, True, False, "", "a", "b", "ab", "1", "e\u0301", "\U0001f600"]) | NUMBERS
INSTANCES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


def schemas(leaf: Any, inner: Any) -> Any:
    """Schemas of the plain keywords: the scalar ones by `leaf`, subschemas by `inner`."""
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
            "enum": st.lists(leaf, min_size=1, max_size=4),
            "const": leaf,
            "minimum": NUMBERS,
            "maximum": NUMBERS,
            "exclusiveMinimum": NUMBERS,
            "exclusiveMaximum": NUMBERS,
            "minLength": st.integers(0, 2),
            "maxLength": st.integers(0, 2),
            "minItems": st.integers(0, 2),
            "maxItems": st.integers(0, 2),
            "items": inner,
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "required": st.lists(NAMES, max_size=2, unique=True),
            "additionalProperties": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "format": st.just("date"),
            "description": st.just("d"),
            "$defs": st.just({"d": False}),
        },
    )


PLAIN = st.recursive(schemas(SCALARS, st.booleans()), lambda inner: schemas(SCALARS, inner), max_leaves=5)
FOREIGN = st.sampled_from(
    [
        {"pattern": "^a"},
        {"not": {"type": "string"}},
        {"oneOf": [{"type": "integer"}, {"type": "number"}]},
        {"uniqueItems": True},
        {"multipleOf": 0.5},
        {"minProperties": 1},
        {"patternProperties": {"a": False}},
        {"propertyNames": {"maxLength": 0}},
        {"dependentRequired": {"a": ["b"]}},
        {"contains": {"type": "integer"}},
        {"if": {"type": "object"}, "then": False},
        {"$ref": "#/$defs/d", "$defs": {"d": False}},
        {"prefixItems": [False]},
        {"unevaluatedProperties": False},
        {"enum": [[1], {"a": 1}]},
        {"const": {"a": [1]}},
        False,
    ]
)
ANY = st.recursive(
    PLAIN | FOREIGN | st.tuples(PLAIN, FOREIGN).map(lambda pair: {**pair[0], **(pair[1] or {})}),
    lambda inner: schemas(SCALARS | INSTANCES, inner),
    max_leaves=4,
)


def package_says(schema: Any, instance: Any) -> bool:
    return bool(validator_for(schema, default=Draft202012Validator)(schema).is_valid(instance))


def surely_valid(schema: Any, instance: Any) -> bool:
    test = compile_fast(schema)
    return test is not None and test(instance)


@settings(max_examples=250)
@given(PLAIN, st.lists(INSTANCES, min_size=1, max_size=6))
def test_on_plain_schemas_the_quick_yes_is_the_package_s_yes(schema: Any, instances: list[Any]) -> None:
    for instance in instances:
        assert surely_valid(schema, instance) == package_says(schema, instance)


@settings(max_examples=250)
@given(ANY, st.lists(INSTANCES, min_size=1, max_size=6))
def test_on_any_schema_the_quick_yes_is_never_wrong(schema: Any, instances: list[Any]) -> None:
    for instance in instances:
        if surely_valid(schema, instance):
            assert package_says(schema, instance)


@settings(max_examples=100)
@given(PLAIN, INSTANCES)
def test_the_compiled_check_finds_something_exactly_where_the_package_does(schema: Any, instance: Any) -> None:
    assert (compile_schema(schema).findings(instance) == []) == package_says(schema, instance)


@pytest.mark.parametrize(
    ("schema", "instance", "yes"),
    [
        ({"type": "integer"}, 1.0, True),
        ({"type": "integer"}, 1.5, False),
        ({"type": "integer"}, True, False),
        ({"type": "number"}, True, False),
        ({"enum": [1]}, True, False),
        ({"enum": [True]}, 1, False),
        ({"enum": [1]}, 1.0, True),
        ({"const": None}, None, True),
        ({"minimum": 1}, "a", True),
        ({"minimum": 1}, False, True),
        ({"maxLength": 1}, "\U0001f600", True),
        ({"required": ["a"]}, [], True),
        ({"additionalProperties": False, "properties": {"a": {}}}, {"a": 1}, True),
        ({"additionalProperties": False, "properties": {"a": {}}}, {"b": 1}, False),
        ({"anyOf": [{"$ref": "#"}, {"type": "null"}]}, None, True),
        ({"properties": {"a": {"pattern": "x"}}}, {"b": 1}, True),
        ({"properties": {"a": {"pattern": "x"}}}, {"a": "x"}, False),
        (True, 1, True),
    ],
)
def test_what_gets_a_quick_yes(schema: Any, instance: Any, yes: bool) -> None:
    assert surely_valid(schema, instance) is yes


def test_the_older_drafts_in_which_a_float_is_never_an_integer_get_no_quick_yes() -> None:
    draft4 = {"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}
    assert [finding.keyword for finding in compile_schema(draft4).findings(1.0)] == ["type"]  # type: ignore[union-attr]
    draft7 = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "integer"}
    assert compile_schema(draft7).findings(1.0) == []


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_the_quick_yes_holds_in_each_of_its_drafts(dialect: str) -> None:
    schema = {"$schema": dialect, "type": "object", "properties": {"n": {"type": "integer", "exclusiveMinimum": 0}}}
    for value in (1, 1.0, 0, 0.5, True, "1"):
        assert (compile_schema(schema).findings({"n": value}) == []) == package_says(schema, {"n": value})
