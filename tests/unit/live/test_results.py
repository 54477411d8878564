"""Each attempt in a word: what came back, and what was refused for which reason."""

import msgspec
import pytest

from evaluator.live import canaries, results
from evaluator.live.canaries import REFERENCE
from evaluator.transcript import Call, Infrastructure, Transcript, Usage
from tests.unit.live.builders import REFUSED_REQUEST, REFUSED_SCHEMA, answer, every

ENUM = canaries.by_id("schema/enum")
TOOL = canaries.by_id("tool/enum")
ANSWERED = ("plain", Transcript(text="ready"))


def words(*attempts):
    return {each.id: each.attempts for each in results.of(attempts).canaries}


@pytest.mark.parametrize("canary", every(), ids=lambda canary: canary.id)
def test_the_answer_that_is_asked_for_is_valid_unless_the_schema_forbids_it(canary):
    given = words((canary.id, answer(canary, canary.shape.asked)))
    assert given == {canary.id: ["invalid" if canary.shape.forbidden else "valid"]}


@pytest.mark.parametrize("canary", every(), ids=lambda canary: canary.id)
def test_an_answer_that_its_schema_forbids_is_invalid(canary):
    assert words((canary.id, answer(canary, {"code": "c60", "counts": {"a": "one"}}))) == {canary.id: ["invalid"]}


def test_json_is_found_where_scorers_find_it():
    good = answer(ENUM, {"code": "c00"}).text
    for text in (good, f"Here it is:\n```json\n{good}\n```", f"Sure. {good} Done."):
        assert results.is_valid(ENUM, Transcript(text=text))


@pytest.mark.parametrize(
    "text",
    [None, "", "c47", "[]", '{"code": "c47"}', '{"name": "canary_enum", "arguments": {"code": "c47"}, "more": 1}'],
)
def test_text_that_is_not_what_the_response_schema_says_is_invalid(text):
    assert not results.is_valid(ENUM, Transcript(text=text))


def test_the_name_of_the_function_is_part_of_a_response_schema():
    assert not results.is_valid(ENUM, Transcript(text='{"name": "other", "arguments": {"code": "c47"}}'))


@pytest.mark.parametrize(
    "calls",
    [
        [],
        [Call(tool="other", arguments='{"code": "c47"}')],
        [Call(tool="canary_enum", arguments='{"code": "c47"')],
        [Call(tool="canary_enum", arguments='{"code": "c47"}', fault="malformed")],
        [Call(tool="canary_enum", arguments='{"code": "c47"}'), Call(tool="canary_enum", arguments="{}")],
    ],
)
def test_a_call_that_is_missing_or_wrong_is_invalid(calls):
    assert not results.is_valid(TOOL, Transcript(text='{"code": "c47"}', calls=calls))


def test_what_was_cut_off_is_invalid_even_where_it_would_do():
    good = answer(ENUM, {"code": "c47"})
    assert not results.is_valid(ENUM, msgspec.structs.replace(good, stop_reason="length"))
    assert not results.is_valid(ENUM, msgspec.structs.replace(good, cut=1))


def test_to_plain_text_any_answer_is_right():
    for given in (Transcript(text="no"), Transcript(text="re", stop_reason="length")):
        assert results.is_valid(REFERENCE, given)


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("refused_schema", "refused"),
        ("refused_request", "refused"),
        ("authentication", "authentication"),
        ("rate_limit", "rate_limit"),
        ("server_error", "server_error"),
        ("timeout", "timeout"),
        ("content_filter", "content_filter"),
        ("cancelled", "cancelled"),
    ],
)
def test_beside_an_answered_reference_a_refusal_is_the_schemas_and_every_failure_keeps_its_name(kind, word):
    failure = Infrastructure(kind=kind, message="m", http_status=400)
    assert words(ANSWERED, (ENUM.id, failure)) == {"plain": ["valid"], ENUM.id: [word]}


def test_where_plain_text_is_refused_as_well_no_schema_is_called_refused():
    given = words(("plain", REFUSED_REQUEST), (ENUM.id, REFUSED_SCHEMA), (TOOL.id, REFUSED_REQUEST))
    assert given == {"plain": ["bad_request"], ENUM.id: ["bad_request"], TOOL.id: ["bad_request"]}


def test_one_answer_to_plain_text_is_enough_to_know_that_requests_are_taken():
    given = words(("plain", REFUSED_REQUEST), ANSWERED, (ENUM.id, REFUSED_SCHEMA))
    assert given == {"plain": ["refused_request", "valid"], ENUM.id: ["refused"]}


def test_without_word_on_plain_text_only_a_refusal_that_names_the_schema_is_one():
    lost = Infrastructure(kind="timeout", message="late")
    given = words(("plain", lost), (ENUM.id, REFUSED_SCHEMA), (TOOL.id, REFUSED_REQUEST))
    assert given == {"plain": ["timeout"], ENUM.id: ["refused"], TOOL.id: ["refused_request"]}


@pytest.mark.parametrize(
    "message",
    [
        "Could not finish the message because max_tokens or model output limit was reached.",
        "This model's maximum context length is 100 tokens",
    ],
)
def test_a_refusal_for_its_length_says_nothing_of_a_schema(message):
    failure = Infrastructure(kind="refused_request", message=message, http_status=400)
    assert words(ANSWERED, (ENUM.id, failure))[ENUM.id] == ["refused_request"]
    assert words(ANSWERED, (ENUM.id, REFUSED_SCHEMA), (ENUM.id, failure))[ENUM.id] == ["refused", "refused_request"]


def test_the_first_thing_that_the_provider_said_is_kept_as_one_short_line():
    said = Infrastructure(kind="refused_schema", message="a\n" + "b\ud800" * 400)
    found = results.of([ANSWERED, (ENUM.id, said), (ENUM.id, REFUSED_SCHEMA)])
    (message,) = [each.message for each in found.canaries if each.id == ENUM.id]
    assert len(message) == 300
    assert message.startswith("a b�b�")
    assert message.endswith("…")
    assert [each.message for each in found.canaries if each.id == "plain"] == [""]


def test_usage_is_of_all_of_them_and_unknown_where_one_is():
    usage = Usage(input_tokens=10, output_tokens=2, cost_usd=0.5)
    priced = Transcript(text="x", usage=usage)
    found = results.of([("plain", priced), (ENUM.id, priced), (ENUM.id, REFUSED_SCHEMA)])
    assert found.usage == Usage(input_tokens=20, output_tokens=4, cost_usd=1.0)
    assert results.of([("plain", priced), (ENUM.id, Transcript(text="x"))]).usage is None
    assert results.of([("plain", REFUSED_REQUEST)]).usage is None


def test_attempts_stand_in_their_order_under_the_digest_of_what_was_sent():
    good, bad = answer(ENUM, {"code": "c01"}), Transcript(text="no")
    (found,) = results.of([(ENUM.id, good), (ENUM.id, bad), (ENUM.id, good)]).canaries
    assert found.attempts == ["valid", "invalid", "valid"]
    assert found.digest == canaries.digest(ENUM)
