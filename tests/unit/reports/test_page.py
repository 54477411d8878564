from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings

from evaluator.reports import page
from tests.unit.reports import builders
from tests.unit.reports.rendered import Page
from tests.unit.reports.test_escape import hostile


@pytest.mark.parametrize("verdict", builders.EVERY_VERDICT)
def test_the_page_fetches_nothing_and_says_the_verdict_in_its_title(verdict: str) -> None:
    run = builders.EVERY_VERDICT[verdict]()
    text = page.render(run)

    assert not re.search(r"https?://(?!git\.example)|src=|@import|url\(|<script|<link", text)
    assert re.search(f": {run.verdict}[^<]*</title>", text)
    assert "prefers-color-scheme: dark" in text


def test_commands_are_shown_as_code() -> None:
    assert "<code>trapgate baseline accept</code>" in page.render(builders.without_baseline())


def test_cases_show_wanted_and_got() -> None:
    assert "<td><code>[&#34;USD&#34;,&#34;EUR&#34;]</code></td><td><code>&#34;Dollars&#34;</code></td>" in page.render(
        builders.regressing()
    )


def test_invisible_characters_are_spelt_out() -> None:
    text = page.render(builders.hostile("a\u202eb\x1bc"))

    assert "a\\u202eb\\u001bc" in text
    assert "\u202e" not in text
    assert "\x1b" not in text


_PLAIN = Page(page.render(builders.hostile("plain")))


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
@given(hostile.filter(bool))
def test_hostile_text_adds_no_tag_and_no_attribute(text: str) -> None:
    shown, plain = Page(page.render(builders.hostile(text))), _PLAIN

    assert set(shown.tags) <= set(plain.tags) | {"code"}
    assert shown.attributes == plain.attributes
    assert [tag for tag in shown.tags if tag != "code"] == [tag for tag in plain.tags if tag != "code"]
    assert not shown.comments
