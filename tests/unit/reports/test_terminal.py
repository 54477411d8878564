from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings

from evaluator.reports import terminal
from tests.unit.reports import builders
from tests.unit.reports.test_escape import hostile


def test_the_verdict_and_why_are_the_first_line() -> None:
    text = terminal.render(builders.regressing())

    assert text.splitlines()[0] == (
        "trapgate: regression — json-call pass_rate fell 0.35 → 0.00 (7 of 20 cases regressed, p = 0.016 after Holm); "
        "2 more reasons below"
    )
    assert 'call-02  missing_argument  $.arguments.currency (enum)          ["USD","EUR"]  "Dollars"' in text


@pytest.mark.parametrize("verdict", builders.EVERY_VERDICT)
def test_there_are_no_colour_codes_unless_asked_for(verdict: str) -> None:
    run = builders.EVERY_VERDICT[verdict]()

    assert "\x1b" not in terminal.render(run)
    assert "\x1b[1;3" in terminal.render(run, colour=True)


def test_tables_keep_to_the_width_of_the_terminal() -> None:
    text = terminal.render(builders.regressing(), width=90)
    table = text[text.index("metric") : text.index("planned attempts")].splitlines()

    assert max(map(len, table)) <= 90


def test_long_lists_are_cut_and_counted() -> None:
    run = builders.build([builders.task_result("t", builders.outcomes(0, 40))], [])
    many = builders.build([], canaries=_many_broken_canaries())

    assert len(terminal.render(run).splitlines()) < 30
    assert "… and 20 more" in terminal.render(many)


def test_the_first_ten_regressed_cases_are_shown_and_the_others_counted() -> None:
    before = builders.task_result("t", builders.outcomes(14, 0))
    text = terminal.render(builders.build([builders.task_result("t", builders.outcomes(0, 14))], [before]))

    assert "Regressed cases (14)" in text
    assert "call-10 " in text
    assert "call-11 " not in text
    assert "\n… and 4 more\n" in text


def test_failed_cases_are_listed_where_nothing_was_compared() -> None:
    text = terminal.render(builders.without_baseline())

    assert "Failed cases (13)" in text
    assert "call-08 " in text
    assert "\n… and 3 more\n" in text


def test_the_findings_of_a_case_are_bounded() -> None:
    finding = builders.Finding(path="$.a", keyword="value", wanted=1, got=2)
    bad = builders.failed(1, *[finding] * 9)

    assert "and 6 more findings" in terminal.render(builders.build([builders.task_result("t", {"c": [bad]})]))


def test_why_attempts_were_not_scored_is_said_whole() -> None:
    message = "no key for this provider: set OPENAI_API_KEY in the environment of the step that runs it, " + "y" * 80
    text = terminal.render(builders.build([builders.task_result("t", {"c": [builders.broken(message=message)]})]))

    assert "yyy" in text
    assert "".join(message.split()) in "".join(text.split())


def _many_broken_canaries() -> builders.CanaryResults:
    broken = [builders.CanaryResult(id=f"c{n}", expected="pass", got="fail", ok=False) for n in range(30)]
    return builders.CanaryResults(version="1", cases=broken)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
@given(hostile)
def test_no_line_can_be_a_workflow_command_or_move_the_cursor(text: str) -> None:
    shown = terminal.render(builders.hostile(text))

    assert not [line for line in shown.splitlines() if line.lstrip().startswith("::")]
    assert "##[" not in shown
    assert all(line.isprintable() for line in shown.split("\n"))


def test_importing_the_reports_imports_neither_jinja2_nor_rich() -> None:
    code = (
        "import sys; from evaluator.reports import comment, page, summary, terminal; "
        "print(sorted({'jinja2', 'rich', 'markupsafe', 'litellm'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stdout == "[]\n"
