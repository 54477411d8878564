"""The report in a real browser: what is there without a script, in light and dark, on a small screen, on paper."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from evaluator.reports import page
from tests.browser import runs
from tests.browser.reader import Reader, ids, opened_case
from tests.unit.reports import builders, drifts

# Contrast of each text that can be seen with what lies behind it, by WCAG 2.2, success criterion 1.4.3.
_CONTRASTS = """() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b]
    .map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = numbers(getComputedStyle(each).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.body.querySelectorAll("*")) {
    if (element.closest("script, svg, option, .unseen") || !element.checkVisibility()) continue;
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) continue;
    const [a, b] = [light(numbers(getComputedStyle(element).color)), light(behind(element))].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), element.outerHTML.slice(0, 90)]);
  }
  return found;
}"""


def low_contrasts(opened: Page) -> list[str]:
    found = opened.evaluate(_CONTRASTS)
    assert len(found) > 50
    return [html for contrast, html in found if contrast < 4.5]


def test_without_a_script_the_verdict_its_reasons_figures_and_regressed_cases_can_be_read(reader: Reader) -> None:
    opened = reader.open(runs.regressing(), java_script_enabled=False)

    expect(opened.locator("h1")).to_contain_text("trapgate (refund-agent): regression")
    expect(opened.get_by_text("refunds argument_score").first).to_be_visible()
    expect(opened.locator(".figures")).to_contain_text("argument_score")
    regressed = opened.locator("details[open]", has=opened.get_by_text(re.compile(r"^Regressed cases \(4\)")))
    expect(regressed).to_contain_text("step 3 refund $.amount")
    expect(opened.locator("noscript p")).to_contain_text("every case is in results.json")
    expect(opened.locator("#explorer")).to_be_hidden()
    expect(opened.get_by_role("img", name=re.compile("^argument_score: now 0")).first).to_be_visible()


def test_a_script_or_style_that_is_not_the_pages_own_is_not_run(reader: Reader) -> None:
    text = page.render(runs.regressing())
    script, style = "<script>document.title = 'run'</script>", "<style>h1 { display: none }</style>"
    opened = reader.open(text.replace("<footer>", f"{script}{style}<footer>"))

    assert opened.title() == "trapgate (refund-agent): regression"
    expect(opened.locator("h1")).to_be_visible()
    assert len([each for each in reader.complaints if "Content Security Policy" in each]) == 2
    reader.complaints.clear()


SCHEMES = ("light", "dark")


def test_every_text_stands_out_from_what_is_behind_it_in_light_and_dark(reader: Reader) -> None:
    opened = reader.open(runs.regressing(), "#case=refunds/half-price")
    opened.keyboard.press("?")

    assert opened_case(opened).is_visible()
    for scheme in SCHEMES:
        opened.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert low_contrasts(opened) == [], scheme


@pytest.mark.parametrize("verdict", ["drift", "pass", "inconclusive", "accepted"])
def test_every_verdict_stands_out_from_what_is_behind_it(reader: Reader, verdict: str) -> None:
    opened = reader.open(drifts.accepted() if verdict == "accepted" else builders.EVERY_VERDICT[verdict]())

    for scheme in SCHEMES:
        opened.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert low_contrasts(opened) == [], scheme


def test_light_and_dark_are_the_readers_choice(reader: Reader) -> None:
    opened = reader.open(runs.regressing(), color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    grounds = [opened.evaluate(ground)]
    opened.emulate_media(color_scheme="dark")
    grounds.append(opened.evaluate(ground))

    assert grounds == ["rgb(255, 255, 255)", "rgb(13, 17, 23)"]


def test_a_small_screen_needs_no_scrolling_to_the_side(reader: Reader) -> None:
    opened = reader.open(runs.regressing(), width=360)

    for name in ("in-words", "transfer", "half-price"):
        assert opened.evaluate("document.scrollingElement.scrollWidth") <= 360
        opened.locator(".case", has_text=name).click()
        expect(opened_case(opened).locator(".got h4").first).to_be_visible()
    assert opened.evaluate("document.scrollingElement.scrollWidth") <= 360
    assert opened.locator(".case").first.bounding_box()["width"] <= 360  # type: ignore[index]


def test_nothing_moves_on_the_page(reader: Reader) -> None:
    moving = """() => [...document.querySelectorAll("*")].filter((element) => {
      const style = getComputedStyle(element);
      return style.animationName !== "none" || style.transitionDuration !== "0s" || style.scrollBehavior !== "auto";
    }).length"""

    assert reader.open(runs.regressing(), "#case=refunds/half-price").evaluate(moving) == 0


def test_charts_say_in_words_what_they_draw(reader: Reader) -> None:
    opened = reader.open(runs.regressing())

    drawn = opened.locator("svg").evaluate_all("all => all.map((one) => [one.getAttribute('role'), one.ariaLabel])")
    assert {role for role, _ in drawn} == {"img"}
    assert all(re.search(r": now .+, baseline ", words) for _, words in drawn)
    mode = opened.get_by_role("img", name=re.compile("^wrong_arguments: now")).first
    bar = mode.locator("rect.now").bounding_box()
    before = mode.locator("rect.before").bounding_box()
    assert bar is not None
    assert before is not None
    shares = re.search(r"now ([\d.]+), baseline ([\d.]+)", mode.get_attribute("aria-label") or "")
    assert shares is not None
    assert bar["width"] / before["width"] == pytest.approx(float(shares[1]) / float(shares[2]), rel=0.05)


def test_on_paper_everything_is_unfolded(reader: Reader) -> None:
    opened = reader.open(runs.regressing())
    folded = "document.querySelectorAll('details:not([open])').length"
    before = opened.evaluate(folded)
    opened.evaluate("window.dispatchEvent(new Event('beforeprint'))")

    assert before > 0
    assert opened.evaluate(folded) == 0
    opened.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert opened.evaluate(folded) == before
    opened.emulate_media(media="print")
    expect(opened.locator(".tools")).to_be_hidden()


HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)><!--<script>",
    "\u2028\u2029a\u202eb\u200b\x00\x1b[31m",
    "\ud800 lone",
    "x" * 1_000_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=["script", "img", "unseen", "surrogate", "megabyte"])
def test_hostile_text_is_shown_as_text(reader: Reader, text: str) -> None:
    rendered = page.render(builders.hostile(text))
    opened = reader.open(rendered)

    assert len(rendered) < 3_000_000
    assert len(ids(opened)) == 13
    opened.locator(".case").first.click()
    expect(opened_case(opened)).to_contain_text(
        {
            "<": text,
            "\u2028": "\\u2028\\u2029a\\u202eb\\u200b\\u0000\\u001b[31m",
            "\ud800": "\\ud800 lone",
            "x": "xxxx…",
        }[text[0]]
    )
    assert opened.locator("img, iframe, a[href^=http]").count() == 0
    assert opened.locator("script").count() == 3
    assert "\u202e" not in opened.content()


def test_a_long_text_is_cut_and_says_where_all_of_it_is(reader: Reader) -> None:
    of = runs.case("long", {"matchers": [{"kind": "numeric", "value": 42}]})
    task = runs.result("t", "trapstreet", {"long": (of, [runs.Transcript(text="no number " * 1000)])})
    opened = reader.open(builders.build([task]), "#case=t/long")

    expect(opened_case(opened).locator(".got")).to_contain_text("cut after 4096 bytes; all of it is in results.json")
    assert len(opened_case(opened).locator(".got .text").inner_text()) <= 4096


def test_where_there_is_no_room_passed_cases_go_without_details_first(reader: Reader) -> None:
    opened = reader.open(page.render(runs.regressing(), room=3_000))

    expect(opened.locator("#cases")).to_contain_text(re.compile(r"The page would be too long .* of 8 have none here"))
    opened.locator(".case").last.click()
    expect(opened_case(opened)).to_contain_text("There was no room for the details of this case")
    opened.locator(".case").first.click()
    expect(opened_case(opened).locator(".sides").first).to_be_visible()
