"""Run → what the explorer of the page shows of each case."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from evaluator.reports.page_cases import Row, asked, attempts, rows
from evaluator.reports.page_data import data
from evaluator.reports.view_model import Listing
from evaluator.results import Finding
from evaluator.transcript import Process, Transcript
from tests.unit.reports import builders, drifts
from tests.unit.reports.builders import broken, build, failed, outcomes, passed, stale, task_result


def by_id(found: list[Row]) -> dict[str, Row]:
    return {row.id: row for row in found}


def test_a_case_is_passed_failed_flipping_or_not_scored_by_its_scored_attempts() -> None:
    task = task_result(
        "t",
        {
            "all": [passed(1), broken(2)],
            "none": [failed(1), failed(2)],
            "some": [passed(1), failed(2)],
            "broken": [broken(1)],
            "stale": [stale(1)],
            "empty": [],
        },
    )

    assert {name: row.verdict for name, row in by_id(rows(build([task]))).items()} == {
        "all": "passed",
        "none": "failed",
        "some": "flips",
        "broken": "not scored",
        "stale": "not scored",
        "empty": "not scored",
    }


def test_a_case_regressed_is_fixed_the_same_new_or_not_compared() -> None:
    before = {"worse": [passed()], "better": [failed()], "same": [passed()], "changed": [passed()], "lost": [passed()]}
    now = {"worse": [failed()], "better": [passed()], "same": [passed()], "changed": [passed()], "lost": [broken()]}
    run = build(
        [task_result("t", {**now, "new": [passed()]}, content={"changed": "another question"})],
        [task_result("t", before)],
    )
    found = by_id(rows(run))

    assert {name: row.against for name, row in found.items()} == {
        "worse": "regressed",
        "better": "fixed",
        "same": "same",
        "changed": "not compared",
        "lost": "not compared",
        "new": "new",
    }
    assert {name: row.before for name, row in found.items()} == {
        "worse": 1.0,
        "better": 0.0,
        "same": 1.0,
        "changed": None,
        "lost": None,
        "new": None,
    }


def test_without_a_baseline_nothing_is_said_of_it() -> None:
    run = builders.without_baseline()

    assert {(row.against, row.before) for row in rows(run)} == {("", None)}
    assert json.loads(data(run).index)["against"] == []


def test_regressed_cases_come_first_and_critical_ones_first_among_them() -> None:
    now = {**outcomes(1, 3), "old": [failed()]}
    run = build(
        [task_result("t", now, critical=["call-04"])],
        [task_result("t", {**outcomes(4, 0), "old": [failed()]}, critical=["call-04"])],
    )

    assert [row.id for row in rows(run)] == ["call-04", "call-02", "call-03", "old", "call-01"]


def test_the_cases_of_every_model_are_rows_of_their_own() -> None:
    found = rows(builders.three_models())

    assert len(found) == 24
    assert {row.model for row in found} == {"openai/gpt-4.1", "openai/gpt-4.1-mini", "ollama/qwen3-0.6b"}


def test_the_modes_of_a_case_are_those_of_its_failed_attempts_each_once() -> None:
    task = task_result("t", {"a": [failed(1), failed(2, mode="unparseable"), failed(3), passed(4)]})

    assert rows(build([task]))[0].modes == ["wrong_value", "unparseable"]


def test_the_attempts_of_the_control_arm_follow_those_of_the_run() -> None:
    row = by_id(rows(drifts.spending(live=None)))["call-09"]

    assert [(shown.arm, shown.said) for shown in attempts(row.source).shown] == [
        ("", "failed"),
        ("base, asked again", "passed"),
        ("change, asked again", "passed"),
    ]


def test_an_attempt_says_why_it_has_no_verdict_and_how_its_command_ended() -> None:
    ended = replace(
        failed(3), transcript=Transcript(text="", process=Process(exit_code=3, stderr="no such file", files={}))
    )
    task = task_result("t", {"a": [broken(1), stale(2), ended]})
    shown = attempts(rows(build([task]))[0].source).shown

    assert [(each.said, each.why) for each in shown] == [
        ("not scored", "rate_limit: HTTP 429 after 5 tries"),
        ("stale recording", "stale: made with another system prompt"),
        ("failed", "exit code 3\nno such file"),
    ]


def test_an_attempt_has_its_figures_in_words() -> None:
    task = task_result("t", {"a": [builders.refunded_whole(1)]})

    assert attempts(rows(build([task]))[0].source).shown[0].figures == (
        "tool_score 1.00 · order_score 1.00 · argument_score 0.80 · argument_score_matched 0.80 · schema_valid 1.00 · "
        "missing_calls 0 · extra_calls 0 · 2,400 tokens in, 180 out · $0.0040"
    )


@pytest.mark.parametrize(
    ("finding", "where"),
    [
        (Finding(path="$.amount", keyword="value", step=3, call=4, tool="refund"), "step 3, call 4 refund $.amount"),
        (Finding(path="$", keyword="missing_call", step=2, tool="refund"), "step 2 refund"),
        (Finding(path="$", keyword="extra_call", call=2), "call 2"),
        (Finding(path="$", keyword="json"), "$"),
        (Finding(path="", keyword="x", tool="refund"), "refund"),
    ],
)
def test_a_finding_says_which_step_call_and_field_it_is_about(finding: Finding, where: str) -> None:
    task = task_result("t", {"a": [failed(1, finding)]})

    assert attempts(rows(build([task]))[0].source).shown[0].findings.shown[0].where == where


def test_what_was_asked_is_each_message_and_what_was_to_be_continued() -> None:
    case = task_result("t", {"a": [passed()]}).cases[0]
    parts: list[dict[str, Any]] = [{"type": "text", "text": "see"}]
    request = replace(case.request, messages=[*case.request.messages, {"role": "user", "content": parts}], prefix="{")

    assert asked(replace(case, request=request)) == Listing(
        [("user", "a"), ("user", '[{"type":"text","text":"see"}]'), ("prefix", "{")]
    )


def test_of_many_messages_the_last_are_kept_and_the_prefix_with_them() -> None:
    case = task_result("t", {"a": [passed()]}).cases[0]
    said = [{"role": "user", "content": str(number)} for number in range(30)]
    found = asked(replace(case, request=replace(case.request, messages=said, prefix="{")))

    assert found.shown == [*(("user", str(number)) for number in range(10, 30)), ("prefix", "{")]
    assert found.more == 10


def test_of_many_attempts_those_that_failed_are_kept_first_then_those_without_a_verdict() -> None:
    made = [*map(passed, range(1, 13)), *map(broken, range(13, 25)), *map(failed, range(25, 31))]
    found = attempts(rows(build([task_result("t", {"a": made}, repeats=30)]))[0].source)

    assert [(shown.number, shown.said) for shown in found.shown] == [
        *((number, "passed") for number in (1, 2)),
        *((number, "not scored") for number in range(13, 25)),
        *((number, "failed") for number in range(25, 31)),
    ]
    assert found.more == 10


def test_of_many_findings_faults_are_kept_before_notes() -> None:
    notes = [Finding(path=f"$.n{number}", keyword="value", note=True) for number in range(50)]
    task = task_result("t", {"a": [failed(1, *notes, Finding(path="$.fault", keyword="value"))]})
    [shown] = attempts(rows(build([task]))[0].source).shown

    assert [found.where for found in shown.findings.shown] == [*(f"$.n{number}" for number in range(39)), "$.fault"]
    assert shown.findings.more == 11


def test_texts_that_come_again_are_stored_once() -> None:
    run = build([task_result("t", {f"c{n}": [failed(k, text="the same answer") for k in (1, 2, 3)] for n in range(9)})])

    assert data(run).details.count("the same answer") == 1


def test_where_there_is_no_room_details_end_with_what_matters_least() -> None:
    run = build([task_result("t", outcomes(90, 10))], [task_result("t", outcomes(100, 0))])
    whole, cut = data(run), data(run, room=len(data(run).details) // 2)
    kept = len(json.loads(cut.details)["cases"])

    assert whole.left_out == 0
    assert 0 < cut.left_out == 100 - kept
    assert len(json.loads(cut.index)["rows"]) == 100
    assert {row.verdict for row in rows(run)[:kept]} >= {"failed"}
    assert {row.verdict for row in rows(run)[kept:]} == {"passed"}


def test_a_text_is_cut_to_what_the_page_shows_and_said_to_be() -> None:
    found = json.loads(data(build([task_result("t", {"a": [failed(1, text="ä" * 9000)]})])).details)
    [number] = found["cut"]

    assert len(found["texts"][number].encode()) <= found["most"] == 4096
    assert found["texts"][number].endswith("ä…")


def test_lines_stay_lines_and_what_cannot_be_seen_is_spelt_out() -> None:
    found = json.loads(data(build([task_result("t", {"a": [failed(1, text="one\n\ttwo\u202e")]})])).details)

    assert "one\n\\ttwo\\u202e" in found["texts"]
