"""arena@1: checks that must all hold, and the one failure mode where they do not."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.cases import Case, Request
from evaluator.results import Finding, Score
from evaluator.scoring import arena, checks, prepare
from evaluator.transcript import Call, Infrastructure, Transcript
from evaluator.vocabulary import FAILURE_MODES
from tests.unit.formats.arena_task import CHECKS, RECORD, SCHEMA

SEARCH = Call(tool="search", arguments='{"query": "Tern"}', result="[Tern] …")
DONE = {"type": "contains", "value": "done"}


def scored(text: Any, *definitions: dict[str, Any], calls: Any = (SEARCH,), **fields: Any) -> Score:
    """The score of an answer, that of the ferry where no checks are given; what is no text is written as JSON."""
    case = Case(id="c", request=Request(messages=[]), expected={"checks": list(definitions or CHECKS)})
    said = text if isinstance(text, str | None) else json.dumps(text)
    score = prepare("arena", case)(Transcript(text=said, calls=list(calls), **fields))
    assert isinstance(score, Score)
    return score


def first(score: Score) -> tuple[Any, ...]:
    """Path, keyword, wanted and got of the finding that decides."""
    found = score.findings[0]
    return found.path, found.keyword, found.wanted, found.got


def record(**changes: Any) -> dict[str, Any]:
    return {key: value for key, value in {**RECORD, **changes}.items() if value is not ...}


def test_a_right_record_passes() -> None:
    assert scored(RECORD) == Score(passed=True, values={"score": 1.0, "schema_valid": 1.0})


@pytest.mark.parametrize(
    ("answer", "mode", "finding"),
    [
        (record(built="1994"), "schema_invalid", ("$.built", "type", "integer", "1994")),
        (record(length_m=...), "schema_invalid", ("$.length_m", "required", Finding.wanted, Finding.got)),
        (record(owner="x"), "schema_invalid", ("$.owner", "additionalProperties", False, "x")),
        (record(sources=[]), "schema_invalid", ("$.sources", "minItems", 1, [])),
        (record(sources=[1]), "schema_invalid", ("$.sources[0]", "type", "string", 1)),
        (record(length_m=64), "wrong_value", ("$.length_m", "json_path_equals", 62, 64)),
        (record(length_m=60), "wrong_value", ("$.length_m", "json_path_equals", 62, 60)),
        (record(name="Gannet"), "wrong_value", ("$.name", "json_path_equals", "Tern", "Gannet")),
    ],
)
def test_each_way_to_be_wrong_has_its_mode_and_its_place(answer: Any, mode: str, finding: tuple[Any, ...]) -> None:
    score = scored(answer)
    assert (score.passed, score.failure_mode) == (False, mode)
    path, keyword, wanted, got = first(score)
    assert (path, keyword) == finding[:2]
    if keyword != "required":
        assert (wanted, got) == finding[2:]
    assert score.values == {"score": 0.0, "schema_valid": float(mode == "wrong_value")}


@pytest.mark.parametrize("length", [61, 63, 61.5, 62.0])
def test_a_length_within_the_tolerance_passes(length: float) -> None:
    assert scored(record(length_m=length)).passed


@pytest.mark.parametrize("change", [{"built": 1994.0}, {"name": " TERN "}])
def test_what_the_standard_and_the_checks_call_equal_passes(change: dict[str, Any]) -> None:
    assert scored(record(**change)).passed


@pytest.mark.parametrize("text", ["The Tern was built in 1994.", "[1]", "{'name': 'Tern'}", '{"name": "Tern"', "null"])
def test_no_object_in_an_answer_that_is_to_be_one_is_unparseable(text: str) -> None:
    score = scored(text)
    assert (score.failure_mode, score.values["schema_valid"]) == ("unparseable", 0.0)
    assert first(score)[:2] == ("$", "json")
    assert len(score.findings) == 1, "what every check says alike is said once"


@pytest.mark.parametrize("text", [None, "", " \n"])
@pytest.mark.parametrize("definitions", [CHECKS, [DONE], [{"type": "tool_used", "name": "search"}]])
def test_no_answer_is_unparseable_whatever_is_checked(text: Any, definitions: list[Any]) -> None:
    score = scored(text, *definitions)
    assert (score.failure_mode, first(score)[1]) == ("unparseable", "empty")


@pytest.mark.parametrize("limit", ["max_turns", "max_calls"])
def test_a_conversation_that_was_ended_has_no_answer(limit: str) -> None:
    score = scored(None, {"type": "tool_used", "name": "search"}, limit=limit)
    assert (score.failure_mode, first(score)[1]) == ("unparseable", limit)


def test_an_answer_that_was_cut_is_truncated_even_where_what_is_there_would_pass() -> None:
    assert scored(RECORD, stop_reason="length").failure_mode == "truncated"
    score = scored(RECORD, cut=7)
    assert (score.failure_mode, score.values["schema_valid"]) == ("truncated", 1.0)
    assert score.findings[0].message == "the output was longer than what is kept, by 7 characters"


def test_a_record_without_a_search_is_tool_not_used() -> None:
    score = scored(RECORD, calls=[])
    assert (score.failure_mode, first(score)) == ("tool_not_used", ("$", "tool_used", "search", []))


@pytest.mark.parametrize(
    ("definition", "text", "mode"),
    [
        ({"type": "json_valid"}, "no", "unparseable"),
        ({"type": "json_schema", "schema": {"type": "array"}}, "{}", "schema_invalid"),
        ({"type": "contains", "value": "a"}, "b", "wrong_value"),
        ({"type": "icontains", "value": "a"}, "b", "wrong_value"),
        ({"type": "iregex", "value": "a"}, "b", "wrong_value"),
        ({"type": "numeric_equals", "value": 1}, "2", "wrong_value"),
        ({"type": "json_path_equals", "path": "a", "value": 1}, "{}", "wrong_value"),
        ({"type": "tool_used", "name": "lookup"}, "x", "tool_not_used"),
        ({"type": "min_tool_calls", "value": 2}, "x", "tool_not_used"),
        ({"type": "suspended"}, "x", "tool_not_used"),
        ({"type": "not_contains", "value": "x"}, "x", "check_failed"),
        ({"type": "sentence_count", "min": 2}, "x", "check_failed"),
        ({"type": "tool_not_used", "name": "search"}, "x", "check_failed"),
        ({"type": "no_tool"}, "x", "check_failed"),
        ({"type": "max_tool_calls", "value": 0}, "x", "check_failed"),
        ({"type": "call_counts", "counts": {"search": 2}}, "x", "check_failed"),
        ({"type": "no_tool_before_suspend", "name": "search"}, "x", "check_failed"),
    ],
)
def test_each_kind_of_check_fails_in_its_mode(definition: dict[str, Any], text: str, mode: str) -> None:
    assert scored(text, definition).failure_mode == mode


def test_every_kind_of_check_is_tried_above() -> None:
    (mark,) = (mark for mark in test_each_kind_of_check_fails_in_its_mode.pytestmark)  # type: ignore[attr-defined]
    assert {definition["type"] for definition, *_ in mark.args[1]} == set(checks.KINDS)


def test_the_first_mode_that_applies_is_given_and_all_faults_are_found() -> None:
    score = scored(record(built="x", name="Gannet"), *CHECKS, {"type": "not_contains", "value": "Gannet"}, calls=[])
    assert score.failure_mode == "schema_invalid"
    assert [finding.keyword for finding in score.findings] == [
        *("type", "json_path_equals", "json_path_equals", "tool_used", "not_contains")
    ]


def test_the_modes_are_those_of_the_vocabulary_in_its_order() -> None:
    assert [mode for mode in FAILURE_MODES if mode in arena.MODES] == list(arena.MODES)


def test_without_a_schema_there_is_no_figure_of_it() -> None:
    assert scored("done", DONE).values == {"score": 1.0}


# What is found in an answer with something around it


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(RECORD),
        f"```json\n{json.dumps(RECORD, indent=2)}\n```",
        f"Here it is: {json.dumps(RECORD)} Anything else?",
        f"By source [1] it is\n{json.dumps(RECORD)}",
        f"I use {{placeholders}} and {{sets, of, words}} like {{1, 2}}: {json.dumps(RECORD)}",
        f'An open quote " and then {json.dumps(RECORD)}',
        f"It has [one and {{two, and then\n{json.dumps(RECORD)}",
        f"```\nnot this\n```\nbut\n```json\n{json.dumps(RECORD)}\n```",
    ],
)
def test_a_record_is_found_in_what_stands_around_it(text: str) -> None:
    assert scored(text).passed, scored(text).findings


def test_braces_and_quotes_inside_of_strings_are_no_ends() -> None:
    tricky = record(sources=['a } brace, a ] bracket, a " quote and a \\ stroke', "{"])
    assert scored(f"So: {json.dumps(tricky)}.").passed


def test_the_first_object_counts_even_where_a_later_one_is_right() -> None:
    score = scored(f"{json.dumps(record(built=1995))} or {json.dumps(RECORD)}")
    assert (score.failure_mode, first(score)) == ("wrong_value", ("$.built", "json_path_equals", 1994, 1995))


def test_a_fragment_of_a_document_that_is_refused_is_no_answer() -> None:
    text = f'{{"answer": {json.dumps(RECORD)}, "answer": 1}}'
    assert scored(text).failure_mode == "unparseable"


@pytest.mark.parametrize("text", ['{"a":' * 600 + "1" + "}" * 600, "[" * 100_000, '{"a": NaN}', '{"a": 1, "a": 1}'])
def test_hostile_json_is_a_plain_finding(text: str) -> None:
    score = scored(text)
    assert score.failure_mode == "unparseable"
    assert score.findings


@given(
    st.text(max_size=60) | st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists).map(json.dumps)
)
def test_whatever_the_answer_is_there_is_a_score_and_only_a_record_passes(text: str) -> None:
    score = scored(text)
    assert not score.passed
    assert score.failure_mode in ("unparseable", "schema_invalid")


# A case that is at fault itself


@pytest.mark.parametrize(
    ("expected", "kind", "message"),
    [
        ({}, "malformed_expected", "checks is a list, not None"),
        ({"checks": []}, "malformed_expected", "there are no checks"),
        ({"checks": [{"type": "vibes"}]}, "unknown_check", "checks[0]: unknown type 'vibes'; known are contains,"),
        ({"checks": [{"type": "contains"}]}, "malformed_expected", "checks[0] (contains): value is missing"),
    ],
)
def test_a_fault_of_the_task_is_nobodys_failure(expected: Any, kind: str, message: str) -> None:
    result = prepare("arena", Case(id="c", request=Request(messages=[]), expected=expected))(Transcript(text="x"))
    assert isinstance(result, Infrastructure)
    assert result.kind == kind
    assert result.message.startswith(message)


def test_a_pattern_that_does_not_end_in_time_is_nobodys_failure() -> None:
    definition = {"type": "iregex", "value": "(a|aa)+$"}
    case = Case(id="c", request=Request(messages=[]), expected={"checks": [definition]})
    result = prepare("arena", case)(Transcript(text="a" * 100_000 + "b"))
    assert isinstance(result, Infrastructure)
    assert result.kind == "pattern_timeout"


def test_the_schema_of_the_checks_is_the_one_of_the_task() -> None:
    assert (
        scored(RECORD, {"type": "json_schema", "schema": {**SCHEMA, "minProperties": 5}}).failure_mode
        == "schema_invalid"
    )
