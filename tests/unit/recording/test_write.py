import json

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluator import formats
from evaluator.cases import SourceRef
from evaluator.config.types import TaskConfig
from evaluator.errors import UserError
from evaluator.json_text import parse_json
from evaluator.recording.write import fixture_text, fixture_with_recordings, recording_of, write_fixture
from evaluator.tool_calls import WRAPPERS
from evaluator.transcript import Call, Transcript, Usage

FIXTURE = {"task_id": "t", "input": "hi", "expected_invocations": []}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    LEAVES | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = (
    st.dictionaries(TEXT, JSON, max_size=3).map(json.dumps) | TEXT | JSON.map(json.dumps) | st.just('{"a":1,"a":2}')
)
CALLS = st.builds(
    Call,
    tool=TEXT.filter(bool),
    arguments=ARGUMENTS,
    turn=st.integers(1, 100),
    id=st.none() | TEXT,
    result=JSON | st.just(msgspec.UNSET),
    wrapper=st.none() | st.sampled_from(sorted(WRAPPERS)),
    fault=st.none() | TEXT.filter(bool),
    unanswered=st.none() | st.sampled_from(["unmatched", "malformed"]),
)
COUNTS = st.integers(0, 10**12)
TRANSCRIPTS = st.builds(
    Transcript,
    text=st.none() | TEXT,
    calls=st.lists(CALLS, max_size=3).map(lambda calls: sorted(calls, key=lambda call: call.turn)),
    stop_reason=st.none() | st.sampled_from(["stop", "length", "tool_calls", "content_filter"]),
    usage=st.none() | st.builds(Usage, input_tokens=COUNTS, output_tokens=st.none() | COUNTS),
    model=st.none() | TEXT.filter(bool),
    limit=st.none() | st.sampled_from(["max_turns", "max_calls"]),
)


def recording(transcript, **changes):
    given = {
        "number": 1,
        "model": transcript.model,
        "date": None,
        "subject_parts": None,
        "subject_digest": None,
    }
    return recording_of(transcript, **{**given, **changes})


def read_back(folder, fixture):
    write_fixture(folder / "t.json", fixture)
    return formats.load(TaskConfig(name="t", source="./t", format="trace"), folder, SourceRef(location="./t")).recorded


def in_one_spelling(transcript):
    """With arguments that are JSON objects spelled in one way: white space and escapes are not recorded."""
    calls = []
    for call in transcript.calls:
        value = None if call.fault else parse_json(call.arguments)
        text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else call.arguments
        calls.append(msgspec.structs.replace(call, arguments=text))
    return msgspec.structs.replace(transcript, calls=calls)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TRANSCRIPTS)
def test_a_recording_is_read_back_as_the_transcript(tmp_path, transcript):
    (found,) = read_back(tmp_path, fixture_with_recordings(FIXTURE, [recording(transcript)]))
    assert in_one_spelling(found.transcript) == in_one_spelling(transcript)


def test_arguments_are_an_object_where_they_are_one_and_else_the_text_that_came():
    texts = ['{"a": 1}', "[1]", "{a: 1}", '{"a":1,"a":2}', "", '{"n": 9999999999999999999999}', "[" * 90 + "]" * 90]
    transcript = Transcript(calls=[Call(tool="f", arguments=text) for text in texts])
    made = [invocation["args"] for invocation in recording(transcript)["actual_invocations"]]
    assert made == [{"a": 1}, *texts[1:]]


def test_the_arguments_of_a_malformed_call_stay_text():
    call = Call(tool="", arguments='{"arguments": {}}', fault="it has no name", wrapper="tool_call_tag")
    assert recording(Transcript(calls=[call]))["actual_invocations"] == [
        {"turn": 1, "tool": "", "args": '{"arguments": {}}', "wrapper": "tool_call_tag", "fault": "it has no name"}
    ]


def test_arguments_and_results_at_the_edge_of_what_a_file_holds_are_read_back(tmp_path):
    for depth in (70, 79, 80, 95, 200, 499):
        text = '{"a":' * depth + "1" + "}" * depth
        transcript = Transcript(calls=[Call(tool="f", arguments=text)])
        (found,) = read_back(tmp_path, fixture_with_recordings(FIXTURE, [recording(transcript)]))
        assert parse_json(found.transcript.calls[0].arguments) == parse_json(text)


def test_a_name_longer_than_a_fixture_holds_is_cut(tmp_path):
    transcript = Transcript(calls=[Call(tool="f" * 1000)])
    (found,) = read_back(tmp_path, fixture_with_recordings(FIXTURE, [recording(transcript)]))
    assert found.transcript.calls[0].tool == "f" * 200


def test_what_it_was_made_with_is_recorded(tmp_path):
    made = recording(
        Transcript(text="Done.", calls=[Call(tool="f")]),
        number=3,
        model="openai/m",
        date="2025-01-02T03:04:05+00:00",
        subject_parts={"system": "ab", "model": "openai/m"},
        subject_digest="0" * 64,
        schema_checks=[{"step": 1, "valid": True}],
    )
    assert made == {
        "attempt": 3,
        "model": "openai/m",
        "date": "2025-01-02T03:04:05+00:00",
        "subject": {"digest": "0" * 64, "parts": {"model": "openai/m", "system": "ab"}},
        "actual_invocations": [{"turn": 1, "tool": "f", "args": {}}],
        "final_answer": "Done.",
        "schema_checks": [{"step": 1, "valid": True}],
    }
    (found,) = read_back(tmp_path, fixture_with_recordings(FIXTURE, [made]))
    assert (found.number, found.subject_digest, found.subject) == (3, "0" * 64, {"model": "openai/m", "system": "ab"})


def test_new_recordings_take_the_place_of_old_ones_in_either_form():
    old = {**FIXTURE, "final_answer": "old", "actual_invocations": [], "input_tokens": 3, "tags": ["x"]}
    new = [recording(Transcript(text="new"))]
    assert fixture_with_recordings(old, new) == {**FIXTURE, "tags": ["x"], "recordings": new}
    assert fixture_with_recordings({**FIXTURE, "recordings": [{"attempt": 1}]}, new)["recordings"] == new


def test_the_order_of_keys_does_not_hang_on_the_order_in_memory():
    fixture = {"recordings": [], "zeta": 1, "input": "hi", "alpha": 2, "task_id": "t"}
    assert list(json.loads(fixture_text(fixture))) == ["task_id", "input", "zeta", "alpha", "recordings"]


def test_the_file_is_indented_by_two_keeps_letters_and_ends_with_a_line(tmp_path):
    write_fixture(tmp_path / "new" / "t.json", {"task_id": "t", "input": "Größe"})
    text = (tmp_path / "new" / "t.json").read_text(encoding="utf-8")
    assert text == '{\n  "task_id": "t",\n  "input": "Größe"\n}\n'


def test_a_file_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write") as refused:
        write_fixture(tmp_path / "file" / "t.json", FIXTURE)
    assert refused.value.code == "not-writable"
