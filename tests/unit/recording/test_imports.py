import json
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluator import formats
from evaluator.cases import SourceRef
from evaluator.config.types import TaskConfig
from evaluator.errors import UserError
from evaluator.recording.record import import_logs

SYSTEM = {"role": "system", "content": "You refund."}
USER = {"role": "user", "content": "Order 4821 arrived damaged."}
TOOL = {
    "type": "function",
    "function": {
        "name": "lookup_order",
        "description": "An order.",
        "strict": None,
        "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}},
    },
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": '{"total": 49.0}'}
FINAL = {"role": "assistant", "content": "It costs 49."}


def call(name="lookup_order", arguments='{"order_id": "4821"}', call_id="c1"):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*calls, text=None):
    return {"role": "assistant", "content": text, "tool_calls": list(calls or [call()])}


CONVERSATION = [USER, asks(), RESULT, FINAL]
EXPECTED = [{"turn": 1, "tool": "lookup_order", "args": {"order_id": "4821"}}]
MADE = [{**EXPECTED[0], "result": {"total": 49.0}, "id": "c1"}]


def imported(folder, content, name="log.json", environ=None):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return import_logs(path, folder / "out", environ or {})


def only(folder, content, **options):
    """The one draft, and its notes without their places."""
    result = imported(folder, content, **options)
    (path,) = result.written
    return json.loads(path.read_text(encoding="utf-8")), [note.split(": ", 1)[1] for note in result.notes]


def refusal(folder, content, name="log.json"):
    with pytest.raises(UserError) as refused:
        imported(folder, content, name)
    assert not (folder / "out").exists()
    assert refused.value.code == "import-unreadable"
    return str(refused.value).replace(str(folder) + "/", "")


def test_a_conversation_becomes_a_draft_of_what_was_asked_done_and_answered(tmp_path):
    fixture, notes = only(tmp_path, {"messages": CONVERSATION, "tools": [TOOL]})
    assert notes == []
    assert fixture == {
        "task_id": "log-001",
        "description": "Draft made of log.json, line 1. Edit expected_invocations: they are the calls that were made.",
        "input": USER["content"],
        "tools": [{**TOOL, "function": {key: value for key, value in TOOL["function"].items() if key != "strict"}}],
        "expected_invocations": EXPECTED,
        "mocks": [{"tool": "lookup_order", "result": MADE[0]["result"]}],
        "recordings": [{"attempt": 1, "actual_invocations": MADE, "final_answer": "It costs 49."}],
    }


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("log.json", json.dumps(CONVERSATION)),
        ("log.json", json.dumps([CONVERSATION])),
        ("log.json", json.dumps([{"messages": CONVERSATION}])),
        (
            "log.json",
            json.dumps({"request": {"messages": CONVERSATION[:3]}, "response": {"choices": [{"message": FINAL}]}}),
        ),
        ("log.json", json.dumps({"messages": CONVERSATION[:3], "choices": [{"message": FINAL}]})),
        ("log.json", json.dumps({"messages": CONVERSATION[:3], "response": FINAL})),
        ("log.json", json.dumps({"messages": CONVERSATION[:3], "response": "It costs 49."})),
        ("log.json", json.dumps({"messages": CONVERSATION, "response": FINAL})),
        (
            "log.json",
            json.dumps(
                {"messages": CONVERSATION[:3], "completion": {"content": [{"type": "text", "text": "It costs 49."}]}}
            ),
        ),
        (
            "log.json",
            json.dumps(
                {"body": {"messages": CONVERSATION[:3]}, "response": {"body": {"choices": [{"message": FINAL}]}}}
            ),
        ),
        ("log.jsonl", json.dumps({"messages": CONVERSATION}) + "\n\n"),
        ("log.txt", json.dumps({"messages": CONVERSATION}) + "\n"),
        ("log.jsonl", "\n".join(map(json.dumps, CONVERSATION))),
        ("log.txt", "\ufeff" + "\n".join(map(json.dumps, CONVERSATION))),
    ],
)
def test_every_way_of_logging_gives_the_same_draft(tmp_path, name, content):
    fixture, notes = only(tmp_path, content, name=name)
    assert notes == []
    assert fixture["input"] == USER["content"]
    assert fixture["recordings"] == [{"attempt": 1, "actual_invocations": MADE, "final_answer": "It costs 49."}]


def test_an_anthropic_conversation_becomes_the_same_draft(tmp_path):
    messages = [
        {"role": "user", "content": [{"type": "text", "text": USER["content"]}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "…", "signature": "x"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "lookup_order", "input": {"order_id": "4821"}},
                {"type": "tool_use", "id": "t2", "name": "refund", "input": {"amount": 24.5}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t2", "content": "not allowed", "is_error": True},
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": '{"total": 49.0}'}]},
            ],
        },
    ]
    log = {
        "request": {"model": "claude", "system": "You refund.", "messages": messages},
        "response": {
            "type": "message",
            "role": "assistant",
            "model": "claude-1",
            "content": [{"type": "text", "text": "No."}],
            "stop_reason": "end_turn",
        },
    }
    fixture, notes = only(tmp_path, log)
    assert fixture["input"] == USER["content"]
    assert fixture["expected_invocations"] == [*EXPECTED, {"turn": 1, "tool": "refund", "args": {"amount": 24.5}}]
    assert fixture["recordings"] == [
        {
            "attempt": 1,
            "model": "claude-1",
            "actual_invocations": [
                {**EXPECTED[0], "result": {"total": 49.0}, "id": "t1", "wrapper": "anthropic"},
                {
                    "turn": 1,
                    "tool": "refund",
                    "args": {"amount": 24.5},
                    "result": {"is_error": True, "content": "not allowed"},
                    "id": "t2",
                    "wrapper": "anthropic",
                },
            ],
            "final_answer": "No.",
            "stop_reason": "stop",
        }
    ]
    assert notes == [
        "1 system message left out: the system prompt belongs to trap.yaml",
        "parts of the model's answer that are no text were left out: thinking",
        "text beside the calls of turn 1 was left out",
        "call 2 (refund) failed: if that belongs to the scenario, name it in expected_errors",
    ]


def test_requests_that_repeat_the_conversation_so_far_are_one_draft_with_all_their_tokens(tmp_path):
    def line(messages, answer, read, written):
        usage = {"prompt_tokens": read, "completion_tokens": written}
        response = {
            "created": 1700000000,
            "model": "m-1",
            "choices": [{"message": answer, "finish_reason": "stop"}],
            "usage": usage,
        }
        return json.dumps({"request": {"model": "m", "messages": [SYSTEM, *messages]}, "response": response})

    lines = [line([USER], asks(), 10, 2), line([USER, asks(), RESULT], FINAL, 20, 3)]
    result = imported(tmp_path, "\n".join(lines), "log.jsonl")
    (path,) = result.written
    (recording,) = json.loads(path.read_text())["recordings"]
    assert (recording["input_tokens"], recording["output_tokens"]) == (30, 5)
    assert (recording["model"], recording["date"]) == ("m-1", "2023-11-14T22:13:20+00:00")
    log = tmp_path / "log.jsonl"
    assert result.notes == [
        f"{log}:1: goes on in line 2, one fixture for both",
        f"{log}:2: 1 system message left out: the system prompt belongs to trap.yaml",
    ]


def test_tokens_that_are_known_of_a_part_are_left_out_and_said(tmp_path):
    log = {"messages": CONVERSATION[:3], "response": {**FINAL, "usage": {"input_tokens": 5, "output_tokens": 1}}}
    fixture, notes = only(tmp_path, log)
    assert "input_tokens" not in fixture["recordings"][0]
    assert notes == ["token counts left out: they are known of 1 answers, and there are 2"]


def test_the_older_function_role_is_joined_by_name(tmp_path):
    messages = [
        USER,
        {
            "role": "assistant",
            "content": None,
            "function_call": {"name": "lookup_order", "arguments": '{"order_id": "4821"}'},
        },
        {"role": "function", "name": "lookup_order", "content": "shipped"},
        FINAL,
    ]
    fixture, notes = only(tmp_path, {"messages": messages, "functions": [TOOL["function"]]})
    assert notes == []
    assert fixture["tools"][0]["name"] == "lookup_order"
    assert fixture["recordings"][0]["actual_invocations"] == [
        {**EXPECTED[0], "result": "shipped", "wrapper": "function_call"}
    ]


def test_calls_in_the_text_are_read_where_the_log_has_no_others(tmp_path):
    said = 'Wait.\n<tool_call>{"name": "lookup_order", "arguments": {"order_id": "4821"}}</tool_call>'
    messages = [USER, {"role": "assistant", "content": said}, {"role": "tool", "content": '{"total": 49.0}'}, FINAL]
    fixture, notes = only(tmp_path, messages)
    assert fixture["recordings"][0]["actual_invocations"] == [
        {**EXPECTED[0], "result": {"total": 49.0}, "wrapper": "tool_call_tag"}
    ]
    assert notes == ["text beside the calls of turn 1 was left out"]


def test_results_are_joined_by_id_in_whatever_order_and_where_ids_are_used_again(tmp_path):
    messages = [USER, asks(call(call_id="a"), call("refund", "{}", "b")), answer("b", "2"), answer("a", "1")]
    messages += [asks(call(call_id="a")), answer("a", "3"), FINAL]
    fixture, _ = only(tmp_path, messages)
    made = fixture["recordings"][0]["actual_invocations"]
    assert [(each["turn"], each["tool"], each["result"]) for each in made] == [
        (1, "lookup_order", "1"),
        (1, "refund", "2"),
        (2, "lookup_order", "3"),
    ]


def answer(call_id, content):
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def test_malformed_arguments_stay_text_and_expect_nothing(tmp_path):
    fixture, notes = only(tmp_path, [USER, asks(call(arguments='{"order_id": ')), answer("c1", "x"), FINAL])
    assert fixture["recordings"][0]["actual_invocations"][0]["args"] == '{"order_id": '
    assert fixture["expected_invocations"] == [{"turn": 1, "tool": "lookup_order"}]
    assert notes == ["call 1 (lookup_order) has arguments that are no JSON object: its step expects any"]


@pytest.mark.parametrize(
    ("messages", "wanted"),
    [
        (
            [*CONVERSATION, {"role": "user", "content": "And 7?"}, asks(), RESULT],
            "3 messages with 1 call left out from where the user speaks again: a fixture is one request",
        ),
        (
            [USER, asks(), answer("zz", "x"), RESULT, FINAL],
            "a result for the call 'zz' was left out: there is no such call without a result",
        ),
        (
            [USER, asks(), RESULT, RESULT, FINAL],
            "a result for the call 'c1' was left out: there is no such call without a result",
        ),
        ([USER, asks(), FINAL], "call 1 (lookup_order) has no result"),
        ([USER, asks(), RESULT], "there is no final answer"),
        ([USER, asks(), RESULT, FINAL, FINAL], "text of the model that more followed on was left out"),
        ([USER, asks(call("")), RESULT, FINAL], "call 1 is malformed and not expected: the call has no name"),
        (
            [{"role": "user", "content": [{"type": "text", "text": "See."}, {"type": "image_url"}]}, FINAL],
            "parts of the input that are no text were left out: image_url",
        ),
        ([{"role": "user", "content": ""}, USER, FINAL], "1 message of the input without text left out"),
    ],
)
def test_what_does_not_fit_is_said(tmp_path, messages, wanted):
    _, notes = only(tmp_path, messages)
    assert notes == [wanted]


def test_the_talk_before_the_first_call_is_the_input(tmp_path):
    talk = [{"role": "assistant", "content": "Hello?"}, USER, {"role": "assistant", "content": "Which?"}]
    fixture, notes = only(tmp_path, [*talk, {"role": "user", "content": "4821"}, asks(), RESULT, FINAL])
    assert notes == []
    assert fixture["input"] == [*talk, {"role": "user", "content": "4821"}]


def test_tools_that_the_provider_runs_are_left_out_and_free_text_tools_become_functions(tmp_path):
    tools = [{"type": "web_search_20250305", "name": "web_search"}, {"type": "custom", "custom": {"name": "sql"}}]
    fixture, notes = only(tmp_path, {"messages": CONVERSATION, "tools": tools})
    assert [tool["name"] for tool in fixture["tools"]] == ["sql"]
    assert notes == [
        "a tool of type 'web_search_20250305' was left out: it is run by the provider",
        "call 1 (lookup_order) is not expected: there is no such tool",
    ]


def test_given_ids_name_the_files_and_stay_apart(tmp_path):
    ids = ["refund/4821", "Refund-4821", "../../etc", None]
    lines = [
        json.dumps({"task_id": given, "messages": [{**USER, "content": f"{n}"}, FINAL]}) for n, given in enumerate(ids)
    ]
    written = imported(tmp_path, "\n".join(lines), "my log.jsonl").written
    assert [path.name for path in written] == ["refund-4821.json", "Refund-4821-2.json", "etc.json", "my-log-004.json"]
    assert {path.parent for path in written} == {tmp_path / "out"}


def test_a_conversation_without_a_request_is_left_out_and_said(tmp_path):
    lines = [json.dumps({"messages": [FINAL]}), json.dumps({"messages": CONVERSATION})]
    _, notes = only(tmp_path, "\n".join(lines), name="log.jsonl")
    assert notes == ["no text of a user before the first call: all 1 messages were left out"]


def test_secrets_are_masked_before_anything_is_written(tmp_path):
    key = "sk-abcdefghijklmnop12345"
    messages = [USER, asks(call(arguments=json.dumps({"key": key, "token": "hunter2hunter2"}))), FINAL]
    result = imported(tmp_path, messages, environ={"SHOP_TOKEN": "hunter2hunter2"})
    assert result.masked == 2
    text = result.written[0].read_text()
    assert key not in text
    assert "hunter2" not in text
    assert json.loads(text)["expected_invocations"][0]["args"] == {"key": "***", "token": "***"}


def test_drafts_are_fixtures_that_load_and_answer_their_own_calls(tmp_path):
    messages = [SYSTEM, USER, asks(call(), call("refund", "oops", "c2")), RESULT, answer("c2", "[1]"), FINAL]
    notes = imported(tmp_path, {"messages": messages, "tools": [TOOL]}).notes
    assert notes[-1].endswith("call 2 (refund) is not expected: there is no such tool")
    config = TaskConfig(name="t", source="./t", format="trace")
    task = formats.load(config, tmp_path / "out", SourceRef(location="./t"))
    (case,), (recorded,) = task.cases, task.recorded
    assert [spec["name"] for spec in case.offered()] == ["lookup_order"]
    assert [(made.tool, made.arguments, made.result) for made in recorded.transcript.calls] == [
        ("lookup_order", '{"order_id": "4821"}', {"total": 49.0}),
        ("refund", "oops", [1]),
    ]
    assert [(frozen.tool, frozen.result) for frozen in case.recorded] == [("lookup_order", {"total": 49.0})]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("log.json", "{", "log.json:1:2: not JSON: Expecting property name enclosed in double quotes"),
        ("log.json", '"hi"', "log.json:1:1: $: a conversation is an object or a list of messages, not text"),
        ("log.json", '{\n "prompt": "hi"\n}', "log.json:1:1: $: no list of messages in this record"),
        (
            "log.json",
            '[\n {"messages": []},\n {"request": {"x": 1}}\n]',
            "log.json:3:14: $[1].request: no list of messages in this record",
        ),
        (
            "log.json",
            '{"messages": [\n  {"role": "bot"}]}',
            "log.json:2:3: $.messages[0]: a message with the role 'bot': it is one of",
        ),
        ("log.json", '{"messages": [{"content": "x"}]}', "$.messages[0]: a message with no role"),
        ("log.json", '{"messages": [7]}', "$.messages[0]: a message is an object, not a number"),
        (
            "log.json",
            '{"messages": [{"role": "user", "content": {"a": 1}}]}',
            "$.messages[0].content: content is text or a list of parts, not an object",
        ),
        ("log.json", '{"messages": [], "response": 7}', "$.response: a response is an object, not a number"),
        (
            "log.json",
            '{"messages": [], "response": {"choices": []}}',
            "$.response: neither a chat completion nor a message",
        ),
        ("log.json", '{"messages": []}', "log.json: no conversation to make a fixture of"),
        ("log.jsonl", "", "log.jsonl: no conversation to make a fixture of"),
        ("log.jsonl", '{"messages": []}\n{"a": NaN}\n\n{"b"}', "log.jsonl:2:7: not a JSON number: NaN"),
        (
            "log.jsonl",
            '{"messages": [{"role": "user"}]}\n{"messages": [{"role": "x"}]}',
            "log.jsonl:2:15: $.messages[0]: a message with the role 'x'",
        ),
    ],
)
def test_a_log_that_cannot_be_read_is_refused_with_its_place(tmp_path, name, content, message):
    assert message in refusal(tmp_path, content, name)


def test_every_bad_line_is_named_at_once(tmp_path):
    said = refusal(tmp_path, '{"a": NaN}\n[]\n{"b"}', "log.jsonl")
    assert "log.jsonl:1:7" in said
    assert "log.jsonl:3:5" in said


def test_a_refusal_says_what_can_be_imported(tmp_path):
    assert "Import reads OpenAI chat logs and Anthropic messages, as JSON or JSON Lines" in refusal(tmp_path, "7")


def test_a_log_that_is_no_text_or_not_there_is_refused(tmp_path):
    (tmp_path / "log.json").write_bytes(b'{"a":\n"\xff"}')
    for name, message in (
        ("log.json", "log.json:2:1: not UTF-8"),
        ("none.json", "none.json: cannot be read: No such file"),
    ):
        with pytest.raises(UserError, match=message) as refused:
            import_logs(tmp_path / name, tmp_path / "out", {})
        assert refused.value.code == "import-unreadable"


def test_a_fixture_that_is_there_is_never_overwritten_and_nothing_else_is_written(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "log-002.json").write_text("edited")
    lines = [json.dumps({"messages": [{**USER, "content": text}, FINAL]}) for text in ("a", "b")]
    with pytest.raises(UserError, match="a fixture is there already") as refused:
        imported(tmp_path, "\n".join(lines), "log.jsonl")
    assert refused.value.code == "import-exists"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["log-002.json"]


def test_a_log_of_deep_or_huge_values_is_imported_all_the_same(tmp_path):
    deep = '{"a":' * 300 + "1" + "}" * 300
    messages = [USER, asks(call(arguments=deep), call("n", '{"n": ' + "9" * 30 + "}", "c2")), answer("c1", deep), FINAL]
    fixture, _ = only(tmp_path, messages)
    made = fixture["recordings"][0]["actual_invocations"]
    assert made[0]["args"] == made[0]["result"] == deep
    assert made[1]["args"] == '{"n": ' + "9" * 30 + "}"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "tool_calls",
                    "function",
                    "name",
                    "arguments",
                    "id",
                    "type",
                    "input",
                    "text",
                    "usage",
                ]
            ),
            inner | st.sampled_from(["user", "assistant", "tool", "tool_use", "tool_result", "function"]),
            max_size=4,
        )
    ),
    max_leaves=10,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool", "function", "system"])},
        optional={
            "content": VALUES,
            "tool_calls": VALUES,
            "function_call": VALUES,
            "tool_call_id": VALUES,
            "name": VALUES,
        },
    ),
    max_size=4,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.fixed_dictionaries(
        {"messages": MESSAGES},
        optional={"tools": VALUES, "response": VALUES, "model": VALUES, "id": VALUES, "system": VALUES},
    )
    | VALUES
)
def test_any_log_is_imported_or_refused_and_never_crashes(tmp_path, log):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    for old in (tmp_path / "out").glob("*"):
        old.unlink()
    with suppress(UserError):
        result = import_logs(path, tmp_path / "out", {})
        assert all(json.loads(fixture.read_text())["input"] for fixture in result.written)
