"""The right answer to a fixture, from what it expects: it must pass before any model is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluator import loading
from evaluator.formats.trace.golds import OF_CALLS
from evaluator.scoring import answer_checks, call_checks
from evaluator.scoring.checks import KINDS
from evaluator.scoring.self_check import self_check
from evaluator.transcript import UNSET, Call, Transcript
from tests.unit.formats.trace_fixtures import CALLS, STEPS, fixture, loaded, spec


def golds(folder: Path, **changes: Any) -> list[Transcript]:
    return loaded(folder, fixture(**changes)).cases[0].golds


def arguments(folder: Path, **changes: Any) -> list[Any]:
    """The arguments of the calls of the one gold."""
    (gold,) = golds(folder, **changes)
    return [json.loads(call.arguments) for call in gold.calls]


def test_a_gold_makes_the_expected_calls_in_order_and_answers(tmp_path: Path) -> None:
    steps = [{"turn": 1, **STEPS[0]}, {"turn": 1, **STEPS[1], "optional": True}]
    assert golds(tmp_path, expected_invocations=steps, expected_answer="24.50 is on its way.") == [
        Transcript(
            text="24.50 is on its way.",
            calls=[
                Call(tool="lookup_order", arguments='{"order_id": "4821"}', turn=1),
                Call(tool="issue_refund", arguments='{"order_id": "4821", "amount": 24.5}', turn=1),
            ],
            stop_reason="stop",
        )
    ]


def test_each_path_has_its_gold_and_no_call_is_one_too(tmp_path: Path) -> None:
    both = golds(tmp_path, expected_invocations=..., expected_paths=[STEPS[:1], []])
    assert [[call.tool for call in gold.calls] for gold in both] == [["lookup_order"], []]


@pytest.mark.parametrize(
    ("mocks", "calls", "result"),
    [
        ([], [], UNSET),
        ([{"tool": "lookup_order", "args": {"order_id": "4821"}, "result": 1}], [], 1),
        ([{"tool": "lookup_order", "result": 2}], [], 2),
        ([{"tool": "lookup_order", "args": {"order_id": "1"}, "result": 3}], [], UNSET),
        ([{"tool": "issue_refund", "result": 4}], [], UNSET),
        ([], CALLS, {"total": 49.0}),
        ([{"tool": "lookup_order", "result": {"error": "down"}}], CALLS, {"total": 49.0}),
        ([{"tool": "lookup_order", "result": {"error": "down"}}], [], {"error": "down"}),
    ],
)
def test_the_result_of_a_call_is_what_a_recording_or_else_a_mock_answers(
    tmp_path: Path, mocks: list[Any], calls: list[Any], result: Any
) -> None:
    (gold,) = golds(tmp_path, expected_invocations=STEPS[:1], mocks=mocks, actual_invocations=calls)
    assert gold.calls[0].result == result


def test_a_result_for_one_is_none_for_true(tmp_path: Path) -> None:
    steps = [{"tool": "t", "args": {"n": 1}}]
    (gold,) = golds(tmp_path, expected_invocations=steps, mocks=[{"tool": "t", "args": {"n": True}, "result": 1}])
    assert gold.calls[0].result is UNSET


@pytest.mark.parametrize(
    ("step", "args"),
    [
        ({"args": {"a": 1}, "rules": {"$.b": {"one_of": ["x", "y"]}}}, {"a": 1, "b": "x"}),
        ({"rules": {"$.b.c": {"one_of": [[1]]}}, "args": {}}, {"b": {"c": [1]}}),
        ({"args": {"a": 1, "b": "yes"}, "rules": {"$.b": {"regex": "^y"}}}, {"a": 1, "b": "yes"}),
        ({"args": {"a": 1}, "rules": {"$.b": "ignore"}}, {"a": 1}),
        ({"args": {"a": 1}, "rules": {"$.b": "any"}}, None),
        ({"args": {"a": 1}, "rules": {"$.b": {"regex": "^y"}}}, None),
        ({}, None),
    ],
)
def test_a_field_without_an_example_leaves_the_gold_out(tmp_path: Path, step: dict[str, Any], args: Any) -> None:
    steps = [{"tool": "t", **step}]
    if args is None:
        assert golds(tmp_path, expected_invocations=steps) == []
    else:
        assert arguments(tmp_path, expected_invocations=steps) == [args]


def test_what_the_tool_requires_and_the_step_does_not_say_leaves_the_gold_out(tmp_path: Path) -> None:
    steps = [{"tool": "t", "args": {"a": 1}}]
    assert arguments(tmp_path, expected_invocations=steps, tools=[spec("t", "a", a={}, b={})]) == [{"a": 1}]
    assert golds(tmp_path, expected_invocations=steps, tools=[spec("t", "a", "b", a={}, b={})]) == []
    assert arguments(tmp_path, expected_invocations=[{"tool": "t"}], tools=[spec("t")]) == [{}]


def test_golds_are_made_anew_once_the_tools_of_trap_yaml_are_known(tmp_path: Path) -> None:
    steps = [{"tool": "t", "args": {"a": 1}, "rules": {"$.b": "any"}}]
    task = loaded(tmp_path, fixture(expected_invocations=steps, expected_answer="Done, then."))
    assert (task.cases[0].golds, len(task.notes)) == ([], 1)
    known = loading.with_tools(task, [spec("t", "a", a={}, b={"enum": ["x", "y"]})])
    (gold,) = known.cases[0].golds
    assert (gold.text, json.loads(gold.calls[0].arguments), known.notes) == ("Done, then.", {"a": 1, "b": "x"}, [])
    unsaid = loading.with_tools(task, [spec("t", "a", "c", a={}, b={"enum": ["x"]}, c={})])
    assert (unsaid.cases[0].golds, unsaid.notes) == ([], task.notes)


@pytest.mark.parametrize(
    ("schema", "example"),
    [
        ({"type": "string", "enum": ["late", "broken"], "default": "broken"}, "late"),
        ({"const": 7}, 7),
        ({"type": "string", "default": "soon", "examples": ["later"]}, "soon"),
        ({"type": "string", "pattern": "^O-", "default": "soon", "examples": ["later", "O-1"]}, "O-1"),
        ({"type": "string", "minLength": 3}, "xxx"),
        ({"type": "string"}, "x"),
        ({"type": "integer", "minimum": 5}, 5),
        ({"type": "number", "exclusiveMinimum": 5}, 6),
        ({"type": "number", "exclusiveMaximum": -2}, -3),
        ({"type": "boolean"}, False),
        ({"type": "array"}, []),
        ({"type": "object"}, {}),
        ({"type": ["null", "string"]}, None),
        ({"$ref": "#/$defs/why"}, "late"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "default": "soon"}, "soon"),
        ({"type": "string", "pattern": "^O-"}, UNSET),
        ({"type": "string", "minLength": 1000}, UNSET),
        ({"type": "array", "minItems": 1}, UNSET),
        ({"$ref": "#/properties/b"}, UNSET),
        ({}, UNSET),
        (True, UNSET),
        (False, UNSET),
    ],
)
def test_what_may_be_any_value_is_an_example_of_the_schema(tmp_path: Path, schema: Any, example: Any) -> None:
    tool = spec("t", "b", b=schema)
    tool["parameters"]["$defs"] = {"why": {"enum": ["late"]}}
    steps = [{"tool": "t", "args": {}, "rules": {"$.b": "any"}}]
    task = loaded(tmp_path, fixture(expected_invocations=steps, tools=[tool]))
    assert [json.loads(gold.calls[0].arguments) for gold in task.cases[0].golds] == (
        [] if example is UNSET else [{"b": example}]
    )
    assert self_check(task) == {}


def test_an_example_of_the_schema_is_found_below_other_arguments(tmp_path: Path) -> None:
    order = {"type": "object", "properties": {"id": {"type": "string", "default": "4821"}}}
    steps = [{"tool": "t", "args": {}, "rules": {"$.order.id": "any"}}]
    assert arguments(tmp_path, expected_invocations=steps, tools=[spec("t", "order", order=order)]) == [
        {"order": {"id": "4821"}}
    ]


def test_one_path_that_cannot_be_built_does_not_take_the_others_along(tmp_path: Path) -> None:
    paths = [[{"tool": "t", "args": {}, "rules": {"$.a": "any"}}], STEPS]
    assert [len(gold.calls) for gold in golds(tmp_path, expected_invocations=..., expected_paths=paths)] == [2]


@pytest.mark.parametrize(
    ("checks", "built"),
    [
        ([{"type": "tool_used", "name": "lookup_order"}, {"type": "max_tool_calls", "value": 2}], True),
        ([{"type": "contains", "value": "24.50"}], False),
        ([{"type": "tool_used", "name": "lookup_order"}, {"type": "json_valid"}], False),
    ],
)
def test_checks_on_the_answer_need_an_expected_answer_for_a_gold(
    tmp_path: Path, checks: list[Any], built: bool
) -> None:
    assert bool(golds(tmp_path, checks=checks)) is built
    assert golds(tmp_path, checks=checks, expected_answer="x")


def test_cases_without_a_gold_are_named_in_a_note(tmp_path: Path) -> None:
    checks = [{"type": "contains", "value": "24.50"}]
    task = loaded(
        tmp_path, fixture(task_id="a", checks=checks), fixture(task_id="b"), fixture(task_id="c", checks=checks)
    )
    assert task.notes == [
        "the expected calls could not be tried on the scorer, since the fixture does not say all of a right answer "
        "(arguments, or an expected_answer for its checks): a, c"
    ]


def test_every_kind_of_check_is_known_to_read_the_answer_or_the_calls() -> None:
    of_calls = {name for name, kind in KINDS.items() if kind.compile.__module__ == call_checks.__name__}
    of_answer = {name for name, kind in KINDS.items() if kind.compile.__module__ == answer_checks.__name__}
    assert of_calls == OF_CALLS
    assert of_answer | of_calls == set(KINDS)
