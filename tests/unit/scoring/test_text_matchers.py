from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.results import Finding
from evaluator.scoring.matchers import TEXT_MATCHERS
from evaluator.scoring.outcome import MalformedError
from evaluator.scoring.text_matchers import HEDGES

USABLE = {
    "numeric": {"value": 42},
    "leading_numeric": {"value": 42},
    "regex_required": {"pattern": "42"},
    "leading_word": {"value": "yes"},
    "keywords_all": {"values": ["a", "b c"]},
    "keywords_any": {"values": ["a", "b c"]},
    "keywords_any_word": {"values": ["a", "b c", "c++"]},
    "min_words": {"value": 3},
    "no_hedge": {},
}


def finding(kind: str, text: str, **definition: Any) -> Finding | None:
    return TEXT_MATCHERS[kind][1](USABLE[kind] | definition)(text)


def passes(kind: str, text: str, **definition: Any) -> bool:
    return finding(kind, text, **definition) is None


@given(st.sampled_from(sorted(USABLE)), st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_no_text_makes_a_matcher_raise(kind: str, text: str) -> None:
    found = finding(kind, text)
    assert found is None or found.keyword == kind


@given(st.integers(-(10**9), 10**9), st.text(alphabet="abc :;!?\n"))
def test_a_number_in_prose_is_found_whatever_its_currency_and_commas(number: int, prose: str) -> None:
    assert passes("numeric", f"{prose} ${number:,} {prose}", value=number)
    assert passes("leading_numeric", f"{prose} £{number:,} and 17", value=number)
    assert not passes("numeric", f"{prose} {number} {prose}", value=number + 1)


@pytest.mark.parametrize(
    ("kind", "text", "definition", "expected"),
    [
        ("numeric", "1e3", {"value": 1000}, True),
        ("numeric", "v .5", {"value": 0.5}, True),
        ("numeric", "12-15", {"value": 15}, True),
        ("numeric", "-15", {"value": 15}, False),
        ("numeric", "41.99", {"tolerance": 0}, False),
        ("numeric", "9" * 5000, {"value": 1}, False),
        ("leading_numeric", "7, then 42", {}, False),
        ("regex_required", "x 42", {"pattern": "^42"}, False),
        ("regex_required", "AB", {"pattern": "ab"}, True),
        ("regex_required", "AB", {"pattern": "ab", "flags": ""}, False),
        ("leading_word", "**Answer:** _Yes_", {}, True),
        ("leading_word", "Answer : yes", {}, True),
        ("leading_word", "# Response: 1. yes", {}, True),
        ("leading_word", "Reply: no, not yes", {}, False),
        ("leading_word", "Answer yes", {}, False),
        ("leading_word", "", {}, False),
        ("keywords_all", "A\tB\n C", {}, True),
        ("keywords_all", "a b", {}, False),
        ("keywords_any", "xay", {}, True),
        ("keywords_any", "xyz", {}, False),
        ("keywords_any_word", "xay", {}, False),
        ("keywords_any_word", "in C++, yes", {}, True),
        ("keywords_any_word", "(B  C)", {}, True),
        ("min_words", "one two three", {}, True),
        ("min_words", "one-two three", {}, False),
        ("no_hedge", "Certainly.", {}, True),
        ("no_hedge", "I'm  NOT\nsure", {}, False),
    ],
)
def test_what_satisfies_a_matcher(kind: str, text: str, definition: dict[str, Any], expected: bool) -> None:
    assert passes(kind, text, **definition) is expected


@pytest.mark.parametrize("phrase", HEDGES)
def test_every_hedge_is_seen_in_any_case_and_across_line_ends(phrase: str) -> None:
    found = finding("no_hedge", f"Well, {phrase.upper().replace(' ', chr(10))}.")
    assert found is not None
    assert found.got == phrase


def test_a_finding_says_what_was_wanted_and_what_was_there() -> None:
    assert finding("numeric", "7 or 8") == Finding(path="$", keyword="numeric", wanted=42, got=[7, 8])
    assert finding("leading_numeric", "7 or 42") == Finding(path="$", keyword="leading_numeric", wanted=42, got=7)
    assert finding("keywords_all", "a") == Finding(path="$", keyword="keywords_all", wanted=["b c"], got="a")
    assert finding("leading_word", "No!") == Finding(path="$", keyword="leading_word", wanted="yes", got="No")
    assert finding("min_words", "one") == Finding(path="$", keyword="min_words", wanted=3, got=1)


@pytest.mark.parametrize(
    ("kind", "definition", "message"),
    [
        ("numeric", {}, "value is a finite number"),
        ("numeric", {"value": True}, "value is a finite number"),
        ("numeric", {"value": "5"}, "value is a finite number"),
        ("numeric", {"value": 10**400}, "value is a finite number"),
        ("numeric", {"value": 1, "tolerance": -1}, "tolerance is a number not below 0"),
        ("regex_required", {}, "pattern: a pattern is a string"),
        ("regex_required", {"pattern": "("}, "pattern: not a regular expression"),
        ("leading_word", {"value": " "}, "value is a text that is not empty"),
        ("keywords_all", {"values": []}, "values is a list of at least one text"),
        ("keywords_any", {"values": ["a", ""]}, "values is a text that is not empty"),
        ("keywords_any_word", {"values": "abc"}, "values is a list of at least one text"),
        ("min_words", {"value": 0}, "value is a whole number of at least 1"),
        ("min_words", {"value": True}, "value is a whole number of at least 1"),
    ],
)
def test_a_malformed_definition_is_refused(kind: str, definition: dict[str, Any], message: str) -> None:
    with pytest.raises(MalformedError, match=message):
        TEXT_MATCHERS[kind][1](definition)
