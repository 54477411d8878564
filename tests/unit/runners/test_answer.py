from types import SimpleNamespace

import pytest

from evaluator.runners.answer import MalformedAnswerError, read, stop_reason_of
from evaluator.transcript import Usage


def answer(usage=None, **message):
    choice = SimpleNamespace(message=SimpleNamespace(**message), finish_reason="stop")
    return SimpleNamespace(choices=[choice], usage=usage)


def transcript(response):
    return read(response, names={"math_add": "math.add"}, structured="tool", seconds=1.0)


@pytest.mark.parametrize(
    "response", [None, SimpleNamespace(), SimpleNamespace(choices=[]), SimpleNamespace(choices="x")]
)
def test_an_answer_without_a_message_is_malformed(response):
    with pytest.raises(MalformedAnswerError, match="it has no choices"):
        transcript(response)


def test_an_answer_with_nothing_in_it_is_a_transcript_without_text():
    result = transcript(answer())
    assert (result.text, result.calls, result.usage) == (None, [], None)


def test_text_in_parts_is_joined_and_other_parts_are_passed_over():
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, "junk", {"type": "text", "text": "b"}]
    assert transcript(answer(content=parts)).text == "ab"


def test_calls_with_parts_missing_are_kept_as_calls():
    calls = [SimpleNamespace(), SimpleNamespace(function=SimpleNamespace(name=None, arguments=None), id=7)]
    result = transcript(answer(content=None, tool_calls=calls))
    assert [(call.tool, call.arguments, call.id) for call in result.calls] == [("", "", None)] * 2


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
