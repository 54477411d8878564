from __future__ import annotations

import base64
import hashlib
import html
import json
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

    assert not re.search(r"https?://(?!git\.example)|src=|@import|url\(|<link", text)
    assert re.search(f": {run.verdict}[^<]*</title>", text)
    assert "prefers-color-scheme: dark" in text


def test_the_policy_lets_in_the_pages_own_script_and_style_by_their_hashes_and_nothing_else() -> None:
    text = page.render(builders.passing())
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)

    assert policy is not None
    assert script is not None
    assert style is not None
    hashes = [base64.b64encode(hashlib.sha256(part[1].encode()).digest()).decode() for part in (style, script)]
    assert html.unescape(policy[1]) == (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )
    assert text.count("<script") == 3
    assert " style=" not in text
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function", script[1])


@pytest.mark.parametrize("name", ["index", "details"])
@pytest.mark.parametrize("text", ["</script>", "<!--<script>", "\u2028\ud800\u202e\x00", '"\\'])
def test_the_data_of_the_script_are_json_that_cannot_end_their_element(name: str, text: str) -> None:
    shown = page.render(builders.hostile(text))
    data = shown.partition(f'<script type="application/json" id="{name}">')[2].partition("</script>")[0]

    assert isinstance(json.loads(data), dict)
    assert "<" not in data
    assert data.isprintable()


def test_a_long_text_is_cut_wherever_it_stands() -> None:
    assert len(page.render(builders.hostile("x" * 300_000))) < 3_000_000


def test_long_tables_end_with_how_many_more_there_are() -> None:
    run = builders.build(
        [builders.task_result("t", builders.outcomes(0, 300))], [builders.task_result("t", builders.outcomes(300, 0))]
    )

    assert "<p>… and 100 more</p>" in page.render(run)


def test_the_cases_of_every_model_are_in_the_page() -> None:
    assert "All 24 cases" in page.render(builders.three_models())


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
