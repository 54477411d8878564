import json
from datetime import UTC, datetime

import pytest

from evaluator.runners.retry import Failure, Policy, classify, shortened

BUSY = Failure(kind="rate_limit", message="", retryable=True)
NOW = datetime(2026, 1, 5, 12, 0, 0, tzinfo=UTC)


class Response:
    def __init__(self, headers):
        self.headers = headers


class ProviderError(Exception):
    """As the clients raise it: a status, a response with headers, a body."""

    def __init__(self, status, message="scripted", headers=None, body=None):
        super().__init__(message)
        self.status_code = status
        self.response = Response({"date": "now", **(headers or {})})
        self.body = body


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, "refused_request", False),
        (401, "authentication", False),
        (403, "authentication", False),
        (404, "refused_request", False),
        (408, "timeout", True),
        (413, "refused_request", False),
        (422, "refused_request", False),
        (429, "rate_limit", True),
        (500, "server_error", True),
        (502, "server_error", True),
        (503, "server_error", True),
        (504, "timeout", True),
        (529, "server_error", True),
        (301, "malformed_response", False),
    ],
)
def test_a_status_has_one_meaning(status, kind, retryable):
    failure = classify(ProviderError(status))
    assert (failure.kind, failure.retryable, failure.http_status) == (kind, retryable, status)


@pytest.mark.parametrize("status", [400, 404, 422])
@pytest.mark.parametrize(
    "words",
    [
        "Invalid schema for response_format 'call': 'const' is not permitted",
        "Invalid value for 'tools[0].function.parameters'",
        "json_schema is not supported by this model",
        "No endpoints found that support tool use",
    ],
)
def test_a_refusal_that_names_the_schema_or_a_tool_is_a_refused_schema(status, words):
    assert classify(ProviderError(status, words)).kind == "refused_schema"


def test_a_refusal_cannot_be_of_a_schema_that_was_not_sent():
    failure = classify(ProviderError(400, "body does not match our schema"), asks_for_structure=False)
    assert failure.kind == "refused_request"


def test_a_body_that_names_the_schema_counts_as_well_as_the_message():
    assert classify(ProviderError(400, "bad", body={"param": "response_format"})).kind == "refused_schema"


def test_a_context_that_is_too_long_is_no_refused_schema():
    class ContextWindowExceededError(ProviderError):
        pass

    assert classify(ContextWindowExceededError(400, "900 tokens in the functions")).kind == "refused_request"


def test_a_quota_that_is_used_up_is_not_tried_again():
    failure = classify(ProviderError(429, "You exceeded your quota", body={"code": "insufficient_quota"}))
    assert (failure.kind, failure.retryable) == ("rate_limit", False)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"Retry-After-Ms": "1500", "Retry-After": "9"}, 1.5),
        ({"Retry-After": "Mon, 05 Jan 2026 12:00:30 GMT"}, 30.0),
        ({"Retry-After": "Mon, 05 Jan 2026 11:00:00 GMT"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": ""}, None),
        ({"Retry-After": "Mon, 99 Foo 99999999999 12:00:30 GMT"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_seconds_milliseconds_and_as_a_date(headers, seconds):
    assert classify(ProviderError(429, headers=headers), now=NOW).retry_after == seconds


def raised_from(outer, inner):
    outer.__context__ = inner  # as `raise` within `except` leaves it
    return outer


class Unanswered(Exception):  # noqa: N818
    """As litellm wraps whatever happened without an answer: status 500 and no headers."""

    status_code = 500
    response = Response({})


def test_a_reset_connection_is_a_connection_failure_though_litellm_says_500():
    failure = classify(raised_from(Unanswered("Connection error."), ConnectionResetError("reset by peer")))
    assert (failure.kind, failure.retryable, failure.http_status) == ("connection", True, None)


def test_a_body_that_is_no_json_is_a_malformed_response_and_not_paid_for_twice():
    try:
        json.loads("<html>")
    except ValueError as error:
        failure = classify(raised_from(Unanswered("litellm.InternalServerError: OpenAIException - x"), error))
    assert (failure.kind, failure.retryable) == ("malformed_response", False)
    assert failure.message == "the answer is not a chat completion: Expecting value: line 1 column 1 (char 0)"


def test_a_missing_key_is_an_authentication_failure():
    failure = classify(Unanswered("Missing Gemini API key. Set the GEMINI_API_KEY environment variable."))
    assert (failure.kind, failure.retryable) == ("authentication", False)


def test_a_timeout_is_a_timeout_however_it_is_wrapped():
    failure = classify(raised_from(Unanswered("Request timed out."), TimeoutError()))
    assert (failure.kind, failure.retryable, failure.congested) == ("timeout", True, True)


def test_causes_that_lead_in_a_circle_end():
    first, second = Unanswered("a"), Unanswered("b")
    first.__context__, second.__context__ = second, first
    assert classify(first).kind == "malformed_response"


def test_the_message_is_the_providers_without_the_wrapping():
    error = ProviderError(500, "litellm.InternalServerError: InternalServerError: OpenAIException - disk on fire")
    assert classify(error).message == "disk on fire"


def test_a_message_is_one_short_well_formed_line():
    line = shortened("a\n::error::b\ud800" + "x" * 1000)
    assert line.startswith("a ::error::b\ufffdx")
    assert len(line) == 500


@pytest.mark.parametrize("status", [429, 503, 529])
def test_signs_of_congestion_are_told_from_other_failures(status):
    assert classify(ProviderError(status)).congested
    assert not classify(ProviderError(500)).congested


def test_backoff_doubles_from_the_first_second_up_to_the_longest_wait():
    policy = Policy(tries=20, first=1.0, longest=10.0, patience=1e9)
    waits = [policy.wait(BUSY, tried, 0.0, lambda: 0.999999) for tried in range(1, 7)]
    assert waits == pytest.approx([1, 2, 4, 8, 10, 10], rel=1e-4)


def test_backoff_has_full_jitter():
    assert Policy().wait(BUSY, 3, 0.0, lambda: 0.0) == 0.0
    assert Policy().wait(BUSY, 3, 0.0, lambda: 0.5) == 2.0


def test_what_the_provider_asks_for_is_waited_up_to_the_longest_wait():
    policy = Policy(longest=60.0)
    asked = Failure(kind="rate_limit", message="", retryable=True, retry_after=7.0)
    assert policy.wait(asked, 1, 0.0, lambda: 0.1) == 7.0
    too_long = Failure(kind="rate_limit", message="", retryable=True, retry_after=86400.0)
    assert policy.wait(too_long, 1, 0.0, lambda: 0.1) == 60.0


def test_tries_and_patience_are_bounded():
    policy = Policy(tries=3, patience=100.0)
    assert policy.wait(BUSY, 2, 0.0, lambda: 0.5) is not None
    assert policy.wait(BUSY, 3, 0.0, lambda: 0.5) is None
    assert policy.wait(BUSY, 1, 99.9, lambda: 0.5) is None


def test_timeouts_are_tried_less_often_since_each_takes_long():
    late = Failure(kind="timeout", message="", retryable=True)
    assert Policy().wait(late, 2, 0.0, lambda: 0.5) is not None
    assert Policy().wait(late, 3, 0.0, lambda: 0.5) is None


def test_a_final_failure_is_not_waited_for():
    refused = Failure(kind="refused_schema", message="", retryable=False, retry_after=1.0)
    assert Policy().wait(refused, 1, 0.0, lambda: 0.5) is None


UNREACHED = Failure(kind="connection", message="", retryable=True, unreached="127.0.0.1:9")


def test_a_server_that_has_never_answered_is_tried_less_often():
    assert Policy().wait(UNREACHED, 2, 0.0, lambda: 0.5, answered=False) is not None
    assert Policy().wait(UNREACHED, 3, 0.0, lambda: 0.5, answered=False) is None


def test_a_server_that_has_answered_before_is_tried_as_often_as_any():
    assert Policy().wait(UNREACHED, 7, 0.0, lambda: 0.5, answered=True) is not None


@pytest.mark.parametrize("failure", [BUSY, Failure(kind="connection", message="reset", retryable=True)])
def test_other_failures_are_tried_as_often_before_the_first_answer(failure):
    assert Policy().wait(failure, 7, 0.0, lambda: 0.5, answered=False) is not None


def test_a_refused_connection_names_the_address_and_the_cause():
    class ClientConnectorError(OSError):
        host, port = "models.test", 8080

    told = raised_from(ClientConnectorError("Cannot connect to host"), ConnectionRefusedError("Connect call failed"))
    failure = classify(raised_from(Unanswered("Connection error."), told))
    assert (failure.kind, failure.unreached, failure.message) == (
        "connection",
        "models.test:8080",
        "Connect call failed",
    )


def test_a_refused_connection_of_an_unknown_address_is_one_all_the_same():
    failure = classify(raised_from(Unanswered("Connection error."), ConnectionRefusedError("refused")))
    assert (failure.kind, failure.unreached) == ("connection", "")


def test_a_connection_that_was_made_and_cut_is_no_server_that_is_not_there():
    assert classify(raised_from(Unanswered("x"), ConnectionResetError("reset by peer"))).unreached is None
