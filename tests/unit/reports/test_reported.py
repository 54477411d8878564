"""What a report of somebody else's run looks like: it is not taken for one of ours."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from msgspec.structs import replace

from evaluator.reports import comment, summary
from evaluator.results import Run
from tests.unit.reports import builders
from tests.unit.reports.rendered import LINKED_BY_GITHUB, page
from tests.unit.reports.test_escape import hostile

BY = "the fork's own run"


@pytest.mark.parametrize(
    "run", [builders.passing(), builders.regressing(), builders.drifting()], ids=["pass", "regression", "drift"]
)
def test_the_first_line_is_ours_and_says_that_nothing_was_checked(run: Run) -> None:
    for render in (comment.render, summary.render):
        first, _, rest = render(run, reported_by=BY).partition("\n")
        assert first == f"### 📨 trapgate: “{run.verdict}” — reported by {BY}; nothing of it was checked here"
        assert rest.lstrip().startswith("In its own words: ")


def test_a_pass_shows_no_green_check_anywhere() -> None:
    assert "✅" in comment.render(builders.passing())
    reported = comment.render(builders.passing(), reported_by=BY)
    assert "✅" not in reported
    assert "| + | `pass_rate` |" in reported


def test_models_side_by_side_show_no_green_check_either() -> None:
    run = replace(builders.passing(), beside=[builders.regressing()])
    assert "✅" in comment.render(run)
    reported = comment.render(run, reported_by=BY)
    assert "✅" not in reported
    assert "❌" not in reported


def test_the_name_of_the_configuration_and_a_loud_reason_stay_out_of_the_first_line() -> None:
    run = builders.regressing()
    loud = replace(run, name="verified", reasons=[replace(run.reasons[0], kind="critical", text="Merge this!")])
    first = comment.render(loud, reported_by=BY).partition("\n")[0]
    assert "verified" not in first
    assert "Merge" not in first


def test_the_advice_is_to_read_the_change_and_not_to_accept_by_label() -> None:
    text = comment.render(builders.regressing(), reported_by=BY)
    assert text.count("**What to do:**") == 1
    assert "**What to do:** Read the change itself: whoever wrote it could have written this report." in text
    assert "trapgate:accept" not in text


def test_a_report_of_ones_own_is_as_it_was() -> None:
    assert comment.render(builders.passing()) == comment.render(builders.passing(), reported_by="")


_PLAIN = page(comment.render(builders.hostile("plain"), reported_by=BY))


@given(hostile)
@example(
    "</details>\n\n| a | b |\n<!-- trapgate:0123456789abcdef -->@user #1 https://a.example ![i](https://a.example/i)"
)
@settings(deadline=None)
def test_hostile_text_in_every_place_changes_neither_tags_nor_tables(text: str) -> None:
    written = comment.render(builders.hostile(text), reported_by=BY)
    shown = page(written)

    assert written.partition("\n")[0].startswith("### 📨 trapgate: “")
    assert written.partition("\n")[0].endswith(f"reported by {BY}; nothing of it was checked here")
    assert set(shown.tags) <= set(_PLAIN.tags) | {"code"}
    assert not {"a", "img"} & set(shown.tags)
    assert shown.attributes <= {"open", "align"}
    assert set(shown.columns) <= set(_PLAIN.columns)
    assert not shown.comments
    assert "<!--" not in written
    assert not LINKED_BY_GITHUB.search(shown.prose)
