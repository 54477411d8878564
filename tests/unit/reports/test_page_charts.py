"""Run → charts: what is drawn is what the figures say."""

from __future__ import annotations

from msgspec.structs import replace

from evaluator.config.types import Rule
from evaluator.reports import page
from evaluator.reports.page_charts import Mark, ModeBar, charts
from evaluator.results import Metric
from tests.unit.reports import builders
from tests.unit.reports.builders import build, outcomes, task_result


def test_a_metric_has_its_place_interval_and_baseline() -> None:
    [chart] = charts(builders.passing())
    row = next(row for row in chart.metrics if row.name == "pass_rate")

    assert row.now == Mark("0.45 [0.26, 0.66]", "45%", "25.82%", "65.79%")
    assert row.before == Mark("0.35 [0.18, 0.57]", "35%", "18.12%", "56.71%")
    assert row.words == "pass_rate: now 0.45 [0.26, 0.66], baseline 0.35 [0.18, 0.57], change +0.10"


def test_the_standing_figures_come_first_then_those_of_rules() -> None:
    [chart] = charts(builders.refunding())

    assert [row.name for row in chart.metrics][:4] == ["all_k_pass_rate", "pass_rate", "argument_score", "tool_score"]
    assert [row.outcome for row in chart.metrics][:4] == ["ok", "", "fail", ""]


def test_of_several_rules_on_a_metric_the_worst_outcome_colours_it() -> None:
    rules = [Rule(metric="pass_rate", task="t", min=0.9), Rule(metric="pass_rate", task="t", max_drop=0.5)]
    run = build([task_result("t", outcomes(2, 18))], [task_result("t", outcomes(2, 18))], rules=rules)

    assert [rule.outcome for rule in run.rules] == ["fail", "ok"]
    assert charts(run)[0].metrics[0].outcome == "fail"


def test_counts_and_sums_are_drawn_on_a_scale_of_their_own() -> None:
    run = build([task_result("refunds", {"a": [builders.traced(1, extra=4.0)], "b": [builders.traced(1)]})])
    rows = {row.name: row for row in charts(run)[0].metrics}

    assert rows["tool_score"].scale == "1.00"
    assert rows["extra_calls"].now is not None
    assert rows["extra_calls"].scale != "1.00"
    assert float(rows["extra_calls"].now.at.rstrip("%")) < 100
    assert rows["input_tokens"].now == Mark("4,800", "100%")


def test_pass_hat_k_is_not_held_against_another_k() -> None:
    now = task_result("t", outcomes(3, 1, repeats=3), repeats=3)
    run = build([now], [task_result("t", outcomes(3, 1, repeats=2), repeats=2)])

    assert charts(run)[0].metrics[0].name == "all_k_pass_rate"
    assert charts(run)[0].metrics[0].before is None


def test_modes_are_shares_on_both_sides_and_those_that_are_gone_are_shown() -> None:
    before = {"a": [builders.failed(1, mode="unparseable")], "b": [builders.passed()]}
    now = {"a": [builders.failed(1, mode="wrong_value")], "b": [builders.passed()]}

    assert list(charts(build([task_result("t", now)], [task_result("t", before)]))[0].modes) == [
        ModeBar("wrong_value", "0.50", "50%", "0.00", "0%"),
        ModeBar("unparseable", "0.00", "0%", "0.50", "50%"),
    ]


def test_without_a_baseline_a_mode_has_none_rather_than_zero() -> None:
    assert charts(builders.without_baseline())[0].modes[0].words == "wrong_value: now 0.65, baseline unknown"


def test_a_task_whose_shares_are_not_pooled_is_drawn_slice_by_slice() -> None:
    task = task_result("t", outcomes(3, 1), slices={f"call-0{n}": ["odd" if n % 2 else "even"] for n in range(1, 5)})
    before = task_result("t", outcomes(4, 0), slices={f"call-0{n}": ["odd" if n % 2 else "even"] for n in range(1, 5)})
    run = build([replace(task, pooled=False)], [replace(before, pooled=False)])
    rows = {row.name: row for row in charts(run)[0].metrics}

    assert rows.keys() == {"odd", "even"}
    assert rows["even"].now is not None
    assert rows["even"].before is not None
    assert (rows["even"].now.at, rows["even"].before.at) == ("50%", "100%")


def test_every_model_has_its_own_charts_and_one_alone_is_not_named() -> None:
    assert [chart.model for chart in charts(builders.three_models())] == [
        "openai/gpt-4.1",
        "openai/gpt-4.1-mini",
        "ollama/qwen3-0.6b",
    ]
    assert [chart.model for chart in charts(builders.passing())] == [""]


def test_a_figure_that_a_result_file_made_up_stays_within_its_chart() -> None:
    run = builders.passing()
    task = run.tasks[0]
    odd = {**task.metrics, "pass_rate": Metric(value=7.0, n=1, low=-3.0, high=float("inf"))}
    run = replace(run, tasks=[replace(task, metrics=odd)])

    assert charts(run)[0].metrics[0].now == Mark("7.00 [−3.00, inf]", "100%", "0%", "100%")
    assert page.render(run)
