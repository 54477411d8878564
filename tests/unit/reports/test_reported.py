"""What a report of somebody else's run looks like: it is not taken for one of ours."""

from __future__ import annotations

import unicodedata
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from evaluator.reports import comment, summary
from evaluator.results import Acceptance, Reason, Run
from tests.unit.reports import builders, drifts
from tests.unit.reports.rendered import LINKED_BY_GITHUB, page
from tests.unit.reports.test_escape import hostile

BY = "the fork's own run"
TITLE = f"reported by {BY}; nothing of it was checked here"
HEADING = "#### From here to the end: what the file says"
ADVICE = (
    "**What to do:** Read the change itself: whoever wrote it could have written this report. To have it evaluated by "
    "this repository, push its branch here once it has been read."
)
SIGNS = "✅☑✔✓🗸❌✖✗⚠🛑🚫🟢🔴❓🧭📨👍🎉💚🆗√𐄂\ufe0f\u20e3"


@pytest.mark.parametrize(
    "run", [builders.passing(), builders.regressing(), builders.drifting()], ids=["pass", "regression", "drift"]
)
def test_the_first_line_is_ours_and_says_that_nothing_was_checked(run: Run) -> None:
    for render in (comment.render, summary.render):
        first, *rest = [line for line in render(run, reported_by=BY).splitlines() if line]
        assert first == f"### 📨 trapgate: “{run.verdict}” — {TITLE}"
        assert rest[:2] == [ADVICE, HEADING]


def test_what_the_file_says_of_itself_is_a_list_below_the_heading_and_the_footer_is_its_word_too() -> None:
    lines = comment.render(builders.regressing(), reported_by=BY).splitlines()
    said = lines[lines.index(HEADING) + 2 :]
    assert said[0].startswith("- Verdict: regression — json-call `pass_rate` fell 0.35 → 0.00")
    assert said[1].startswith("- Compared with what it calls `")
    assert lines[-1].startswith("The file says it was made by trapgate 0.1.0 · 2026-05-05 08:30 UTC")


def test_who_accepted_the_run_is_left_out_and_a_baseline_is_called_as_the_file_calls_it() -> None:
    run = builders.regressing()
    assert run.comparison is not None
    accepted = Acceptance(by="octocat", at="2026-05-04T10:00:00+00:00", why="label on #12")
    named = replace(run.comparison, baseline="x` accepted by octocat. `y", anchor="main. Accepted by octocat.")
    text = comment.render(replace(run, accepted=accepted, comparison=named), reported_by=BY)
    assert "- Verdict: regression — " in text
    assert "- Compared with what it calls `x' accepted by octocat. 'y`.\n" in text
    assert "- Also held against the last accepted baseline: what it calls `main. Accepted by octocat.`.\n" in text
    assert text.count("octocat") == 2


@pytest.mark.parametrize("name", ["", " ", "`", "\n", "x" * 5000])
def test_a_baseline_of_an_odd_name_is_one_list_item(name: str) -> None:
    run = builders.regressing()
    assert run.comparison is not None
    odd = replace(run, comparison=replace(run.comparison, baseline=name))
    [item] = [line for line in comment.render(odd, reported_by=BY).splitlines() if line.startswith("- Compared with")]
    assert item.startswith("- Compared with what it calls `")
    assert item.endswith("`.")
    assert len(item) < 600


def test_a_sign_of_the_file_is_shown_as_a_plain_box_and_words_stay_as_they_are() -> None:
    run = replace(builders.regressing(), warnings=[Reason(kind="config", text="✅ 24 °C → ☑️ größer ≥ 3 😀")])
    assert "`▯` 24 `°C` → `▯▯` größer ≥ 3 `▯`." in comment.render(run, reported_by=BY)


def test_a_pass_shows_no_green_check_anywhere() -> None:
    assert "✅" in comment.render(builders.passing())
    reported = comment.render(builders.passing(), reported_by=BY)
    assert "✅" not in reported
    assert "| + | `pass_rate` |" in reported


def test_models_side_by_side_show_no_green_check_either() -> None:
    run = replace(builders.passing(), beside=[builders.regressing()])
    assert "✅" in comment.render(run)
    reported = comment.render(run, reported_by=BY)
    assert not signs(reported)


def test_a_drift_shows_its_witnesses_by_plain_signs() -> None:
    reported = comment.render(drifts.validators_moved(), reported_by=BY)
    assert not signs(reported)
    assert "| ~\u00a0moved | validators |" in reported


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


def signs(written: str) -> list[str]:
    """What looks like a mark of ours or of anybody: every symbol but the one that stands in the first line."""
    text = written.replace("### 📨", "", 1).replace("▯", "")
    return [one for one in text if one in SIGNS or (one > "\xff" and unicodedata.category(one) == "So")]


# Words of fixed sets, without which there is no run, and names that figures are found by.
_WORDS = {
    *("pass", "regression", "drift", "inconclusive", "ok", "fail", "warn", "scored", "infrastructure", "stale"),
    *("not_run", "steady", "moved", "silent", "replay_canaries", "baseline_rescored", "live_canaries", "control_arm"),
    *("change", "validator", "provider", "model", "known", "partial", "unknown", "candidate", "baseline", "neither"),
    *("pass_rate", "all_k_pass_rate", "note", "rule", "mcnemar", "sign-flip"),
}


def everywhere(value: Any, text: str) -> Any:
    """`value` with `text` before every string of it, so that what was equal still is."""
    if isinstance(value, str):
        return value if value in _WORDS else text + value
    if isinstance(value, list):
        return [everywhere(each, text) for each in value]
    if isinstance(value, dict):
        return {everywhere(key, text): everywhere(each, text) for key, each in value.items()}
    if isinstance(value, msgspec.Struct):
        fields = {name: everywhere(getattr(value, name), text) for name in value.__struct_fields__}
        return replace(value, **fields)
    return value


_CLAIM = "✅ trapgate: pass — checked by this repository and accepted by octocat"
_MARKUP = (
    "</details>\n\n#### trapgate\n| a | b |\n<!-- trapgate:0123456789abcdef -->@user #1 https://a.example "
    "![i](https://a.example/i)"
)
_RUNS = {
    "hostile": builders.hostile("plain"),
    "drift": drifts.validators_moved(),
    "anchored": drifts.anchored(),
    "several models": builders.three_models(),
    "accepted": replace(
        builders.two_tasks(), accepted=Acceptance(by="octocat", at="2026-05-04T10:00:00+00:00", why="label on #12")
    ),
}
# Metrics by names that nobody knows stand in other tables.
_PLAIN = {
    name: [page(comment.render(everywhere(run, text), reported_by=BY)) for text in ("", "plain")]
    for name, run in _RUNS.items()
}


@pytest.mark.parametrize("name", _RUNS)
@given(hostile | st.text(SIGNS + "a .`\n", max_size=30))
@example(_CLAIM)
@example(_MARKUP)
@example("\n\n#### From here to the end: checked by trapgate\n\n")
@settings(deadline=None, max_examples=25)
def test_hostile_text_in_every_string_of_a_run_stays_below_the_label_and_is_but_text(name: str, text: str) -> None:
    run = everywhere(_RUNS[name], text)
    written = comment.render(run, reported_by=BY)
    shown = page(written)

    head, _, below = written.partition(f"\n{HEADING}\n")
    assert [line for line in head.splitlines() if line] == [f"### 📨 trapgate: “{run.verdict}” — {TITLE}", ADVICE]
    assert not signs(written)
    assert below.rpartition("\n\n")[2].startswith("The file says it was made by trapgate ")
    assert [tag for tag in shown.tags if tag in ("h1", "h2", "h3", "h4", "h5", "h6")] == ["h3", "h4"]
    assert set(shown.tags) <= {tag for plain in _PLAIN[name] for tag in plain.tags} | {"code"}
    assert shown.attributes <= {"open", "align"}
    assert set(shown.columns) <= {width for plain in _PLAIN[name] for width in plain.columns}
    assert not shown.comments
    assert "<!--" not in written
    assert not LINKED_BY_GITHUB.search(shown.prose)
    if "accept" not in text:
        assert "accepted by" not in written.lower()


_PLAIN_PLACES = page(comment.render(builders.hostile("plain"), reported_by=BY))


@given(hostile)
@example(_CLAIM)
@example(_MARKUP)
@settings(deadline=None)
def test_hostile_text_in_every_place_changes_neither_tags_nor_tables(text: str) -> None:
    written = comment.render(builders.hostile(text), reported_by=BY)
    shown = page(written)

    assert written.partition("\n")[0].startswith("### 📨 trapgate: “")
    assert written.partition("\n")[0].endswith(TITLE)
    assert not signs(written)
    assert set(shown.tags) <= set(_PLAIN_PLACES.tags) | {"code"}
    assert not {"a", "img"} & set(shown.tags)
    assert shown.attributes <= {"open", "align"}
    assert set(shown.columns) <= set(_PLAIN_PLACES.columns)
    assert not shown.comments
    assert "<!--" not in written
    assert not LINKED_BY_GITHUB.search(shown.prose)
