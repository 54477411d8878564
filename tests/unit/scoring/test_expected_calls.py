"""Values of expected calls against schemas that nobody vouches for."""

from __future__ import annotations

from typing import Any

import pytest

from evaluator.cases import Case, Request
from evaluator.scoring.argument_schemas import UNKNOWN, example
from evaluator.scoring.expected_calls import Doubt, doubts


def said(step: dict[str, Any], parameters: Any) -> list[str]:
    """What is said of one expected call of the tool t."""
    return [doubt.message.removeprefix("step 1 t $") for doubt in found(step, {"name": "t", "parameters": parameters})]


def found(step: dict[str, Any], *specs: dict[str, Any]) -> list[Doubt]:
    expected = {"paths": [[{"turn": 1, "tool": "t", **step}]]}
    return list(doubts(Case(id="c", request=Request(messages=[], tools=list(specs)), expected=expected)))


def refused(value: Any, schema: Any, **root: Any) -> str:
    """What is said of a value, without the part that is the same for all; empty for nothing."""
    whole = said({"args": {"a": value}}, {"type": "object", "properties": {"a": schema}, **root})
    assert len(whole) <= 1
    return whole[0].removeprefix(".a: the tool's schema wants ") if whole else ""


@pytest.mark.parametrize(
    ("value", "schema", "message"),
    [
        ("x", {"pattern": "^O-"}, 'text that fits the pattern ^O-, the fixture has the text "x"'),
        ("x", {"const": "y"}, '"y", the fixture has the text "x"'),
        (1, {"type": ["string", "null"]}, 'a string or null, the fixture has the number 1; write it in quotes: "1"'),
        ("1.5", {"type": "integer"}, 'a whole number, the fixture has the text "1.5"'),
        ("-2", {"type": "integer"}, 'a whole number, the fixture has the text "-2"; write it without quotes: -2'),
        ("x", {"type": "boolean"}, 'true or false, the fixture has the text "x"'),
        (1, {"anyOf": [{"type": "string"}, {"type": "null"}]}, "what its anyOf says, the fixture has the number 1"),
        (1, False, "no value at all, the fixture has the number 1"),
        (1, True, ""),
        (1, {"$ref": "#/$defs/text"}, 'a string, the fixture has the number 1; write it in quotes: "1"'),
        (1, {"$ref": "#/properties/b"}, ""),
        ("x", {"enum": [f"o-{number}" for number in range(100)]}, 'one of ["o-0", "o-1",'),
    ],
)
def test_a_refused_value_is_named_with_what_is_wanted(value: Any, schema: Any, message: str) -> None:
    whole = refused(value, schema, **{"$defs": {"text": {"type": "string"}}})
    assert whole.startswith(message) if message else whole == ""


def test_an_item_of_an_array_says_all_of_itself() -> None:
    items = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
    (message,) = said({"args": {"a": [{"n": 1}, {"m": 1}]}}, {"properties": {"a": {"items": items}}})
    assert message.startswith(".a[1]")
    assert "the tool's schema wants no other members" in message


def test_further_arguments_are_held_against_the_schema_of_such() -> None:
    parameters = {"type": "object", "additionalProperties": {"type": "string"}}
    assert said({"args": {"note": 1}}, parameters) == [
        '.note: the tool\'s schema wants a string, the fixture has the number 1; write it in quotes: "1"'
    ]


@pytest.mark.parametrize(
    "parameters",
    [
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"$ref": "#/$defs/none"},
        {"$ref": "https://example.com/schema"},
        {"properties": {"a": {"$ref": "#/$defs/nested"}}, "$defs": {"nested": {"$ref": 7}}},
        {"properties": "none"},
        True,
        None,
    ],
)
def test_a_schema_that_leads_nowhere_accuses_nobody(parameters: Any) -> None:
    assert said({"args": {"a": {"b": 1}}, "rules": {"$.a.c": {"any": True}}}, parameters) == []


def test_a_tool_that_says_nothing_of_its_arguments_accuses_nobody() -> None:
    assert found({"args": {"a": 1}}, {"name": "t"}) == []


def test_old_drafts_have_their_own_words() -> None:
    draft_4 = "http://json-schema.org/draft-04/schema#"
    bounds = {"minimum": 5, "exclusiveMinimum": True}
    assert refused(5, bounds, **{"$schema": draft_4}).startswith("at least 5")
    assert refused(6, bounds, **{"$schema": draft_4}) == ""


def test_where_no_tools_are_known_there_is_no_doubt() -> None:
    assert found({"args": {"a": 1}}) == []


def test_a_place_leads_into_what_is_expected() -> None:
    step = {"args": {}, "alternatives": [{"tool": "t", "rules": {"$.a": {"one_of": ["x", 1]}}}]}
    (doubt,) = found(step, {"name": "t", "parameters": {"properties": {"a": {"type": "string"}}}})
    assert doubt.place == ("paths", 0, 0, "alternatives", 0, "rules", "$.a", "one_of", 1)
    assert doubt.message.startswith("step 1, alternative 1 t $.a: ")


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "minLength": True}, "x"),
        ({"type": "integer", "minimum": 10, "multipleOf": 11}, 11),
        ({"enum": [], "type": "null"}, UNKNOWN),
        ({"type": "integer", "minimum": 10**30}, 10**30),
        ({"type": "nothing"}, UNKNOWN),
        ({"$ref": "#/nowhere"}, UNKNOWN),
    ],
)
def test_an_example_is_valid_or_there_is_none(schema: Any, value: Any) -> None:
    assert example({}, schema) == value
