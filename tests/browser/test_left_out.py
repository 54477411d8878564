"""What the page shows of a case that is too long for it, and that it says so."""

from __future__ import annotations

from msgspec.structs import replace
from playwright.sync_api import Locator, expect

from evaluator.results import Run
from tests.browser import runs
from tests.browser.reader import Reader, marked, opened_case
from tests.unit.reports.builders import build, failed, passed, task_result


def notes(case: Locator) -> list[str]:
    """What is said to be left out, folded or not."""
    return [text for text in case.locator(".aside").all_text_contents() if text.startswith("…")]


def asking(messages: int) -> Run:
    task = task_result("t", {"long": [passed()]})
    case = task.cases[0]
    asked = [{"role": "user", "content": f"message {number}"} for number in range(1, messages + 1)]
    return build([replace(task, cases=[replace(case, request=replace(case.request, messages=asked))])])


def test_of_many_attempts_the_one_that_failed_is_there_and_open(reader: Reader) -> None:
    made = [*map(passed, range(1, 25)), failed(25)]
    opened = reader.open(build([task_result("t", {"flaky": made}, repeats=25)]), "#case=t/flaky")

    expect(opened.locator("[aria-pressed=true]")).to_have_text("attempt 25: failed, wrong_value")
    expect(opened.locator(".attempts button")).to_have_count(20)
    assert notes(opened_case(opened)) == ["… and 5 more attempts, in results.json"]


def test_of_many_messages_the_last_are_there(reader: Reader) -> None:
    case = opened_case(reader.open(asking(21), "#case=t/long"))
    case.locator("summary").click()

    expect(case.get_by_text("message 21", exact=True)).to_be_visible()
    assert notes(case) == ["… and 1 more earlier message, in results.json"]


def test_many_findings_and_calls_end_with_how_many_more_there_are(reader: Reader) -> None:
    of = runs.case("long", {"paths": [runs.STEPS]})
    calls = [runs.call("burn", {"number": number}) for number in range(80)]
    case = opened_case(
        reader.open(build([runs.result("t", "trace", {"long": (of, [runs.said(*calls)])})]), "#case=t/long")
    )

    expect(case.locator(".findings tbody tr")).to_have_count(40)
    expect(case.locator(".sides:not(.head)")).to_have_count(60)
    assert notes(case) == ["… and 43 more findings, in results.json", "… and 24 more rows, in results.json"]


def test_what_is_whole_says_nothing_of_more(reader: Reader) -> None:
    assert notes(opened_case(reader.open(asking(20), "#case=t/long"))) == []


def test_a_field_behind_the_cut_is_not_said_to_be_missing(reader: Reader) -> None:
    step = {"tool": "pay", "args": {"note": "x" * 5000, "sum": 1}}
    of = runs.case("cut", {"paths": [[step]]})
    task = runs.result("t", "trace", {"cut": (of, [runs.said(runs.call("pay", {**step["args"], "sum": 2}))])})  # type: ignore[dict-item]
    opened = reader.open(build([task]), "#case=t/cut")

    assert marked(opened_case(opened), "got") == ["$.sum is missing or cut off here"]
