"""The sentence that goes back to the model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.runners.feedback import answer_fault, arguments_fault, call_fault
from evaluator.transcript import Call, Transcript

SPEC = {
    "name": "refund",
    "parameters": {
        "type": "object",
        "properties": {
            "order_id": {"type": "string", "pattern": "^[0-9]+$"},
            "amount": {"type": "number", "maximum": 100},
            "reason": {"enum": ["damaged", "late"]},
            "items": {
                "type": "array",
                "items": {"type": "object", "properties": {"a b": {"type": ["integer", "null"]}}},
            },
        },
        "required": ["order_id", "amount"],
        "additionalProperties": False,
    },
}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"amount": "24.5"}, "field $.amount failed type: expected number, got string"),
        ({"amount": None}, "field $.amount failed type: expected number, got null"),
        ({"amount": True}, "field $.amount failed type: expected number, got boolean"),
        ({"amount": {str(n): n for n in range(99)}}, "field $.amount failed type: expected number, got object"),
        ({"amount": list(range(99))}, "field $.amount failed type: expected number, got array"),
        ({"order_id": 4821}, "field $.order_id failed type: expected string, got integer"),
        ({"order_id": 1.5}, "field $.order_id failed type: expected string, got number"),
        (
            {"items": [{"a b": 1}, {"a b": "x"}]},
            'field $.items[1]["a b"] failed type: expected integer or null, got string',
        ),
        ({"amount": 101}, "field $.amount failed maximum: expected 100, got 101"),
        ({"reason": "lost"}, 'field $.reason failed enum: expected ["damaged", "late"], got "lost"'),
        ({"order_id": "x"}, 'field $.order_id failed pattern: expected "^[0-9]+$", got "x"'),
        ({"note": 1}, "field $.note failed additionalProperties: the schema does not name it"),
    ],
)
def test_the_sentence_names_field_keyword_and_what_was_expected(arguments, sentence):
    whole = {"order_id": "1", "amount": 1, **arguments}
    assert arguments_fault(whole, SPEC) == sentence


def test_what_is_missing_is_named():
    assert arguments_fault({"amount": 1}, SPEC) == "field $.order_id failed required: it is missing"
    assert arguments_fault({}, SPEC) == "field $.order_id failed required: it is missing"


def test_valid_arguments_and_unusable_schemas_have_no_fault():
    assert arguments_fault({"order_id": "1", "amount": 2}, SPEC) is None
    assert arguments_fault({"x": 1}, {"name": "f"}) is None
    assert arguments_fault({"x": 1}, {"name": "f", "parameters": {"type": 7}}) is None
    assert arguments_fault({"x": 1}, {"name": "f", "parameters": {"$ref": "https://example.org/s"}}) is None


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            Call(tool="refund", arguments='{"amount": '),
            "the arguments are not JSON: not JSON: Expecting value (line 1, column 12)",
        ),
        (Call(tool="refund", arguments="[1]"), "field $ failed type: expected object, got array"),
        (Call(tool="refund", arguments="x", fault="broken tag"), "the call cannot be read: broken tag"),
        (Call(tool="refund", arguments="{}"), "field $.order_id failed required: it is missing"),
        (Call(tool="refund", arguments='{"order_id": "1", "amount": 1}'), None),
        (Call(tool="erase", arguments='{"whatever": 1}'), None),
    ],
)
def test_a_call_has_a_fault_of_shape_or_none(call, sentence):
    assert call_fault(call, {"refund": SPEC}) == sentence


@pytest.mark.parametrize(
    ("transcript", "sentence"),
    [
        (Transcript(text='{"name": "refund", "arguments": {"order_id": "1", "amount": 1}}'), None),
        (Transcript(text='{"name": "erase", "arguments": {"amount": "x"}}'), None),
        (Transcript(text="I refunded it."), "the output is no call: not JSON: Expecting value (line 1, column 1)"),
        (Transcript(text=""), "the output is no call: the answer is empty"),
        (Transcript(text="[]"), "the output is no call: not an object"),
        (
            Transcript(text='{"name": "refund", "arguments": [1]}'),
            "the output is no call: the arguments are not an object",
        ),
        (
            Transcript(text='{"name": "refund", "arguments": {"order_id": "1", "amount": "1"}}'),
            "field $.amount failed type: expected number, got string",
        ),
        (
            Transcript(calls=[Call(tool="refund", arguments='{"order_id": "1"}')]),
            "field $.amount failed required: it is missing",
        ),
        (Transcript(calls=[Call(tool="refund"), Call(tool="refund")]), None),
    ],
)
def test_an_answer_that_should_be_a_call_has_a_fault_of_shape_or_none(transcript, sentence):
    assert answer_fault(transcript, SPEC) == sentence


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["order_id", "amount", "reason", "items", 'a"b', "x.y"]), JSON))
def test_whatever_the_arguments_are_the_sentence_is_one_line_of_bounded_length(arguments):
    sentence = arguments_fault(arguments, SPEC)
    assert sentence is None or (sentence.startswith("field $") and "\n" not in sentence and len(sentence) < 2500)
