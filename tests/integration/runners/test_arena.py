"""Records found by search, over the wire: the real litellm against a server of ours."""

import json

import pytest

from evaluator.cases import Passage, Request
from evaluator.corpus import SEARCH
from evaluator.transcript import Infrastructure, Usage
from tests.servers.model_server import ModelServer, Reply, anthropic
from tests.unit.formats.arena_task import CORPUS, RECORD, SCHEMA

PASSAGES = [Passage(**passage) for passage in CORPUS]
ASKED = Request(
    messages=[{"role": "system", "content": "JSON only."}, {"role": "user", "content": "Return the Tern."}],
    tools=[SEARCH],
    max_turns=16,
    text_calls=True,
    answer_schema=SCHEMA,
    corpus=PASSAGES,
)
FOUND = "[Tern] The ferry Tern was built in 1994 and is 62 metres long."
GOOD, BAD = json.dumps(RECORD), json.dumps({**RECORD, "built": "1994"})
WRONG = "field $.built failed type: expected integer, got string"
AGAIN = f"{WRONG}\nGive the whole answer again, with this mended."
SEARCHES = Reply(tool_calls=[("search", '{"query": "Tern 1994"}')])
ONE, TWO = Usage(input_tokens=11, output_tokens=7), Usage(input_tokens=22, output_tokens=14)
THREE = Usage(input_tokens=33, output_tokens=21)


def answers(text, *others):
    """A reply that calls the tool `answer`, after calls of others."""
    return Reply(tool_calls=[*others, ("answer", text)])


@pytest.fixture
def converse(attempt):
    """The transcript and the bodies of the requests."""

    def make(script, structured="prompt", *, request=ASKED, retry=1, **fields):
        with ModelServer(script) as server:
            tools = request.tools
            result = attempt(server, request, tools=tools, retry=retry, structured=structured, **fields)
            return result, server.bodies

    return make


def test_a_search_is_answered_and_the_record_ends_the_conversation(converse):
    result, sent = converse([SEARCHES, Reply(text=GOOD)])
    (call,) = result.calls
    assert (call.tool, call.turn, call.unanswered) == ("search", 1, None)
    assert call.result.split("\n\n")[0] == FOUND
    assert (result.text, result.structured, result.stop_reason, result.later) == (GOOD, "prompt", "stop", None)
    assert result.usage == TWO
    assert sent[1]["messages"][-1] == {"role": "tool", "tool_call_id": "call_1", "content": call.result}
    assert "response_format" not in sent[0]
    assert [tool["function"]["name"] for tool in sent[0]["tools"]] == ["search"]
    assert "read_only" not in sent[0]["tools"][0]["function"]


def test_the_schema_goes_with_every_turn(converse):
    result, sent = converse([SEARCHES, Reply(text=GOOD)], "schema")
    wanted = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    assert [body["response_format"] for body in sent] == [wanted, wanted]
    assert (result.structured, result.text) == ("schema", GOOD)


def test_the_arguments_of_the_answer_tool_are_the_answer_and_its_call_is_none(converse):
    result, sent = converse([SEARCHES, answers(GOOD)], "tool")
    assert (result.text, result.structured, len(sent)) == (GOOD, "tool", 2)
    assert [call.tool for call in result.calls] == ["search"]
    assert [tool["function"]["name"] for tool in sent[0]["tools"]] == ["search", "answer"]
    assert "tool_choice" not in sent[0]


def test_calls_beside_the_answer_are_kept_with_their_results(converse):
    result, sent = converse(answers(GOOD, *SEARCHES.tool_calls), "tool")
    assert (result.text, len(sent)) == (GOOD, 1)
    assert [(call.tool, call.result.split("\n\n")[0]) for call in result.calls] == [("search", FOUND)]


def test_two_answers_at_once_are_none(converse):
    result, _ = converse(answers(BAD, ("answer", GOOD)), "tool")
    assert (result.text, [call.tool for call in result.calls]) == (None, ["answer"])


def test_a_model_that_answers_in_text_has_answered(converse):
    result, sent = converse([SEARCHES, Reply(text=GOOD)], "tool")
    assert (result.text, result.structured, len(sent)) == (GOOD, "tool", 2)


@pytest.mark.parametrize("arguments", ['{"name": "Tern", ', f"well, {GOOD} or so", "[1]"])
def test_arguments_that_are_no_object_are_no_answer(converse, arguments):
    result, _ = converse(answers(arguments), "tool")
    assert (result.text, result.calls) == (None, [])


def test_an_answer_tool_in_the_text_ends_the_conversation_too(converse):
    written = Reply(text=f'<tool_call>{{"name": "answer", "arguments": {GOOD}}}</tool_call>')
    result, _ = converse([SEARCHES, written], "tool")
    assert (json.loads(result.text), [call.tool for call in result.calls]) == (RECORD, ["search"])


def test_without_a_search_the_answer_tool_is_asked_for_by_name(converse):
    request = Request(messages=ASKED.messages, max_turns=16, answer_schema=SCHEMA)
    result, sent = converse(answers(GOOD), "tool", request=request)
    assert sent[0]["tool_choice"] == {"type": "function", "function": {"name": "answer"}}
    assert (result.text, result.calls) == (GOOD, [])


def test_another_tool_of_the_name_is_no_answer(converse):
    own = {"name": "answer", "description": "Answers the phone.", "parameters": {"type": "object", "properties": {}}}
    request = Request(messages=ASKED.messages, tools=[own], max_turns=3, answer_schema=SCHEMA)
    result, _ = converse(
        [Reply(tool_calls=[("answer", "{}")]), Reply(tool_calls=[("answer_2", GOOD)])], "tool", request=request
    )
    assert (result.text, [call.tool for call in result.calls]) == (GOOD, ["answer"])


@pytest.mark.parametrize("arguments", ["{}", '{"query": 7}'])
def test_a_query_that_is_no_text_gets_an_error_and_the_conversation_goes_on(converse, arguments):
    result, sent = converse([Reply(tool_calls=[("search", arguments)]), Reply(text=GOOD)])
    (call,) = result.calls
    assert (call.result, call.unanswered, result.text) == ({"error": "the query is not a text"}, "invalid", GOOD)
    assert json.loads(sent[1]["messages"][-1]["content"]) == call.result


def test_endless_searching_is_ended_without_an_answer(converse):
    result, sent = converse(SEARCHES)
    assert (result.text, result.limit, len(sent), len(result.calls)) == (None, "max_turns", 16, 16)


def test_an_answer_that_is_cut_off_is_kept_as_it_is(converse):
    result, _ = converse([SEARCHES, Reply(text=GOOD[:20], finish_reason="length")], retry=3)
    assert (result.text, result.stop_reason, result.later) == (GOOD[:20], "length", [])
    cut = Reply(tool_calls=[("answer", GOOD[:20])], finish_reason="length")
    result, sent = converse([SEARCHES, cut], "tool", retry=3)
    assert (result.text, result.stop_reason, result.later, len(sent)) == (GOOD[:20], "length", [], 2)


def test_a_provider_that_refuses_the_schema_is_infrastructure(converse):
    refusal = "Invalid schema for response_format 'answer': minItems is not permitted"
    result, sent = converse(Reply(status=400, error=refusal), "schema")
    assert isinstance(result, Infrastructure)
    assert (result.kind, result.http_status, len(sent)) == ("refused_schema", 400, 1)
    assert "minItems is not permitted" in result.message


def test_anthropics_protocol_carries_a_search_and_an_answer(converse, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-scripted-0123456789abcdef")
    script = [anthropic(uses=[("search", {"query": "Tern"})]), anthropic(uses=[("answer", RECORD)])]
    with ModelServer(script) as server:
        monkeypatch.setenv("ANTHROPIC_API_BASE", server.base_url.removesuffix("/v1"))
        result, _ = converse(Reply(text=""), "tool", model="anthropic/claude-sonnet-4-5")
        assert [tool["name"] for tool in server.bodies[0]["tools"]] == ["search", "answer"]
    assert (json.loads(result.text), [call.tool for call in result.calls]) == (RECORD, ["search"])


# Feedback


@pytest.mark.parametrize("structured", ["prompt", "schema"])
def test_an_answer_of_the_wrong_shape_goes_back_in_words(converse, structured):
    result, sent = converse([SEARCHES, Reply(text=BAD), Reply(text=GOOD)], structured, retry=2)
    assert sent[2]["messages"][-2:] == [{"role": "assistant", "content": BAD}, {"role": "user", "content": AGAIN}]
    (later,) = result.later
    assert (result.text, later.text, later.later) == (BAD, GOOD, None)
    assert [call.tool for call in result.calls] == [call.tool for call in later.calls] == ["search"]
    assert (result.usage, later.usage) == (THREE, ONE)


def test_an_answer_by_tool_gets_what_is_wrong_as_its_result(converse):
    result, sent = converse([answers(BAD, *SEARCHES.tool_calls), answers(GOOD)], "tool", retry=2)
    back = sent[1]["messages"][-2:]
    assert [message["tool_call_id"] for message in back] == ["call_1", "call_2"]
    assert back[0]["content"].startswith(FOUND)
    assert json.loads(back[1]["content"]) == {"error": WRONG}
    (later,) = result.later
    assert (result.text, later.text) == (BAD, GOOD)
    assert [call.tool for call in later.calls] == ["search"]
    assert (result.usage, later.usage) == (TWO, ONE)


def test_what_is_searched_after_the_feedback_is_no_part_of_the_first_try(converse):
    result, _ = converse([Reply(text="I think 1994."), SEARCHES, Reply(text=GOOD)], retry=2)
    (later,) = result.later
    assert (result.text, result.calls) == ("I think 1994.", [])
    assert (later.text, [(call.tool, call.turn) for call in later.calls]) == (GOOD, [("search", 2)])
    assert (result.usage, later.usage) == (THREE, TWO)


def test_an_answer_that_stays_wrong_goes_back_as_often_as_is_allowed(converse):
    result, sent = converse(Reply(text=BAD), retry=3)
    assert (len(sent), result.text, [each.text for each in result.later]) == (3, BAD, [BAD])
    assert (result.usage, result.later[0].usage) == (THREE, TWO)


def test_a_call_and_an_answer_that_went_back_are_counted_together(converse):
    odd = Reply(tool_calls=[("search", '{"q": "Tern"}')])
    result, sent = converse([odd, Reply(text=BAD), Reply(text=GOOD)], retry=3)
    assert len(sent) == 3
    (later,) = result.later
    assert ([call.unanswered for call in result.calls], later.calls) == (["invalid"], [])
    assert (result.text, later.text, later.usage) == (BAD, GOOD, TWO)
    _, sent = converse([odd, Reply(text=BAD), Reply(text=GOOD)], retry=2)
    assert len(sent) == 2


def test_messages_that_went_back_are_no_turns_of_the_limit(converse):
    request = Request(messages=ASKED.messages, tools=[SEARCH], max_turns=2, answer_schema=SCHEMA, corpus=PASSAGES)
    result, sent = converse([Reply(text=BAD), SEARCHES, Reply(text=GOOD)], request=request, retry=2)
    assert (len(sent), result.later[0].text) == (3, GOOD)


def test_a_limit_that_is_met_after_the_feedback_is_that_of_the_later_try(converse):
    request = Request(messages=ASKED.messages, tools=[SEARCH], max_turns=2, answer_schema=SCHEMA, corpus=PASSAGES)
    result, _ = converse([Reply(text=BAD), SEARCHES], request=request, retry=2)
    assert (result.text, result.limit) == (BAD, None)
    assert (result.later[0].text, result.later[0].limit) == (None, "max_turns")


def test_a_right_answer_needs_no_second_try_and_without_retry_nothing_goes_back(converse):
    assert converse([SEARCHES, Reply(text=GOOD)], retry=3)[0].later == []
    result, sent = converse(Reply(text=BAD))
    assert (result.later, len(sent)) == (None, 1)


def test_a_wrong_value_is_no_fault_of_shape(converse):
    wrong = json.dumps({**RECORD, "built": 2003})
    result, sent = converse(Reply(text=wrong), retry=3)
    assert (result.text, result.later, len(sent)) == (wrong, [], 1)


def test_a_try_without_an_answer_makes_the_attempt_an_infrastructure_failure(converse):
    result, _ = converse([Reply(text=BAD), Reply(status=401, error="no")], retry=2)
    assert isinstance(result, Infrastructure)
    assert (result.kind, result.usage) == ("authentication", ONE)


def test_an_empty_answer_is_asked_for_again_without_an_empty_message(converse):
    result, sent = converse([Reply(text=""), Reply(text=GOOD)], retry=2)
    assert [message["role"] for message in sent[1]["messages"]] == ["system", "user", "user"]
    assert (result.text, result.later[0].text) == ("", GOOD)
