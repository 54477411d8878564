"""Whatever a model answers, a conversation on frozen tools ends, answers every call and loses nothing."""

import asyncio
import json

from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from evaluator.cases import Frozen, Request, Subject
from evaluator.runners.answer import Answered
from evaluator.runners.conversation import converse
from evaluator.runners.request import build
from evaluator.transcript import Call, Infrastructure, Transcript, Usage

TOOLS = [
    {
        "name": "look.up",
        "parameters": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
    },
    {"name": "pay", "parameters": {"type": "object"}},
]
RECORDED = [Frozen(tool="look.up", args={"id": 1}, result="one"), Frozen(tool="pay", result={"ok": True})]
ONE = Usage(input_tokens=10, output_tokens=1, cost_usd=0.5)

CALL = st.tuples(
    st.sampled_from(["look.up", "pay", "unknown"]),
    st.sampled_from(['{"id": 1}', '{"id": 2}', '{"id": "1"}', "{}", "[", "null", '{"id": 1, "id": 1}']),
)
ANSWER = st.tuples(st.lists(CALL, max_size=4), st.sampled_from(["stop", "length", "tool_calls", None]))
FAILURE = Infrastructure(kind="server_error", message="no", http_status=500)


def answered(calls, reason):
    """An answer with these calls, all by their names on the wire in the message that goes back."""
    native = [
        {"id": f"call_{n}", "type": "function", "function": {"name": tool, "arguments": arguments}}
        for n, (tool, arguments) in enumerate(calls)
    ]
    transcript = Transcript(
        text="so",
        calls=[Call(tool=tool, arguments=arguments) for tool, arguments in calls],
        stop_reason=reason,
        usage=ONE,
        seconds=1.0,
    )
    return Answered(transcript, {"role": "assistant", "content": "so", "tool_calls": native})


def talk(script, retry=1, **limits):
    """The result, and the messages of each request."""
    request = Request(messages=[{"role": "user", "content": "x"}], **limits)
    asked = []

    async def ask(messages):
        asked.append(list(messages))
        answer = script[min(len(asked), len(script)) - 1]
        return answer if isinstance(answer, Infrastructure) else answered(*answer)

    wire = build(Subject(model="openai/x"), request, TOOLS)
    return asyncio.run(converse(ask, wire, request, RECORDED, retry)), asked


@given(st.lists(ANSWER, min_size=1, max_size=6), st.integers(1, 4), st.integers(1, 6), st.integers(1, 3))
def test_it_ends_within_its_limits_and_every_call_is_answered_once(script, max_turns, max_calls, retry):
    result, asked = talk(script, retry, max_turns=max_turns, max_calls=max_calls)
    assert len(asked) <= max_turns + retry - 1
    assert result.usage == Usage(input_tokens=10 * len(asked), output_tokens=len(asked), cost_usd=0.5 * len(asked))
    assert result.seconds == len(asked)
    made = [call for turn in range(len(asked)) for call in script[min(turn, len(script) - 1)][0]]
    assert [(call.tool, call.arguments) for call in result.calls] == made
    assert sum(call.unanswered != "too_many" for call in result.calls if call.result is not UNSET) <= max_calls
    if result.limit is None:
        assert result.text == "so"
    else:
        assert (result.text, result.limit) in [(None, "max_turns"), (None, "max_calls")]
    unanswered = [call for call in result.calls if call.result is UNSET]
    if unanswered:  # only where the answer was cut off
        assert result.stop_reason == "length"
        assert {call.turn for call in unanswered} == {len(asked)}


@given(st.lists(ANSWER, min_size=1, max_size=6), st.integers(1, 3))
def test_every_message_with_calls_is_followed_by_their_results_in_order(script, retry):
    _, asked = talk(script, retry, max_turns=5)
    waiting = []
    for message in asked[-1]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
        else:
            assert waiting == []
            waiting = [call["id"] for call in message.get("tool_calls", [])]
    assert waiting == []


@given(st.lists(ANSWER, min_size=1, max_size=6), st.integers(1, 3))
def test_later_is_the_conversation_without_the_calls_that_were_sent_back(script, retry):
    result, _ = talk(script, retry, max_turns=5)
    if retry == 1:
        assert result.later is None
        assert all(call.unanswered != "invalid" for call in result.calls)
    elif result.later:
        (later,) = result.later
        gone = [call for call in result.calls if call not in later.calls]
        assert gone
        assert {call.unanswered for call in gone} <= {"invalid", "malformed"}
        assert (later.text, later.limit, later.later) == (result.text, result.limit, None)
        assert later.usage.input_tokens < result.usage.input_tokens
    else:
        assert result.later == []
        assert all(call.unanswered != "invalid" for call in result.calls)


@given(st.lists(st.tuples(st.lists(CALL, min_size=1, max_size=3), st.just("tool_calls")), max_size=4))
def test_a_failure_keeps_what_was_paid_before_it(script):
    result, asked = talk([*script, FAILURE], max_turns=9)
    assert (result.kind, result.http_status, len(asked)) == ("server_error", 500, len(script) + 1)
    assert result.usage == (
        Usage(input_tokens=10 * len(script), output_tokens=len(script), cost_usd=0.5 * len(script)) if script else None
    )


def test_a_thousand_calls_in_one_message_are_all_answered():
    result, asked = talk([([("look.up", '{"id": 1}')] * 1000, None), ([], "stop")], max_turns=3, max_calls=1000)
    assert [call.result for call in result.calls] == ["one"] * 1000
    assert len(asked[1]) == 1002


def test_results_are_given_as_they_are_kept():
    _, asked = talk([([("look.up", '{"id": 1}'), ("pay", "{}")], None), ([], "stop")], max_turns=3)
    assert [message["content"] for message in asked[1][-2:]] == ["one", json.dumps({"ok": True})]
