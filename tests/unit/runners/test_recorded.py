import json

import pytest

from evaluator.cases import Recorded
from evaluator.errors import UserError
from evaluator.runners.recorded import read_outputs
from evaluator.transcript import Call, Transcript, Usage


@pytest.fixture
def read(tmp_path):
    def read_lines(*lines):
        path = tmp_path / "outputs.jsonl"
        path.write_bytes(
            b"".join(
                (line if isinstance(line, bytes) else (line if isinstance(line, str) else json.dumps(line)).encode())
                + b"\n"
                for line in lines
            )
        )
        return read_outputs(path)

    return read_lines


@pytest.fixture
def refused(read, tmp_path):
    def problems(*lines):
        with pytest.raises(UserError) as error:
            read(*lines)
        assert error.value.code == "outputs-invalid"
        return [str(problem).split("\n")[0].removeprefix(str(tmp_path) + "/") for problem in error.value.problems]

    return problems


def test_a_full_row_becomes_a_transcript(read):
    row = {
        "case_id": "c1",
        "attempt": 2,
        "text": "hi",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 5, "output_tokens": 0, "cost_usd": 0},
        "vendor": {"unknown": True},
    }
    assert read(row) == [
        Recorded(
            case_id="c1",
            number=2,
            transcript=Transcript(
                text="hi",
                calls=[Call(tool="f", arguments='{"x": 1}', id="a")],
                stop_reason="stop",
                usage=Usage(input_tokens=5, output_tokens=0, cost_usd=0.0),
            ),
        )
    ]


def test_a_row_needs_no_more_than_a_case(read):
    assert read({"case_id": "c1"}) == [Recorded(case_id="c1", number=1, transcript=Transcript())]


@pytest.mark.parametrize(
    "call",
    [
        {"function": {"name": "f", "arguments": '{"x": 1}'}},
        {"function": {"name": "f", "arguments": {"x": 1}}},
        {"name": "f", "arguments": {"x": 1}},
        {"tool": "f", "arguments": '{"x": 1}'},
    ],
)
def test_every_shape_of_a_call_is_understood(read, call):
    (row,) = read({"case_id": "c", "tool_calls": [call]})
    assert row.transcript.calls == [Call(tool="f", arguments='{"x": 1}')]


def test_arguments_as_text_are_kept_even_where_they_are_no_json(read):
    (row,) = read({"case_id": "c", "tool_calls": [{"name": "f", "arguments": '{"x": '}]})
    assert row.transcript.calls[0].arguments == '{"x": '


def test_openais_names_of_tokens_are_understood(read):
    (row,) = read({"case_id": "c", "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}})
    assert row.transcript.usage == Usage(input_tokens=3, output_tokens=4)


def test_rows_without_a_number_are_numbered_in_order_within_their_case(read):
    rows = read({"case_id": "a"}, {"case_id": "b"}, {"case_id": "a"}, {"case_id": "a", "attempt": 7}, {"case_id": "a"})
    assert [(row.case_id, row.number) for row in rows] == [("a", 1), ("b", 1), ("a", 2), ("a", 7), ("a", 8)]


def test_blank_lines_and_a_byte_order_mark_at_the_start_are_passed_over(read):
    rows = read(b'\xef\xbb\xbf{"case_id": "a"}', b"", b"   ", b'{"case_id": "b"}\r')
    assert [row.case_id for row in rows] == ["a", "b"]


def test_a_row_that_stands_twice_is_an_error_that_names_both_lines(refused):
    assert refused({"case_id": "a", "attempt": 1}, {"case_id": "b"}, {"case_id": "a", "attempt": 1}) == [
        "outputs.jsonl:3:1: attempt 1 of case 'a' stands in line 1 already"
    ]


def test_every_bad_line_is_reported_at_once(refused):
    assert refused(
        "{",
        {"case_id": "fine"},
        [1],
        {"text": "x"},
        {"case_id": ""},
        {"case_id": 7},
        {"case_id": "c", "attempt": 0},
        {"case_id": "c", "attempt": True},
        {"case_id": "c", "attempt": 1.5},
        {"case_id": "c", "text": ["x"]},
        {"case_id": "c", "tool_calls": {"name": "f"}},
        {"case_id": "c", "tool_calls": ["f"]},
        {"case_id": "c", "tool_calls": [{"arguments": "{}"}]},
        {"case_id": "c", "tool_calls": [{"function": {"arguments": "{}"}}]},
        {"case_id": "c", "usage": {"input_tokens": -1}},
        {"case_id": "c", "usage": {"cost_usd": -0.1}},
        {"case_id": "c", "usage": {"cost_usd": "1"}},
    ) == [
        "outputs.jsonl:1:2: not JSON: Expecting property name enclosed in double quotes",
        "outputs.jsonl:3:1: the line is JSON, but not an object",
        "outputs.jsonl:4:1: $.case_id is missing",
        "outputs.jsonl:5:1: $.case_id is empty",
        "outputs.jsonl:6:1: $.case_id is not a string",
        "outputs.jsonl:7:1: $.attempt is 0, it is at least 1",
        "outputs.jsonl:8:1: $.attempt is not a whole number",
        "outputs.jsonl:9:1: $.attempt is not a whole number",
        "outputs.jsonl:10:1: $.text is not a string",
        "outputs.jsonl:11:1: $.tool_calls is not a list",
        "outputs.jsonl:12:1: $.tool_calls[0] is not an object",
        "outputs.jsonl:13:1: $.tool_calls[0].name is missing",
        "outputs.jsonl:14:1: $.tool_calls[0].function.name is missing",
        "outputs.jsonl:15:1: $.usage.input_tokens is -1, it is at least 0",
        "outputs.jsonl:16:1: $.usage.cost_usd is no amount of dollars",
        "outputs.jsonl:17:1: $.usage.cost_usd is not a number",
    ]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"case_id": "c", "x": ' + b"[" * 100_000, "nested more than 500 levels deep"),
        (b'{"case_id": "c", "x": NaN}', "NaN"),
        (b'{"case_id": "c", "usage": {"cost_usd": 1e999}}', "a number too large for a double"),
        (b'{"case_id": "c", "x": ' + b"9" * 5000 + b"}", "a number of more than 4300 digits"),
        (b'{"case_id": "c", "case_id": "d"}', "stands twice in one object"),
        (b'{"case_id": "c", "text": "\\ud800"}', "the escape of half a character (a lone surrogate)"),
        (b"\x00\x01\x02", "not JSON"),
    ],
)
def test_hostile_json_is_an_error_in_its_line_and_no_crash(refused, line, why):
    (problem,) = refused({"case_id": "fine"}, line)
    assert problem.startswith("outputs.jsonl:2:")
    assert why in problem


def test_bytes_that_are_no_utf8_become_the_replacement_character(read):
    (row,) = read(b'{"case_id": "c", "text": "\xff"}')
    assert row.transcript.text == "\ufffd"


def test_thousands_of_bad_lines_are_summed_up(refused):
    problems = refused(*["{"] * 3000)
    assert len(problems) == 51
    assert problems[-1] == "outputs.jsonl:51:1: this line and 2949 more are bad"


def test_a_line_without_end_is_refused_before_it_fills_the_memory(refused):
    (problem,) = refused(b"x" * (33 * 1024 * 1024))
    assert problem == "outputs.jsonl:1:1: a line of more than 33554432 bytes"


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UserError, match=r"none.jsonl: can't be read: No such file or directory") as error:
        read_outputs(tmp_path / "none.jsonl")
    assert error.value.code == "outputs-unreadable"
    with pytest.raises(UserError, match="Is a directory"):
        read_outputs(tmp_path)
