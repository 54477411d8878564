"""What a judge is shown of a transcript, and what of a stored one it is not."""

from __future__ import annotations

import pytest

from evaluator.cases import OwnJudge, Program
from evaluator.isolation.command import never
from evaluator.judging.judge import Judge, answer, key
from evaluator.transcript import Call, Infrastructure, Process, Transcript


class Unreachable:
    means = ()
    protects = ""

    def run(self, command, stop):
        raise AssertionError("the judge was run")


def judge(folder):
    program = Program(cmd=["judge"], timeout=1.0)
    own = OwnJudge(
        directory=str(folder),
        inputs="inputs",
        expected="expected",
        judge=program,
        grader=None,
        setup=None,
        version="1",
        decides=True,
    )
    return Judge(own, folder, Unreachable(), never)


@pytest.mark.parametrize(
    ("transcript", "text"),
    [
        (Transcript(text=" Paris\n"), " Paris\n"),
        (Transcript(), ""),
        (
            Transcript(text="  ", calls=[Call(tool="refund", arguments='{"a": 1}')]),
            '{"name": "refund", "arguments": {"a": 1}}',
        ),
        (Transcript(calls=[Call(tool="f", arguments="{oops")]), '{"name": "f", "arguments": "{oops"}'),
        (
            Transcript(calls=[Call(tool="f"), Call(tool="g")]),
            '[{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}]',
        ),
        (Transcript(text="said", calls=[Call(tool="f")]), "said"),
    ],
)
def test_the_answer_is_what_a_solution_would_have_printed(transcript, text):
    assert answer(transcript) == text


def test_all_that_a_judge_can_see_tells_answers_apart():
    seen = [
        ("a", Transcript(text="x")),
        ("b", Transcript(text="x")),
        ("a", Transcript(text="y")),
        ("a", Transcript(text="x", seconds=1.5)),
        ("a", Transcript(text="x", process=Process(exit_code=1))),
        ("a", Transcript(text="x", process=Process(exit_code=0, stderr="e"))),
        ("a", Transcript(text="x", process=Process(exit_code=0, files={"f": b"1"}))),
        ("a", Transcript(text="x", process=Process(exit_code=0, files={"f": b"2"}))),
    ]
    assert len({key(*each) for each in seen}) == len(seen)
    assert key("a", Transcript(text="x", model="m")) == key("a", Transcript(text="x"))


@pytest.mark.parametrize("name", ["../up", "/etc/cron.d/x", "a/../../b", "", ".", "nul\0", "x" * 300])
def test_a_stored_output_that_leads_out_of_its_folder_is_refused_and_nothing_is_written(tmp_path, name):
    before = sorted(tmp_path.parent.iterdir())
    transcript = Transcript(text="x", process=Process(exit_code=0, files={name: b"x"}))
    score = judge(tmp_path)("a", transcript).score
    assert isinstance(score, Infrastructure)
    assert score.kind == "outputs_refused"
    assert "stored output" in score.message
    assert sorted(tmp_path.parent.iterdir()) == before


def test_stored_outputs_that_are_file_and_folder_at_once_are_refused(tmp_path):
    transcript = Transcript(text="x", process=Process(exit_code=0, files={"a": b"x", "a/b": b"y"}))
    score = judge(tmp_path)("a", transcript).score
    assert isinstance(score, Infrastructure)
    assert "cannot be written: 'a/b'" in score.message
