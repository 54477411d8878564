import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.closure import suite
from evaluator.closure.texts import record_of

CALLS = [
    {"name": "issue_refund", "arguments": {"order": "4821", "note": 'say "sorry"', "amount": 24.5}},
    {"name": "get", "arguments": {"x": 5}},
]


def rows_of(built):
    return [row for rows in built.rows.values() for row in rows]


def test_each_call_makes_a_row_of_every_one_of_the_21_groups():
    built = suite.build(CALLS)
    counted = Counter(f"{row['family']}/{row['control']}" for row in rows_of(built))
    assert len(suite.GROUPS) == len(counted) == 21
    assert set(counted.values()) == {2}
    assert built.left_out == {}
    assert built.inventory["groups"] == {
        group.name: [row["case_id"] for row in rows_of(built) if f"{row['family']}/{row['control']}" == group.name]
        for group in suite.GROUPS
    }


def test_the_same_seed_makes_the_same_suite_and_another_one_cuts_elsewhere():
    once, again, other = suite.build(CALLS), suite.build(CALLS), suite.build(CALLS, seed=7)
    assert list(suite.files(once)) == list(suite.files(again))
    assert [row["prefix"] for row in rows_of(once)] != [row["prefix"] for row in rows_of(other)]


def test_another_record_beside_it_changes_no_row_of_a_record():
    alone = {row["case_id"]: row for row in rows_of(suite.build(CALLS[:1]))}
    beside = {row["case_id"]: row for row in rows_of(suite.build(CALLS))}
    assert alone.items() <= beside.items()


def test_what_a_value_does_not_allow_is_counted_and_left_out():
    built = suite.build([["a"], "text", 5, {}])
    counted = {name: len(ids) for name, ids in built.inventory["groups"].items()}
    assert "tool_call/close_required" not in counted
    assert built.left_out["tool_call/close_required"] == 4
    assert counted["json_array/close_required"] == 1
    assert counted["json_string/close_required"] == 4
    assert built.left_out["json_object/close_required"] == 4


def test_a_value_that_holds_the_closer_itself_is_left_out_where_it_would_close():
    built = suite.build([{"name": "f", "arguments": {"a": "x </tool_call> y"}}])
    assert built.left_out["tool_call/close_required"] == 1
    assert "reasoning/close_required" in built.inventory["groups"]


@pytest.mark.parametrize(
    ("group", "ends", "rest"),
    [
        ("json_object/close_required", '{"x": 5', "}"),
        ("json_array/close_required", "[5", "]"),
        ("nested_json/close_required", '"arguments": {"x": 5', "}}"),
        ("json_string/close_required", '{\\"x\\": 5}', '"'),
        ("tool_call/close_required", '"arguments": {"x": 5}}', "\n</tool_call>"),
        ("tool_call/opener_retention", "<tool_call>\n", '{"name": "get", "arguments": {"x": 5}}\n</tool_call>'),
        ("reasoning/close_required", "x is 5.", "\n</think>"),
        ("code_fence/close_required", "}\n}", "\n```"),
        ("json_object/continue_required", "{", '"x": 5}'),
        ("json_object/value_continue_required", '{"x": ', "5}"),
    ],
)
def test_a_row_is_cut_where_its_control_says(group, ends, rest):
    (row,) = [r for r in rows_of(suite.build(CALLS[1:])) if f"{r['family']}/{r['control']}" == group]
    assert row["prefix"].endswith(ends)
    assert row["expected"] == row["prefix"] + rest
    assert row["expected"] in row["instruction"]


def test_an_escape_is_cut_in_half():
    for row in rows_of(suite.build(CALLS)):
        if row["control"] == "escape_continue_required":
            backslashes = len(row["prefix"]) - len(row["prefix"].rstrip("\\"))
            assert backslashes % 2 == 1, row["prefix"]


def test_a_call_has_a_name_and_arguments_and_nothing_else():
    assert record_of(CALLS[0]).name == "issue_refund"
    for other in ({"name": "f"}, {"name": "f", "arguments": []}, {"name": "f", "arguments": {}, "id": 1}, [1]):
        assert record_of(other) == (other, None)


leaf = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=12)
value = st.recursive(leaf, lambda s: st.lists(s, max_size=3) | st.dictionaries(st.text(max_size=5), s, max_size=3))


@given(
    st.lists(
        value | st.fixed_dictionaries({"name": st.text(min_size=1), "arguments": st.dictionaries(st.text(), value)}),
        min_size=1,
        max_size=4,
    )
)
def test_every_right_answer_passes_whatever_the_values_are(items):
    built = suite.build(items)
    for row in rows_of(built):
        assert row["expected"].startswith(row["prefix"])
        assert row["prefix"] != row["expected"]
    made = sum(map(len, built.rows.values()))
    assert made + sum(built.left_out.values()) == 21 * len(items)
    assert json.loads(dict(suite.files(built))["inventory.json"])["made_by"]["seed"] == 42
