"""Transcript → Score by trapstreet@1, through the registry as a run does it."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator import scoring
from evaluator.cases import Case, Request
from evaluator.results import Finding, Score
from evaluator.scoring import checks, json_call, patterns
from evaluator.transcript import Call, Infrastructure, Transcript
from evaluator.vocabulary import FAILURE_MODES

FUNCTION = {
    "name": "send",
    "parameters": {
        "type": "object",
        "properties": {"amount": {"type": "number"}, "to": {"type": "string"}, "note": {"type": "string"}},
        "required": ["amount"],
        "additionalProperties": False,
    },
}
CALL_MATCHER = {"kind": "json_call", "function_name": "send", "args_accepted": {"amount": [24.5], "to": ["Ada", "A."]}}
RIGHT = json.dumps({"name": "send", "arguments": {"amount": 24.5, "to": "Ada"}})


def case(*matchers: Any, function: Any = None, **options: Any) -> Case:
    expected = {"matchers": list(matchers)}
    return Case(id="c", request=Request(messages=[], function=function), expected=expected, options=options)


def score(the_case: Case, text: str | None = None, **transcript: Any) -> Score:
    found = scoring.prepare("trapstreet", the_case)(Transcript(text=text, **transcript))
    assert isinstance(found, Score), found
    return found


def infrastructure(the_case: Case, text: str = "x") -> Infrastructure:
    found = scoring.prepare("trapstreet", the_case)(Transcript(text=text))
    assert isinstance(found, Infrastructure), found
    return found


PAYMENT = case(CALL_MATCHER, function=FUNCTION)


def test_a_right_answer_passes_with_full_values_and_nothing_to_say() -> None:
    assert score(PAYMENT, RIGHT) == Score(
        passed=True, values={"schema_valid": 1.0, "argument_score": 1.0, "score": 1.0}
    )


def test_a_wrong_answer_names_mode_path_wanted_and_got() -> None:
    found = score(PAYMENT, '{"name": "send", "arguments": {"amount": 49.0, "to": 5}}')
    assert found.failure_mode == "wrong_type"
    assert found.values == {"schema_valid": 0.0, "argument_score": 0.0, "score": 0.0}
    assert found.findings == [
        Finding(path="$.amount", keyword="value", wanted=24.5, got=49.0),
        Finding(path="$.to", keyword="type", wanted=["Ada", "A."], got=5),
    ]


def test_an_answer_valid_by_schema_can_still_fail_the_gold() -> None:
    found = score(PAYMENT, '{"name": "send", "arguments": {"amount": 24.5}}')
    assert found.failure_mode == "missing_argument"
    assert found.values == {"schema_valid": 1.0, "argument_score": 0.5, "score": 0.0}


def test_an_extra_argument_does_not_fail_but_is_named_where_the_schema_forbids_it() -> None:
    found = score(PAYMENT, '{"name": "send", "arguments": {"amount": 24.5, "to": "A.", "memo": "hi"}}')
    assert found.passed
    assert found.values["schema_valid"] == 0.0
    assert found.findings == [Finding(path="$.memo", keyword="unexpected_argument", got="hi")]


def test_a_native_call_is_the_answer_whatever_the_text_says() -> None:
    call = Call(tool="send", arguments='{"amount": 24.5, "to": "Ada"}')
    assert score(PAYMENT, "I refuse.", calls=[call]).passed
    assert score(PAYMENT, RIGHT, calls=[Call(tool="receive")]).failure_mode == "wrong_tool"


def test_a_malformed_native_call_is_unparseable_at_its_place() -> None:
    found = score(PAYMENT, None, calls=[Call(tool="send", arguments='{"amount": 24.5,\n "amount": 1}')])
    assert found.failure_mode == "unparseable"
    assert found.findings[0].keyword == "duplicate_key"
    assert found.findings[0].message == 'a key stands twice in one object: "amount" (line 2, column 2)'


def test_two_native_calls_are_a_wrong_count_even_if_the_first_is_right() -> None:
    call = Call(tool="send", arguments='{"amount": 24.5, "to": "Ada"}')
    found = score(PAYMENT, None, calls=[call, call])
    assert found.failure_mode == "wrong_count"
    assert found.findings == [Finding(path="$", keyword="count", wanted=1, got=2, message="more than one tool call")]
    assert found.values == {"schema_valid": 0.0, "argument_score": 0.0, "score": 0.0}


def test_an_output_cut_at_the_token_limit_fails_even_if_it_is_whole() -> None:
    found = score(PAYMENT, RIGHT, stop_reason="length")
    assert (found.passed, found.failure_mode, found.values["score"]) == (False, "truncated", 0.0)


def test_an_answer_of_which_a_part_was_not_kept_fails_because_that_part_may_be_what_fails_it() -> None:
    found = score(case({"kind": "no_hedge"}), "All is well.", cut=7)
    assert found.failure_mode == "truncated"
    assert found.findings[0].message == "the answer was longer than what is kept, by 7 characters"


def test_values_without_a_meaning_are_left_out() -> None:
    assert score(case({"kind": "numeric", "value": 4}), "4").values == {"score": 1.0}
    no_arguments = case({"kind": "json_call", "function_name": "f", "args_accepted": {}})
    assert score(no_arguments, '{"name": "f"}').values == {"score": 1.0}
    assert score(case(CALL_MATCHER), RIGHT).values == {"argument_score": 1.0, "score": 1.0}


def test_all_matchers_must_hold_and_the_first_mode_by_precedence_decides() -> None:
    both = case({"kind": "min_words", "value": 50}, CALL_MATCHER)
    assert score(both, RIGHT).failure_mode == "wrong_value"
    assert score(both, RIGHT.replace("send", "pay")).failure_mode == "wrong_tool"


@pytest.mark.parametrize("text", [None, "", " \n", '{"answer": ""}', '{"answer": "  "}'])
def test_an_empty_answer_fails_every_matcher(text: str | None) -> None:
    assert score(case({"kind": "no_hedge"}), text).failure_mode == "unparseable"
    assert score(case(CALL_MATCHER), text).failure_mode == "unparseable"


@pytest.mark.parametrize(
    "matcher",
    [
        {"kind": "no_hedge"},
        {"kind": "regex_required", "pattern": "^(?!.*secret)"},
        {"kind": "regex_required", "pattern": ""},
        {"kind": "numeric", "value": 4},
    ],
)
@pytest.mark.parametrize("text", [None, "", " \n"])
def test_a_native_call_without_text_is_an_empty_answer_to_a_question_about_text(matcher: Any, text: str | None) -> None:
    found = score(case(matcher), text, calls=[Call(tool="send")])
    assert (found.failure_mode, found.findings) == (
        "unparseable",
        [Finding(path="$", keyword="empty", message="the answer is empty")],
    )


def test_a_native_call_that_is_asked_for_needs_no_text_beside_it() -> None:
    call = Call(tool="send", arguments='{"amount": 24.5, "to": "Ada"}')
    assert score(case(CALL_MATCHER, no_hedge=True), None, calls=[call]).passed
    assert not score(case(CALL_MATCHER, no_hedge=True), "I am not sure", calls=[call]).passed


def test_the_options_choose_the_version_and_add_no_hedge() -> None:
    as_string = RIGHT.replace("24.5", '"24.5"')
    assert not score(case(CALL_MATCHER), as_string).passed
    assert score(case(CALL_MATCHER, json_call="upstream"), as_string).passed
    assert score(case({"kind": "numeric", "value": 4}), "I am not sure: 4").passed
    assert not score(case({"kind": "numeric", "value": 4}, no_hedge=True), "I am not sure: 4").passed


@pytest.mark.parametrize(
    ("broken", "kind", "message"),
    [
        (case({"kind": "vibes"}), "unknown_matcher", "matchers[0]: unknown kind 'vibes'; known are json_call, numeric"),
        (case(), "malformed_expected", "matchers is a list of at least one matcher"),
        (case(5), "malformed_expected", "matchers[0] is an object with a kind"),
        (case({"kind": "numeric"}), "malformed_expected", "matchers[0] (numeric): value is a finite number"),
        (case(CALL_MATCHER, json_call="3"), "malformed_expected", "matchers[0] (json_call): the option json_call is"),
        (
            case(CALL_MATCHER, function={"name": "send", "parameters": {"$ref": "http://127.0.0.1:9/x"}}),
            "malformed_schema",
            "the function spec: the reference 'http://127.0.0.1:9/x' leads out of the schema",
        ),
        (Case(id="c", request=Request(messages=[])), "no_expected", "the source expects nothing of this case"),
    ],
)
def test_a_fault_of_the_task_is_infrastructure_never_a_verdict(broken: Case, kind: str, message: str) -> None:
    found = infrastructure(broken)
    assert found.kind == kind
    assert found.message.startswith(message)


def test_a_catastrophic_pattern_is_infrastructure_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "SECONDS", 0.1)
    slow = case({"kind": "regex_required", "pattern": "(a|aa)+$"})
    assert infrastructure(slow, "a" * 50_000 + "!").kind == "pattern_timeout"


def test_an_unknown_scorer_is_infrastructure() -> None:
    found = scoring.prepare("vibes", PAYMENT)(Transcript(text="x"))
    assert isinstance(found, Infrastructure)
    known = ", ".join(scoring.SCORERS)
    assert (found.kind, found.message) == ("unknown_scorer", f"no scorer 'vibes'; known are {known}")


def test_a_bug_in_a_scorer_is_data_with_the_exceptions_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bool:
        raise ZeroDivisionError("by zero \ud800")

    prepared = scoring.prepare("trapstreet", PAYMENT)
    monkeypatch.setattr(json_call, "_judge", broken)
    found = prepared(Transcript(text=RIGHT))
    assert found == Infrastructure(kind="scorer_error", message="ZeroDivisionError: by zero \ufffd")
    monkeypatch.setattr(json_call, "_gold", broken)
    assert infrastructure(PAYMENT).kind == "scorer_error"


BEGINNING = '{"name": "send", "arguments": {"amount": '
ANSWERS = st.text(max_size=20) | st.sampled_from(
    [
        *(RIGHT, f"```json\n{RIGHT}\n```", RIGHT[:-1], "[]", "1e999", '"\\ud800"'),
        '{"name": ["send"], "arguments": {"amount": NaN}}',
        BEGINNING + "[" * 450 + "]" * 450 + "}}",
        BEGINNING + "9" * 4000 + ', "to": "\\u0000"}}',
    ]
)


@given(ANSWERS, st.sampled_from(["1", "upstream"]), st.sampled_from(["stop", "length", None]), st.booleans())
def test_any_answer_gets_a_score_that_can_be_stored(text: str, version: str, stop: str | None, native: bool) -> None:
    calls = [Call(tool="send", arguments=text)] if native else []
    found = score(case(CALL_MATCHER, function=FUNCTION, json_call=version), text, stop_reason=stop, calls=calls)
    assert found.passed == (found.failure_mode is None)
    assert found.failure_mode is None or found.failure_mode in FAILURE_MODES
    assert found.values["score"] == float(found.passed)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Score) == found


def test_a_five_megabyte_answer_is_scored_with_short_findings() -> None:
    found = score(
        PAYMENT, json.dumps({"name": "send", "arguments": {"amount": "9" * 5_000_000, "to": ["x"] * 100_000}})
    )
    assert found.failure_mode == "wrong_type"
    assert len(msgspec.json.encode(found)) < 4000


def test_every_scorer_matcher_check_normalizer_parser_and_extractor_has_a_version() -> None:
    assert scoring.versions() == {
        "trapstreet": "trapstreet@1",
        "trace": "trace@1",
        "arena": "arena@1",
        "closure": "closure@1",
        "bfcl": "bfcl@1",
        "json_call": "json_call@1",
        "json_call_upstream": "json_call@upstream",
        "numeric": "numeric@1",
        "leading_numeric": "leading_numeric@1",
        "regex_required": "regex_required@1",
        "leading_word": "leading_word@1",
        "keywords_all": "keywords_all@1",
        "keywords_any": "keywords_any@1",
        "keywords_any_word": "keywords_any_word@1",
        "min_words": "min_words@1",
        "no_hedge": "no_hedge@1",
        "parse_json": "parse_json@1",
        "extract_json": "extract_json@1",
        "tool_calls": "tool_calls@1",
        "schema": "schema@1",
        "normalizer_text_1": "text@1",
        "normalizer_text_2": "text@2",
        **checks.versions(),
    }
