"""The case explorer of the page in a real browser: filters, links, keys, marked differences, thousands of cases."""

from __future__ import annotations

import time

from playwright.sync_api import expect

from evaluator.reports import page
from evaluator.results import Run
from tests.browser import runs
from tests.browser.reader import Reader, ids, marked, opened_case
from tests.unit.reports import builders, drifts

REGRESSED = ["no-policy", "transfer", "in-words", "half-price"]


def test_all_cases_are_listed_and_what_regressed_comes_first(reader: Reader) -> None:
    opened = reader.open(runs.mixed())

    assert ids(opened) == [*REGRESSED, "always-wrong", "refused", "mended", "whole-price", "brand-new"]
    expect(opened.locator("#count")).to_have_text("9 cases")
    first = opened.locator(".case").first
    expect(first).to_have_text("✗ failedno-policy refundswrong_tool0 of 3 passed, regressed")


def test_a_filter_leaves_what_matches_and_counts_it(reader: Reader) -> None:
    opened = reader.open(runs.mixed())
    for name, word, left in (
        ("verdict", "failed", ["no-policy", "transfer", "in-words", "always-wrong"]),
        ("verdict", "flips", ["half-price"]),
        ("verdict", "not scored", ["refused"]),
        ("verdict", "passed", ["mended", "whole-price", "brand-new"]),
        ("against", "regressed", REGRESSED),
        ("against", "fixed", ["mended"]),
        ("against", "same", ["always-wrong", "whole-price"]),
        ("against", "new", ["brand-new"]),
        ("against", "not compared", ["refused"]),
        ("task", "answers", ["transfer", "in-words"]),
        ("slice", "partial", ["no-policy", "half-price"]),
        ("mode", "wrong_arguments", ["half-price", "always-wrong"]),
    ):
        opened.select_option(f"#{name}", word)

        assert ids(opened) == left, word
        expect(opened.locator("#count")).to_have_text(f"{len(left)} of 9 {'case' if len(left) == 1 else 'cases'}")
        assert f"{word} ({len(left)})" in opened.locator(f"#{name} option").all_text_contents()
        opened.get_by_role("button", name="Reset").click()
        assert len(ids(opened)) == 9


def test_filters_add_up_and_each_counts_what_its_other_words_would_give(reader: Reader) -> None:
    opened = reader.open(runs.mixed())
    opened.select_option("#against", "regressed")
    opened.select_option("#task", "refunds")
    opened.fill("#q", "POLICY")

    assert ids(opened) == ["no-policy"]
    assert opened.locator("#task option").all_text_contents() == ["all", "answers (0)", "refunds (1)"]
    opened.fill("#q", "")
    assert opened.locator("#task option").all_text_contents() == ["all", "answers (2)", "refunds (2)"]
    opened.get_by_role("button", name="Reset").click()
    assert len(ids(opened)) == 9
    assert opened.evaluate("location.hash") in ("", "#")


def test_a_filter_of_one_word_is_not_offered(reader: Reader) -> None:
    opened = reader.open(runs.mixed())

    expect(opened.locator("#model")).to_be_hidden()
    expect(opened.locator("#task")).to_be_visible()


def test_the_cases_of_all_models_are_there(reader: Reader) -> None:
    opened = reader.open(builders.three_models())
    opened.select_option("#model", "ollama/qwen3-0.6b")

    expect(opened.locator("#count")).to_have_text("8 of 24 cases")
    expect(opened.locator(".case").first).to_contain_text("ollama/qwen3-0.6b")


def test_a_link_shows_what_its_writer_saw(reader: Reader) -> None:
    opened = reader.open(runs.mixed())
    opened.select_option("#against", "regressed")
    opened.fill("#q", "half")
    opened.locator(".case").first.click()
    opened.get_by_role("button", name="attempt 3: passed").click()
    fragment = opened.evaluate("location.hash")
    other = reader.open(runs.mixed(), fragment)

    assert fragment == "#q=half&against=regressed&case=refunds%2Fhalf-price&attempt=3"
    assert ids(other) == ["half-price"]
    expect(other.locator("#q")).to_have_value("half")
    expect(other.locator("[aria-pressed=true]")).to_have_text("attempt 3: passed")
    expect(other.locator("#against")).to_be_in_viewport()


def test_a_link_with_words_that_nobody_knows_shows_everything(reader: Reader) -> None:
    opened = reader.open(runs.mixed(), "#verdict=splendid&case=nobody&attempt=-4&mode=__proto__")

    assert len(ids(opened)) == 9
    expect(opened_case(opened)).to_have_count(0)


def test_the_first_lines_link_to_what_regressed(reader: Reader) -> None:
    opened = reader.open(runs.mixed())
    opened.get_by_role("link", name="the 4 that regressed").click()

    assert ids(opened) == REGRESSED
    expect(opened.locator("#cases-title")).to_be_in_viewport()


def test_fields_that_differ_are_marked_on_both_sides_of_a_trace(reader: Reader) -> None:
    opened = reader.open(runs.mixed(), "#case=refunds/half-price")
    case = opened_case(opened)

    assert marked(case, "wanted") == ['"amount": 24.5,', '"to": "card"']
    assert marked(case, "got") == ['"amount": 49.0,', '"to": "bank"']
    assert case.locator(".sides h4").all_text_contents() == [
        *("step 1 lookup_order", "call 1 lookup_order"),
        *("step 2 check_policy", "call 2 check_policy"),
        *("step 3 refund", "call 3 refund"),
        "answer",
    ]
    assert case.locator(".sides .sign").evaluate_all("all => all.map((one) => one.firstChild?.textContent ?? '')") == [
        *("=", "=", "≠", ""),
    ]
    assert case.locator(".findings tbody tr").all_text_contents() == [
        "step 3, call 3 refund $.amountvalue24.549.0",
        'step 3, call 3 refund $.note.tovalue"card""bank"',
    ]


def test_a_step_that_was_skipped_and_a_call_that_nobody_wanted_stand_alone(reader: Reader) -> None:
    opened = reader.open(runs.mixed(), "#case=refunds/no-policy")
    rows = opened_case(opened).locator(".sides:not(.head)")

    missing = rows.filter(has_text="did not come")
    assert missing.locator("h4").all_text_contents() == ["step 2 check_policy"]
    extra = rows.filter(has_text="not expected")
    assert extra.locator("h4").all_text_contents() == ["call 2 cancel_order"]


def test_a_json_answer_stands_beside_the_values_that_are_accepted(reader: Reader) -> None:
    opened = reader.open(runs.mixed(), "#case=answers/transfer")
    case = opened_case(opened)

    assert marked(case, "wanted") == ['"currency": "USD" | "EUR",']
    assert marked(case, "got") == ['"currency": "Dollars"']
    expect(case.locator(".wanted .json")).to_contain_text('"urgent": true | (none)')


def test_a_text_stands_beside_the_matchers_and_the_one_that_fails_is_marked(reader: Reader) -> None:
    opened = reader.open(runs.mixed(), "#case=answers/in-words")
    case = opened_case(opened)

    assert marked(case, "wanted") == ["{", '"kind": "numeric",', '"value": 42', "},"]
    expect(case.locator(".got")).to_contain_text("It is 41, I think.")


def test_a_field_that_is_missing_is_named_where_it_should_be(reader: Reader) -> None:
    of = runs.case("gap", {"paths": [runs.STEPS]})
    short = runs.said(*runs.GOOD[:2], runs.call("refund", {"order_id": "4821", "note": {"lines": [1], "to": "card"}}))
    task = runs.result("refunds", "trace", {"gap": (of, [short])})
    opened = reader.open(builders.build([task]), "#case=refunds/gap")

    assert marked(opened_case(opened), "got") == ["$.amount is missing"]
    assert marked(opened_case(opened), "wanted") == ['"amount": 24.5,']


def test_arguments_that_are_no_json_are_shown_as_they_came(reader: Reader) -> None:
    of = runs.case("torn", {"paths": [runs.STEPS]})
    task = runs.result(
        "refunds", "trace", {"torn": (of, [runs.said(*runs.GOOD[:2], runs.call("refund", '{"amount": 2'))])}
    )
    opened = reader.open(builders.build([task]), "#case=refunds/torn")

    expect(opened_case(opened).locator(".got .text", has_text='{"amount": 2')).to_be_visible()


def test_numbers_are_shown_digit_by_digit(reader: Reader) -> None:
    big = 12345678901234567890123
    step = {"tool": "pay", "args": {"cents": big, "rate": 1.10}}
    of = runs.case("big", {"paths": [[step]]})
    task = runs.result(
        "t", "trace", {"big": (of, [runs.said(runs.call("pay", f'{{"cents": {big + 1}, "rate": 1.10}}'))])}
    )
    opened = reader.open(builders.build([task]), "#case=t/big")

    assert marked(opened_case(opened), "wanted") == [f'"cents": {big},']
    assert marked(opened_case(opened), "got") == [f'"cents": {big + 1},']
    expect(opened_case(opened).locator(".got .json").first).to_contain_text('"rate": 1.10')


def test_attempts_can_be_chosen_and_the_first_that_failed_is_open(reader: Reader) -> None:
    opened = reader.open(runs.mixed(), "#case=refunds/half-price")

    expect(opened.locator("[aria-pressed=true]")).to_have_text("attempt 1: failed, wrong_arguments")
    opened.get_by_role("button", name="attempt 3: passed").click()
    assert marked(opened_case(opened), "got") == []
    expect(opened_case(opened)).to_contain_text("pass rate in the baseline 1.00, now 1 of 3 attempts")


def test_attempts_of_the_control_arm_stand_behind_those_of_the_run(reader: Reader) -> None:
    run = drifts.spending(live=None)
    opened = reader.open(run, "#case=refunds/call-09")

    assert opened.locator(".attempts button").all_text_contents() == [
        "attempt 1: failed, wrong_value",
        "base, asked again 1: passed",
        "change, asked again 1: passed",
    ]


def test_what_kept_an_attempt_from_being_scored_is_said(reader: Reader) -> None:
    opened = reader.open(runs.mixed(), "#case=refunds/refused")

    expect(opened_case(opened)).to_contain_text("rate_limit: HTTP 429 after 5 tries")
    expect(opened_case(opened)).to_contain_text("not compared: the baseline has nothing to hold it against")


def test_the_keys_find_walk_through_open_and_close_cases(reader: Reader) -> None:
    opened = reader.open(runs.mixed())
    focused = "document.activeElement.querySelector('.id')?.firstChild.textContent ?? document.activeElement.id"

    def press(*keys: str) -> str:
        for key in keys:
            opened.keyboard.press(key)
        return str(opened.evaluate(focused))

    assert press("/") == "q"
    assert press("p", "o", "l") == "q"
    assert ids(opened) == ["no-policy"]
    assert press("Escape") == "q"
    assert len(ids(opened)) == 9
    assert press("ArrowDown") == "no-policy"
    assert press("j", "ArrowDown") == "in-words"
    assert press("k") == "transfer"
    assert press("Enter") == "transfer"
    expect(opened_case(opened)).to_be_visible()
    assert opened.locator("[aria-expanded=true]").get_attribute("aria-controls") == "detail"
    assert press("Tab", "Tab") != "transfer"
    assert press("Escape") == "transfer"
    expect(opened_case(opened)).to_have_count(0)
    assert press("k", "k", "k", "ArrowUp") == "no-policy"
    press("?")
    expect(opened.locator("#keys")).to_be_visible()
    expect(opened.locator("#help")).to_have_attribute("aria-expanded", "true")


def test_keys_with_a_modifier_are_the_browsers(reader: Reader) -> None:
    opened = reader.open(runs.mixed())
    opened.keyboard.press("Control+j")

    assert opened.evaluate("document.activeElement === document.body")


def test_every_control_is_reached_by_tab_and_shows_that_it_has_the_focus(reader: Reader) -> None:
    opened = reader.open(runs.mixed(), "#case=refunds/half-price")
    reached = []
    for _ in range(90):
        opened.keyboard.press("Tab")
        at, outline = opened.evaluate(
            "(([at]) => [at.outerHTML.slice(0, 60), getComputedStyle(at).outlineStyle])([document.activeElement])"
        )
        if at.startswith("<body"):
            break
        assert outline != "none", at
        reached.append(at)
    wanted = opened.evaluate(
        """[...document.querySelectorAll("a[href], button, input, select, summary")]
        .filter((each) => each.checkVisibility()).map((each) => each.outerHTML.slice(0, 60))"""
    )

    assert set(wanted) <= set(reached)


def test_three_thousand_cases_load_and_filter_while_a_reader_waits_for_nothing(reader: Reader) -> None:
    run = runs.large()
    before = time.process_time()
    text = page.render(run)
    rendered = time.process_time() - before
    before = time.monotonic()
    opened = reader.open(text)
    opened.wait_for_selector("#list > li")
    loaded = time.monotonic() - before
    filtered = opened.evaluate(
        """() => {
          const took = [];
          for (const [id, value, event] of [["slice", "part-3", "change"], ["q", "1", "input"], ["q", "", "input"]]) {
            const start = performance.now();
            document.getElementById(id).value = value;
            document.getElementById(id).dispatchEvent(new Event(event));
            document.body.getBoundingClientRect();
            took.push(performance.now() - start);
          }
          return took;
        }"""
    )
    first = opened.evaluate(
        """() => {
          const start = performance.now();
          document.querySelector(".case").click();
          document.body.getBoundingClientRect();
          return performance.now() - start;
        }"""
    )

    assert len(text) < 8_000_000
    # Some times what it takes alone on a slow machine.
    assert rendered < 4
    assert loaded < 3
    assert max(filtered) < 300
    assert first < 1000
    expect(opened.locator("#count")).to_have_text("429 of 3,000 cases")
    assert opened.locator("#list > li").count() == 100


def test_more_cases_come_by_a_button_or_by_walking_past_the_last(reader: Reader) -> None:
    opened = reader.open(runs.large(250))
    more = opened.locator("#more")

    expect(more).to_have_text("Show 100 more of 150")
    more.click()
    expect(opened.locator("#list > li")).to_have_count(200)
    opened.locator(".case").last.focus()
    opened.keyboard.press("j")
    expect(opened.locator("#list > li")).to_have_count(250)
    expect(more).to_be_hidden()
    assert opened.evaluate("document.activeElement === document.querySelectorAll('.case')[200]")


def alike() -> Run:
    """Cases whose names look the same where they are shown."""
    long = {f"{'L' * 300}{number}": [builders.failed()] for number in (1, 2)}
    return builders.build(
        [
            builders.task_result("a/b", {"c": [builders.failed()]}),
            builders.task_result("a", {"b/c": [builders.failed()]}),
            builders.task_result("long", long),
        ]
    )


def test_each_case_opens_itself_whatever_its_name_looks_like(reader: Reader) -> None:
    opened = reader.open(alike())
    rows = opened.locator("#list > li")

    assert rows.count() == 4
    for place in range(4):
        rows.nth(place).locator(".case").click()
        expect(rows.nth(place).locator("#detail")).to_be_visible()
        expect(opened_case(opened)).to_have_count(1)
        opened.keyboard.press("Escape")


def test_a_link_to_one_of_several_cases_that_look_the_same_has_its_number(reader: Reader) -> None:
    opened = reader.open(alike())
    opened.locator(".case").nth(1).click()
    fragment = opened.evaluate("location.hash")
    other = reader.open(alike(), fragment)

    assert fragment == "#case=a%2Fb%2Fc&row=2"
    expect(other.locator("#list > li").nth(1).locator("#detail")).to_be_visible()
    first = reader.open(alike(), "#case=a%2Fb%2Fc")
    expect(first.locator("#list > li").first.locator("#detail")).to_be_visible()
