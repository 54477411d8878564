from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from evaluator.reports import comment, page, terminal
from evaluator.reports.words import FIXES
from evaluator.results import Run
from evaluator.vocabulary import FAILURE_MODES
from tests.unit.reports import rendered
from tests.unit.reports.builders import (
    refund_attempts,
    refunded_whole,
    refunding,
    side_by_side,
    skipped_policy,
    stale,
    three_models,
    traced,
)

HEADINGS = (
    "|  | model | all-k pass rate | pass rate | tool | argument | order | extra calls | tokens in / out "
    "| cost per passed case |"
)


def table(run: Run) -> list[str]:
    lines = comment.render(run).splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("|  | model |"))
    return lines[start : lines.index("", start)]


def cells(run: Run, column: str) -> list[str]:
    """A column of the table of the models, top to bottom."""
    first, _, *rows = [[cell.strip() for cell in line.split("|")] for line in table(run)]
    return [row[first.index(column)] for row in rows]


def test_each_model_has_a_row_with_its_verdict_and_figures() -> None:
    assert table(three_models()) == [
        HEADINGS,
        "|:--|:--|:--|:--|:--|:--|:--|:--|:--|:--|",
        "| ✅ | `openai/gpt-4.1` | 1.00 | 1.00 | 1.00 | 1.00 | 1.00 | 0 | 96,000 / 7,200 | `$0.0040` |",
        "| ❌ | `openai/gpt-4.1-mini` | 0.75 | 0.82 | 0.99 | 0.96 | 0.99 | 0.03 | 96,000 / 7,200 | `$0.0048` |",
        "| ❌ | `ollama/qwen3-0.6b` | 0.00 | 0.00 | 0.67 | 0.60 | 0.67 | 0 | 96,000 / 7,200 | no case passed |",
    ]


def test_the_first_lines_say_which_models_do_not_pass() -> None:
    lines = comment.render(three_models()).splitlines()

    assert lines[0] == (
        "### ❌ trapgate: regression — `openai/gpt-4.1-mini`: refunds `argument_score` fell 1.00 → 0.96 "
        "(2 of 8 cases worse); 2 more reasons below"
    )
    assert lines[2].startswith(
        "By model: regression `openai/gpt-4.1-mini`, ollama/qwen3-0.6b; pass `openai/gpt-4.1`. Compared with"
    )
    assert terminal.render(three_models()).splitlines()[1] == (
        "  By model: regression openai/gpt-4.1-mini, ollama/qwen3-0.6b; pass openai/gpt-4.1."
    )


def test_a_model_that_is_inconclusive_beside_one_that_passes_is_in_the_first_lines() -> None:
    unscored = {name: [stale(k) for k in range(1, 6)] for name in refund_attempts()}
    run = side_by_side(("a/one", refund_attempts()), ("b/two", unscored))
    text = comment.render(run)

    assert text.startswith(
        "### ❓ trapgate: inconclusive — b/two: refunds: all 40 recordings are stale, made with another system prompt"
    )
    assert "By model: inconclusive b/two; pass a/one." in text.splitlines()[2]
    assert cells(run, "pass rate") == ["1.00", "–"]
    assert cells(run, "cost per passed case") == ["`$0.0040`", "–"]
    assert "<summary>Coverage: attempts without a verdict of <code>b/two</code></summary>" in text


def test_under_the_table_each_model_gets_the_fix_that_its_dominant_failure_mode_calls_for() -> None:
    lines = comment.render(three_models()).splitlines()

    assert (
        "- `openai/gpt-4.1-mini`: `wrong_arguments` × 6, `missing_call` × 1 of 40 attempts. To mend first: schemas and "
        "examples (tighter types and enums, plainer field descriptions, an example of a right call)."
    ) in lines
    assert (
        "- `ollama/qwen3-0.6b`: `missing_call` × 40 of 40 attempts. To mend first: planning and the system prompt "
        "(which steps, in which order, what to do after an error, when to stop)."
    ) in lines
    assert not [line for line in lines if line.startswith("- `openai/gpt-4.1`:")]


def test_every_failure_mode_calls_for_a_fix() -> None:
    assert FIXES.keys() == set(FAILURE_MODES)


def test_of_equally_frequent_modes_the_one_that_is_decided_first_counts() -> None:
    bad = refund_attempts(gift=[refunded_whole(1), skipped_policy(2), *(traced(k) for k in range(3, 6))])
    text = comment.render(side_by_side(("a/one", refund_attempts()), ("b/two", bad)))

    assert "- `b/two`: `missing_call` × 1, `wrong_arguments` × 1 of 40 attempts. To mend first: planning" in text


def test_more_than_three_modes_are_summed_up() -> None:
    modes = ["wrong_tool", "wrong_tool", "extra_call", "wrong_order", "max_turns"]
    bad = refund_attempts(gift=[traced(k, mode=mode) for k, mode in enumerate(modes, start=1)])
    text = comment.render(side_by_side(("a/one", refund_attempts()), ("b/two", bad)))

    assert "`wrong_tool` × 2, `extra_call` × 1, `wrong_order` × 1, others × 1 of 40 attempts." in text
    assert "To mend first: tool descriptions and routing" in text


def test_a_mode_that_nobody_knows_is_counted_without_advice() -> None:
    bad = refund_attempts(gift=[traced(k, mode="odd") for k in range(1, 6)])
    lines = comment.render(side_by_side(("a/one", refund_attempts()), ("b/two", bad))).splitlines()

    assert "- `b/two`: `odd` × 5 of 40 attempts." in lines


@pytest.mark.parametrize(
    ("cost", "passed", "shown"),
    # 40 attempts at $0.004 are $0.16; 35 of the other cases pass.
    [(0.004, 5, "`$0.0040`"), (0.004, 2, "`$0.0043`"), (None, 5, "unknown"), (0.0, 5, "`$0.0000`")],
)
def test_a_passed_case_costs_what_all_attempts_cost_over_those_that_passed(
    cost: float | None, passed: int, shown: str
) -> None:
    gift = [traced(k, cost=cost) if k <= passed else refunded_whole(k, cost=cost) for k in range(1, 6)]
    attempts = {name: [traced(k, cost=cost) for k in range(1, 6)] for name in refund_attempts()} | {"gift": gift}
    run = side_by_side(("a/one", refund_attempts()), ("b/two", attempts))

    assert cells(run, "cost per passed case") == ["`$0.0040`", shown]


def test_one_attempt_without_a_price_makes_the_cost_unknown() -> None:
    attempts = refund_attempts(gift=[traced(1, cost=None), *(traced(k) for k in range(2, 6))])

    assert cells(side_by_side(("a/one", refund_attempts()), ("b/two", attempts)), "cost per passed case") == [
        "`$0.0040`",
        "unknown",
    ]


def test_columns_that_no_model_has_a_figure_for_are_left_out() -> None:
    once = {"c": [traced(1)]}
    plain = {"c": [replace(once["c"][0], values={})]}
    run = side_by_side(("a/one", plain), ("b/two", plain), repeats=1)

    assert table(run)[0] == "|  | model | pass rate | tokens in / out | cost per passed case |"


def test_with_several_tasks_a_model_has_a_row_for_each() -> None:
    run = three_models()
    both = [replace(run.tasks[0], name=name) for name in ("refunds", "orders")]
    other = replace(run.beside[0], tasks=both)
    shown = table(replace(run, tasks=both, beside=[other]))

    assert shown[0].startswith("|  | model | task | all-k pass rate |")
    assert [re.findall(r"`([^`]+)`", row)[:2] for row in shown[2:]] == [
        ["openai/gpt-4.1", "refunds"],
        ["openai/gpt-4.1", "orders"],
        ["openai/gpt-4.1-mini", "refunds"],
        ["openai/gpt-4.1-mini", "orders"],
    ]


def test_the_cases_of_the_other_models_are_folded_under_their_names() -> None:
    text = comment.render(three_models())
    folded = text.partition("<details><summary>Regressed cases (2) of <code>openai/gpt-4.1-mini</code></summary>")[2]

    assert "`step 3 issue_refund $.amount` (value) | `24.5` | `49.0` |" in folded.partition("</details>")[0]
    assert "<details><summary>Regressed cases (8) of <code>ollama/qwen3-0.6b</code></summary>" in text
    assert "<details><summary>Figures of <code>openai/gpt-4.1-mini</code></summary>" in text
    assert "| ❌ | `argument_score` | 1.00" in text
    assert "<details open>" not in text


def test_a_terminal_shows_the_cases_of_the_models_that_do_not_pass() -> None:
    text = terminal.render(three_models())

    assert "Regressed cases (2) of openai/gpt-4.1-mini" in text
    assert "3 issue_refund $.amount (value)  24.5    49.0" in text


def test_names_in_the_terminals_table_are_not_broken() -> None:
    assert "\nx  openai/gpt-4.1-mini  0.75 " in terminal.render(three_models())


def test_the_figures_below_the_table_say_whose_they_are() -> None:
    assert "Figures and cases of `openai/gpt-4.1`; those of the other models are folded below." in comment.render(
        three_models()
    )
    assert "Figures and cases of" not in comment.render(refunding())


def test_facts_are_sums_over_all_models() -> None:
    text = comment.render(three_models())

    assert "120 of 120 planned attempts scored" in text
    assert "cost at least `$0.3200` (40 attempts without a known price)" in text
    assert "288,000 tokens in, 21,600 out" in text
    assert text.splitlines()[-1].endswith("models `openai/gpt-4.1`, `openai/gpt-4.1-mini`, ollama/qwen3-0.6b")


def test_a_pass_of_all_models_counts_the_rules_of_all() -> None:
    run = side_by_side(("a/one", refund_attempts()), ("b/two", refund_attempts()))

    assert comment.render(run).startswith(
        "### ✅ trapgate: pass — 4 rules hold, a/one: refunds `all_k_pass_rate` stayed at 1.00\n"
    )
    assert "By model: pass a/one, b/two." in comment.render(run)


def test_a_page_shows_the_same_table() -> None:
    shown = rendered.Page(page.render(three_models()))

    assert 10 in shown.columns
    assert "no case passed" in shown.prose
    assert "openai/gpt-4.1-mini" in shown.exact


@pytest.mark.parametrize("most", [5_000, 8_000, 20_000, 60_000])
def test_the_table_of_the_models_and_the_rules_stay_whatever_else_goes(most: int) -> None:
    many = {f"{'c' * 40}-{n}": [refunded_whole(k) for k in range(1, 6)] for n in range(300)}
    text = comment.render(side_by_side(("a/one", many), ("b/two", many), ("c/three", many)), max_bytes=most)

    assert len(text.encode()) <= most
    assert re.search(r"^\| . \| `c/three` \| 0\.00 \|", text, re.MULTILINE)
    assert "To mend first: schemas and examples" in text
    assert re.search(r"^\| ❌ \| `all_k_pass_rate` \|", text, re.MULTILINE)
    assert "Shortened to fit" in text
    assert text.count("<details") == text.count("</details>")
