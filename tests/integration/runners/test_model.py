"""The real litellm against a server of ours: what goes over the wire, and what comes back as data."""

import asyncio
import base64
import time

import pytest
from openai.types.chat import ChatCompletion

from evaluator.cases import Request, Subject
from evaluator.config.types import Price
from evaluator.errors import UserError
from evaluator.runners import client
from evaluator.runners.bounds import MOST_CHARACTERS
from evaluator.transcript import Call, Infrastructure, Transcript, Usage
from tests.integration.runners.conftest import ADD, ASK, KEY, QUICK
from tests.servers.model_server import ModelServer, Reply


@pytest.mark.parametrize(
    "reply",
    [
        Reply(text="hello"),
        Reply(tool_calls=[("f", '{"a": 1}')]),
        Reply(refusal="No."),
        Reply(text="cut", finish_reason="length"),
        Reply(text="x", usage=None, fingerprint=None),
    ],
)
def test_the_servers_answers_are_what_openais_own_types_accept(reply):
    parsed = ChatCompletion.model_validate_json(reply.payload(), strict=True)
    assert parsed.choices[0].message.content == reply.text


# What is sent


def test_the_system_prompt_parameters_and_schema_arrive_as_they_are(attempt):
    with ModelServer(Reply(text="{}")) as server:
        attempt(server, system="Be brief.", structured="schema", params={"temperature": 0, "seed": 42, "max_tokens": 9})
        (sent,) = server.bodies
    assert sent["messages"] == [{"role": "system", "content": "Be brief."}, *ASK.messages]
    assert (sent["model"], sent["temperature"], sent["seed"], sent["max_tokens"]) == ("x", 0, 42, 9)
    schema = sent["response_format"]["json_schema"]["schema"]
    assert schema["properties"] == {"name": {"type": "string", "const": "math.add"}, "arguments": ADD["parameters"]}
    assert "tools" not in sent


def test_the_tool_arrives_under_a_name_that_providers_allow(attempt):
    with ModelServer(Reply(text="")) as server:
        attempt(server, structured="tool")
        (sent,) = server.bodies
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["math_add"]
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "math_add"}}


def test_the_prompt_alone_sends_neither(attempt):
    with ModelServer(Reply(text="")) as server:
        attempt(server, structured="prompt")
        assert set(server.bodies[0]) == {"model", "messages"}


# What comes back


def test_text_usage_model_and_fingerprint_are_kept(attempt):
    with ModelServer(Reply(text="hello", model="x-2026-01", usage=(11, 7), delay=0.05)) as server:
        result = attempt(server)
    assert isinstance(result, Transcript)
    assert (result.text, result.calls, result.stop_reason) == ("hello", [], "stop")
    assert (result.model, result.system_fingerprint, result.structured) == ("x-2026-01", "fp_scripted", "prompt")
    assert result.usage == Usage(input_tokens=11, output_tokens=7)
    assert 0.05 <= result.seconds < 5


def test_calls_are_known_by_the_message_and_not_by_the_stop_reason(attempt):
    with ModelServer(Reply(tool_calls=[("math_add", '{"a": 2, "b": 3}')], finish_reason="stop")) as server:
        result = attempt(server, structured="tool")
    assert result.calls == [Call(tool="math.add", arguments='{"a": 2, "b": 3}', id="call_1")]
    assert result.structured == "tool"


def test_arguments_stay_the_text_that_the_model_sent(attempt):
    broken = '{"a": 2, "b": '
    with ModelServer(Reply(tool_calls=[("math_add", broken), ("other", "")])) as server:
        result = attempt(server, structured="tool")
    assert [(call.tool, call.arguments) for call in result.calls] == [("math.add", broken), ("other", "")]


def test_arguments_sent_as_an_object_become_their_text(attempt):
    with ModelServer(Reply(tool_calls=[("math_add", {"a": 2})])) as server:
        result = attempt(server, structured="tool")
    assert result.calls[0].arguments == '{"a": 2}'


def test_a_refusal_in_its_own_field_is_what_the_model_said(attempt):
    with ModelServer(Reply(refusal="I will not.")) as server:
        assert attempt(server).text == "I will not."


def test_an_empty_answer_is_a_transcript(attempt):
    with ModelServer(Reply(text="")) as server:
        result = attempt(server)
    assert (result.text, result.calls, result.stop_reason) == ("", [], "stop")


@pytest.mark.parametrize("text", [None, ""])
def test_an_answer_that_ended_and_is_empty_is_the_models_own(attempt, text):
    with ModelServer(Reply(text=text)) as server:
        result = attempt(server)
    assert isinstance(result, Transcript)
    assert (result.calls, result.stop_reason) == ([], "stop")


def gemini(candidate):
    counts = b'"usageMetadata": {"promptTokenCount": 5, "totalTokenCount": 5}'
    return Reply(body=b'{"candidates": [' + candidate + b"], " + counts + b"}")


@pytest.mark.parametrize(
    ("candidate", "kind"),
    [
        (b'{"finishReason": "MALFORMED_FUNCTION_CALL"}', None),
        (b'{"content": {"role": "model"}, "finishReason": "STOP"}', None),
        (b'{"finishReason": "SAFETY"}', "content_filter"),
        (b'{"content": {"role": "model", "parts": [{"text": "par"}]}, "finishReason": "OTHER"}', "content_filter"),
    ],
)
def test_geminis_spoilt_calls_are_the_models_and_its_filters_are_not(attempt, monkeypatch, candidate, kind):
    with ModelServer(gemini(candidate)) as server:
        monkeypatch.setenv("GEMINI_API_BASE", server.base_url)
        monkeypatch.setenv("GEMINI_API_KEY", "scripted")
        result = attempt(server, model="gemini/gemini-2.5-flash")
        assert len(server.requests) == 1
    assert (result.kind if isinstance(result, Infrastructure) else None) == kind


def test_anthropics_refusal_is_a_filter(attempt, monkeypatch):
    answer = (
        b'{"id":"m","type":"message","role":"assistant","model":"claude-sonnet-4-5","stop_reason":"refusal",'
        b'"content":[],"usage":{"input_tokens":10,"output_tokens":5}}'
    )
    with ModelServer(Reply(body=answer)) as server:
        monkeypatch.setenv("ANTHROPIC_API_BASE", server.base_url.removesuffix("/v1"))
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-scripted")
        result = attempt(server, model="anthropic/claude-sonnet-4-5")
    assert isinstance(result, Infrastructure)
    assert (result.kind, result.tries) == ("content_filter", 1)
    assert result.message == "the provider held the answer back: content_filter"


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("length", "length"),
        ("max_tokens", "length"),
        ("eos", "stop"),
        ("odd", None),
    ],
)
def test_the_stop_reason_is_in_openais_words_or_unknown(attempt, word, reason):
    with ModelServer(Reply(text="x", finish_reason=word)) as server:
        assert attempt(server).stop_reason == reason


# What it costs


def test_usage_that_the_provider_left_out_is_unknown_and_not_zero(attempt):
    with ModelServer(Reply(text="x", usage=None)) as server:
        assert attempt(server, price=Price(input_per_million=1, output_per_million=1)).usage is None


def test_the_configured_price_wins(attempt):
    price = Price(input_per_million=2.0, output_per_million=10.0)
    with ModelServer(Reply(text="x", usage=(1000, 100))) as server:
        result = attempt(server, model="openai/gpt-4.1-mini", price=price)
    assert result.usage.cost_usd == pytest.approx(0.003)


def test_a_listed_model_has_its_listed_price(attempt):
    with ModelServer(Reply(text="x", usage=(1000, 100))) as server:
        result = attempt(server, model="openai/gpt-4.1-mini")
    assert result.usage.cost_usd == pytest.approx(1000 * 0.4e-6 + 100 * 1.6e-6)


def test_a_price_of_zero_is_known_and_an_unknown_price_is_none(attempt):
    with ModelServer(Reply(text="x")) as server:
        free = Price(input_per_million=0, output_per_million=0)
        assert attempt(server, price=free).usage.cost_usd == 0.0
        assert attempt(server).usage.cost_usd is None


def test_a_server_that_calls_its_model_by_a_famous_name_is_not_priced_by_it(attempt):
    with ModelServer(Reply(text="x", model="gpt-4.1-mini")) as server:
        assert attempt(server).usage.cost_usd is None


def test_price_known_says_what_an_attempt_will_have():
    price = Price(input_per_million=1, output_per_million=1)
    assert client.price_known("openai/gpt-4.1-mini", None)
    assert not client.price_known("openai/x", None)
    assert not client.price_known("no-such-provider/x", None)
    assert client.price_known("openai/x", price)


# What a provider lacks


def test_a_parameter_that_the_provider_does_not_take_is_dropped_with_a_warning(connect):
    with ModelServer(Reply(text="x")) as server:
        runner = connect(server, model="anthropic/claude-sonnet-4-5", params={"seed": 1, "temperature": 0, "top_k": 3})
    assert runner.warnings() == ["anthropic/claude-sonnet-4-5 does not take the parameter 'seed': it is not sent"]


def test_another_providers_protocol_is_spoken_too(attempt, monkeypatch):
    answer = (
        b'{"id":"m","type":"message","role":"assistant","model":"claude-sonnet-4-5","stop_reason":"tool_use",'
        b'"content":[{"type":"text","text":"so"},{"type":"tool_use","id":"t1","name":"math_add","input":{"a":2,"b":3}}],'
        b'"usage":{"input_tokens":10,"output_tokens":5}}'
    )
    with ModelServer(Reply(body=answer)) as server:
        monkeypatch.setenv("ANTHROPIC_API_BASE", server.base_url.removesuffix("/v1"))
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-scripted")
        result = attempt(server, model="anthropic/claude-sonnet-4-5", structured="tool", params={"seed": 1})
        (request,) = server.requests
    assert request.path == "/v1/messages"
    assert "seed" not in request.body
    assert isinstance(result, Transcript), result
    assert (result.text, result.stop_reason) == ("so", "tool_calls")
    assert [(call.tool, call.arguments) for call in result.calls] == [("math.add", '{"a": 2, "b": 3}')]
    assert result.usage.cost_usd == pytest.approx(10 * 3e-6 + 5 * 15e-6)


def refused(**fields):
    with pytest.raises(UserError) as error:
        client.unsupported_params(Subject(**{"model": "openai/x", **fields}))
    return error.value


def test_an_unknown_provider_is_refused_before_the_first_call():
    error = refused(model="no-such-provider/x")
    assert error.code == "model-unknown"
    assert "no provider is known for the model 'no-such-provider/x'" in str(error)


def test_keys_addresses_and_mocks_are_no_parameters():
    error = refused(params={"api_key": "k", "api_base": "b", "mock_response": "pass", "n": 3, "temperature": 0})
    assert error.code == "params-reserved"
    assert [problem.message for problem in error.problems] == [
        f"'{name}' is not a parameter of the model" for name in ("api_base", "api_key", "mock_response", "n")
    ]
    assert "OPENAI_BASE_URL" in str(error)


def test_a_schema_for_a_provider_without_one_is_refused_before_the_first_call():
    error = refused(model="petals/x", structured="schema")
    assert error.code == "structured-unsupported"
    assert "petals/x does not take 'response_format', which `structured: schema` needs" in str(error)


def test_tools_for_a_provider_without_tools_are_refused_before_the_first_call():
    assert "petals/x does not take tools" in str(refused(model="petals/x", tools=[ADD]))


# Failures that are data


@pytest.mark.parametrize(
    ("reply", "kind", "calls"),
    [
        (Reply(status=400, error="Unknown model option"), "refused_request", 1),
        (Reply(status=404, error="No such model"), "refused_request", 1),
        (Reply(status=422, error="Bad temperature"), "refused_request", 1),
        (Reply(status=401, error="Bad key"), "authentication", 1),
        (Reply(status=403, error="Not yours"), "authentication", 1),
        (Reply(status=429, error="Slow down"), "rate_limit", 8),
        (Reply(status=500, error="Oops"), "server_error", 8),
        (Reply(status=502, body=b"<html>Bad Gateway</html>", content_type="text/html"), "server_error", 8),
        (Reply(status=529, error="Overloaded"), "server_error", 8),
        (Reply(cut_after=0), "connection", 8),
        (Reply(text="hello", cut_after=10), "connection", 8),
        (Reply(body=b"<html>hello</html>", content_type="text/html"), "malformed_response", 1),
        (Reply(body=b"<html>hello</html>"), "malformed_response", 1),
        (Reply(body=b""), "malformed_response", 1),
        (Reply(body=b"{}"), "malformed_response", 1),
        (Reply(body=b"[]"), "malformed_response", 1),
        (Reply(body=b"null"), "malformed_response", 1),
        (Reply(body=b'{"choices": []}'), "malformed_response", 1),
        (Reply(body=b'{"choices": null}'), "malformed_response", 1),
        (Reply(body=b'{"choices": [{"message": null}]}'), "malformed_response", 1),
        (Reply(body=b'{"choices": [{"message": {"content": "\xff"}}]}'), "malformed_response", 1),
        (Reply(body=b'{"a":' * 100_000), "malformed_response", 1),
        (Reply(body=b'{"error": {"message": "overloaded", "code": 502}}'), "server_error", 8),
        (Reply(body=b'{"choices": [{"index": 0, "message": {"content": null}}]}'), "malformed_response", 1),
        (Reply(text="par", finish_reason="error"), "server_error", 3),
        (Reply(finish_reason="insufficient_system_resource"), "server_error", 3),
        (Reply(text="par", finish_reason="content_filter"), "content_filter", 1),
        (Reply(finish_reason="content_filter"), "content_filter", 1),
        (
            Reply(status=400, error="Your request was rejected as a result of the safety system."),
            "content_filter",
            1,
        ),
    ],
)
def test_a_failure_has_a_kind_and_is_tried_as_often_as_it_makes_sense(attempt, reply, kind, calls):
    with ModelServer(reply) as server:
        result = attempt(server, structured="schema")
        assert isinstance(result, Infrastructure)
        assert (result.kind, result.tries, len(server.requests)) == (kind, calls, calls)
    assert 0 < len(result.message) <= 500
    assert "\n" not in result.message


@pytest.mark.parametrize("structured", ["schema", "tool"])
def test_a_refused_schema_is_told_from_other_refusals_and_not_tried_again(attempt, structured):
    with ModelServer(Reply(status=400, error="Invalid schema for function 'math_add'")) as server:
        result = attempt(server, structured=structured)
        assert len(server.requests) == 1
    assert result == Infrastructure(
        kind="refused_schema", message="Invalid schema for function 'math_add'", http_status=400, tries=1
    )


def test_redirects_without_end_are_a_failure_and_not_followed_again(attempt):
    with ModelServer(Reply(status=307, headers={"Location": "/v1/again"}, body=b"")) as server:
        result = attempt(server)
        assert len(server.requests) <= 25
    assert (result.kind, result.tries) == ("malformed_response", 1)


def test_nobody_listening_is_a_connection_failure_that_is_tried_a_few_times_only(attempt):
    with ModelServer(Reply(text="x")) as server:
        pass
    result = attempt(server)
    assert (result.kind, result.tries) == ("connection", 3)


def test_an_answer_that_never_starts_runs_into_the_time_limit(attempt):
    with ModelServer(Reply(text="x", delay=30)) as server:
        result = attempt(server, case_timeout=0.3)
        assert len(server.requests) == 3
    assert (result.kind, result.tries) == ("timeout", 3)


def test_an_answer_that_drips_runs_into_the_time_limit(attempt):
    with ModelServer(Reply(text="x", drip=0.1)) as server:
        began = time.monotonic()
        result = attempt(server, case_timeout=0.5)
        assert time.monotonic() - began < 5
    assert (result.kind, result.tries) == ("timeout", 3)
    assert result.message == "no complete answer within 0.5 s"


def test_failures_that_pass_are_invisible_in_the_result(attempt):
    replies = [Reply(status=500), Reply(cut_after=0), Reply(status=429, headers={"Retry-After": "0"}), Reply(text="ok")]
    with ModelServer(replies) as server:
        assert attempt(server).text == "ok"
        assert len(server.requests) == 4


def test_retry_after_is_honoured(attempt):
    with ModelServer([Reply(status=429, headers={"Retry-After": "1"}), Reply(text="ok")]) as server:
        assert attempt(server).text == "ok"
        first, second = server.requests
    assert 1.0 <= second.at - first.at < 3.0


def test_a_retry_after_of_a_day_is_capped(attempt):
    with ModelServer([Reply(status=429, headers={"Retry-After": "86400"}), Reply(text="ok")]) as server:
        assert attempt(server).text == "ok"
        first, second = server.requests
    assert second.at - first.at < QUICK.longest + 1.5


def test_one_refused_call_holds_back_the_others_too(connect):
    def script(request):
        return Reply(status=429, headers={"Retry-After": "1"}) if request.number == 1 else Reply(text="ok")

    with ModelServer(script) as server:
        runner = connect(server)

        async def main():
            first = asyncio.ensure_future(runner.attempt(ASK))
            while not server.requests:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.2)
            others = [runner.attempt(ASK) for _ in range(5)]
            results = await asyncio.gather(first, *others)
            await runner.close()
            return results

        results = asyncio.run(main())
        assert [result.text for result in results] == ["ok"] * 6
        assert min(request.at for request in server.requests[1:]) - server.requests[0].at >= 0.95


# Hostile answers


def test_five_megabytes_are_kept_up_to_the_bound_and_the_rest_is_counted(attempt):
    with ModelServer(Reply(text="x" * 5_000_000)) as server:
        result = attempt(server)
    assert len(result.text) == MOST_CHARACTERS
    assert result.cut == 5_000_000 - MOST_CHARACTERS
    assert result.stop_reason == "stop"


def test_deeply_nested_text_is_text(attempt):
    deep = '{"a":' * 100_000
    with ModelServer(Reply(text=deep)) as server:
        assert attempt(server).text == deep


@pytest.mark.parametrize(
    "arguments", ['{"a":' * 100_000, '{"a": ' + "9" * 10_000 + "}", "[1, 2]", "null", '{"a": NaN}']
)
def test_arguments_that_nobody_could_parse_are_the_models_and_no_infrastructure_failure(attempt, arguments):
    with ModelServer(Reply(tool_calls=[("math_add", arguments)])) as server:
        assert [call.arguments for call in attempt(server, structured="tool").calls] == [arguments]


def test_a_call_of_an_invented_parallel_tool_is_not_rewritten(attempt):
    arguments = '{"tool_uses": [{"recipient_name": "functions.math_add", "parameters": {"a": 1}}]}'
    with ModelServer(Reply(tool_calls=[("multi_tool_use.parallel", arguments)])) as server:
        (call,) = attempt(server, structured="tool").calls
    assert (call.tool, call.arguments) == ("multi_tool_use.parallel", arguments)


def test_lone_surrogates_become_the_replacement_character(attempt):
    with ModelServer(Reply(text="a\ud800b", tool_calls=[("f\udfff", '{"a": "\ud800"}')], model="m\ud800")) as server:
        result = attempt(server, structured="tool")
    assert (result.text, result.model) == ("a\ufffdb", "m\ufffd")
    assert (result.calls[0].tool, result.calls[0].arguments) == ("f\ufffd", '{"a": "\ufffd"}')


def test_nothing_of_a_hostile_answer_reaches_the_log(attempt, capfd):
    text = "::error::pwned @everyone <!-- marker -->"
    with ModelServer(Reply(text=text, tool_calls=[(text, {"a": text})], finish_reason=text, model=text)) as server:
        assert attempt(server, structured="tool").text == text
    out, err = capfd.readouterr()
    assert "pwned" not in out + err


# Secrets


@pytest.mark.parametrize("status", [400, 401, 500])
def test_a_key_that_the_provider_repeats_is_masked(attempt, status):
    encoded = base64.b64encode(f"user:{KEY}".encode()).decode()
    with ModelServer(Reply(status=status, error=f"bad key {KEY} or {encoded} {'x' * 600} {KEY}")) as server:
        result = attempt(server)
    assert KEY not in result.message
    assert encoded not in result.message
    assert result.message.startswith("bad key ***")


def test_no_key_is_an_authentication_failure_that_is_not_tried_again(attempt, monkeypatch):
    with ModelServer(Reply(text="x")) as server:
        monkeypatch.delenv("OPENAI_API_KEY")
        result = attempt(server)
        assert server.requests == []
    assert (result.kind, result.tries) == ("authentication", 1)


def test_a_request_without_a_function_is_recorded_as_prompt(attempt):
    with ModelServer(Reply(text="x")) as server:
        assert attempt(server, Request(messages=ASK.messages), structured="schema").structured == "prompt"
