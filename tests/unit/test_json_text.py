import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.json_text import MAX_CHARACTERS, MAX_DEPTH, MAX_DIGITS, JsonFault, parse_json

QUADRATIC = 30  # seconds of CPU; what is linear takes one at most, what is not would take hours

KEYWORDS = {
    "json",
    "duplicate_key",
    "depth",
    "size",
    "not_finite",
    "integer_size",
    "surrogate",
    "byte_order_mark",
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
WORDS = ["1", "-", "e9", ".5", "1e999", "true", "null", "NaN", "-Infinity"]
STRINGS = ['"a"', '"b":', '"a":', "\\u0061", "\\ud800", "\\ude00", "\ufeff", "x", "'"]
JSONISH = st.lists(st.sampled_from([*'{}[]:,"', " ", "\n", *WORDS, *STRINGS]), max_size=14).map("".join)


@given(VALUES)
def test_every_json_value_is_read_as_it_was_written(value: object) -> None:
    assert parse_json(json.dumps(value)) == value
    assert parse_json(json.dumps(value, ensure_ascii=False, indent=1)) == value


@given(JSONISH | st.text())
def test_what_it_accepts_python_reads_alike_and_what_only_python_accepts_has_a_named_reason(text: str) -> None:
    strict = parse_json(text)
    try:
        lenient = json.loads(text)
    except ValueError:
        assert isinstance(strict, JsonFault)
        assert strict.keyword in KEYWORDS
        return
    if isinstance(strict, JsonFault):
        assert strict.keyword in KEYWORDS - {"json"}
    else:
        assert strict == lenient


@given(JSONISH)
def test_a_fault_has_a_place_in_the_text(text: str) -> None:
    fault = parse_json(text)
    if isinstance(fault, JsonFault):
        lines = text.split("\n")
        assert 1 <= fault.line <= len(lines)
        assert 1 <= fault.column <= len(lines[fault.line - 1]) + 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"a": 1,\n "a": 2}', 'a key stands twice in one object: "a" (line 2, column 2)'),
        ('{"a": {"b": 1, "b": 2}, "a": 3', 'a key stands twice in one object: "b" (line 1, column 16)'),
        ('["NaN", NaN]', "not a JSON number: NaN (line 1, column 9)"),
        ("[1, 1e999]", "a number too large for a double: 1e999 (line 1, column 5)"),
        ("\ufeff{}", "begins with a byte-order mark (line 1, column 1)"),
        ('"\\ud800x"', "the escape of half a character (a lone surrogate) (line 1, column 2)"),
        ('"\\ud83dx\\ude00"', "the escape of half a character (a lone surrogate) (line 1, column 2)"),
        ('"a\ud800"', "half a character (a lone surrogate) (line 1, column 3)"),
        ("", "not JSON: Expecting value (line 1, column 1)"),
        ("{", "not JSON: Expecting property name enclosed in double quotes (line 1, column 2)"),
    ],
)
def test_a_fault_says_what_is_wrong_and_where(text: str, shown: str) -> None:
    assert str(parse_json(text)) == shown


def test_an_escaped_backslash_before_u_is_no_escape_of_a_surrogate() -> None:
    assert parse_json('"\\\\ud800"') == "\\ud800"


def test_the_deepest_text_that_is_read_and_the_first_that_is_not() -> None:
    assert not isinstance(parse_json("[" * MAX_DEPTH + "]" * MAX_DEPTH), JsonFault)
    too_deep = parse_json("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))
    assert too_deep == JsonFault("depth", "nested more than 500 levels deep", 1, MAX_DEPTH + 1)


def test_brackets_beside_each_other_or_in_strings_are_not_depth() -> None:
    assert parse_json("[" + ",".join(["[]"] * 2000) + "]") == [[]] * 2000
    assert parse_json(json.dumps(['\\"' + "[{" * 1000])) == ['\\"' + "[{" * 1000]


def test_the_longest_number_that_is_read_and_the_first_that_is_not() -> None:
    assert parse_json("7" * MAX_DIGITS) == int("7" * MAX_DIGITS)
    assert parse_json("[1,\n" + "7" * (MAX_DIGITS + 1) + "]") == JsonFault(
        "integer_size", "a number of more than 4300 digits", 2, 1
    )
    assert parse_json("0." + "7" * (MAX_DIGITS + 1)).keyword == "integer_size"
    assert parse_json(json.dumps("7" * (MAX_DIGITS + 1))) == "7" * (MAX_DIGITS + 1)


def test_a_text_over_the_limit_is_not_looked_at() -> None:
    assert parse_json("[" * (MAX_CHARACTERS + 1)).keyword == "size"


@pytest.mark.parametrize(
    "text",
    [
        '{"a":' * 100_000,
        "[" * 1_000_000,
        '"' * 1_000_001,
        '"' + "\\" * 1_000_001,
        '{"a":1,' * 100_000,
        '"\\ud800' * 100_000,
        "1" * 1_000_000,
        "-" * 1_000_000,
        '{"a":NaN,' * 400,
        "[" + '"a":' * 300_000,
    ],
)
def test_hostile_texts_are_refused_in_time(text: str) -> None:
    start = time.process_time()
    fault = parse_json(text)
    assert isinstance(fault, JsonFault)
    assert fault.keyword in KEYWORDS
    assert time.process_time() - start < QUADRATIC


def test_a_caller_deep_in_the_stack_gets_a_fault_not_an_exception() -> None:
    def from_depth(frames: int) -> object:
        return parse_json("[" * 400 + "]" * 400) if frames == 0 else from_depth(frames - 1)

    found = from_depth(700)
    assert isinstance(found, list) or found.keyword == "depth"  # type: ignore[union-attr, attr-defined]
