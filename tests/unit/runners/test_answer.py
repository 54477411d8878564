from types import SimpleNamespace

import pytest

from evaluator.runners.answer import UnusableAnswerError, read, stop_reason_of
from evaluator.transcript import Usage

USED = SimpleNamespace(prompt_tokens=11, completion_tokens=0, total_tokens=11)


def answer(usage=None, finish_reason="stop", fields=None, **message):
    choice = SimpleNamespace(
        message=SimpleNamespace(**message), finish_reason=finish_reason, provider_specific_fields=fields
    )
    return SimpleNamespace(choices=[choice], usage=usage)


def transcript(response):
    return read(response, names={"math_add": "math.add"}, structured="tool", seconds=1.0)


@pytest.mark.parametrize(
    "response", [None, SimpleNamespace(), SimpleNamespace(choices=[]), SimpleNamespace(choices="x")]
)
def test_an_answer_without_a_message_is_malformed(response):
    with pytest.raises(UnusableAnswerError, match=r"^the answer is not a chat completion: it has no choices$") as error:
        transcript(response)
    assert error.value.kind == "malformed_response"


def test_an_answer_in_which_nothing_says_that_a_model_was_asked_is_malformed():
    with pytest.raises(UnusableAnswerError, match="it has no text, no call and no usage") as error:
        transcript(answer())
    assert error.value.kind == "malformed_response"


@pytest.mark.parametrize(
    "sign",
    [
        {"content": ""},
        {"usage": USED},
        {"refusal": "No."},
        {"reasoning_content": "Let me think."},
        {"finish_reason": "length"},
        {"fields": {"native_finish_reason": "MALFORMED_FUNCTION_CALL"}},
    ],
    ids=lambda sign: next(iter(sign)),
)
def test_one_sign_of_a_model_makes_an_empty_answer_the_models_own(sign):
    assert transcript(answer(**sign)).calls == []


@pytest.mark.parametrize("word", ["error", "ERROR", "failed", "network_error", "insufficient_system_resource", "abort"])
def test_an_answer_that_the_provider_broke_off_is_its_fault_and_not_the_models(word):
    with pytest.raises(UnusableAnswerError, match=f"^the provider ended the answer with '{word}'$") as error:
        transcript(answer(content="par", usage=USED, fields={"native_finish_reason": word}))
    assert error.value.kind == "server_error"


def test_an_error_beside_the_answer_is_told_in_its_own_words():
    fields = {"error": {"code": 502, "message": "upstream is gone"}}
    with pytest.raises(UnusableAnswerError, match=r"^the provider ended the answer with 'stop': upstream is gone$"):
        transcript(answer(content="par", fields=fields))


@pytest.mark.parametrize(
    ("finish_reason", "fields"),
    [
        ("content_filter", None),
        ("content_filter", {"native_finish_reason": "OTHER"}),
        ("stop", {"native_finish_reason": "guardrail_intervened"}),
    ],
)
def test_an_answer_that_was_held_back_is_no_verdict_on_the_model(finish_reason, fields):
    with pytest.raises(UnusableAnswerError, match=r"^the provider held the answer back: ") as error:
        transcript(answer(content="par", usage=USED, finish_reason=finish_reason, fields=fields))
    assert error.value.kind == "content_filter"


@pytest.mark.parametrize("word", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "malformed_tool_use"])
def test_a_call_that_the_model_spoilt_is_the_models_fault(word):
    result = transcript(answer(content=None, usage=USED, fields={"native_finish_reason": word}))
    assert (result.text, result.stop_reason) == (None, None)


def test_text_in_parts_is_joined_and_other_parts_are_passed_over():
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, "junk", {"type": "text", "text": "b"}]
    assert transcript(answer(content=parts)).text == "ab"


def test_calls_with_parts_missing_are_kept_as_calls():
    calls = [SimpleNamespace(), SimpleNamespace(function=SimpleNamespace(name=None, arguments=None), id=7)]
    result = transcript(answer(content=None, tool_calls=calls))
    assert [(call.tool, call.arguments, call.id) for call in result.calls] == [("", "{}", None)] * 2
    assert [call.fault for call in result.calls] == ["the call has no name"] * 2


@pytest.mark.parametrize(
    ("read_tokens", "written", "total", "usage"),
    [
        (11, 7, 18, Usage(input_tokens=11, output_tokens=7)),
        (11, 0, 11, Usage(input_tokens=11, output_tokens=0)),
        (11, 0, 0, Usage(input_tokens=11)),
        (0, 7, 0, Usage(output_tokens=7)),
        (0, 0, 0, None),
        (None, None, None, None),
        (-5, -5, 1, None),
        (True, "7", 1, None),
        (10**13, 7, 1, Usage(output_tokens=7)),
    ],
)
def test_a_count_that_was_filled_in_is_unknown(read_tokens, written, total, usage):
    counts = SimpleNamespace(prompt_tokens=read_tokens, completion_tokens=written, total_tokens=total)
    assert transcript(answer(content="x", usage=counts)).usage == usage


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("tool_use", "tool_calls"),
        ("?", None),
        (3, None),
    ],
)
def test_stop_reasons_are_in_openais_words(word, reason):
    assert stop_reason_of(word) == reason
