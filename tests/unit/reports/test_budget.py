"""What of a report is given up for want of room, and what never is."""

from __future__ import annotations

from functools import cache

import pytest

from evaluator.config.types import Rule
from evaluator.reports import comment, summary
from evaluator.results import Run
from tests.unit.reports import builders
from tests.unit.reports.builders import build, outcomes, task_result

HEAD = "|:-:|:--|:--|:--|--:|:--|\n"
RULES = [Rule(metric="pass_rate", min=0.5)]


def name(number: int) -> str:
    return f"t{number:04}" + "n" * 80


@cache
def suite() -> Run:
    """A thousand tasks with long names, of which the 900th fell."""
    before = [task_result(name(number), outcomes(8 if number == 900 else 2, 0)) for number in range(1000)]
    now = [*before]
    now[900] = task_result(name(900), outcomes(1, 7))
    return build(now, before, rules=RULES)


def test_rows_that_pass_are_left_out_before_the_cases_that_regressed() -> None:
    text = comment.render(suite())

    assert len(text.encode()) <= 65_000
    assert text.startswith("### ❌ trapgate: regression")
    assert text.count("\n| ❌ | `t0900") == 1
    assert "<summary>Regressed cases (7)</summary>" in text
    assert text.count("`wrong_value`") >= 5
    assert "… and 2 more" in text
    assert "cut here" not in text


def test_rows_that_are_left_out_are_counted_right_below_the_table() -> None:
    text = comment.render(suite())
    rows, _, below = text.partition(HEAD)[2].partition("\n\n")

    assert len(rows.splitlines()) == 10
    assert below.lstrip().startswith("… and 990 more rows of figures, and what can be said of 990 more tasks · ")
    assert text.count("paired cases, 1 attempt each") == 10
    assert "Shortened to fit; all of it is in results.json." in text


def test_rows_of_rules_that_do_not_hold_are_never_left_out() -> None:
    tasks = [task_result(name(number), outcomes(0, 4) if number < 60 else outcomes(2, 0)) for number in range(900)]
    text = comment.render(build(tasks, rules=RULES))

    assert text.count("\n| ❌ |") == 60
    assert "… and 840 more rows of figures" in text


def test_a_summary_has_room_for_all_rows() -> None:
    text = summary.render(suite())

    assert "more rows of figures" not in text
    assert len(text.partition(HEAD)[2].partition("\n\n")[0].splitlines()) == 1000


@pytest.mark.parametrize("room", [0, 1, 20, 80])
def test_where_there_is_no_room_to_say_that_it_is_cut_there_is_no_report(room: int) -> None:
    assert comment.render(builders.passing(), max_bytes=room) == ""
    assert summary.render(builders.passing(), max_bytes=room) == ""
