import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator import canaries
from evaluator.cases import Case, Request
from evaluator.closure import suite
from evaluator.results import Score
from evaluator.scoring import closure, prepare
from evaluator.scoring.closure_structures import READERS
from evaluator.transcript import Infrastructure, Transcript

TURN_END = {"turn_end": ["<|im_end|>", "</s>"]}


def scored(
    form: str,
    prefix: str,
    answer: str | None,
    expected: str | None = None,
    *,
    content: str | None = None,
    stop: str | None = "stop",
    options: dict[str, Any] | None = None,
) -> Any:
    wanted = {"format": form} | ({"text": expected} if expected is not None else {"content": content})
    case = Case(id="a", request=Request(messages=[], prefix=prefix), expected=wanted, options=options or {})
    return prepare("closure", case)(Transcript(text=answer, stop_reason=stop))


def said(score: Any) -> tuple[Any, ...]:
    assert isinstance(score, Score), score
    values = score.values
    return score.failure_mode, values["syntax_complete"], values["content_preserved"], values["trailing_content"]


def finding(score: Any) -> tuple[str, str, str | None]:
    first = score.findings[0]
    return first.path, first.keyword, first.message


def test_a_structure_that_closes_with_its_content_passes_and_so_does_the_whole_response():
    score = scored("json", '{"a": 1', ', "b": 2}\n', '{"a": 1, "b": 2}')
    assert score.passed
    assert score.findings == []
    assert score.values == {
        "score": 1.0,
        "syntax_complete": 1.0,
        "content_preserved": 1.0,
        "trailing_content": 0.0,
        "whole_response_success": 1.0,
    }


def test_what_follows_the_structure_leaves_its_content_and_spoils_the_whole_response():
    score = scored("json", '{"a": 1', "} Here you are.", '{"a": 1}')
    assert said(score) == (None, 1.0, 1.0, 1.0)
    assert score.values["whole_response_success"] == 0.0
    assert (score.findings[0].keyword, score.findings[0].got, score.findings[0].note) == (
        "trailing_content",
        "Here you are.",
        True,
    )


def test_a_structure_closed_too_early_is_complete_and_its_content_changed():
    score = scored("json", '{"a": 1', "}", '{"a": 1, "b": 2}')
    assert said(score) == ("content_changed", 1.0, 0.0, 0.0)
    assert finding(score) == ("$.b", "required", "it is missing")


def test_no_text_at_all_is_unparseable_and_an_empty_text_is_a_continuation():
    assert said(scored("json", '{"a": 1', None, '{"a": 1}'))[0] == "unparseable"
    assert said(scored("json", '{"a": 1', "", '{"a": 1}'))[0] == "syntax_incomplete"
    assert said(scored("json", '{"a": 1}', "", '{"a": 1}'))[0] is None


# Hostile continuations


@pytest.mark.parametrize(
    ("form", "prefix", "answer", "expected"),
    [
        ("json", '{"a": "x}', '}", "b": "]"}', '{"a": "x}}", "b": "]"}'),
        ("json", '{"a": "\\"', '}"}', '{"a": "\\"}"}'),
        ("json", '{"a": "\\\\"', "}", '{"a": "\\\\"}'),
        ("json_string", '"a\\', 'u00e9"', '"\\u0061é"'),
        ("json_string", '"a\\', '\\"', '"a\\\\"'),
        ("tool_call", '<tool_call>\n{"name": "f", "arg', 'uments": {}}</tool_call>', "SAME"),
        ("reasoning", "<think>\na < b", " </think>", "SAME"),
        ("code_fence", "~~~\na", "\n```\n~~~", "~~~\na\n```\n~~~"),
        ("code_fence", "````md\n```\n", "a\n```\n````", "````md\n```\na\n```\n````"),
        ("code_fence", "```\na\n`", "``", "```\na\n```"),
        ("code_fence", "```\na", "\n```` \t", "```\na\n```"),
        ("code_fence", "  ```\n  a", "\n ```", "```\na\n```"),
        ("code_fence", "```\r\na", "\r\n```", "```\na\n```"),
        ("code_fence", "```\n", "```", "```\n```"),
    ],
)
def test_what_only_looks_like_an_end_is_none(form, prefix, answer, expected):
    score = scored(form, prefix, answer, prefix + answer if expected == "SAME" else expected)
    assert said(score) == (None, 1.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("form", "prefix", "answer", "keyword", "message"),
    [
        ("json", '{"a": [1', "}", "bracket", "} where ] is open"),
        ("json", '{"a": [1', "", "closer", "2 brackets are not closed"),
        ("json", '{"a": "x', "}", "closer", "a string does not end"),
        ("json", "no", "thing", "opener", "no object or array begins"),
        ("json", '{"a": 1', ', "a": 1}', "duplicate_key", 'a key stands twice in one object: "a" (line 1, column 10)'),
        ("json", "[", "NaN]", "not_finite", "not a JSON number: NaN (line 1, column 2)"),
        ("json", "[1", " 2]", "json", "not JSON: Expecting ',' delimiter (line 1, column 4)"),
        ("json_string", '"a\\', '"', "closer", "the string does not end"),
        ("json_string", '"a', '\n"', "json", "not JSON: Invalid control character at (line 1, column 3)"),
        ("json_string", "a", "b", "opener", "no string begins"),
        (
            "tool_call",
            "<tool_call>",
            '<tool_call>{"name": "f", "arguments": {}}</tool_call>',
            "repeated_opener",
            "<tool_call> stands twice before the call is closed",
        ),
        ("tool_call", "<tool_call>", '{"name": "f"}</tool_call>', "call", "the payload's arguments are no object"),
        ("tool_call", "<tool_call>", "[1]</tool_call>", "call", "the payload is not an object"),
        ("tool_call", "<tool_call>", '{"arguments": {}}</tool_call>', "call", "the payload has no name"),
        ("tool_call", "<tool_call>", '{"name": "f", "arguments": {}}', "closer", "</tool_call> is not there"),
        ("reasoning", "<think>a", "", "closer", "</think> is not there"),
        ("code_fence", "```\na", "\n~~~", "closer", "no line closes the fence ```"),
        ("code_fence", "````\na", "\n```", "closer", "no line closes the fence ````"),
        ("code_fence", "```\na", "\n``` b", "closer", "no line closes the fence ```"),
        ("code_fence", "```\na", "\n    ```", "closer", "no line closes the fence ```"),
        ("code_fence", "``` a`", "\n```", "closer", "no line closes the fence ```"),
    ],
)
def test_what_is_no_complete_structure_is_told_with_the_reason(form, prefix, answer, keyword, message):
    expected = {
        "json": "[]",
        "json_string": '""',
        "tool_call": '<tool_call>{"name": "f", "arguments": {}}</tool_call>',
        "reasoning": "<think>a</think>",
        "code_fence": "```\na\n```",
    }[form]
    score = scored(form, prefix, answer, expected)
    assert said(score) == ("syntax_incomplete", 0.0, 0.0, 0.0)
    assert finding(score) == ("$", keyword, message)


@pytest.mark.parametrize("answer", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000, "}" * 100_000])
def test_a_hundred_thousand_brackets_are_an_incomplete_structure_and_take_no_time(answer):
    began = time.perf_counter()
    assert said(scored("json", "[", answer, "[]"))[0] == "syntax_incomplete"
    assert time.perf_counter() - began < 2


@pytest.mark.parametrize("form", sorted(READERS))
def test_megabytes_of_half_openers_take_no_time(form):
    expected = '<tool_call>{"name": "f", "arguments": {}}</tool_call>' if form == "tool_call" else None
    content = {"json": "[]", "json_string": "", "reasoning": "a", "code_fence": "a"}.get(form)
    began = time.perf_counter()
    for part in ("\\", '"\\', "`" * 3 + " ", "\n   ~~~", "<think>", "<tool_call>", " " * 7 + "\n"):
        scored(form, "", part * 50_000, expected, content=content)
    assert time.perf_counter() - began < 5


# Turn-end markers and stop reasons


@pytest.mark.parametrize(
    ("answer", "stop", "trailing"),
    [
        ("}<|im_end|>", "stop", 0.0),
        ("}</s>", "stop", 0.0),
        ("}<|im_end|><|im_end|>", "stop", 1.0),
        ("}<|im_end|>", "length", 1.0),
        ("}<|im_end|>", None, 1.0),
        ("} <|im_end|> x", "stop", 1.0),
    ],
)
def test_one_turn_end_marker_is_removed_where_the_model_stopped_by_itself(answer, stop, trailing):
    assert said(scored("json", '{"a": 1', answer, '{"a": 1}', stop=stop, options=TURN_END)) == (None, 1, 1, trailing)


def test_a_turn_end_marker_in_the_content_stays():
    assert scored("json_string", '"<|im_', 'end|>"', '"<|im_end|>"', options=TURN_END).passed


@pytest.mark.parametrize("marker", ["</think>", "}", "]", '"', "```", "~~~~"])
def test_no_closer_is_removed_whatever_it_is_called(marker):
    assert closure.without_turn_end("x" + marker, "length", [marker]) == "x" + marker
    assert scored("reasoning", "<think>a", "</think>", "<think>a</think>", options={"turn_end": [marker]}).passed
    assert scored("json", '{"a": [1', "]}", '{"a": [1]}', options={"turn_end": [marker]}).passed


def test_an_answer_cut_at_the_token_limit_passes_with_all_closers_and_says_so_without():
    assert said(scored("json", '{"a": 1', "}", '{"a": 1}', stop="length")) == (None, 1.0, 1.0, 0.0)
    score = scored("json", '{"a": 1', ', "b"', '{"a": 1}', stop="length")
    assert finding(score) == ("$", "closer", "1 bracket is not closed; the answer ended at the token limit")


# Equality


@pytest.mark.parametrize(
    ("answer", "expected", "path", "keyword", "wanted", "got"),
    [
        ("[1.0]", "[1]", None, None, None, None),
        ("[true]", "[1]", "$[0]", "value", 1, True),
        ('["1"]', "[1]", "$[0]", "value", 1, "1"),
        ("[1, 2]", "[1]", "$", "items", 1, 2),
        ('[{"a": {"b": [0, 2]}}]', '[{"a": {"b": [0, 1]}}]', "$[0].a.b[1]", "value", 1, 2),
        ('[{"b": 1, "a": 1}]', '[{"a": 1, "b": 1}]', None, None, None, None),
    ],
)
def test_contents_are_equal_as_json_values_and_the_first_difference_is_named(
    answer, expected, path, keyword, wanted, got
):
    score = scored("json", "", answer, expected)
    assert score.passed == (path is None)
    if path is not None:
        first = score.findings[0]
        assert (first.path, first.keyword, first.wanted, first.got) == (path, keyword, wanted, got)


def test_the_place_is_told_where_long_texts_differ():
    score = scored("reasoning", "<think>", "a" * 300 + "c</think>", "<think>" + "a" * 300 + "b</think>")
    assert score.findings[0].message == "differs from character 301 on"
    assert score.findings[0].wanted == "a" * 20 + "b"


def test_deep_contents_are_compared_without_a_crash():
    deep = "[" * 499 + "1" + "]" * 499
    score = scored("json", "", deep.replace("1", "2"), deep)
    assert score.failure_mode == "content_changed"
    assert score.findings[0].path.startswith("$[0][0]")


# What is wrong with the case itself


@pytest.mark.parametrize(
    ("form", "text", "content", "message"),
    [
        ("json", None, '{"a": 1, "a": 2}', "the expected content is no JSON: a key stands twice in one object"),
        ("json", '{"a": 1, "a": 2}', None, "the expected text is no complete json: a key stands twice"),
        ("json", '{"a": 1', None, "the expected text is no complete json: 1 bracket is not closed"),
        ("json", "{} {}", None, "the expected text goes on after the json"),
        ("json_string", None, None, "the expected content of a json_string is a text"),
        ("yaml", None, "a", "no format 'yaml'; known are json, json_string, tool_call, reasoning, code_fence"),
    ],
)
def test_an_expectation_that_no_answer_could_meet_is_nobodys_failure(form, text, content, message):
    result = scored(form, "", "{}", text, content=content)
    assert isinstance(result, Infrastructure)
    assert result.kind == "malformed_expected"
    assert message in result.message


def test_a_task_may_have_delimiters_of_its_own():
    options = {"delimiters": {"tool_call": ["[CALL]", "[/CALL]"]}}
    text = '[CALL]{"name": "f", "arguments": {}}[/CALL]'
    assert scored("tool_call", text[:10], text[10:], text, options=options).passed
    assert scored("reasoning", "<think>a", "</think>", "<think>a</think>", options=options).passed


# Properties

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(value=st.lists(values) | st.dictionaries(st.text(), values), data=st.data())
def test_any_json_cut_anywhere_passes_with_the_rest_of_it_and_never_with_less(value, data):
    text = json.dumps(value)
    cut = data.draw(st.integers(1, len(text) - 1))
    assert said(scored("json", text[:cut], text[cut:], text)) == (None, 1.0, 1.0, 0.0)
    assert said(scored("json", text[:cut], text[cut:-1], text))[0] == "syntax_incomplete"


@given(value=st.text(), data=st.data())
def test_any_string_cut_anywhere_passes_with_the_rest_of_it(value, data):
    text = json.dumps(value)
    cut = data.draw(st.integers(1, len(text) - 1))
    assert scored("json_string", text[:cut], text[cut:], text).passed


@given(form=st.sampled_from(sorted(READERS)), answer=st.text(alphabet='{}[]"\\`~<>/think_toolcl\n\r :,1a'))
def test_no_answer_makes_the_scorer_fail(form, answer):
    expected = '<tool_call>{"name": "f", "arguments": {}}</tool_call>' if form == "tool_call" else None
    result = scored(form, "", answer, expected, content="[]")
    assert isinstance(result, Score)
    assert result.passed == (result.failure_mode is None) == (result.values["content_preserved"] == 1.0)


# Canaries

CANARIES = [canary for canary, scorer, _ in canaries.load(canaries.builtin_directory()).scores if scorer == "closure"]


@pytest.mark.parametrize("group", [group.name for group in suite.GROUPS])
def test_every_family_and_control_has_a_canary_that_passes_and_one_that_fails(group):
    found = {canary.id: canary.verdict.split()[0] for canary in CANARIES if canary.id.startswith(f"closure/{group}/")}
    assert found == {f"closure/{group}/right": "passed", f"closure/{group}/wrong": "failed"}


@pytest.mark.parametrize(
    ("name", "replacement"),
    [
        ("strictly_equal", lambda got, wanted: True),
        ("strictly_equal", lambda got, wanted: got == wanted),
        ("without_turn_end", lambda text, stop, markers: text),
        ("without_turn_end", lambda text, stop, markers: text.removesuffix(markers[0]) if markers else text),
        ("is_closer", lambda text, delimiters: False),
        ("delimiters_of", lambda options: closure._USUAL),
    ],
)
def test_a_scorer_that_was_changed_is_seen_by_a_canary(name, replacement, monkeypatch):
    monkeypatch.setattr(closure, name, replacement)
    results = canaries.run(canaries.load(canaries.builtin_directory())).cases
    assert any(not result.ok for result in results if result.id.startswith("closure/"))


def test_a_case_that_names_no_content_expects_nothing_that_could_be_right():
    from evaluator.cases import Case, Request
    from evaluator.scoring import prepare
    from evaluator.transcript import Transcript

    case = Case(id="a", request=Request(messages=[], prefix="["), expected={"format": "json"})
    assert prepare("closure", case)(Transcript(text="]", stop_reason="stop")).kind == "malformed_expected"
