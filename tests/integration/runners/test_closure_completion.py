"""Begun answers, continued through the real litellm at a server of ours: what is sent, and what comes back as data."""

from __future__ import annotations

import asyncio
import gc
import json

import pytest

from evaluator.cases import BY_PREFILL, BY_TEXT, BY_TOKEN_IDS, Request, Subject
from evaluator.config.types import Price
from evaluator.errors import UserError
from evaluator.runners import client, completion
from evaluator.runners.model import ModelRunner
from evaluator.transcript import Infrastructure, Usage
from tests.integration.runners.conftest import KEY, QUICK
from tests.servers.model_server import ModelServer, Reply

SAY = [{"role": "user", "content": "Go on:"}]
TEXT = Request(messages=SAY, prefix='{"a"', condition=BY_TEXT)
IDS = Request(messages=SAY, prefix='{"a"', prompt_token_ids=[1, 2, 3], condition=BY_TOKEN_IDS)
PREFILL = Request(messages=SAY, prefix='{"a"', condition=BY_PREFILL)
DEFAULTS = {"max_tokens": 1024, "temperature": 0, "top_p": 1, "seed": 42}


def completed(text: str, reason: str | None = "stop") -> Reply:
    """A reply of a completion endpoint."""
    choice = {"index": 0, "text": text, "finish_reason": reason, "logprobs": None}
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    answer = {"id": "c", "object": "text_completion", "created": 1, "model": "x-1", "choices": [choice], "usage": usage}
    return Reply(body=json.dumps(answer).encode())


@pytest.fixture
def go_on(monkeypatch):
    """The result of attempts at a request against a server."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def make(server, request, *, attempts=1, price=None, **subject):
        monkeypatch.setenv("OPENAI_API_BASE", server.base_url)
        fields = {"model": "openai/x", **subject}
        made = ModelRunner(
            Subject(**fields),
            price=price,
            conditions={request.condition},
            policy=QUICK,
            environ={"OPENAI_API_KEY": KEY},
        )

        async def main():
            try:
                return await asyncio.gather(*(made.attempt(request) for _ in range(attempts)))
            finally:
                await made.close()

        return asyncio.run(main()), made.warnings()

    return make


def test_token_ids_go_to_the_completion_endpoint_as_they_are_with_special_tokens_kept(go_on):
    with ModelServer(completed(": 1}<|im_end|>")) as server:
        (result,), _ = go_on(server, IDS)
        (request,) = server.requests
    assert request.path == "/v1/completions"
    assert request.body == {"model": "x", "prompt": [1, 2, 3], **DEFAULTS, "skip_special_tokens": False}
    assert (result.text, result.stop_reason, result.model) == (": 1}<|im_end|>", "stop", "x-1")
    assert result.structured == "completion:token_ids"
    assert result.usage == Usage(input_tokens=3, output_tokens=2)


def test_text_is_the_instruction_and_the_prefix_after_the_system_prompt(go_on):
    with ModelServer(completed(": 1}")) as server:
        (result,), _ = go_on(server, TEXT, system="Be exact.\n")
        assert server.bodies[0]["prompt"] == 'Be exact.\n\nGo on:\n{"a"'
    assert result.structured == "completion:text"


def test_a_prefill_ends_with_an_assistant_message_that_holds_the_prefix(go_on):
    with ModelServer(Reply(text=": 1}")) as server:
        (result,), _ = go_on(server, PREFILL, system="Be exact.")
        (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.body["messages"] == [
        {"role": "system", "content": "Be exact."},
        *SAY,
        {"role": "assistant", "content": '{"a"'},
    ]
    assert {name: request.body[name] for name in DEFAULTS} == DEFAULTS
    assert not {"tools", "response_format", "stop"} & request.body.keys()
    assert (result.text, result.structured) == (": 1}", "prefill")


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"max_tokens": 24}, "completion:text, max_tokens 24"),
        ({"temperature": 0, "top_p": 1, "seed": 42, "max_tokens": 1024}, "completion:text"),
        ({"temperature": 1, "stop": ["\n"]}, 'completion:text, stop ["\\n"], temperature 1'),
    ],
)
def test_parameters_that_are_not_the_familys_own_are_sent_and_told_with_the_condition(go_on, params, said):
    with ModelServer(completed("}")) as server:
        (result,), _ = go_on(server, TEXT, params=params)
        assert server.bodies[0].items() >= params.items()
    assert result.structured == said


def test_the_repositorys_own_words_to_the_server_are_sent_beside_ours_and_win(go_on):
    with ModelServer(completed("}")) as server:
        go_on(server, TEXT, params={"extra_body": {"top_k": 1, "skip_special_tokens": True}})
        assert (server.bodies[0]["top_k"], server.bodies[0]["skip_special_tokens"]) == (1, True)


def test_a_name_that_openai_has_for_a_chat_model_goes_to_the_completion_endpoint_all_the_same(go_on):
    with ModelServer(completed("}")) as server:
        go_on(server, TEXT, model="openai/gpt-4o-mini")
        assert [request.path for request in server.requests] == ["/v1/completions"]


def test_an_answer_that_ends_at_once_is_an_empty_text_and_one_cut_off_says_so(go_on):
    with ModelServer(completed("")) as server:
        assert go_on(server, TEXT)[0][0].text == ""
    with ModelServer(completed(": 1", "length")) as server:
        assert go_on(server, TEXT)[0][0].stop_reason == "length"


def test_failures_are_retried_and_counted_as_of_any_call(go_on):
    busy = Reply(status=429, headers={"Retry-After": "0"}, error="slow down")
    with ModelServer([busy, Reply(status=500, error="oh"), completed("}")]) as server:
        assert go_on(server, TEXT)[0][0].text == "}"
        assert len(server.requests) == 3
    with ModelServer(Reply(status=404, error="this is a chat model")) as server:
        (result,), _ = go_on(server, TEXT)
        assert len(server.requests) == 1
    assert isinstance(result, Infrastructure)
    assert (result.kind, result.http_status) == ("refused_request", 404)
    with ModelServer(Reply(body=b'{"id": "c", "object": "text_completion", "choices": []}')) as server:
        assert go_on(server, TEXT)[0][0].kind == "malformed_response"


def test_a_completion_costs_what_its_tokens_cost(go_on):
    with ModelServer(completed("}")) as server:
        (result,), _ = go_on(server, TEXT, price=Price(input_per_million=1.0, output_per_million=10.0))
    assert result.usage.cost_usd == pytest.approx(23e-6)


def test_many_completions_share_their_connections_and_leave_none_open(go_on, recwarn):
    with ModelServer(completed("}")) as server:
        results, _ = go_on(server, TEXT, attempts=30)
        assert {result.text for result in results} == {"}"}
    gc.collect()
    assert [str(warning.message) for warning in recwarn if "nclosed" in str(warning.message)] == []


def test_a_system_prompt_that_token_ids_leave_no_place_for_is_told(go_on):
    with ModelServer(completed("}")) as server:
        _, warnings = go_on(server, IDS, system="Be exact.")
    assert warnings == ["the system prompt is not sent where a prompt is given as token ids"]


@pytest.mark.parametrize(
    ("model", "condition", "what"),
    [
        ("anthropic/claude-3-5-haiku-latest", BY_TEXT, "text completions cannot be sent to anthropic"),
        ("hosted_vllm/x", BY_TOKEN_IDS, "prompts of token ids cannot be sent to hosted_vllm"),
    ],
)
def test_a_provider_that_would_be_asked_by_chat_in_silence_is_refused(model, condition, what):
    with pytest.raises(UserError, match=what) as refused:
        client.refuse_conditions(model, {condition})
    assert refused.value.code == "completion-unsupported"
    assert "{prompting: prefill}" in str(refused.value)
    client.refuse_conditions(model, {BY_PREFILL})


@pytest.mark.parametrize(
    ("provider", "condition", "environ", "added"),
    [
        ("openai", BY_TEXT, {}, {}),
        ("openai", BY_TEXT, {"OPENAI_BASE_URL": "https://api.openai.com/v1"}, {}),
        ("openai", BY_TEXT, {"OPENAI_API_BASE": "http://gpu:8000/v1"}, {"skip_special_tokens": False}),
        ("hosted_vllm", BY_TEXT, {}, {"skip_special_tokens": False}),
        ("hosted_vllm", BY_PREFILL, {}, {"continue_final_message": True, "add_generation_prompt": False}),
        ("openai", BY_PREFILL, {"OPENAI_API_BASE": "http://gpu:8000/v1"}, {}),
    ],
)
def test_a_server_is_told_what_it_understands(provider, condition, environ, added):
    sent = {"messages": [{"role": "assistant", "content": "a"}]}
    assert completion.flagged(sent, provider, condition, environ).get("extra_body", {}) == added


def test_a_provider_with_a_mark_for_a_prefill_gets_it_in_the_message():
    sent = {"messages": [*SAY, {"role": "assistant", "content": "a"}]}
    flagged = completion.flagged(sent, "deepseek", BY_PREFILL, {})
    assert flagged["messages"] == [*SAY, {"role": "assistant", "content": "a", "prefix": True}]
    assert "prefix" not in sent["messages"][1]
