"""json_call in both versions, against an oracle written for these tests alone."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.scoring.answer import read_call
from evaluator.scoring.json_call import compile_json_call, equal_as_floats, strictly_equal
from evaluator.scoring.outcome import MalformedError, Outcome
from evaluator.transcript import Transcript

GOLD = {
    "kind": "json_call",
    "function_name": "f",
    "args_accepted": {"n": [5, 7], "s": ["x", "5"], "b": [True], "l": [[1, "2"]], "o": ["", "km"], "e": [""]},
}
RIGHT = {"n": 5, "s": "x", "b": True, "l": [1, "2"]}
ATOMS = st.sampled_from([None, True, False, 0, 1, 5, 5.0, 7, 1e300, "", "x", "5", " 5 ", "1", "true", "km", [], {}])
VALUES = ATOMS | st.lists(st.sampled_from([1, 1.0, True, "1", "2", 2, "x"]), max_size=3) | st.just({"a": [1]})
ARGUMENTS = st.dictionaries(st.sampled_from(["n", "s", "b", "l", "o", "e", "z"]), VALUES).map(lambda d: RIGHT | d) | (
    st.dictionaries(st.sampled_from(["n", "s", "b", "l", "o", "e", "z"]), VALUES)
)


def outcome(text: str, version: str = "1", gold: dict[str, Any] = GOLD) -> Outcome:
    transcript = Transcript(text=text)
    return compile_json_call(gold, version)(transcript, read_call(transcript))


def same_json(one: Any, other: Any) -> bool:
    """The oracle's equality: the type's name beside each scalar, int and float under one name."""

    def marked(value: Any) -> str:
        if isinstance(value, list):
            return "[" + ",".join(map(marked, value)) + "]"
        if isinstance(value, dict):
            return "{" + ",".join(f"{key!r}:{marked(value[key])}" for key in sorted(value)) + "}"
        if isinstance(value, bool) or value is None or isinstance(value, str):
            return repr(value)
        return f"number {float(value)!r}"

    return marked(one) == marked(other)


def same_float(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same_float(a, b) for a, b in zip(one, other, strict=True))
    try:
        if float(one) == float(other):
            return True
    except Exception:  # noqa: S110
        pass
    return bool(one == other)


def oracle(arguments: dict[str, Any], same: Any) -> bool:
    for name, accepted in GOLD["args_accepted"].items():  # type: ignore[attr-defined]
        if name not in arguments:
            if "" not in accepted:
                return False
            continue
        value = arguments[name]
        right = [value_ for value_ in accepted if value_ != ""]
        if any(same(value, one) for one in right):
            continue
        if "" in accepted and (value is None or value == ""):
            continue
        return False
    return True


@given(ARGUMENTS)
def test_both_versions_agree_with_the_oracle_and_say_where_they_differ(arguments: dict[str, Any]) -> None:
    text = json.dumps({"name": "f", "arguments": arguments})
    strict, upstream = oracle(arguments, same_json), oracle(arguments, same_float)
    assert (outcome(text).failure_mode is None) == strict
    assert (outcome(text, "upstream").failure_mode is None) == upstream
    assert strict <= upstream
    for version in ("1", "upstream"):
        differs = [finding for finding in outcome(text, version).findings if finding.keyword == "upstream_differs"]
        assert len(differs) == (strict != upstream)


@given(VALUES, VALUES)
def test_strict_equality_implies_equality_as_floats(one: Any, other: Any) -> None:
    assert strictly_equal(one, other) == same_json(one, other)
    assert equal_as_floats(one, other) == same_float(one, other)
    assert strictly_equal(one, other) <= equal_as_floats(one, other)


@given(ARGUMENTS)
def test_the_arguments_accepted_and_the_findings_add_up_to_the_gold_arguments(arguments: dict[str, Any]) -> None:
    found = outcome(json.dumps({"name": "f", "arguments": arguments}))
    faults = [finding for finding in found.findings if finding.keyword != "upstream_differs"]
    assert found.gold == 6
    assert found.accepted == 6 - len(faults)


@pytest.mark.parametrize(
    ("got", "wanted", "strict", "floats"),
    [
        (5000, 5000.0, True, True),
        ("5000", 5000, False, True),
        (True, 1, False, True),
        (0, False, False, True),
        ("5.0", "5", False, True),
        ("Ada", "ada", False, False),
        ([1, 2], [2, 1], False, False),
        ([[1]], [["1"]], False, True),
        ({"a": 1}, {"a": 1.0}, True, True),
        ({"a": True}, {"a": 1}, False, True),
        (None, "", False, False),
        (10**400, 10**400, True, True),
        (10**400, 1.0, False, False),
        (2**53 + 1, float(2**53), False, True),
    ],
)
def test_what_each_version_calls_equal(got: Any, wanted: Any, strict: bool, floats: bool) -> None:
    assert strictly_equal(got, wanted) is strict
    assert equal_as_floats(got, wanted) is floats


def test_lists_nested_as_deep_as_the_parser_reads_can_be_compared() -> None:
    deep: Any = 1
    for _ in range(490):
        deep = [deep]
    assert strictly_equal(deep, json.loads(json.dumps(deep)))


def test_a_single_accepted_value_is_wanted_by_itself_and_several_as_a_list() -> None:
    found = outcome(json.dumps({"name": "f", "arguments": {"n": 6, "s": "x", "b": False, "l": [1, "2"], "o": "mi"}}))
    by_path = {finding.path: (finding.keyword, finding.wanted, finding.got) for finding in found.findings}
    assert by_path == {
        "$.n": ("value", [5, 7], 6),
        "$.b": ("value", True, False),
        "$.o": ("value", "km", "mi"),
    }


@pytest.mark.parametrize(
    ("definition", "version", "message"),
    [
        ({}, "1", "function_name is the name of a function"),
        ({"function_name": "f"}, "1", "args_accepted is an object"),
        ({"function_name": "f", "args_accepted": {"a": 5}}, "1", r"args_accepted\.a is a list of at least one"),
        ({"function_name": "f", "args_accepted": {"a": []}}, "1", r"args_accepted\.a is a list of at least one"),
        (GOLD, "2", "the option json_call is '2'; it is one of '1', 'upstream'"),
    ],
)
def test_a_malformed_definition_is_refused(definition: dict[str, Any], version: str, message: str) -> None:
    with pytest.raises(MalformedError, match=message):
        compile_json_call(definition, version)
