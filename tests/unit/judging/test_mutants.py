from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.judging.mutants import mutant

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("gold", "wrong"),
    [
        ("Paris", "Cnevf"),
        ("Paris is the capital, as 1999 shows.", "Cnevf"),
        ("42.50", "144.75"),
        ("Zürich", "Mxevpu"),
        ("—", "mutant"),
        ("", "mutant"),
        ("42", "143"),
        ("-8.625", "0.0"),
        ("9" * 400, str(int("9" * 400) * 3 + 17)),
        ("true", "false"),
        ("[1, true, null, []]", '[20, false, "mutant", ["mutant"]]'),
        ('{"total": 2, "city": "Rome"}', '{"total": 23, "city": "Ebzr"}'),
        ('{"name": "refund", "arguments": {"amount": 2}}', '{"name": "refund_mutant", "arguments": {"amount": 2}}'),
        ('{"function": "refund", "args": {}}', '{"function": "refund_mutant", "args": {}}'),
    ],
)
def test_an_expected_answer_is_made_wrong_in_its_own_form(gold, wrong):
    assert mutant(gold) == wrong


@given(st.text(max_size=30) | JSON.map(json.dumps))
def test_a_mutant_is_never_its_gold_and_never_empty(gold):
    assert mutant(gold).strip() not in ("", gold.strip())


@given(JSON)
def test_every_leaf_of_a_value_without_a_name_is_another(value):
    def same(one, other):
        if isinstance(one, dict) and one:
            return any(same(one[key], other[key]) for key in one)
        if isinstance(one, list) and one:
            return any(map(same, one, other))
        return type(one) is type(other) and one == other

    named = isinstance(value, dict) and {"name", "function", "function_name"} & value.keys()
    if not named and not isinstance(value, str):
        assert not same(value, json.loads(mutant(json.dumps(value))))
