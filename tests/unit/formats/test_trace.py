"""Fixtures of tool calls, written to disk, → Task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.cases import Frozen, Recorded, Request
from evaluator.config.types import Include
from evaluator.errors import UserError
from evaluator.formats.trace import detect
from evaluator.transcript import Call, Transcript, Usage
from tests.unit.formats.trace_fixtures import CALLS, STEPS, fixture, load, loaded, spec, write

PATHS = [[{"turn": 1, **STEPS[0]}, {"turn": 2, **STEPS[1]}]]


def test_a_fixture_becomes_a_case_with_what_is_asked_and_what_is_expected(tmp_path: Path) -> None:
    task = loaded(tmp_path, fixture(allowed_tools=["lookup_order", "issue_refund"], tags=["smoke", "easy", "smoke"]))
    (case,) = task.cases
    assert (task.name, task.format, task.scorer, task.skipped, task.notes) == ("t", "trace", "trace", [], [])
    assert (case.id, case.slices, case.critical, case.options) == ("partial", ["smoke", "easy"], False, {})
    assert case.request == Request(
        messages=[{"role": "user", "content": "Half of it was broken."}], max_turns=16, max_calls=64, text_calls=True
    )
    assert case.expected == {"paths": PATHS, "allowed_tools": ["issue_refund", "lookup_order"]}
    assert task.recorded == []


def test_what_was_recorded_becomes_a_transcript_and_answers_the_same_calls_again(tmp_path: Path) -> None:
    task = loaded(tmp_path, fixture(actual_invocations=CALLS, final_answer="Done, €49.", stop_reason="stop"))
    assert task.recorded == [
        Recorded(
            case_id="partial",
            number=1,
            transcript=Transcript(
                text="Done, €49.",
                calls=[
                    Call(tool="lookup_order", arguments='{"order_id": "4821"}', turn=1, result={"total": 49.0}),
                    Call(
                        tool="issue_refund",
                        arguments='{"order_id": "4821", "amount": 49.0}',
                        turn=2,
                        result={"ok": True},
                    ),
                ],
                stop_reason="stop",
            ),
        )
    ]
    assert task.cases[0].recorded == [
        Frozen(tool="lookup_order", args={"order_id": "4821"}, result={"total": 49.0}),
        Frozen(tool="issue_refund", args={"order_id": "4821", "amount": 49.0}, result={"ok": True}),
    ]


def test_several_recordings_keep_their_numbers_tokens_and_what_they_were_made_with(tmp_path: Path) -> None:
    subject = {"digest": "ab" * 32, "parts": {"model": "a/b"}}
    first = {"actual_invocations": CALLS[:1], "final_answer": None, "limit": "max_turns", "input_tokens": 7}
    second = {"attempt": 5, "final_answer": "No.", "model": "a/b", "date": "2026-01-02", "subject": subject}
    checks = [{"step": 1, "valid": True}]
    one, two = loaded(tmp_path, fixture(recordings=[{**first, "schema_checks": checks}, second])).recorded
    assert (one.number, one.transcript.limit, one.transcript.text) == (1, "max_turns", None)
    assert one.transcript.usage == Usage(input_tokens=7)
    assert (one.subject, one.subject_digest) == (None, None)
    assert (two.number, two.transcript.text, two.transcript.calls, two.transcript.usage) == (5, "No.", [], None)
    assert two.transcript.model == "a/b"
    assert (two.subject, two.subject_digest) == ({"model": "a/b"}, "ab" * 32)


def test_an_answer_without_a_call_is_a_recording_too(tmp_path: Path) -> None:
    (recorded,) = loaded(tmp_path, fixture(final_answer="I can't.")).recorded
    assert recorded.transcript == Transcript(text="I can't.")


def test_arguments_that_were_no_object_stay_the_text_that_came(tmp_path: Path) -> None:
    calls = [
        {"tool": "a", "args": "{broken", "result": {"error": "bad"}},
        {"tool": "", "args": "<tool>", "fault": "no name", "wrapper": "json"},
        {"tool": "b", "id": "call_1", "result": None},
        {"tool": "c", "result": {"error": "unknown"}, "unanswered": "unmatched"},
    ]
    task = loaded(tmp_path, fixture(actual_invocations=calls))
    assert task.recorded[0].transcript.calls == [
        Call(tool="a", arguments="{broken", turn=1, result={"error": "bad"}),
        Call(tool="", arguments="<tool>", turn=2, fault="no name", wrapper="json"),
        Call(tool="b", turn=3, id="call_1", result=None),
        Call(tool="c", turn=4, result={"error": "unknown"}, unanswered="unmatched"),
    ]
    # Neither malformed arguments nor an error for want of an answer is what a tool answers.
    assert task.cases[0].recorded == [Frozen(tool="b", args={}, result=None)]


def test_of_several_recordings_the_first_with_a_call_says_what_it_is_answered_each_time(tmp_path: Path) -> None:
    def look_up(order_id: str, result: Any) -> dict[str, Any]:
        return {"tool": "look_up", "args": {"order_id": order_id}, "result": result}

    recordings = [
        {"actual_invocations": [look_up("1", "busy"), look_up("1", "busy"), look_up("1", "sent")]},
        {"actual_invocations": [look_up("2", "lost"), look_up("1", "sent")]},
    ]
    answers = loaded(tmp_path, fixture(recordings=recordings)).cases[0].recorded
    assert [each.result for each in answers if each.args == {"order_id": "1"}] == ["busy", "busy", "sent"]
    assert [each.result for each in answers if each.args == {"order_id": "2"}] == ["lost"]


def test_rules_and_normalizers_are_written_out_by_canonical_path(tmp_path: Path) -> None:
    steps = [
        {
            "turn": 1,
            "tool": "search",
            "args": {"query": "Refund!", "tags": ["a"], "price": 2, "note": {"text": "Hi."}},
            "rules": {'$["tags"]': "set", "$.price": {"tolerance": 0.5}, "$.id": {"regex": "^x"}, "$.note": "exact"},
            "args_match": "exact",
            "alternatives": [
                {"tool": "find", "args": {"query": "refund"}, "rules": {"$.query": {"one_of": ["refund"]}}}
            ],
        },
        {"turn": 1, "tool": "find", "args": {"query": "refund"}, "optional": True},
    ]
    normalizers = {"$.query": "text@1", "find": {'$["query"]': "text@1"}, "$.note.text": "text@1"}
    case = loaded(tmp_path, fixture(expected_invocations=steps, normalizers=normalizers)).cases[0]
    assert case.expected is not None
    assert case.expected["paths"] == [
        [
            {
                "turn": 1,
                "tool": "search",
                "args": steps[0]["args"],
                "rules": {
                    "$.query": {"normalizer": "text@1"},
                    "$.tags": {"set": True},
                    "$.price": {"tolerance": 0.5},
                    "$.id": {"regex": "^x"},
                    "$.note": {"exact": True},
                },
                "alternatives": [
                    {"tool": "find", "args": {"query": "refund"}, "rules": {"$.query": {"one_of": ["refund"]}}}
                ],
                "args_match": "exact",
            },
            {
                "turn": 1,
                "tool": "find",
                "args": {"query": "refund"},
                "rules": {"$.query": {"normalizer": "text@1"}},
                "optional": True,
            },
        ]
    ]


def test_several_paths_and_no_call_at_all_are_kept_apart_from_nothing_expected(tmp_path: Path) -> None:
    task = loaded(
        tmp_path,
        fixture(task_id="a", expected_invocations=..., expected_paths=[STEPS, []]),
        fixture(task_id="b", expected_invocations=[]),
        fixture(task_id="c", expected_invocations=...),
    )
    a, b, c = task.cases
    assert (a.expected, b.expected, c.expected) == ({"paths": [*PATHS, []]}, {"paths": [[]]}, None)
    assert task.notes == ["without expected_invocations or expected_paths, so never scored: c"]


def test_chat_messages_are_sent_as_they_are(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": "The customer is a vip."},
        {"role": "user", "content": [{"type": "text", "text": "Where is 1?"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "sent"},
        {"role": "user", "content": "And 2?"},
    ]
    assert loaded(tmp_path, fixture(input=messages)).cases[0].request.messages == messages


DEFAULTS: dict[str, Any] = {
    "tools": [],
    "read_only": [],
    "max_extra_calls": 0,
    "expected_errors": [],
    "normalizers": {},
    "checks": [],
    "mocks": [],
    "max_turns": 16,
    "max_calls": 64,
    "text_calls": True,
    "tags": [],
    "critical": False,
    "skip": False,
    "description": "",
    "recordings": [],
    "$schema": "https://example.org/trace.schema.json",
}
LABELS: dict[str, Any] = {
    "tags": ["critical", "x"],
    "critical": True,
    "description": "x",
    "actual_invocations": CALLS,
    "final_answer": "x",
    "expected_answer": "x",
}
CHANGES: dict[str, Any] = {
    "input": "x",
    "tools": [spec("lookup_order"), spec("issue_refund")],
    "allowed_tools": ["lookup_order", "issue_refund"],
    "read_only": ["lookup_order"],
    "max_extra_calls": 1,
    "expected_errors": ["lookup_order"],
    "normalizers": {"$.order_id": "text@1"},
    "checks": [{"type": "contains", "value": "x"}],
    "mocks": [{"tool": "lookup_order", "result": 1}],
    "max_turns": 3,
    "max_calls": 3,
    "text_calls": False,
    "expected_invocations": [{**STEPS[0], "rules": {"$.order_id": "any"}}],
}


def digest(folder: Path, **changes: Any) -> str:
    return loaded(folder, fixture(**changes)).cases[0].digest()


@pytest.mark.parametrize("key", DEFAULTS)
def test_writing_a_default_down_changes_no_digest(tmp_path: Path, key: str) -> None:
    assert digest(tmp_path, **{key: DEFAULTS[key]}) == digest(tmp_path)


@pytest.mark.parametrize(
    "default",
    [{"turn": 1}, {"optional": False}, {"args_match": "subset"}, {"alternatives": []}, {"rules": {}}],
    ids=lambda default: next(iter(default)),
)
def test_writing_a_default_of_a_step_down_changes_no_digest(tmp_path: Path, default: dict[str, Any]) -> None:
    assert digest(tmp_path, expected_invocations=[{**STEPS[0], **default}, STEPS[1]]) == digest(tmp_path)


def test_one_sequence_is_the_same_as_a_list_of_one_path(tmp_path: Path) -> None:
    assert digest(tmp_path, expected_invocations=..., expected_paths=[STEPS]) == digest(tmp_path)


@pytest.mark.parametrize("key", LABELS)
def test_labels_and_recordings_are_not_in_the_digest(tmp_path: Path, key: str) -> None:
    assert digest(tmp_path, **{key: LABELS[key]}) == digest(tmp_path)


@pytest.mark.parametrize("key", CHANGES)
def test_what_the_task_asks_and_expects_is_in_the_digest(tmp_path: Path, key: str) -> None:
    assert digest(tmp_path, **{key: CHANGES[key]}) != digest(tmp_path)


def test_inline_tools_of_every_dialect_are_the_same_tools(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"id": {"type": "string"}}}
    openai = {"type": "function", "function": {"name": "a", "description": "d", "parameters": schema}}
    anthropic = {"name": "a", "description": "d", "input_schema": schema}
    mcp = {"name": "a", "description": "d", "inputSchema": schema, "annotations": {"readOnlyHint": True}}
    steps = [{"tool": "a"}]
    digests = [digest(tmp_path, tools=[each], expected_invocations=steps) for each in (openai, anthropic)]
    assert digests[0] == digests[1]
    task = loaded(tmp_path, fixture(tools=[mcp], expected_invocations=steps))
    assert task.cases[0].request.tools == [{"name": "a", "description": "d", "parameters": schema, "read_only": True}]
    assert task.tools == {}


def test_tools_in_files_of_the_task_belong_to_the_case_by_their_path_and_not_to_its_digest(tmp_path: Path) -> None:
    write(tmp_path, spec("lookup_order"), [spec("issue_refund")], name="specs/{}.json")
    write(tmp_path, "not a tool", name="specs/README.md")
    before = loaded(tmp_path, fixture(tools="specs/"), fixture(task_id="other", tools="./specs"))
    tools = {"specs": [spec("lookup_order"), spec("issue_refund")]}
    assert before.tools == tools
    assert [case.tools for case in before.cases] == [tools, tools]
    assert {case.request.tools_file for case in before.cases} == {"specs"}
    assert before.cases[0].offered() == tools["specs"]
    write(tmp_path, {**spec("lookup_order"), "description": "New words."}, name="specs/{}.json")
    after = load(tmp_path)
    assert after.tools != tools
    assert after.cases[0].digest() == before.cases[0].digest()


def test_a_tool_file_beside_the_fixtures_is_no_fixture(tmp_path: Path) -> None:
    write(tmp_path, json.dumps([spec("lookup_order"), spec("issue_refund")]), name="tools.json")
    task = loaded(tmp_path, fixture(tools="tools.json"))
    assert list(task.tools) == ["tools.json"]
    assert task.notes == []


def test_json_yaml_and_json_lines_are_read_in_the_order_of_names(tmp_path: Path) -> None:
    write(tmp_path, fixture(task_id="d"), name="d.json")
    write(tmp_path, "task_id: a\ninput: Hello.\nexpected_invocations: []\n", name="a.yaml")
    write(tmp_path, "{task_id: b, input: Hello., expected_invocations: []}\n", name="b.yml")
    rows = [json.dumps(fixture(task_id=name)) for name in ("c1", "c2")]
    write(tmp_path, f"{rows[0]}\n\n  \n{rows[1]}\r\n", name="c.jsonl")
    assert [case.id for case in load(tmp_path).cases] == ["a", "b", "c1", "c2", "d"]


def test_the_folder_fixtures_is_read_as_well_and_what_is_no_fixture_is_left_aside(tmp_path: Path) -> None:
    write(tmp_path, fixture(task_id="outer"), name="outer.json")
    write(tmp_path, fixture(task_id="inner"), name="fixtures/inner.json")
    write(tmp_path, fixture(task_id="deep"), name="fixtures/more/deep.json")
    write(tmp_path, "nothing of ours: [", name="trap.yaml")
    write(tmp_path, "# Refunds", name="README.md")
    write(tmp_path, "{", name=".hidden.json")
    write(tmp_path, '{"name": "site", "version": "1"}', name="package.json")
    task = load(tmp_path)
    assert [case.id for case in task.cases] == ["outer", "inner"]
    assert task.notes == [
        "./t/package.json is no fixture and was not read as one",
        "./t/fixtures/more is no fixture and was not read as one",
    ]


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.json", fixture(), True),
        ("fixtures/a.json", fixture(), True),
        ("a.jsonl", json.dumps(fixture()) + "\n", True),
        ("a.yaml", "input: x\ntask_id: a\n", True),
        ("a.yaml", '"task_id" : a\n', True),
        ("a.json", '{"task_id": "a",', True),
        ("a.yaml", "cases:\n- task_id: a\n", False),
        ("a.json", {"cases": [{"task_id": "a"}]}, False),
        ("a.json", '"task_id"', False),
        ("a.jsonl", '{"case_id": "c", "task_id": "a"}\n', False),
        ("a.jsonl", "\n\n", False),
        ("trap.yaml", "task_id: a\n", False),
        (".a.json", fixture(), False),
        ("deep/a.json", fixture(), False),
        ("a.json", b"\xff\xfe", False),
        ("a.md", "task_id: a\n", False),
    ],
)
def test_a_folder_with_a_fixture_is_told_by_a_task_id_at_its_top(
    tmp_path: Path, name: str, content: Any, found: bool
) -> None:
    write(tmp_path, content, name=name)
    assert detect(tmp_path) is found


def test_a_trapstreet_task_that_holds_fixtures_too_stays_a_trapstreet_task(tmp_path: Path) -> None:
    write(tmp_path, "Hello.", name="inputs/a/question.txt")
    write(tmp_path, fixture())
    assert load(tmp_path).format == "trapstreet"
    assert load(tmp_path, format="trace").format == "trace"


def test_include_takes_cases_by_tag_and_id_and_skip_leaves_them_out(tmp_path: Path) -> None:
    write(
        tmp_path,
        fixture(task_id="refund-1", tags=["smoke"], actual_invocations=CALLS),
        fixture(task_id="refund-2", tags=["smoke"], skip=True, actual_invocations=CALLS),
        fixture(task_id="refund-3", tags=["slow"], actual_invocations=CALLS),
        fixture(task_id="other", tags=["smoke"]),
    )
    task = load(tmp_path, include=Include(tags=["smoke"], ids=["refund-*"]))
    assert ([case.id for case in task.cases], task.skipped) == (["refund-1"], ["refund-2"])
    assert [recorded.case_id for recorded in task.recorded] == ["refund-1"]


@pytest.mark.parametrize(
    ("fixtures", "ids", "message"),
    [
        (
            [],
            [],
            "tasks.t: the task has no case\n"
            "    A case is a fixture: a file *.json, *.yaml or *.jsonl with a task_id, here or in fixtures/.",
        ),
        (
            [fixture(skip=True)],
            [],
            "tasks.t: every case that is included is marked skip\n    Include others, or leave the task out.",
        ),
        (
            [fixture()],
            ["x*"],
            "tasks.t: include leaves none of the 1 cases\n"
            "    Check the tags and the id globs against task_id and tags of the fixtures.",
        ),
    ],
)
def test_a_task_without_a_case_is_refused(tmp_path: Path, fixtures: list[Any], ids: list[str], message: str) -> None:
    with pytest.raises(UserError) as refused:
        loaded(tmp_path, *fixtures, format="trace", include=Include(ids=ids))
    assert refused.value.code == "task-empty"
    assert str(refused.value) == message


def test_critical_is_a_tag_or_a_key(tmp_path: Path) -> None:
    fixtures = [fixture(task_id="a", tags=["critical"]), fixture(task_id="b", critical=True), fixture(task_id="c")]
    assert [case.critical for case in loaded(tmp_path, *fixtures).cases] == [True, True, False]


def test_the_option_text_calls_holds_for_fixtures_without_their_own(tmp_path: Path) -> None:
    write(tmp_path, fixture(task_id="a"), fixture(task_id="b", text_calls=True))
    assert [case.request.text_calls for case in load(tmp_path, options={"text_calls": False}).cases] == [False, True]
    before = [case.digest() for case in load(tmp_path).cases]
    assert [case.digest() for case in load(tmp_path, options={"text_calls": True}).cases] == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text_calls": "no"}, "tasks.t.options: text_calls is true or false"),
        ({"no_hedge": True}, "tasks.t.options: unknown option no_hedge; the format trace has text_calls"),
    ],
)
def test_an_option_that_is_not_known_is_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as refused:
        loaded(tmp_path, fixture(), options=options)
    assert (refused.value.code, str(refused.value)) == ("task-option", message)
