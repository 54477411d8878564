"""What a report says of tool-call traces and of several attempts a case."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from evaluator.config.types import Rule
from evaluator.reports import comment, terminal
from evaluator.reports.view import view
from evaluator.results import Finding, Run
from tests.unit.reports import builders
from tests.unit.reports.builders import (
    REFUND_RULES,
    build,
    refund_attempts,
    refunded_whole,
    refunding,
    skipped_policy,
    stale,
    task_result,
    traced,
)


def rows(run: Run, begin: str) -> list[str]:
    return [line for line in comment.render(run).splitlines() if line.startswith(begin)]


def section(run: Run, title: str) -> list[str]:
    """The rows of a section's table in the comment, without its heading."""
    after = comment.render(run).partition(f"<summary>{title}</summary>")[2].partition("</details>")[0]
    return [line for line in after.splitlines() if line.startswith("| ")][1:]


def test_a_wrong_argument_stands_with_its_call_its_path_and_what_was_wanted_beside_what_came() -> None:
    assert rows(refunding(), "| `refund-partial`") == [
        "| `refund-partial` | `wrong_arguments` | `step 3 issue_refund $.amount` (value) | `24.5` | `49.0` |"
    ]
    assert re.search(
        r"^refund-partial +wrong_arguments +step 3 issue_refund \$\.amount \(value\) +24\.5 +49\.0$",
        terminal.render(refunding(), width=160),
        re.MULTILINE,
    )


def test_a_missing_call_is_named_by_its_step_and_tool_without_a_path() -> None:
    assert rows(refunding(), "| `late-parcel` 1.00 → 0.80") == [
        "| `late-parcel` 1.00 → 0.80 | `missing_call` | `step 2 check_refund_policy` "
        '| `"check_refund_policy"` | `check_refund_policy` was not called |'
    ]


def test_a_malformed_call_is_quoted_where_it_was_made_and_not_at_a_missing_one() -> None:
    missing = Finding(path="$", keyword="missing_call", wanted="get_order", step=1, tool="get_order")
    torn = Finding(path="$", keyword="json", got='{"amount": 2', call=3, tool="issue_refund", message="not JSON")
    run = build([task_result("t", {"c": [traced(1, torn, missing, mode="unparseable")]})])

    assert rows(run, "| `c` ") == [
        '| `c` | `unparseable` | `call 3 issue_refund` (json) | – | `"{\\"amount\\": 2"` not JSON |'
    ]
    assert rows(run, "|  |  | `step ") == ['|  |  | `step 1 get_order` (`missing_call`) | `"get_order"` | – |']


def test_a_finding_without_a_tool_still_shows_its_step_or_call() -> None:
    used = traced(1, Finding(path="$", keyword="tool_not_used", got="rob", call=2), mode="wrong_answer")
    assert rows(build([task_result("t", {"c": [used]})]), "| `c` ") == [
        '| `c` | `wrong_answer` | `call 2` (`tool_not_used`) | – | `"rob"` |'
    ]
    odd = traced(1, Finding(path="$.a", keyword="type", wanted="number", got="x", step=4), mode="wrong_arguments")
    run = build([task_result("t", {"c": [odd]})])

    assert rows(run, "| `c` ") == ['| `c` | `wrong_arguments` | `step 4 $.a` (type) | `"number"` | `"x"` |']


def test_the_headline_of_a_gate_on_the_argument_score_counts_worse_cases_not_regressed_ones() -> None:
    assert comment.render(refunding()).startswith(
        "### ❌ trapgate (refund-agent): regression — refunds `argument_score` fell 1.00 → 0.95 (3 of 8 cases worse)\n"
    )


def test_the_table_holds_what_failed_first_then_pass_hat_k_then_the_pass_rate_and_no_more() -> None:
    figures = [row.metric for row in view(refunding()).figures]

    assert figures == ["argument_score", "all_k_pass_rate", "pass_rate"]


def test_pass_hat_k_is_left_out_where_each_case_had_one_attempt() -> None:
    run = build([task_result("t", {"c": [traced()]})])

    assert [row.metric for row in view(run).figures] == ["pass_rate"]
    assert "all_k_pass_rate" not in comment.render(run)


def test_the_other_figures_are_folded_with_the_baseline_beside_them_and_how_to_read_them() -> None:
    shown = section(refunding(), "Other figures")

    assert shown[0] == (
        "| `tool_score` | 1.00 [0.68, 1.00] | 0.98 [0.65, 1.00], n = 8 | −0.02 | share, higher is better |"
    )
    assert "| `extra_calls` | 0 | 0.1 [0.00, 0.34], n = 8 | +0.1 | mean a case, lower is better |" in shown
    assert "| `cost_usd` | `$0.1600` | `$0.1600`, n = 8 | 0 | sum, lower is better |" in shown
    assert not [row for row in shown if "pass_rate" in row or "`argument_score` " in row]


def test_a_figure_that_only_the_baseline_has_is_shown_without_a_value_of_now() -> None:
    unpriced = {name: [traced(k, cost=None) for k in range(1, 6)] for name in refund_attempts()}
    run = build(
        [task_result("refunds", unpriced, repeats=5)],
        [task_result("refunds", refund_attempts(), repeats=5)],
        rules=REFUND_RULES,
    )

    assert [row for row in section(run, "Other figures") if "cost_usd" in row] == [
        "| `cost_usd` | `$0.1600`, n = 8 | – | – | sum, lower is better |"
    ]


def test_the_cases_that_flip_are_named_with_how_often_they_passed_and_how_they_failed() -> None:
    assert section(refunding(), "Cases that flip: passed in some attempts, failed in others (2)") == [
        "| `two-orders` | 3 of 5 | `wrong_arguments` × 1, `missing_call` × 1 |",
        "| `late-parcel` | 4 of 5 | `missing_call` × 1 |",
    ]
    assert "Cases that flip: passed in some attempts, failed in others (2)" in terminal.render(refunding())


def test_a_critical_case_that_flips_is_marked() -> None:
    task = task_result("t", {"c": [traced(1), refunded_whole(2)]}, repeats=2, critical=["c"])

    assert section(build([task]), "Cases that flip: passed in some attempts, failed in others (1)") == [
        "| `c` critical | 1 of 2 | `wrong_arguments` × 1 |"
    ]


def test_the_mix_of_failure_modes_counts_attempts_not_cases() -> None:
    assert section(refunding(), "Failure modes") == [
        "| `wrong_arguments` | 6 | 0.15 | 0.00 |",
        "| `missing_call` | 2 | 0.05 | 0.00 |",
    ]


def test_a_task_says_how_many_of_its_cases_pass_always_sometimes_and_never() -> None:
    assert (
        "- `refunds`: of 8 cases, 5 passed every attempt, 2 passed some and failed others, 1 failed every attempt."
        in comment.render(refunding()).splitlines()
    )


def test_calls_that_nothing_recorded_answers_are_counted() -> None:
    assert "- `refunds`: 2 calls were answered by a frozen error, for nothing that was recorded answers them." in (
        comment.render(refunding()).splitlines()
    )
    assert "frozen error" not in comment.render(build([task_result("refunds", refund_attempts(), repeats=5)]))


def test_one_call_without_an_answer_is_told_of_without_a_baseline_too() -> None:
    run = build([task_result("t", {"c": [traced(unanswered=1.0)]})])

    assert "- `t`: 1 call was answered by a frozen error" in comment.render(run)


def test_a_pass_with_several_attempts_says_how_pass_hat_k_moved() -> None:
    before = refund_attempts(gift=[traced(k) for k in range(1, 5)] + [refunded_whole(5)])
    run = build(
        [task_result("refunds", refund_attempts(), repeats=5)],
        [task_result("refunds", before, repeats=5)],
        rules=REFUND_RULES[:1],
    )

    assert comment.render(run).startswith(
        "### ✅ trapgate: pass — 1 rule holds, refunds `all_k_pass_rate` rose 0.88 → 1.00\n"
    )


def test_pass_hat_k_of_different_k_is_no_headline() -> None:
    before = {name: attempts[:3] for name, attempts in refund_attempts().items()}
    run = build(
        [task_result("refunds", refund_attempts(), repeats=5)],
        [task_result("refunds", before, repeats=3)],
        rules=REFUND_RULES[:1],
    )

    assert comment.render(run).startswith("### ✅ trapgate: pass — 1 rule holds\n")


def test_cases_that_failed_before_are_unfolded_where_their_arguments_became_worse() -> None:
    finding = Finding(path="$.amount", keyword="value", wanted=24.5, got=49.0, step=3, tool="issue_refund")

    def attempts(argument: float) -> dict[str, list[builders.Attempt]]:
        bad = [traced(1, finding, mode="wrong_arguments", argument=argument)]
        return {f"c{n}": bad for n in range(8)} | {"right-args": [traced(1, finding, mode="wrong_answer")]}

    run = build(
        [task_result("refunds", attempts(0.2))],
        [task_result("refunds", attempts(0.8))],
        rules=[Rule(metric="argument_score", task="refunds", max_drop=0.0)],
    )
    text = comment.render(run)

    assert run.verdict == "regression"
    assert "<details open><summary>Other failed cases (8)</summary>" in text
    assert "right-args" not in text


def test_regressed_cases_that_account_for_a_lower_score_bring_no_other_cases_with_them() -> None:
    always = {"old": [refunded_whole(k) for k in range(1, 6)]}
    run = build(
        [
            task_result(
                "refunds",
                refund_attempts(gift=[refunded_whole(k) for k in range(1, 6)]) | always,
                repeats=5,
                deterministic=True,
            )
        ],
        [task_result("refunds", refund_attempts() | always, repeats=5, deterministic=True)],
        rules=REFUND_RULES[:1],
    )

    assert run.verdict == "regression"
    assert "<details open><summary>Regressed cases (1)</summary>" in comment.render(run)
    assert "failed cases" not in comment.render(run)


def test_stale_recordings_are_in_the_coverage_with_what_differs_and_what_to_do() -> None:
    why = "recorded before a change of system: a recording cannot answer for it"
    now = refund_attempts(gift=[stale(k, why) for k in range(1, 6)])
    run = build([task_result("refunds", now, repeats=5)], rules=[])
    text = comment.render(run)

    assert run.verdict == "inconclusive"
    assert "| 35 | 40 | 0.88 | 5 × stale recording: recorded before a change of system" in text
    assert "**What to do:** Recordings that were made with another prompt" in text
    assert (
        "make them again with `trapgate record` or, where they came by `--outputs`, make those outputs again." in text
    )


def test_where_all_recordings_are_stale_the_headline_says_that_and_nothing_else_is_to_be_done() -> None:
    why = "recorded before a change of system: a recording cannot answer for it"
    ids = list(refund_attempts())
    now = {name: [stale(k, why) for k in range(1, 6)] for name in ids}
    before = task_result("refunds", refund_attempts(), repeats=5, deterministic=True, critical=ids)
    run = build(
        [task_result("refunds", now, repeats=5, deterministic=True, critical=ids)], [before], rules=REFUND_RULES
    )
    text = comment.render(run)

    assert text.startswith(
        "### ❓ trapgate: inconclusive — refunds: all 40 recordings are stale, "
        "recorded before a change of system: a recording cannot answer for it\n"
    )
    assert text.count("**What to do:**") == 1
    assert "more reason" not in text
    assert [row.split(" | ")[0] for row in rows(run, "| ❓ |")] == ["| ❓", "| ❓"]


EXCUSED = Finding(
    path="$", keyword="excused_call", got="get_order", call=4, tool="get_order", message="it changes nothing", note=True
)


def test_what_is_no_fault_is_left_out_of_the_failed_cases_unless_there_is_nothing_else() -> None:
    faulty = traced(1, builders.WRONG_AMOUNT, EXCUSED, mode="wrong_arguments")
    silent = traced(1, EXCUSED, mode="wrong_arguments")
    run = build([task_result("t", {"faulty": [faulty], "silent": [silent]})])

    assert section(run, "Failed cases (2)") == [
        "| `faulty` | `wrong_arguments` | `step 3 issue_refund $.amount` (value) | `24.5` | `49.0` |",
        '| `silent` | `wrong_arguments` | `call 4 get_order` (`excused_call`) | – | `"get_order"` it changes nothing |',
    ]


def test_a_rule_on_extra_calls_unfolds_the_passing_cases_that_have_more_of_them_and_no_others() -> None:
    def attempts(extra: float) -> list[builders.Attempt]:
        return [traced(1, *([EXCUSED] if extra else []), extra=extra)]

    run = build(
        [task_result("t", {"more": attempts(1.0), "same": attempts(1.0), "none": attempts(0.0)}, deterministic=True)],
        [task_result("t", {"more": attempts(0.0), "same": attempts(1.0), "none": attempts(0.0)}, deterministic=True)],
        rules=[Rule(metric="extra_calls", task="t", max_rise=0.0)],
    )

    assert run.verdict == "regression"
    title = "<details open><summary>Other failed cases, and passed ones that a rule is about (1)</summary>"
    assert title in comment.render(run)
    assert [
        line for line in comment.render(run).splitlines() if line.startswith(("| `more`", "| `same`", "| `none`"))
    ] == ['| `more` passed | – | `call 4 get_order` (`excused_call`) | – | `"get_order"` it changes nothing |']


def test_a_case_that_failed_before_and_has_a_worse_score_is_told_from_one_that_only_has_a_bad_one() -> None:
    def attempts(*scores: float) -> dict[str, list[builders.Attempt]]:
        return {
            f"c{n}": [traced(1, builders.WRONG_AMOUNT, mode="wrong_arguments", argument=value)]
            for n, value in enumerate(scores)
        }

    run = build(
        [task_result("t", attempts(0.2, 0.2, 0.6), deterministic=True)],
        [task_result("t", attempts(0.2, 0.8, 0.4), deterministic=True)],
        rules=[Rule(metric="argument_score", task="t", max_drop=0.0)],
    )

    assert [row.split(" | ")[0] for row in section(run, "Other failed cases (1)")] == ["| `c1`"]


def test_a_failed_limit_on_extra_calls_shows_the_cases_that_have_any() -> None:
    run = build(
        [task_result("t", {"a": [traced(1, extra=2.0)], "b": [traced(1)]}, deterministic=True)],
        rules=[Rule(metric="extra_calls", task="t", max=0.5)],
    )

    assert section(run, "Failed cases, and passed ones that a rule is about (1)") == ["| `a` passed | – | – | – | – |"]


def test_a_rise_in_extra_calls_is_said_in_calls_a_case() -> None:
    now = {name: [traced(k, extra=1.0) for k in range(1, 4)] for name in refund_attempts()}
    run = build(
        [task_result("refunds", now, repeats=3, deterministic=True)],
        [task_result("refunds", {n: [traced(k) for k in range(1, 4)] for n in now}, repeats=3, deterministic=True)],
        rules=[Rule(metric="extra_calls", task="refunds", max_rise=0.0)],
    )

    assert comment.render(run).startswith(
        "### ❌ trapgate: regression — refunds `extra_calls` rose 0 → 1 (8 of 8 cases worse)\n"
    )
    assert rows(run, "| ❌ |") == ["| ❌ | `extra_calls` | 0 | 1, n = 8 | +1 | 8 worse, 0 better of 8; `max_rise` 0 |"]


def test_figures_of_retries_are_shown_with_the_others() -> None:
    attempt = traced(1)
    tried = replace(
        attempt,
        values={**attempt.values, "first_try_pass_rate": 0.0, "recovered_pass_rate": 1.0, "retry_tokens": 123.456},
    )
    shown = section(build([task_result("t", {"c": [tried]})]), "Other figures")

    assert [row.split(" | ")[0] + " " + row.split(" | ")[2] for row in shown if "try" in row or "recovered" in row] == [
        "| `first_try_pass_rate` 0.00 [0.00, 0.79], n = 1",
        "| `recovered_pass_rate` 1.00 [0.21, 1.00], n = 1",
        "| `retry_tokens` 123.46, n = 1",
    ]


@pytest.mark.parametrize("attempts", [[], [stale(1), stale(2)]])
def test_a_case_without_a_scored_attempt_neither_flips_nor_counts(attempts: list[builders.Attempt]) -> None:
    task = task_result("t", {"c": attempts, "d": [traced(1), skipped_policy(2)]}, repeats=2)
    text = comment.render(build([task]))

    assert "- `t`: of 1 case, 0 passed every attempt, 1 passed some and failed others, 0 failed every attempt." in text
    assert len(view(build([task])).flips) == 1
