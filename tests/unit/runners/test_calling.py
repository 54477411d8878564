"""When an interrupted run may be taken up again, and whose answers those are."""

import dataclasses

import pytest

from evaluator.cases import Request
from evaluator.runners.calling import endpoint_of, worth_resuming
from evaluator.runners.schedule import Job, Outcome
from evaluator.transcript import Infrastructure, Transcript

JOB = Job("task", "case", 1, Request(messages=[]))
ANSWERED = Outcome(JOB, Transcript(text="x"))
TAKEN_UP = Outcome(JOB, Transcript(text="x"), resumed=True)


def failed(kind, *, not_run=False):
    return Outcome(JOB, Infrastructure(kind=kind, message="no"), not_run=not_run)


def test_a_run_that_answered_everything_is_not_taken_up_again():
    assert not worth_resuming([ANSWERED, TAKEN_UP])


@pytest.mark.parametrize(
    "kind",
    ["refused_request", "refused_schema", "rate_limit", "server_error", "timeout", "connection", "content_filter"],
)
def test_a_run_that_came_to_its_end_is_not_taken_up_again_although_an_attempt_failed(kind):
    assert not worth_resuming([ANSWERED, failed(kind)])


@pytest.mark.parametrize("kind", ["cancelled", "time_limit", "cost_limit", "authentication"])
@pytest.mark.parametrize("not_run", [True, False], ids=["not run", "cut off"])
def test_a_run_that_was_cut_short_is_taken_up_again(kind, not_run):
    assert worth_resuming([ANSWERED, failed(kind, not_run=not_run)])


@pytest.mark.parametrize("kind", ["time_limit", "cost_limit", "authentication"])
def test_a_run_that_was_cut_short_without_any_new_answer_is_not_taken_up_for_ever(kind):
    assert not worth_resuming([TAKEN_UP, TAKEN_UP, failed(kind, not_run=True)])


@pytest.mark.parametrize("kind", ["time_limit", "cost_limit"])
def test_what_every_run_asks_afresh_is_no_new_answer(kind):
    fresh = Outcome(dataclasses.replace(JOB, fresh=True), Transcript(text="x"))
    assert not worth_resuming([fresh, TAKEN_UP, failed(kind, not_run=True)])
    assert worth_resuming([fresh, ANSWERED, failed(kind, not_run=True)])


def test_a_run_that_was_cancelled_keeps_what_it_had_taken_up():
    assert worth_resuming([TAKEN_UP, failed("cancelled", not_run=True)])


@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_API_BASE", "OPENAI_BASE_URL", "WATSONX_API_URL", "WATSONX_URL", "AWS_BEDROCK_RUNTIME_ENDPOINT"),
        *(
            "AWS_ENDPOINT_URL",
            "AWS_REGION",
            "AWS_REGION_NAME",
            "VERTEXAI_LOCATION",
            "DATABRICKS_HOST",
            "openai_api_base",
        ),
    ],
)
def test_another_address_is_another_endpoint(name):
    here = endpoint_of({"PATH": "/bin", name: "http://127.0.0.1:1"})
    assert here != endpoint_of({"PATH": "/bin", name: "http://127.0.0.1:2"})
    assert here != endpoint_of({"PATH": "/bin"})


def test_other_variables_and_empty_ones_are_no_part_of_the_endpoint():
    assert endpoint_of({"OPENAI_API_KEY": "a", "HOME": "/a", "OPENAI_API_BASE": ""}) == endpoint_of({"HOME": "/b"})


def test_the_endpoint_is_a_digest_so_that_no_address_is_written():
    assert "secret" not in endpoint_of({"OPENAI_API_BASE": "https://user:secret@host"})
