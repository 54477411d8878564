"""Further tries after feedback on a fault of shape, over the wire."""

import dataclasses
import json

import pytest

from evaluator.cases import Frozen, Request
from evaluator.config.types import Price
from evaluator.transcript import Call, Infrastructure, Usage
from tests.integration.runners.conftest import ADD, ASK
from tests.servers.model_server import ModelServer, Reply, anthropic

GOOD = '{"name": "math.add", "arguments": {"a": 2, "b": 3}}'
BAD = '{"name": "math.add", "arguments": {"a": 2, "b": "3"}}'
WRONG = "field $.b failed type: expected integer, got string"
PRICE = Price(input_per_million=1.0, output_per_million=10.0)
ONE, TWO, THREE = (Usage(input_tokens=11 * n, output_tokens=7 * n) for n in (1, 2, 3))


@pytest.fixture
def tried(attempt):
    def make(script, request=ASK, *, retry=3, **fields):
        with ModelServer(script) as server:
            result = attempt(server, request, retry=retry, **fields)
            return result, [body["messages"] for body in server.bodies]

    return make


def calls(*arguments):
    return Reply(tool_calls=[("math_add", text) for text in arguments])


# A single answer


def test_a_fault_goes_back_in_words_and_the_first_try_stays_the_transcript(tried):
    result, sent = tried([Reply(text=BAD), Reply(text=GOOD)], price=PRICE)
    assert result.text == BAD
    (later,) = result.later
    assert (later.text, later.later) == (GOOD, None)
    assert (later.usage.input_tokens, later.usage.cost_usd) == (11, pytest.approx(81e-6))
    assert (result.usage.input_tokens, result.usage.cost_usd) == (22, pytest.approx(162e-6))
    assert sent[1] == [
        *ASK.messages,
        {"role": "assistant", "content": BAD},
        {"role": "user", "content": f"{WRONG}\nGive the whole answer again, with this mended."},
    ]


def test_a_fault_that_stays_is_tried_as_often_as_is_allowed_and_no_more(tried):
    result, sent = tried(Reply(text="five"), retry=3)
    assert [result.text, *(each.text for each in result.later)] == ["five"] * 3
    assert (result.usage, [each.usage for each in result.later]) == (THREE, [ONE, ONE])
    assert [len(messages) for messages in sent] == [1, 3, 5]
    assert sent[1][-1]["content"].startswith("the output is no call: not JSON: Expecting value (line 1, column 1)\n")


def test_an_answer_without_a_fault_is_not_tried_again_but_says_that_it_might_have_been(tried):
    result, sent = tried(Reply(text=GOOD))
    assert (result.later, result.usage, len(sent)) == ([], ONE, 1)


def test_without_retry_a_fault_is_an_answer_like_any_other(tried):
    result, sent = tried(Reply(text=BAD), retry=1)
    assert (result.text, result.later, len(sent)) == (BAD, None, 1)


def test_an_answer_cut_off_at_the_token_limit_is_not_tried_again(tried):
    result, sent = tried(Reply(text='{"name": ', finish_reason="length"))
    assert (result.later, len(sent)) == ([], 1)


def test_free_text_has_no_shape_that_could_be_wrong(tried):
    result, sent = tried(Reply(text="{"), Request(messages=ASK.messages))
    assert (result.later, len(sent)) == ([], 1)


def test_a_native_call_gets_its_fault_as_its_result(tried):
    result, sent = tried([calls('{"a": 2}'), calls('{"a": 2, "b": 3}')], structured="tool")
    assert [call.arguments for call in result.calls] == ['{"a": 2}']
    assert [call.arguments for call in result.later[0].calls] == ['{"a": 2, "b": 3}']
    assert sent[1][-1] == {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": '{"error": "field $.b failed required: it is missing"}',
    }


def test_an_empty_answer_does_not_go_back_since_providers_refuse_one(tried):
    _, sent = tried([Reply(text=""), Reply(text=GOOD)])
    assert sent[1] == [
        *ASK.messages,
        {
            "role": "user",
            "content": "the output is no call: the answer is empty\nGive the whole answer again, with this mended.",
        },
    ]


def test_every_call_of_a_single_answer_hears_that_it_is_to_be_made_again(tried):
    request = Request(messages=ASK.messages)
    script = [calls('{"a": 1, "b": 2}', '{"a": '), calls('{"a": 1, "b": 2}', '{"a": 3, "b": 4}')]
    result, sent = tried(script, request, tools=[ADD])
    assert [len(result.calls), *(len(each.calls) for each in result.later)] == [2, 2]
    assert [json.loads(message["content"])["error"] for message in sent[1][-2:]] == [
        "not run, because another call of the same answer was refused; make it again",
        "the arguments are not JSON: not JSON: Expecting value (line 1, column 7)",
    ]


def test_a_try_without_an_answer_is_no_verdict_and_keeps_what_was_paid(tried):
    result, _ = tried([Reply(text=BAD), Reply(status=400, error="too long")])
    assert isinstance(result, Infrastructure)
    assert (result.kind, result.http_status, result.usage) == ("refused_request", 400, ONE)


def test_the_fault_goes_back_in_anthropics_protocol_too(tried, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-scripted")
    script = [anthropic(uses=[("math_add", {"a": 2})]), anthropic(uses=[("math_add", {"a": 2, "b": 3})])]
    with ModelServer(script) as server:
        monkeypatch.setenv("ANTHROPIC_API_BASE", server.base_url.removesuffix("/v1"))
        result, _ = tried(Reply(), model="anthropic/claude-sonnet-4-5", structured="tool")
        (block,) = server.bodies[1]["messages"][-1]["content"]
    assert json.loads(result.later[0].calls[0].arguments) == {"a": 2, "b": 3}
    assert (block["type"], block["tool_use_id"]) == ("tool_result", "toolu_1")
    assert "field $.b failed required" in json.dumps(block["content"])


# Conversations

RECORDED = [Frozen(tool="math.add", args={"a": 2, "b": 3}, result=5)]
DONE = Reply(text="It is 5.")
RIGHT = '{"a": 2, "b": 3}'


@pytest.fixture
def conversed(tried):
    def make(script, *, max_turns=16, max_calls=64, mocks=(), **fields):
        request = Request(
            messages=ASK.messages, max_turns=max_turns, max_calls=max_calls, text_calls=True, mocks=[*mocks]
        )
        return tried(script, request, tools=[ADD], recorded=RECORDED, **fields)

    return make


def test_an_invalid_call_of_a_conversation_gets_its_fault_as_its_result(conversed):
    result, sent = conversed([calls('{"a": 2, "b": "3"}'), calls(RIGHT), DONE])
    assert [(call.turn, call.arguments, call.result, call.unanswered) for call in result.calls] == [
        (1, '{"a": 2, "b": "3"}', {"error": WRONG}, "invalid"),
        (2, RIGHT, 5, None),
    ]
    assert json.loads(sent[1][-1]["content"]) == {"error": WRONG}
    (later,) = result.later
    assert [(call.turn, call.arguments, call.result) for call in later.calls] == [(2, RIGHT, 5)]
    assert (later.text, later.later, later.usage, result.usage) == ("It is 5.", None, ONE, THREE)


def test_the_extra_cost_is_that_of_the_turns_that_follow_what_was_sent_back(conversed):
    def script(request):
        reply = [calls(RIGHT), calls('{"a": 2}'), calls(RIGHT), DONE][request.number - 1]
        return dataclasses.replace(reply, usage=(10**request.number, request.number))

    result, _ = conversed(script)
    assert result.usage == Usage(input_tokens=11110, output_tokens=10)
    assert result.later[0].usage == Usage(input_tokens=1000, output_tokens=3)


def test_malformed_arguments_are_sent_back_as_well(conversed):
    result, _ = conversed([calls('{"a": '), calls(RIGHT), DONE])
    assert [call.unanswered for call in result.calls] == ["malformed", None]
    assert result.calls[0].result == {
        "error": "the arguments are not JSON: not JSON: Expecting value (line 1, column 7)"
    }
    assert [call.arguments for call in result.later[0].calls] == [RIGHT]


def test_valid_calls_beside_an_invalid_one_are_answered(conversed):
    result, _ = conversed([calls(RIGHT, '{"a": 2}'), DONE])
    assert [call.unanswered for call in result.calls] == [None, "invalid"]
    assert [call.arguments for call in result.later[0].calls] == [RIGHT]


def test_a_conversation_without_a_fault_says_that_one_might_have_gone_back(conversed):
    result, _ = conversed([calls(RIGHT), DONE])
    assert (result.later, result.usage) == ([], TWO)


def test_faults_go_back_as_often_as_is_allowed_and_then_calls_are_answered_as_ever(conversed):
    mock = Frozen(tool="math.add", result="any")
    result, sent = conversed([*[calls('{"a": 2}')] * 3, DONE], retry=3, mocks=[mock])
    assert [call.unanswered for call in result.calls] == ["invalid", "invalid", None]
    assert result.calls[2].result == "any"
    assert len(sent) == 4
    (later,) = result.later
    assert [call.turn for call in later.calls] == [3]
    assert later.usage == TWO


def test_without_retry_an_invalid_call_is_looked_up_like_any_other(conversed):
    result, _ = conversed([calls('{"a": 2}'), DONE], retry=1)
    assert ([call.unanswered for call in result.calls], result.later) == (["unmatched"], None)


def test_a_turn_that_was_sent_back_does_not_count_towards_the_limit(conversed):
    result, sent = conversed([calls('{"a": 2}'), calls(RIGHT), DONE], max_turns=2)
    assert (result.text, result.limit, len(sent)) == ("It is 5.", None, 3)
    result, sent = conversed([calls('{"a": 2}'), calls(RIGHT), calls(RIGHT), DONE], max_turns=2)
    assert (result.text, result.limit, len(sent)) == (None, "max_turns", 3)


def test_nothing_goes_back_in_the_message_that_ends_the_conversation(conversed):
    result, sent = conversed(calls('{"a": 2}', RIGHT), max_calls=1)
    assert ([call.unanswered for call in result.calls], result.limit) == (["unmatched", "too_many"], "max_calls")
    assert (result.later, len(sent)) == ([], 1)


def test_a_fault_in_a_call_of_the_text_goes_back_in_text(conversed):
    broken = '<tool_call>{"name": "math.add", "arguments": {"a": 2}}</tool_call>'
    result, sent = conversed([Reply(text=broken), calls(RIGHT), DONE])
    assert [(call.wrapper, call.unanswered) for call in result.calls] == [("tool_call_tag", "invalid"), (None, None)]
    error = '{"error": "field $.b failed required: it is missing"}'
    assert sent[1][-1] == {
        "role": "user",
        "content": f'<tool_response name="math_add">\n{error}\n</tool_response>',
    }
    assert result.later[0].calls == [Call(tool="math.add", arguments=RIGHT, turn=2, id="call_1", result=5)]
