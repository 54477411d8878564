"""Equality of JSON values without the order of arrays."""

import time
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.scoring.json_call import strictly_equal
from evaluator.scoring.multisets import Known

SCALARS = st.sampled_from([None, True, False, 0, 1, 0.0, 1.0, -0.0, 2.5, "", "a", "1", "true", "array", "null"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=8,
)


def equal(one: Any, other: Any) -> bool:
    known = Known()
    number = known.add(one)
    return known.find(other) == number


def slowly_equal(one: Any, other: Any) -> bool:
    """By trying every order of every array."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and any(
            all(slowly_equal(a, b) for a, b in zip(one, order, strict=True)) for order in permutations(other)
        )
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(slowly_equal(one[key], other[key]) for key in one)
    return strictly_equal(one, other)


def shuffled(value: Any) -> Any:
    if isinstance(value, list):
        return [shuffled(item) for item in reversed(value)]
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(value)}
    return value


@given(VALUES, VALUES)
def test_two_values_are_equal_when_some_order_of_their_arrays_makes_them_equal(one: Any, other: Any) -> None:
    assert equal(one, other) == slowly_equal(one, other) == equal(other, one)


@given(VALUES)
def test_a_value_equals_itself_in_any_order(value: Any) -> None:
    assert equal(value, shuffled(value))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (1, "1", False),
        (None, "null", False),
        (True, "true", False),
        ([], ["array"], False),
        ([], {}, False),
        ([], None, False),
        ([1, 1, 2], [1, 2, 2], False),
        ([1, 1, 2], [2, 1, 1], True),
        ([True], [1], False),
        (2**53 + 1, float(2**53), False),
        ([{"a": [1, 2]}, {"b": 0}], [{"b": 0.0}, {"a": [2, 1]}], True),
        ({"a": None}, {}, False),
    ],
)
def test_types_and_counts_matter_and_int_and_float_do_not(one: Any, other: Any, same: bool) -> None:
    assert equal(one, other) is same


def test_ten_thousand_objects_in_another_order_are_compared_in_no_time() -> None:
    objects = [{"sku": f"A{number}", "lines": [number, {"qty": number % 7}]} for number in range(10_000)]
    started = time.process_time()
    assert equal(objects, objects[::-1])
    assert not equal(objects, [*objects[1:], objects[1]])
    assert time.process_time() - started < 10  # comparing each with each would take minutes
