"""trace@1 on attempts and cases of a size, depth or shape that nobody writes on purpose."""

import json
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.results import Score
from evaluator.transcript import Infrastructure
from tests.unit.scoring.traces import call, case, judge, score, spec, step

SECONDS = 20  # of CPU: what should take one at most, where a search through all pairs would take minutes


def nested(levels: int, innermost: Any, kind: str) -> Any:
    for _ in range(levels):
        innermost = [innermost] if kind == "array" else {"d": innermost}
    return innermost


@pytest.mark.parametrize("kind", ["array", "object"])
@pytest.mark.parametrize("rule", [None, "exact", "one_of"])
def test_arguments_four_hundred_levels_deep_are_compared_to_the_bottom(kind: str, rule: str | None) -> None:
    deep = {"x": nested(400, 1, kind)}
    rules = {None: {}, "exact": {"$.x": {"exact": True}}, "one_of": {"$.x": {"one_of": [deep["x"], 0]}}}[rule]
    ruled = case(step("t", args=deep, rules=rules))
    assert score(ruled, call("t", deep)).passed
    found = score(ruled, call("t", {"x": nested(400, 2, kind)}))
    assert (found.failure_mode, found.values["argument_score"]) == ("wrong_arguments", 0.0)
    assert len(json.dumps(msgspec.to_builtins(found))) < 5000


def test_the_depth_that_the_parser_allows_at_most_is_compared_and_one_more_is_a_malformed_call() -> None:
    deep = {"x": nested(499, 1, "array")}
    ruled = case(step("t", args=deep))
    assert score(ruled, call("t", deep)).passed
    assert score(ruled, call("t", {"x": nested(500, 1, "array")})).failure_mode == "unparseable"


def test_ten_thousand_objects_in_another_order_are_one_right_field() -> None:
    objects = [{"sku": number, "tags": ["a", number]} for number in range(10_000)]
    started = time.process_time()
    for rules in ({}, {"$.items": {"set": True}}):
        assert score(case(step("t", args={"items": objects}, rules=rules)), call("t", {"items": objects[::-1]})).passed
    wrong = score(case(step("t", args={"items": objects})), call("t", {"items": objects[1:]}))
    assert wrong.failure_mode == "wrong_arguments"
    assert len(json.dumps(msgspec.to_builtins(wrong.findings))) < 2000
    assert time.process_time() - started < SECONDS


def test_a_thousand_parallel_calls_find_their_steps_in_no_time() -> None:
    steps = [step("get", turn=1, args={"id": number, "kind": "x"}) for number in range(1000)]
    calls = [call("get", {"id": number, "kind": "x"}) for number in reversed(range(1000))]
    started = time.process_time()
    assert score(case(*steps), *calls).passed
    one_short = score(case(*steps), *calls[1:])
    assert (one_short.failure_mode, one_short.values["tool_score"]) == ("missing_call", 0.999)
    assert time.process_time() - started < SECONDS


def test_one_step_against_a_thousand_calls_and_a_thousand_steps_against_one() -> None:
    steps = [step("get", args={"id": number}) for number in range(1000)]
    calls = [call("get", {"id": number}) for number in range(1000)]
    many = score(case(steps[500]), *calls)
    assert (many.failure_mode, many.values["argument_score"], many.values["extra_calls"]) == ("extra_call", 1.0, 999.0)
    few = score(case(*steps), calls[500])
    assert (few.failure_mode, few.values["argument_score"]) == ("missing_call", 0.001)
    for found in (many, few):
        assert len(found.findings) == 201
        assert found.findings[-1].message == "799 more findings are left out"


@pytest.mark.parametrize(
    "arguments",
    ["", " ", "\x00", "[]", "null", "1e999", "{" * 100_000, '{"a":' * 600, '{"id": 1' + "0" * 5000 + "}", "\ufeff{}"],
)
def test_arguments_of_any_kind_are_a_finding_that_can_be_stored(arguments: str) -> None:
    found = score(case(step("t", args={"id": 1}), tools=[spec("t", id="integer")]), call("t", arguments))
    assert (found.failure_mode, found.values["schema_valid"]) == ("unparseable", 0.0)
    assert len(msgspec.json.encode(found)) < 2000


def test_huge_values_are_quoted_in_findings_by_their_beginning() -> None:
    found = score(
        case(step("t", args={"a": "x", "b": 1})), call("t", {"a": "y" * 1_000_000, "b": 10**300, "c" * 9999: []})
    )
    assert len(found.findings) == 3
    assert len(msgspec.json.encode(found)) < 2500


@pytest.mark.parametrize("tool", ["", " ", "a\nb", "x" * 100_000, "$", "\ufffd", "__class__"])
def test_a_tool_of_any_name_is_a_wrong_tool_that_can_be_stored(tool: str) -> None:
    found = score(case(step("t"), tools=[spec("t")]), call(tool))
    assert found.failure_mode == "wrong_tool"
    assert len(msgspec.json.encode(found)) < 5000


def test_hash_collisions_of_integers_cost_nothing_to_speak_of() -> None:
    same_hash = [number * (2**61 - 1) for number in range(1000)]
    steps = [step("get", turn=1, args={"id": number}) for number in same_hash]
    started = time.process_time()
    assert score(case(*steps), *[call("get", {"id": number}) for number in same_hash]).passed
    assert time.process_time() - started < SECONDS


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(JSON | st.fixed_dictionaries({"tool": JSON}, optional=dict.fromkeys(("args", "rules", "alternatives"), JSON)))
def test_a_step_of_any_shape_is_scored_or_refused_as_malformed_and_never_a_scorer_error(anything: Any) -> None:
    found = judge(case(anything), call("t", {"a": 1}))
    assert isinstance(found, Score) or (isinstance(found, Infrastructure) and found.kind == "malformed_expected")


@given(st.dictionaries(st.sampled_from(["paths", "allowed_tools", "max_extra_calls", "checks", "read_only"]), JSON))
def test_an_expectation_of_any_shape_is_scored_or_refused_and_never_a_scorer_error(expected: dict[str, Any]) -> None:
    found = judge(msgspec.structs.replace(case(), expected=expected), call("t"))
    assert isinstance(found, Score) or found.kind in ("malformed_expected", "unknown_check")


@given(st.lists(st.tuples(st.text(max_size=4), st.text(max_size=20)), max_size=3), st.text(max_size=5))
def test_an_attempt_of_any_text_is_scored_and_can_be_stored(calls: list[Any], text: str) -> None:
    the_case = case(step("t", args={"a": 1}), tools=[spec("t", a="integer")])
    found = score(the_case, *[call(tool, arguments or " ") for tool, arguments in calls], text=text)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Score) == found
