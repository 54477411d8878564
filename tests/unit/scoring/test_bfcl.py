"""bfcl@1: what is right, and what is said of what is wrong. The leaderboard's own checker is in test_bfcl_parity.py."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator import canaries, tool_calls
from evaluator.cases import Case, Request, SourceRef
from evaluator.config.types import TaskConfig
from evaluator.formats import load
from evaluator.results import Finding, Score
from evaluator.scoring import bfcl, bfcl_calls, bfcl_values, prepare
from evaluator.scoring.bfcl_calls import Decoded, accepts, compile_calls
from evaluator.scoring.bfcl_values import folded
from evaluator.transcript import Call, Infrastructure, Transcript
from tests.unit.scoring.bfcl_reference import checker, data


def wanted(tool: str = "play", required: tuple[str, ...] = (), **arguments: Any) -> dict[str, Any]:
    """A wanted call; each argument as (type, accepted) or (type, items, accepted)."""
    described = {}
    for name, (declared, *items, accepted) in arguments.items():
        described[name] = {"accepted": accepted, "type": declared} | ({"items": items[0]} if items else {})
    return {"tool": tool, "required": list(required), "arguments": described}


def case(*calls: Any, functions: list[str] | None = None, **options: Any) -> Case:
    expected: dict[str, Any] = {"calls": list(calls)} | ({"functions": functions} if functions else {})
    return Case(id="c", request=Request(messages=[]), expected=expected, options=options)


def made(*calls: tuple[str, Any], **fields: Any) -> Transcript:
    texts = [arguments if isinstance(arguments, str) else json.dumps(arguments) for _, arguments in calls]
    named = [Call(tool=tool, arguments=text) for (tool, _), text in zip(calls, texts, strict=True)]
    return Transcript(calls=named, **fields)


def scored(of: Case, transcript: Transcript) -> Score:
    score = prepare("bfcl", of)(transcript)
    assert isinstance(score, Score), score
    return score


def told(score: Score) -> list[tuple[str, str]]:
    return [(finding.path, finding.keyword) for finding in score.findings]


ONE = wanted(required=("artist",), artist=("string", ["Sia"]), minutes=("integer", ["", 20]))


# Findings


def test_a_finding_says_where_what_was_wanted_and_what_came() -> None:
    score = scored(case(ONE), made(("play", {"artist": "Sia", "minutes": 21})))
    assert (score.passed, score.failure_mode, score.values) == (
        False,
        "wrong_value",
        {"score": 0, "argument_score": 0.5},
    )
    assert score.findings == [
        Finding(path="$.minutes", keyword="value", wanted=20, got=21, step=1, call=1, tool="play"),
    ]


def test_every_fault_of_a_call_is_told_and_the_first_in_the_order_of_the_checks_decides() -> None:
    several = wanted(
        required=("artist",), artist=("string", ["Sia"]), minutes=("integer", [20]), mood=("boolean", [True])
    )
    score = scored(case(several), made(("play", {"loud": 1, "minutes": "20", "artist": "Queen"})))
    assert score.failure_mode == "unexpected_argument"
    assert told(score) == [
        ("$.loud", "unexpected_argument"),
        ("$.minutes", "type"),
        ("$.artist", "value"),
        ("$.mood", "required"),
    ]
    assert score.values["argument_score"] == 0.0


def test_a_required_argument_is_missed_before_any_other_is_looked_at() -> None:
    score = scored(case(ONE), made(("play", {"minutes": "20"})))
    assert (score.failure_mode, told(score)) == ("missing_argument", [("$.artist", "required"), ("$.minutes", "type")])


def test_a_wrong_part_of_an_object_or_list_is_told_by_its_own_path() -> None:
    hotel = {"stars": [3, 4], "name": ["", "Plaza"]}
    of = case(
        wanted(
            at=("dict", [hotel]),
            rooms=("array", "dict", ["", [hotel, hotel]]),
            stops=("array", "string", [["St. Paul", "Fargo"]]),
        )
    )
    right = {"at": {"stars": 4}, "rooms": [{"stars": 3}, {"stars": 3, "name": "PLAZA"}], "stops": ["st paul", "fargo"]}
    assert scored(of, made(("play", right))).passed
    wrong = {"at": {"stars": 5, "pool": 1}, "rooms": [{"stars": 3}, {"name": "Ritz"}], "stops": ["st paul", "Bergen"]}
    score = scored(of, made(("play", wrong)))
    assert score.failure_mode == "wrong_value"
    assert [(each.path, each.keyword, each.wanted, each.got) for each in score.findings if each.keyword == "value"] == [
        ("$.at.stars", "value", [3, 4], 5),
        ("$.rooms[1].name", "value", "Plaza", "Ritz"),
        ("$.stops[1]", "value", "fargo", "Bergen"),
    ]
    others = [each for each in told(score) if each[1] != "value"]
    assert others == [("$.at.pool", "unexpected_argument"), ("$.rooms[1].stars", "required")]


def test_where_several_lists_are_accepted_the_whole_is_wrong_and_not_a_part() -> None:
    score = scored(case(wanted(of=("array", "integer", [[1, 2], [3]]))), made(("play", {"of": [1, 3]})))
    (finding,) = score.findings
    assert (finding.path, finding.wanted, finding.got) == ("$.of", [[1, 2], [3]], [1, 3])


def test_a_wrong_type_is_told_in_the_words_of_the_declaration() -> None:
    score = scored(case(wanted(of=("array", "integer", [[1, 2]]))), made(("play", {"of": ["1", "2"]})))
    (finding,) = score.findings
    assert (score.failure_mode, finding.wanted, finding.got) == ("wrong_type", "array of integer", ["1", "2"])


# Types and values


@pytest.mark.parametrize(
    ("declared", "accepted", "value", "mode"),
    [
        ("integer", [-5], -5, None),
        ("integer", [-5], "-5", "wrong_type"),
        ("float", [1.5], "1.5", "wrong_type"),
        ("float", [5.0], 5, None),
        ("integer", [5], 5.0, "wrong_type"),
        ("integer", [1], True, "wrong_type"),
        ("boolean", [True], 1, "wrong_type"),
        ("string", ["April 1, 2024"], "april 1 2024", None),
        ("string", ["it's"], 'IT"S', None),
        ("string", ["a:b"], "ab", "wrong_value"),
        ("any", ["x"], "X", None),
        ("any", ["x"], 5, "wrong_type"),
        ("integer", ["", None], None, None),
        ("integer", [""], 5, "wrong_value"),
        ("integer", ["total"], "total", None),
        ("integer", ["total"], "Total", "wrong_value"),
        ("float", [1e300], 10**400, "wrong_value"),
    ],
)
def test_types_are_strict_and_texts_are_compared_without_case_spaces_and_punctuation(
    declared: str, accepted: list[Any], value: Any, mode: str | None
) -> None:
    score = scored(case(wanted(x=(declared, accepted))), made(("play", {"x": value})))
    assert score.failure_mode == mode


@given(st.text())
def test_texts_fold_as_the_leaderboard_folds_them(text: str) -> None:
    checker()
    from bfcl_eval.eval_checker.ast_eval.ast_checker import standardize_string

    assert folded(text) == standardize_string(text)


# Several calls


def task_case(name: str, **options: Any) -> Case:
    task = load(TaskConfig(name="t", source="t", options=options), data(), SourceRef(location="t"))
    return next(case for case in task.cases if case.id == name)


def test_an_answer_in_reverse_is_right_and_only_greedy_matching_refuses_it() -> None:
    optimal, greedy = task_case("parallel_178"), task_case("parallel_178", matching="greedy")
    (gold,) = optimal.golds
    backwards = Transcript(calls=gold.calls[::-1])
    assert scored(optimal, backwards) == Score(passed=True, values={"score": 1.0, "argument_score": 1.0})
    assert scored(greedy, gold).passed
    refused = scored(greedy, backwards)
    assert (refused.passed, refused.failure_mode) == (False, "wrong_value")


SEVERAL = [wanted(artist=("string", names), minutes=("integer", ["", 5])) for names in (["a", "b"], ["b", "c"], ["a"])]
CALLS = st.lists(
    st.tuples(st.sampled_from(["play", "stop"]), st.fixed_dictionaries({"artist": st.sampled_from("abcd")})), max_size=4
)


@given(CALLS)
def test_calls_are_right_where_some_order_of_them_is_and_greedy_accepts_no_more(calls: list[Any]) -> None:
    decoded = [Decoded(*call) for call in calls]
    compiled = compile_calls(SEVERAL)
    some_order = len(decoded) == len(compiled) and any(
        all(each.fault(call) is None for each, call in zip(compiled, order, strict=True))
        for order in itertools.permutations(decoded)
    )
    assert accepts(compiled, decoded, greedy=False) == some_order
    assert not accepts(compiled, decoded, greedy=True) or some_order


@given(CALLS, st.randoms(use_true_random=False))
def test_the_order_of_the_calls_changes_no_verdict_and_no_figure(calls: list[Any], random: Any) -> None:
    shuffled = calls[:]
    random.shuffle(shuffled)
    one, other = (scored(case(*SEVERAL), made(*each)) for each in (calls, shuffled))
    assert (one.passed, one.values) == (other.passed, other.values)


@given(CALLS, st.sampled_from(["optimal", "greedy"]))
def test_a_failed_attempt_has_a_mode_and_its_first_finding_says_why(calls: list[Any], matching: str) -> None:
    score = scored(case(*SEVERAL, matching=matching), made(*calls))
    keywords = {
        **{"wrong_count": "count", "wrong_tool": "name", "wrong_value": "value", "wrong_type": "type"},
        **{"missing_argument": "required", "unexpected_argument": "unexpected_argument"},
    }
    assert score.passed == (score.failure_mode is None) == (not score.findings)
    if score.failure_mode is not None:
        assert score.findings[0].keyword == keywords[score.failure_mode]


def test_too_few_and_too_many_calls_are_told_with_the_calls_that_are_missing_and_extra() -> None:
    few = scored(case(*SEVERAL), made(("play", {"artist": "c"})))
    assert (few.failure_mode, told(few)) == (
        "wrong_count",
        [("$", "count"), ("$", "missing_call"), ("$", "missing_call")],
    )
    assert [finding.step for finding in few.findings] == [None, 1, 3]
    assert few.values["argument_score"] == pytest.approx(2 / 6)
    many = scored(case(ONE), made(("play", {"artist": "Queen"}), ("play", {"artist": "Sia"}), ("stop", {})))
    assert (many.failure_mode, many.values["argument_score"]) == ("wrong_count", 1.0)
    assert [(each.keyword, each.call) for each in many.findings] == [
        ("count", None),
        ("extra_call", 1),
        ("extra_call", 3),
    ]


def test_where_no_call_is_right_prose_is_and_silence_is_not_and_there_is_no_share_of_arguments() -> None:
    assert scored(case(), Transcript(text="Nothing fits.")) == Score(passed=True, values={"score": 1.0})
    assert scored(case(), Transcript()).failure_mode == "unparseable"
    assert scored(case(), Transcript(text=" \n")).failure_mode == "unparseable"
    assert scored(case(), made(("play", {}))).failure_mode == "wrong_count"


# What an answer is


@pytest.mark.parametrize(
    ("transcript", "mode", "keyword"),
    [
        (made(("play", {"artist": "Sia"}), stop_reason="length"), "truncated", "truncated"),
        (made(("play", {"artist": "Sia"}), cut=5), "truncated", "truncated"),
        (made(("play", '{"artist": "S')), "unparseable", "json"),
        (made(("play", "[]")), "unparseable", "type"),
        (made(("play", '{"artist": NaN}')), "unparseable", "not_finite"),
        (made(("play", '{"artist": ' + "[" * 600 + "]" * 600 + "}")), "unparseable", "depth"),
        (Transcript(calls=[Call(tool="play", arguments="play(1)", fault="no name")]), "unparseable", "call"),
    ],
)
def test_what_cannot_be_read_is_data(transcript: Transcript, mode: str, keyword: str) -> None:
    score = scored(case(ONE), transcript)
    assert (score.failure_mode, score.findings[0].keyword) == (mode, keyword)
    assert score.values == {"score": 0.0, "argument_score": 0.0}


@pytest.mark.parametrize(
    "text",
    [
        '[play(artist="Sia", minutes=20)]',
        'play(artist="Sia")',
        '```json\n[{"name": "play", "arguments": {"artist": "sia"}}]\n```',
        '<tool_call>{"name": "play", "arguments": {"artist": "Sia"}}</tool_call>',
    ],
)
def test_calls_in_the_text_count_in_a_prompt_and_not_beside_native_tools(text: str) -> None:
    prompt = case(ONE, functions=["play"], calls="prompt")
    assert scored(prompt, Transcript(text=text)).passed
    assert scored(case(ONE), Transcript(text=text)).failure_mode == "wrong_count"


def test_a_name_with_dots_is_read_in_the_text() -> None:
    of = case(wanted("music.play", artist=("string", ["Sia"])), functions=["music.play"], calls="prompt")
    assert scored(of, Transcript(text='[music.play(artist="Sia")]')).passed


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({}, "the wanted calls are a list, not None"),
        ({"calls": [5]}, "calls[0] is an object with tool, required and arguments"),
        ({"calls": [{"tool": "f"}]}, "calls[0] is an object with tool, required and arguments"),
        (
            {"calls": [wanted(x=("number", [1]))]},
            "calls[0].arguments.x: 'number' is no type; types are string",
        ),
        ({"calls": [wanted(x=("array", [[1]]))]}, "calls[0].arguments.x: None is no type"),
        ({"calls": [wanted(x=("integer", 1))]}, "calls[0].arguments.x: the accepted values are a list, not 1"),
        (
            {"calls": [wanted() | {"arguments": {"x": 1}}]},
            "calls[0].arguments.x: the accepted values are a list, not 1",
        ),
        (
            {"calls": [wanted(x=("dict", [{"a": 1}]))]},
            "calls[0].arguments.x: an accepted object has a list of values for each key, not {'a': 1}",
        ),
    ],
)
def test_a_case_that_expects_no_such_thing_is_at_fault_itself(expected: Any, message: str) -> None:
    of = Case(id="c", request=Request(messages=[]), expected=expected)
    found = prepare("bfcl", of)(Transcript())
    assert isinstance(found, Infrastructure)
    assert (found.kind, found.message[: len(message)]) == ("malformed_expected", message)


def test_a_matching_that_is_not_there_is_a_fault_of_the_case() -> None:
    found = prepare("bfcl", case(ONE, matching="random"))(Transcript())
    assert found == Infrastructure(
        kind="malformed_expected", message="the option matching is 'random'; it is optimal or greedy"
    )


def test_a_flood_of_calls_is_judged_in_reasonable_time() -> None:
    many = [wanted(x=("integer", [number % 7, number % 5])) for number in range(100)]
    flood = made(*(("play", {"x": number % 11}) for number in range(1000)))
    began = time.perf_counter()
    assert scored(case(*many), flood).failure_mode == "wrong_count"
    assert scored(case(*many), Transcript(calls=flood.calls[:100])).failure_mode == "wrong_value"
    assert time.perf_counter() - began < 5


# The canaries


SET = canaries.load(canaries.builtin_directory())


def not_ok() -> set[str]:
    """The canaries of this scorer that are not ok now."""
    mine = [each for each in SET.scores if each[1] == "bfcl"]
    some = canaries.CanarySet(version="", scores=mine, parses=[], extracts=[], tool_calls=[], normalizes=[])
    return {result.id for result in canaries.run(some).cases if not result.ok}


@pytest.mark.parametrize(
    ("module", "name", "replacement", "seen"),
    [
        (bfcl_values, "folded", lambda text: text, "bfcl/string_folded"),
        (bfcl_values, "folded", lambda _: "", "bfcl/string_other"),
        (bfcl_values, "_items_fit", lambda *_: None, "bfcl/items_as_strings"),
        (bfcl_values, "_plain", lambda _: lambda _: True, "bfcl/boolean_wrong"),
        (bfcl_values, "_fits", lambda *_: True, "bfcl/object_value_wrong"),
        (bfcl_values, "_all_fit", lambda *_: True, "bfcl/objects_value_wrong"),
        (bfcl_values, "_only", lambda *_: None, "bfcl/list_reversed"),
        (bfcl_calls, "_has_assignment", lambda *_: False, "bfcl/optimal_other_order"),
        (bfcl, "parse_json", json.loads, "bfcl/arguments_duplicate_key"),
        (bfcl, "accepts", lambda *_, greedy: True, "bfcl/extra_parameter"),
        (tool_calls, "in_text", lambda text, _: tool_calls.Reading([], text), "bfcl/text_json"),
    ],
)
def test_a_rule_that_is_lost_is_seen_by_a_canary(
    module: Any, name: str, replacement: Callable[..., Any], seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not_ok() == set()
    monkeypatch.setattr(module, name, replacement)
    assert seen in not_ok()
