"""The runner and the scorer on the example's cases, with a real model behind litellm and a real socket."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.model


def chosen(task, *ids):
    cases = {case.id: case for case in task.cases}
    return [cases[case_id] for case_id in ids]


def test_an_answer_constrained_by_the_schema_is_a_valid_call_of_the_function(task, ask, score):
    cases = chosen(task, "refund-partial", "calendar-cancel", "calendar-invite")
    transcripts = ask(cases, "schema")
    for case, transcript in zip(cases, transcripts, strict=True):
        answer = json.loads(transcript.text)
        assert isinstance(answer, dict), transcript.text
        assert set(answer) == {"name", "arguments"}
        assert answer["name"] == case.request.function["name"]
        assert (transcript.stop_reason, transcript.structured) == ("stop", "schema")
        assert transcript.usage.input_tokens > 50
        assert 10 < transcript.usage.output_tokens < 72
    assert [attempt.values["schema_valid"] for attempt in score(cases, transcripts).values()] == [1.0, 1.0, 1.0]


def test_the_same_request_gets_the_same_answer_whatever_was_asked_before(task, ask):
    first, second, third = chosen(task, "refund-full", "ticket-close", "shipping-quote")
    before = [transcript.text for transcript in ask([first, second], "schema")]
    after = [transcript.text for transcript in ask([third, second, first], "schema")]
    assert before == [after[2], after[1]]


def test_without_the_schema_the_answer_is_scored_as_the_models_failure_and_says_where(task, ask, score):
    cases = chosen(task, "refund-full", "price-change")
    transcripts = ask(cases, "prompt")
    assert [transcript.structured for transcript in transcripts] == ["prompt", "prompt"]
    for attempt in score(cases, transcripts).values():
        assert (attempt.status, attempt.passed) == ("scored", False), attempt.transcript.text
        assert attempt.failure_mode in ("truncated", "unparseable")
        assert "json" in {finding.keyword for finding in attempt.findings}
