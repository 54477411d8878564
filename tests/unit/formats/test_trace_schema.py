"""The published schema of a fixture and the types that decide: one and the same."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from evaluator.config.json_positions import load as load_json
from evaluator.formats.trace import fixture as types
from evaluator.formats.trace.faults import faults
from evaluator.formats.trace.shape import SCHEMA_FILE, fixture_of, problems, validator
from tests.unit.formats.trace_fixtures import load, write

SCHEMA = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))

RULES: dict[str, Any] = {
    "$.a": "exact",
    "$.b": "set",
    "$.c": "any",
    "$.d": "ignore",
    "$.e": {"tolerance": 0.5},
    "$.f": {"normalizer": "text@1"},
    "$.g": {"regex": "^x"},
    "$.h": {"one_of": [1, None]},
}
ARGS = {"a": [1, 2], "b": ["x"], "e": 2, "f": "Hello!", "i": {"j": None}, "k": "Free text."}
ATTEMPT: dict[str, Any] = {
    "actual_invocations": [
        {"turn": 1, "tool": "look_up", "args": {"a": 1}, "result": {"ok": True}, "id": "call_1", "wrapper": "json"},
        {"turn": 1, "tool": "", "args": "{", "fault": "no name"},
        {"turn": 2, "tool": "look_up", "args": {}, "result": {"error": "x"}, "unanswered": "unmatched"},
    ],
    "final_answer": "Done.",
    "stop_reason": "stop",
    "limit": None,
    "input_tokens": 10,
    "output_tokens": None,
}
MESSAGES: list[Any] = [
    {"role": "system", "content": "A vip."},
    {"role": "developer", "content": "x"},
    {"role": "user", "content": [{"type": "text", "text": "Hello."}], "name": "Ann"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": "sent"},
]
RECORDING = {
    **ATTEMPT,
    "attempt": 2,
    "model": "a/b",
    "date": "2026-01-02T03:04:05Z",
    "subject": {"digest": "0" * 64, "parts": {"model": "a/b"}},
    "schema_checks": [{"step": 1, "valid": True}],
}
COMPLETE: dict[str, Any] = {
    "$schema": "trace.schema.json",
    "task_id": "complete",
    "input": MESSAGES,
    "tools": [{"name": "look_up"}, {"name": "refund"}],
    "allowed_tools": ["look_up", "refund"],
    "read_only": ["look_up"],
    "max_extra_calls": 1,
    "expected_errors": ["refund"],
    "expected_paths": [
        [
            {
                "turn": 1,
                "tool": "look_up",
                "args": ARGS,
                "alternatives": [{"tool": "refund", "args": ARGS, "rules": RULES}],
                "optional": True,
                "args_match": "exact",
                "rules": RULES,
            }
        ],
        [],
    ],
    "normalizers": {"$.k": "text@1", "look_up": {"$.k": "text@1"}},
    "checks": [{"type": "contains", "value": "x"}],
    "expected_answer": "x",
    "mocks": [{"tool": "refund", "args": {"a": 1}, "result": None}],
    "max_turns": 4,
    "max_calls": 8,
    "text_calls": False,
    "tags": ["smoke"],
    "critical": False,
    "skip": False,
    "description": "Everything at once.",
    "recordings": [RECORDING],
}
SHORT: dict[str, Any] = {
    "task_id": "short",
    "input": "Hello.",
    "tools": "specs",
    "expected_invocations": [{"tool": "look_up"}],
    **ATTEMPT,
}

# The definitions of the schema and their types.
PARTS = {
    "message": types.Message,
    "chatCall": types.ChatCall,
    "step": types.Step,
    "alternative": types.Alternative,
    "mock": types.Mock,
    "invocation": types.Invocation,
    "recording": types.Recording,
    "schemaCheck": types.SchemaCheck,
}


def objects() -> list[Any]:
    """Each object of the schema with its type."""
    named = [pytest.param(SCHEMA["$defs"][name], kind, id=name) for name, kind in PARTS.items()]
    properties = SCHEMA["$defs"]
    return [
        pytest.param(SCHEMA, types.Fixture, id="fixture"),
        *named,
        pytest.param(properties["rule"]["else"], types.Rule, id="rule"),
        pytest.param(properties["chatCall"]["properties"]["function"], types.FunctionCall, id="function"),
        pytest.param(properties["recording"]["properties"]["subject"], types.MadeWith, id="subject"),
    ]


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["$defs"]) == {*PARTS, "rule"}


@pytest.mark.parametrize(("schema", "kind"), objects())
def test_every_key_and_every_requirement_is_the_same_in_both(
    schema: dict[str, Any], kind: type[msgspec.Struct]
) -> None:
    fields = msgspec.structs.fields(kind)
    assert set(schema["properties"]) == {field.encode_name for field in fields}
    assert set(schema.get("required", ())) == {field.encode_name for field in fields if field.required}
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize(("schema", "kind"), objects())
def test_every_default_that_the_schema_names_is_the_type_s(schema: dict[str, Any], kind: type[msgspec.Struct]) -> None:
    for field in msgspec.structs.fields(kind):
        written = schema["properties"][field.encode_name].get("default", msgspec.UNSET)
        if written is msgspec.UNSET:
            continue
        default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        assert default == written, field.name


@pytest.mark.parametrize(("schema", "kind"), objects())
def test_every_key_is_explained(schema: dict[str, Any], kind: type[msgspec.Struct]) -> None:
    silent = {name for name, part in schema["properties"].items() if not part.get("description") and "$ref" not in part}
    assert silent <= {"role", "content", "tool_calls", "type", "valid"}


def test_an_example_of_every_key_is_valid_and_loads(tmp_path: Path) -> None:
    for example in (COMPLETE, SHORT):
        assert list(validator().iter_errors(example)) == []
        assert isinstance(fixture_of(example), types.Fixture)
    assert keys_of(COMPLETE) | keys_of(SHORT) >= keys_of_the_schema()
    write(tmp_path, [{"name": "look_up"}], name="specs/{}.json")
    write(tmp_path, COMPLETE, SHORT)
    assert [case.id for case in load(tmp_path).cases] == ["complete", "short"]


def keys_of(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*(keys_of(item) for item in value.values()))
    return set().union(*(keys_of(item) for item in value)) if isinstance(value, list) else set()


def keys_of_the_schema() -> set[str]:
    kinds = [parameter.values[0] for parameter in objects()]
    return set().union(*(set(kind["properties"]) for kind in kinds))


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a value with every key of it."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


VALUES = st.one_of(
    st.sampled_from([None, True, False, 0, -1, 1, 1.0, 0.5, 10**6, 10**13, "", "x", [], {}, [1], {"a": 1}, "0" * 64]),
    st.sampled_from(
        ["exact", "subset", "stop", "max_turns", "user", "function", "x" * 201, "é" * 200, "𝄞" * 200, "a\n"]
    ),
    st.sampled_from(
        [{"regex": "x"}, {"one_of": []}, [[]], [{}], ["x"], [""], [{"tool": "a"}], {"$.a": {}}, "0" * 63 + "\n"]
    ),
    st.integers(-(2**40), 2**40),
    st.text(max_size=3),
)


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    value = copy.deepcopy(draw(st.sampled_from([COMPLETE, SHORT])))
    for _ in range(draw(st.integers(1, 2))):
        holder, key = draw(st.sampled_from(list(places(value))))
        action = draw(st.sampled_from(["replace", "replace", "remove", "add", "number"]))
        if action == "remove":
            del holder[key]
        elif action == "add" and isinstance(holder, dict):
            holder[draw(st.sampled_from(["x", "args", "rules", "turn", "attempt", "limit", "tools"]))] = copy.deepcopy(
                draw(VALUES)
            )
        elif action == "number" and isinstance(holder[key], int | float):
            holder[key] = -holder[key] if draw(st.booleans()) else float(holder[key])
        else:
            holder[key] = copy.deepcopy(draw(VALUES))
    return value


@given(mutated())
def test_a_mutation_is_refused_by_both_or_by_neither(value: Any) -> None:
    got = fixture_of(value)
    errors = list(validator().iter_errors(value))
    assert isinstance(got, types.Fixture) == (not errors), (got, errors)


@given(mutated())
def test_every_refusal_is_a_sentence_with_a_position(value: Any) -> None:
    refusal = fixture_of(value)
    if isinstance(refusal, str):
        found = list(problems(load_json(json.dumps(value), "f.json"), refusal))
        assert found
        assert all(problem.line == 1 and problem.column for problem in found)
        assert not any("no fixture" in problem.message for problem in found)


def test_a_refusal_that_the_schema_does_not_share_is_still_a_refusal() -> None:
    (problem,) = problems(load_json(json.dumps(SHORT), "f.json"), "Expected `int`, got `str` - at `$.x`")
    assert str(problem) == "f.json:1:1: no fixture: Expected `int`, got `str` - at `$.x`"


@given(mutated())
def test_what_the_schema_cannot_say_is_looked_for_in_any_shape(value: Any) -> None:
    document = load_json(json.dumps(value), "f.json")
    assert all(fault.problem(document).message for fault in faults(value))
