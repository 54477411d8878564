import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.tool_calls import MOST_CALLS, WRAPPERS, native
from evaluator.transcript import Call

ARGUMENTS = {"order_id": "4821", "amount": 24.5}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["tool_calls", "function_call", "content", "parts", "type", "functionCall", "name", "arguments", "args", "custom"]
)
MESSAGES = st.dictionaries(
    KEYS,
    JSON
    | st.lists(st.dictionaries(KEYS | st.just("input"), JSON | st.dictionaries(KEYS, JSON), max_size=4), max_size=3),
    max_size=4,
)


def test_an_openai_call_keeps_its_arguments_as_the_text_that_came():
    message = {
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1,"a":2}'}}]
    }
    assert native(message) == [Call(tool="f", arguments='{"a":1,"a":2}', id="c1")]


def test_arguments_that_came_as_an_object_are_written_as_json():
    assert native({"tool_calls": [{"function": {"name": "f", "arguments": ARGUMENTS}}]}) == [
        Call(tool="f", arguments=json.dumps(ARGUMENTS))
    ]


def test_arguments_that_are_null_or_left_out_are_an_empty_object():
    calls = native({"tool_calls": [{"function": {"name": "f", "arguments": None}}, {"function": {"name": "g"}}]})
    assert [call.arguments for call in calls] == ["{}", "{}"]


def test_the_free_text_of_a_custom_tool_is_the_argument_input():
    message = {"tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}]}
    assert native(message) == [Call(tool="sql", arguments='{"input": "select 1"}', id="c")]


def test_the_older_function_call_is_read_and_named():
    message = {"content": None, "function_call": {"name": "f", "arguments": '{"a": 1}'}}
    assert native(message) == [Call(tool="f", arguments='{"a": 1}', wrapper="function_call")]


def test_anthropic_blocks_are_read_in_order_and_text_is_left_aside():
    message = {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "t1", "name": "f", "input": ARGUMENTS},
            {"type": "tool_use", "id": "t2", "name": "g", "input": {}},
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        ],
    }
    assert native(message) == [
        Call(tool="f", arguments=json.dumps(ARGUMENTS), id="t1", wrapper="anthropic"),
        Call(tool="g", id="t2", wrapper="anthropic"),
    ]


@pytest.mark.parametrize("spelling", ["functionCall", "function_call"])
def test_gemini_parts_are_read_in_either_spelling(spelling):
    part = {spelling: {"name": "f", "args": ARGUMENTS}, "thoughtSignature": "x"}
    wanted = [Call(tool="f", arguments=json.dumps(ARGUMENTS), wrapper="gemini")]
    assert native({"role": "model", "parts": [{"text": "hm"}, part]}) == wanted
    assert native({"content": {"role": "model", "parts": [part]}}) == wanted


def test_a_call_that_stands_in_two_places_is_read_once():
    message = {
        "tool_calls": [{"id": "t1", "function": {"name": "f", "arguments": "{}"}}],
        "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}],
    }
    assert native(message) == [Call(tool="f", id="t1")]


def test_a_message_without_calls_has_none():
    for message in ({}, {"content": "f(a=1)"}, {"tool_calls": None}, {"tool_calls": [], "function_call": None}):
        assert native(message) == []


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ({"tool_calls": "f"}, "tool_calls is no list"),
        ({"tool_calls": ["f"]}, "an entry of tool_calls is no object"),
        ({"tool_calls": [{"function": {"arguments": "{}"}}]}, "the call has no name"),
        ({"tool_calls": [{"function": {"name": 7, "arguments": "{}"}}]}, "the call has no name"),
        ({"function_call": "f"}, "function_call is no object"),
        ({"content": [{"type": "tool_use", "name": " ", "input": {}}]}, "the call has no name"),
    ],
)
def test_what_stands_where_a_call_stands_and_is_none_has_a_fault(message, fault):
    (call,) = native(message)
    assert call.fault == fault


def test_calls_beyond_the_bound_are_one_call_that_says_so():
    message = {"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}] * (MOST_CALLS + 5)}
    calls = native(message)
    assert len(calls) == MOST_CALLS + 1
    assert calls[-1].fault is not None
    assert "those after the first 1000 are not read" in calls[-1].fault


def test_half_characters_are_replaced_where_they_enter():
    (call,) = native(
        {"tool_calls": [{"id": "\ud800", "function": {"name": "f\udc00", "arguments": '{"a": "\ud800"}'}}]}
    )
    assert call == Call(tool="f\ufffd", arguments='{"a": "\ufffd"}', id="\ufffd")


def test_arguments_without_end_are_a_fault_and_no_crash():
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    (call,) = native({"tool_calls": [{"function": {"name": "f", "arguments": deep}}]})
    assert call.tool == "f"
    assert call.fault is not None
    assert call.fault.startswith("the arguments cannot be written as JSON")


@given(MESSAGES)
def test_it_never_raises_and_gives_text_that_can_be_stored(message):
    for call in native(message):
        assert call.wrapper is None or call.wrapper in WRAPPERS
        assert call.fault or call.tool
        (call.tool + call.arguments).encode()
