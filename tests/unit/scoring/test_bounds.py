import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.results import Finding
from evaluator.scoring.bounds import MAX_PREVIEW, bounded, json_path

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(alphabet=st.characters(), max_size=300),
    lambda inner: st.lists(inner, max_size=60) | st.dictionaries(st.text(alphabet=st.characters()), inner, max_size=5),
)


@given(ANYTHING)
def test_a_finding_can_hold_any_value_and_be_stored_and_read_back(value: object) -> None:
    kept = bounded(value)
    data = msgspec.json.encode(Finding(path="$", keyword="value", got=kept))
    assert msgspec.json.decode(data, type=Finding).got == kept
    assert len(data) < 20_000


@pytest.mark.parametrize("value", [None, True, 0, 24.5, "text", ["a", {"b": 1}], {}])
def test_a_short_value_is_kept_as_it_is(value: object) -> None:
    assert bounded(value) == value
    assert type(bounded(value)) is type(value)


def test_a_long_or_deep_value_is_shown_by_its_beginning() -> None:
    deep: object = 1
    for _ in range(400):
        deep = [deep]
    assert bounded("x" * 1000) == "x" * 200 + "…"
    assert bounded(deep) == "[[[[[[[…]]]]]]]"
    shown = bounded(list(range(10_000)))
    assert shown.startswith("[0, 1, 2, ")
    assert len(shown) == MAX_PREVIEW + 1


def test_what_json_cannot_hold_is_written_in_words() -> None:
    assert bounded(math.nan) == "NaN"
    assert bounded([-math.inf]) == "[-Infinity]"
    assert bounded(10**4000) == "an integer of 13288 bits"
    assert bounded("\ud800") == "\ufffd"


def test_a_path_quotes_what_is_no_plain_name() -> None:
    assert json_path(["a", 0, "b-c"]) == "$.a[0].b-c"
    assert json_path(["a b", 'q"', "", "1"]) == '$["a b"]["q\\""][""]["1"]'
    assert json_path(["\ud800"]) == '$["\ufffd"]'
    assert len(json_path(["x y" * 1000] * 1000)) <= 1001
