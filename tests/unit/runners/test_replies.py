"""Results as messages."""

import pytest

from evaluator.runners.replies import content, results


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("paid", "paid"),
        ("", ""),
        (None, "null"),
        ({"total": 49.0, "name": "Ärger"}, '{"total": 49.0, "name": "Ärger"}'),
        ("a\ud800", "a\ufffd"),
        ({"a": "\ud800"}, '{"a": "\ufffd"}'),
    ],
)
def test_a_string_stands_for_itself_and_anything_else_for_its_json(result, text):
    assert content(result) == text


def test_results_come_in_the_form_in_which_the_calls_were_made():
    native = {"tool_calls": [{"id": "a"}, {"id": "b"}]}
    assert results(native, ["f", "g"], [1, 2]) == [
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
    ]
    assert results({"function_call": {"name": "f"}}, ["f"], [1]) == [{"role": "function", "name": "f", "content": "1"}]
    (message,) = results({"content": "f()"}, ["f", 'g"'], [1, 2])
    assert message == {
        "role": "user",
        "content": '<tool_response name="f">\n1\n</tool_response>\n<tool_response name="g\\"">\n2\n</tool_response>',
    }
