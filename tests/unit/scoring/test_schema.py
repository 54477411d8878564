import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from evaluator.results import Finding
from evaluator.scoring import patterns, schema_keywords
from evaluator.scoring.schema import MAX_FINDINGS, SchemaError, compile_schema, translate_gorilla
from evaluator.transcript import Infrastructure

QUADRATIC = 30  # seconds of CPU; what is linear takes one at most, what is not would take hours

SCHEMAS = st.sampled_from(
    [
        {"type": "integer"},
        {"type": ["string", "null"], "maxLength": 2},
        {"enum": [1, "a", None, [1]]},
        {"type": "array", "items": {"type": "number"}, "uniqueItems": True, "minItems": 1},
        {"properties": {"a": {"type": "string", "pattern": "^a"}}, "required": ["a"], "additionalProperties": False},
        {"patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": {"type": "string"}},
        {"anyOf": [{"type": "object", "required": ["b"]}, {"type": "boolean"}, {"multipleOf": 0.5}]},
        {"$defs": {"n": {"type": ["array", "integer"], "items": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n"},
        {"uniqueItems": True},
        True,
        False,
    ]
)
INSTANCES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 1.0, 2.5, "", "a", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "ab", "b"]), inner, max_size=3),
    max_leaves=6,
)


def findings(schema: Any, instance: Any) -> list[Finding]:
    found = compile_schema(schema).findings(instance)
    assert isinstance(found, list)
    return found


@given(SCHEMAS, INSTANCES)
def test_our_bounded_keywords_agree_with_the_package_on_what_is_valid(schema: Any, instance: Any) -> None:
    assert (findings(schema, instance) == []) == Draft202012Validator(schema).is_valid(instance)


def test_each_error_is_a_finding_with_path_keyword_wanted_and_got() -> None:
    schema = {
        "properties": {"a": {"items": {"properties": {"b": {"type": "integer", "minimum": 3}}}}, "c": {"enum": ["x"]}},
        "required": ["d"],
        "additionalProperties": False,
    }
    assert findings(schema, {"a": [{"b": "1"}, {"b": 2}], "c": "y", "e e": 5}) == [
        Finding(path='$["e e"]', keyword="additionalProperties", wanted=False, got=5),
        Finding(path="$.a[0].b", keyword="type", wanted="integer", got="1"),
        Finding(path="$.a[1].b", keyword="minimum", wanted=3, got=2),
        Finding(path="$.c", keyword="enum", wanted=["x"], got="y"),
        Finding(path="$.d", keyword="required", wanted=["d"]),
    ]


def test_findings_are_bounded_in_number_and_size() -> None:
    found = findings({"items": {"type": "string"}}, [[0] * 1000] * 1000)
    assert len(found) == MAX_FINDINGS
    assert len(str(found[0].got)) < 300


def test_a_whole_float_is_an_integer_and_a_boolean_is_no_number() -> None:
    assert findings({"type": "integer"}, 1889.0) == []
    assert findings({"type": "number"}, True) != []


def test_the_draft_is_the_one_that_the_schema_names() -> None:
    tuple_items = {"items": [{"type": "string"}]}
    draft7 = {"$schema": "http://json-schema.org/draft-07/schema#", **tuple_items}
    assert findings(draft7, [1])[0].keyword == "type"
    with pytest.raises(SchemaError, match="not a JSON Schema"):
        compile_schema(tuple_items)
    with pytest.raises(SchemaError, match=r"unknown draft 'http://example.org/mine' in \$schema"):
        compile_schema({"$schema": "http://example.org/mine"})


def test_equal_schemas_are_compiled_once() -> None:
    assert compile_schema({"type": "string", "maxLength": 3}) is compile_schema({"maxLength": 3, "type": "string"})


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"$ref": "http://127.0.0.1:9/schema.json"}, "leads out of the schema; references are never fetched"),
        ({"properties": {"a": {"$ref": "file:///etc/hostname"}}}, "leads out of the schema"),
        ({"$ref": "#/$defs/none"}, "leads out of the schema"),
        ({"type": "dict"}, "not a JSON Schema: 'dict' is not valid"),
        ({"properties": {"a": 5}}, r"not a JSON Schema: .* at \$\.properties\.a"),
        (5, "not a JSON Schema"),
        ({"pattern": "("}, "the pattern '\\('"),
        ({"patternProperties": {"((a{1000}){1000}){1000}": {}}}, "written out"),
        ({"patternProperties": {"a": {}}, "unevaluatedProperties": False}, "cannot be checked in bounded time"),
        ({"$defs": {"a": {"$schema": "http://json-schema.org/draft-07/schema#"}}}, r"\$schema inside a schema"),
        ({"x": {1, 2}}, "not a JSON Schema"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_with_the_reason(schema: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        compile_schema(schema)


def nested(keyword: str, levels: int) -> Any:
    schema: Any = {}
    for _ in range(levels):
        schema = {keyword: [schema]}
    return schema


@pytest.mark.parametrize("levels", [150, 5000])
def test_a_schema_without_end_is_refused(levels: int) -> None:
    with pytest.raises(SchemaError, match=r"nested more than|not a JSON Schema"):
        compile_schema(nested("allOf", levels))


def test_references_inside_the_schema_and_to_the_drafts_are_followed() -> None:
    assert findings({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}, 1)[0].keyword == "type"
    inner = {"$defs": {"a": {"$id": "http://example.org/a", "type": "string"}}, "$ref": "http://example.org/a"}
    assert findings(inner, 1)[0].keyword == "type"
    assert findings({"$ref": "https://json-schema.org/draft/2020-12/schema"}, {"type": 1}) != []


def test_a_catastrophic_pattern_gives_infrastructure_not_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "SECONDS", 0.1)
    for schema in (
        {"pattern": "(a|aa)+$"},
        {"patternProperties": {"(a|aa)+$": {}}},
        {"patternProperties": {"(a|aa)+$": {}}, "additionalProperties": False},
    ):
        text = "a" * 20_000 + "!"
        found = compile_schema(schema).findings(text if "pattern" in schema else {text: 1})
        assert isinstance(found, Infrastructure)
        assert found.kind == "pattern_timeout"


def test_what_only_a_reference_reaches_cannot_escape_the_bounds() -> None:
    hidden = {"$ref": "#/x", "x": {"pattern": "("}}
    found = compile_schema(hidden).findings("a")
    assert isinstance(found, Infrastructure)
    assert found.kind == "malformed_schema"


def test_recursion_without_end_and_endless_references_are_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_keywords, "MAX_REFERENCES", 1000)
    endless = {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}
    assert findings(endless, 1) == [
        Finding(path="$", keyword="depth", message="nested too deeply to be checked against the schema")
    ]
    doubling: dict[str, Any] = {"d0": {}}
    for level in range(40):
        doubling[f"d{level + 1}"] = {"allOf": [{"$ref": f"#/$defs/d{level}"}] * 2}
    assert findings({"$defs": doubling, "$ref": "#/$defs/d40"}, 1)[0].keyword == "size"


def test_a_number_too_large_to_divide_is_a_finding() -> None:
    assert findings({"multipleOf": 0.1}, 10**400)[0].keyword == "not_finite"


def test_unique_items_of_a_large_array_of_objects_take_linear_time() -> None:
    start = time.process_time()
    assert findings({"uniqueItems": True}, [{"n": number} for number in range(50_000)]) == []
    assert time.process_time() - start < QUADRATIC
    assert findings({"uniqueItems": True}, [{"a": [1]}, {"a": [1.0]}])[0].keyword == "uniqueItems"
    assert findings({"uniqueItems": True}, [1, True, "1", [1], {"1": 1}]) == []


def test_gorilla_types_are_translated_where_a_schema_stands_and_nowhere_else() -> None:
    spec = {
        "type": "dict",
        "properties": {
            "type": {"type": "float", "default": {"type": "dict"}},
            "any": {"type": "any", "description": "whatever"},
            "pairs": {"type": "tuple", "items": {"type": "tuple", "items": {"type": "float"}}},
            "either": {"anyOf": [{"type": "dict"}, {"type": ["float", "null"]}]},
        },
        "required": ["type"],
    }
    assert translate_gorilla(spec) == {
        "type": "object",
        "properties": {
            "type": {"type": "number", "default": {"type": "dict"}},
            "any": {"description": "whatever"},
            "pairs": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
            "either": {"anyOf": [{"type": "object"}, {"type": ["number", "null"]}]},
        },
        "required": ["type"],
    }
    assert spec["type"] == "dict"


def test_gorilla_types_nested_without_end_are_refused() -> None:
    with pytest.raises(SchemaError, match="nested more than 100 schemas deep"):
        translate_gorilla(nested("anyOf", 200))
