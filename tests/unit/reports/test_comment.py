from __future__ import annotations

import re
from functools import cache

import pytest
from hypothesis import HealthCheck, example, given, settings
from msgspec.structs import replace

from evaluator.config.types import Rule
from evaluator.reports import comment, summary
from evaluator.reports import page as html
from evaluator.results import Evidence, Finding, Reason, Run
from evaluator.transcript import Call, Transcript
from tests.unit.reports import builders
from tests.unit.reports.builders import broken, build, failed, outcomes, passed, task_result
from tests.unit.reports.rendered import LINKED_BY_GITHUB, page
from tests.unit.reports.test_escape import hostile

DROP = Rule(metric="pass_rate", task="t", max_drop=0.0)
FLOOR = Rule(metric="pass_rate", task="t", min=0.8)


def first_line(run: Run) -> str:
    return comment.render(run).partition("\n")[0]


def rows(run: Run, begin: str) -> list[str]:
    return [line for line in comment.render(run).splitlines() if line.startswith(begin)]


def test_a_regression_says_in_its_first_line_what_fell_by_how_much_and_how_sure_it_is() -> None:
    assert first_line(builders.regressing()) == (
        "### ❌ trapgate: regression — json-call `pass_rate` fell 0.35 → 0.00 "
        "(7 of 20 cases regressed, p = 0.016 after Holm); 2 more reasons below"
    )


def test_a_pass_is_said_in_one_line_and_shows_nothing_unfolded() -> None:
    text = comment.render(builders.passing())

    assert text.startswith("### ✅ trapgate: pass — 1 rule holds, json-call `pass_rate` rose 0.35 → 0.45\n")
    assert "<details open>" not in text
    assert "What to do" not in text


def test_a_rise_in_what_should_be_low_is_a_possible_rise() -> None:
    rule = Rule(metric="failure_modes.wrong_value", task="t", max_rise=0.0)
    run = build([task_result("t", outcomes(3, 2))], [task_result("t", outcomes(5, 0))], rules=[rule])

    assert first_line(run).endswith(
        "pass, with a possible rise — no rule failed; possible rise in t `failure_modes.wrong_value` 0.00 → 0.40, "
        "within noise (5 cases)"
    )


def test_a_pass_with_several_warnings_names_one_and_counts_the_others() -> None:
    run = build([task_result("t", outcomes(4, 1))], [task_result("t", outcomes(5, 0))], rules=[FLOOR, DROP])

    assert first_line(run).endswith(
        "pass, with a possible drop — no rule failed; possible drop in t `pass_rate` 1.00 → 0.80, within noise "
        "(5 cases); 1 more warning below"
    )


def test_a_floor_that_may_not_hold_is_named_with_its_limit() -> None:
    run = build([task_result("t", outcomes(3, 2))], rules=[FLOOR])

    assert first_line(run).endswith("pass — no rule failed; t `pass_rate` 0.60 may lie beyond its limit (min 0.8)")


def test_a_task_that_the_baseline_does_not_know_is_not_said_to_be_worse() -> None:
    run = build([task_result("t", outcomes(3, 2))], [], rules=[DROP])

    assert first_line(run).endswith(
        "pass — no rule failed; t `pass_rate`, `max_drop` 0: not judged, the baseline does not know this task yet"
    )


def test_a_pass_that_compared_nothing_says_so_and_marks_no_rule_as_holding() -> None:
    run = build([task_result("t", outcomes(3, 2))], rules=[DROP], allow_missing=True)

    assert first_line(run) == "### ✅ trapgate: pass — compared with nothing yet (`baseline.allow_missing`)"
    assert rows(run, "| – |") == [
        "| – | `pass_rate` | – | 0.60 [0.23, 0.88], n = 5 | – | no baseline yet; `max_drop` 0 |"
    ]


def test_a_floor_that_holds_is_counted_beside_rules_that_compared_nothing() -> None:
    floor = Rule(metric="pass_rate", task="t", min=0.1)
    run = build([task_result("t", outcomes(20, 0))], rules=[DROP, floor], allow_missing=True)

    assert first_line(run).endswith("pass — 1 rule holds; 1 rule compared with nothing yet (`baseline.allow_missing`)")


def test_a_pass_without_any_rule_says_how_many_cases_failed() -> None:
    run = build([task_result("t", outcomes(1, 2))], rules=[])

    assert first_line(run).endswith("pass — no rule to hold it to; 2 of 3 cases failed")


def test_a_pass_without_any_change_says_that_the_rate_stayed() -> None:
    run = build([task_result("t", outcomes(5, 5))], [task_result("t", outcomes(5, 5))])

    assert first_line(run) == "### ✅ trapgate: pass — 1 rule holds, t `pass_rate` stayed at 0.50"


def test_the_first_line_counts_fixed_cases_against_the_regressed_ones() -> None:
    before = {**outcomes(12, 0), "x": [failed(1)]}
    now = {**outcomes(0, 12), "x": [passed()]}

    assert first_line(build([task_result("t", now)], [task_result("t", before)])).endswith(
        "fell 0.92 → 0.08 (12 of 13 cases regressed, 1 fixed, p = 0.002)"
    )


def test_a_case_that_failed_some_of_its_attempts_says_how_many() -> None:
    run = build([task_result("t", {"a": [passed(1), failed(2), passed(3)]}, repeats=3)])

    assert rows(run, "| `a` ")[:1] == [
        "| `a` failed 1 of 3 | `wrong_value` | `$.arguments.amount` (value) | `[24.5]` | `49.0` |"
    ]


def test_validator_drift_names_the_layer_the_canary_and_the_way_out() -> None:
    text = comment.render(builders.drifting())

    assert text.startswith(
        "### 🧭 trapgate: drift — the validators moved, not the model: canary numeric-invented-unit is judged passed, "
        "must fail (`wrong_value`); 2 more reasons below\n"
    )
    assert "Find out what changed: `trapgate canaries` scores the recorded answers alone" in text
    assert "| `numeric-invented-unit` | `failed wrong_value score=0 \\| $:value` | `passed score=1` |" in text
    assert "- jsonschema 4.25.1 → 4.26.0" in text
    assert "34 of 36 canaries as expected" in text


def test_model_drift_says_that_the_model_moved_and_not_the_change() -> None:
    text = comment.render(builders.provider_drifting())

    assert text.startswith("### 🧭 trapgate: drift — the model moved, not the change: another model answers")
    assert "Name a dated version of the model in `trap.yaml`." in text


def test_an_inconclusive_run_says_what_is_missing_and_why() -> None:
    text = comment.render(builders.inconclusive())

    assert text.startswith(
        "### ❓ trapgate: inconclusive — json-call: 8 of 20 planned attempts were scored, 95% are needed"
    )
    assert "<details open><summary>Coverage: attempts without a verdict</summary>" in text
    assert "| 8 | 20 | 0.40 | 10 × `rate_limit`: HTTP 429 after 5 tries; 2 × timeout: no answer in 600 s |" in text
    assert "- `json-call` `call-07` its expected answer is not in the enum" in text


def test_without_a_baseline_the_failed_cases_are_listed_instead() -> None:
    text = comment.render(builders.without_baseline())

    assert "There is no baseline at .trap/baseline.json" in text
    assert "Not compared with any baseline." in text
    assert "<summary>Failed cases (13)</summary>" in text
    assert text.count("**What to do:**") == 1
    assert "Run on the default branch and store its result with `trapgate baseline accept`." in text


def test_notes_on_whose_rules_apply_stand_right_under_the_verdict() -> None:
    lines = comment.render(builders.regressing()).splitlines()

    assert lines[2] == (
        "The gate and the baseline are those of the base branch: this change edits the gate in trap.yaml. "
        "Compared with .trap/baseline.json at `3f2c1ab`. Changed since the baseline: how structure is asked for."
    )


def test_the_table_has_a_row_for_each_rule_and_for_the_pass_rate() -> None:
    assert rows(builders.regressing(), "| ")[:5] == [
        "| | metric | baseline | now | change | evidence |",
        "| ❌ | `pass_rate` | 0.35 [0.18, 0.57] | 0.00 [0.00, 0.16], n = 20 | −0.35 | "
        "7 worse, 0 better of 20, p = 0.008, 0.016 after Holm over 2 tests; `max_drop` 0 |",
        "| ❌ | `pass_rate` in `easy` | – | 0.00 [0.00, 0.28], n = 10 | – | min 0.8, `max_drop` 0.05 |",
        "| ❌ | `pass_rate` in `easy` | 0.70 | 0.00 [0.00, 0.28], n = 10 | −0.70 | "
        "7 worse, 0 better of 10, p = 0.008, 0.016 after Holm over 2 tests; min 0.8, `max_drop` 0.05 |",
        "| ✅ | `cost_usd` | – | `$0.0120` | – | max 2.5 |",
    ]


def test_each_task_says_what_its_cases_could_have_shown() -> None:
    assert rows(builders.regressing(), "- `json-call`: ") == [
        "- `json-call`: 20 paired cases, 1 attempt each; 7 regressed, 0 fixed; difference in `pass_rate` −0.35 "
        "[−0.55, −0.09], p = 0.008 (exact McNemar test, one-sided)."
    ]


def test_where_no_drop_was_proven_a_task_says_which_drop_its_cases_would_miss() -> None:
    said = rows(builders.passing(), "- `json-call`: ")[0]

    assert re.search(r"\. A real drop under 0\.\d\d would be missed more than one time in five\.$", said)
    assert "80 % power" not in said


def test_too_few_changes_to_tell_are_called_underpowered() -> None:
    run = build([task_result("t", outcomes(3, 2))], [task_result("t", outcomes(5, 0))])

    assert run.verdict == "pass"
    assert "2 worse, 0 better of 5, p = 0.250, underpowered" in comment.render(run)
    assert comment.render(run).count("Underpowered: ") == 1
    assert first_line(run) == (
        "### ⚠️ trapgate: pass, with a possible drop — no rule failed; possible drop in t `pass_rate` 1.00 → 0.60, "
        "within noise (5 cases)"
    )


def test_recorded_transcripts_need_no_statistics() -> None:
    run = build(
        [task_result("t", outcomes(3, 2), deterministic=True)], [task_result("t", outcomes(5, 0), deterministic=True)]
    )

    assert first_line(run) == "### ❌ trapgate: regression — t `pass_rate` fell 1.00 → 0.60 (2 of 5 cases regressed)"
    assert "every change is real and no statistics apply" in comment.render(run)


def test_a_suite_that_can_detect_nothing_says_so() -> None:
    run = build([task_result("t", outcomes(1, 1))], [task_result("t", outcomes(2, 0))])

    assert "So few cases cannot detect any drop, however large, with 80 % power." in comment.render(run)


def test_the_first_ten_regressed_cases_are_unfolded_and_the_others_folded() -> None:
    run = build([task_result("t", outcomes(0, 14))], [task_result("t", outcomes(14, 0))])
    text = comment.render(run)
    shown = text[text.index("<details open><summary>Regressed cases (14)</summary>") :]
    first, _, rest = shown.partition("</details>")

    assert re.findall(r"`(call-\d+)`", first) == [f"call-{n:02}" for n in range(1, 11)]
    assert rest.lstrip().startswith("<details><summary>… and 4 more regressed cases</summary>")
    assert re.findall(r"`(call-\d+)`", rest.partition("</details>")[0]) == [f"call-{n}" for n in range(11, 15)]


def test_failed_cases_are_unfolded_where_a_floor_fails_on_a_task_that_is_new() -> None:
    floor = Rule(metric="pass_rate", task="t", min=0.9)
    run = build([task_result("t", outcomes(5, 15))], [], rules=[floor])

    assert run.verdict == "regression"
    assert "<details open><summary>Other failed cases (15)</summary>" in comment.render(run)


def test_failed_cases_are_unfolded_where_a_floor_fails_on_what_failed_in_the_baseline_too() -> None:
    floor = Rule(metric="pass_rate", task="t", min=0.9)
    run = build([task_result("t", outcomes(4, 16))], [task_result("t", outcomes(5, 15))], rules=[floor])
    text = comment.render(run)

    assert run.verdict == "regression"
    assert "<details open><summary>Regressed cases (1)</summary>" in text
    assert "<details open><summary>Other failed cases (15)</summary>" in text
    assert "<details><summary>… and 5 more failed cases</summary>" in text


def test_a_floor_on_a_slice_lists_the_failed_cases_of_that_slice_only() -> None:
    floor = Rule(metric="pass_rate", task="t", slice="hard", min=0.9)
    task = task_result("t", outcomes(0, 20), slices=builders.SLICES)
    text = comment.render(build([task], [task], rules=[floor]))

    assert "<details open><summary>Other failed cases (10)</summary>" in text
    assert "`call-11`" in text
    assert "`call-10`" not in text


def test_failed_cases_that_the_baseline_knows_are_not_listed_where_no_rule_rests_on_them() -> None:
    assert "ailed cases" not in comment.render(builders.passing())


def test_failed_cases_that_are_new_are_listed_folded() -> None:
    now = outcomes(20, 0) | {"new-01": [failed()]}
    text = comment.render(build([task_result("t", now)], [task_result("t", outcomes(20, 0))]))

    assert "<details><summary>Other failed cases (1)</summary>" in text


@pytest.mark.parametrize("mode", ["unparseable", "truncated"])
def test_what_the_model_answered_is_shown_where_it_could_not_be_read(mode: str) -> None:
    finding = Finding(path="$", keyword="json", message="not JSON: trailing prose")
    bad = failed(1, finding, mode=mode, text="Sure!\n" + "x" * 200)
    run = build([task_result("t", {"c": [bad]})], [task_result("t", {"c": [passed()]})])

    assert rows(run, "| `c` ") == [
        f"| `c` | `{mode}` | `$` (json) | – | `Sure!\\n{'x' * 71}…` not JSON: trailing prose |"
    ]


def test_a_call_that_could_not_be_read_is_shown_by_its_arguments() -> None:
    bad = failed(1, Finding(path="$", keyword="json", message="not JSON"), mode="unparseable")
    called = Transcript(calls=[Call(tool="refund", arguments='{"amount": 1')])
    run = build([task_result("t", {"c": [replace(bad, transcript=called)]})])

    assert rows(run, "| `c` ")[0].endswith('| `{"amount": 1` not JSON |')


def test_an_empty_answer_is_not_shown() -> None:
    bad = failed(1, Finding(path="$", keyword="json", message="the answer is empty"), mode="unparseable", text="")

    assert rows(build([task_result("t", {"c": [bad]})]), "| `c` ")[0].endswith("| – | the answer is empty |")


def test_the_same_failure_of_many_attempts_is_said_once_and_whole() -> None:
    message = "OPENAI_API_KEY is not set. " + "Put it into the environment of the step that runs trapgate. " * 2
    cases = {f"c{n}": [broken(kind="authentication", message=message.strip())] for n in range(9)}
    text = comment.render(build([task_result("t", cases | {"d": [broken(kind="authentication", message="other")]})]))

    assert text.count("is not set") == 1
    assert re.search(r"9 × authentication: .*that runs trapgate\.; 1 × authentication: other", text)


def test_many_different_messages_of_a_kind_are_counted_after_the_first() -> None:
    cases = {f"c{n}": [broken(message=f"request {n}")] for n in range(9)}
    text = comment.render(build([task_result("t", cases)]))

    assert "1 × `rate_limit`: request 2; 6 × `rate_limit` with other messages" in text


def test_a_baseline_named_with_its_reason_ends_with_one_full_stop() -> None:
    run = builders.passing()
    assert run.comparison is not None
    named = replace(run, comparison=replace(run.comparison, baseline="b.json, accepted by Kim: first level."))

    assert "Compared with b.json, accepted by Kim: first level.\n" in comment.render(named)


def test_regressed_cases_show_wanted_and_got_at_each_path() -> None:
    assert rows(builders.regressing(), "| `call-0")[:2] == [
        "| `call-01` | `unparseable` | `$` (json) | – | `Sure! {}` not JSON: trailing prose |",
        '| `call-02` | `missing_argument` | `$.arguments.currency` (enum) | `["USD","EUR"]` | `"Dollars"` |',
    ]
    assert rows(builders.regressing(), "|  |  |") == ['|  |  | `$.arguments.items[2].sku` (required) | `"A-113"` | – |']


def test_null_and_missing_are_told_apart() -> None:
    findings = (
        Finding(path="$.a", keyword="value", wanted=1, got=None),
        Finding(path="$.b", keyword="required", wanted=1),
    )
    run = build([task_result("t", {"c": [failed(1, *findings)]})], [task_result("t", {"c": [passed()]})])

    assert rows(run, "| `c` ") == ["| `c` | `wrong_value` | `$.a` (value) | `1` | `null` |"]
    assert rows(run, "|  |  | `$.b`") == ["|  |  | `$.b` (required) | `1` | – |"]


def test_critical_cases_stand_first_and_partial_drops_show_their_rates() -> None:
    cases = rows(builders.two_tasks(), "| `json-call` | `call-") + rows(builders.two_tasks(), "| `refunds` | `refund-")

    assert cases[0].startswith("| `json-call` | `call-17` critical | ")
    assert any("`call-04` 1.00 → 0.67 |" in case for case in cases)


def test_cases_that_were_not_compared_are_named_with_their_reason() -> None:
    text = comment.render(builders.two_tasks())

    assert "| `json-call` | changed in the task source, not comparable | `call-19` |" in text
    assert "| `json-call` | removed since the baseline | `call-20` |" in text
    assert "| `json-call` | new, not in the baseline | `call-21` |" in text


def test_newly_fixed_cases_are_listed() -> None:
    text = comment.render(builders.passing())

    assert "<summary>Newly fixed cases (2)</summary>" in text
    # What is shown is the answer of the baseline: today's is right.
    assert "| case | mode before | where | wanted | got before |" in text
    assert "mode before" not in comment.render(builders.regressing())
    assert "| got before |" in summary.render(builders.passing())
    assert "got before" in html.render(builders.passing())


@pytest.mark.parametrize(
    ("costs", "shown"),
    [
        ((0.0100, 0.0023), "cost `$0.0123`"),
        ((0.01, None), "cost at least `$0.0100` (1 attempt without a known price)"),
        ((None, None), "cost unknown (no price known for this model)"),
        ((0.0, 0.0), "cost `$0.0000`"),
    ],
)
def test_cost_has_three_states(costs: tuple[float | None, float | None], shown: str) -> None:
    first, second = costs
    run = build([task_result("t", {"a": [passed(cost=first)], "b": [passed(cost=second)]})])

    assert shown in comment.render(run)


def test_recorded_outputs_without_a_price_are_not_blamed_on_a_model() -> None:
    run = build([task_result("t", {"a": [passed(cost=None)]})], subject=None)

    assert "cost unknown (recorded outputs carry no price)" in comment.render(run)


def test_a_broken_canary_set_is_said_to_be_one() -> None:
    run = build([task_result("t", outcomes(2, 0))], canaries=replace(builders.GOOD_CANARIES, cases=[]))

    assert run.verdict == "drift"
    assert "no canary was scored" in comment.render(run)


def test_an_attempt_that_was_never_made_is_counted() -> None:
    task = replace(task_result("t", {"a": [passed()], "b": [broken(http=0)]}), planned=4)
    text = comment.render(build([task]))

    assert "| 1 | 4 | 0.25 | 1 × `rate_limit`: HTTP 429 after 5 tries; 2 × no attempt was made or recorded |" in text


def test_a_rule_that_cannot_be_decided_shows_as_such() -> None:
    run = build([task_result("t", outcomes(2, 0))], rules=[Rule(metric="argument_score", task="t", min=0.5)])

    assert rows(run, "| ❓ |") == ["| ❓ | `argument_score` | – | – | – | not decided; min 0.5 |"]


def test_a_single_reason_that_the_headline_has_said_is_not_said_again() -> None:
    run = build([task_result("t", outcomes(0, 20))], [task_result("t", outcomes(20, 0))])

    assert comment.render(run).count("20 of 20 cases regressed") == 1
    assert not [line for line in comment.render(run).splitlines() if line.startswith("- t ")]


def test_many_reasons_are_folded_and_never_lost() -> None:
    run = replace(builders.passing(), verdict="regression", reasons=_reasons(40))
    text = comment.render(run)

    assert "<details><summary>More reasons (32)</summary>" in text
    assert all(f"\n- case {n} is worse" in text for n in range(40))


def _row(run: Run, start: str) -> str:
    return next(line for line in comment.render(run).splitlines() if line.startswith(start))


def test_a_rules_figure_stands_with_the_cases_that_it_rests_on() -> None:
    now = outcomes(24, 0) | {"new-01": [failed()]}
    run = build([task_result("t", now)], [task_result("t", outcomes(24, 0))], rules=[DROP])
    assert run.tasks[0].metrics["pass_rate"].n == 25
    assert _row(run, "| ✅").startswith("| ✅ | `pass_rate` | 1.00 [0.86, 1.00] | 1.00, n = 24 | 0.00 |")


def test_a_figure_that_looks_the_same_over_other_cases_has_no_interval_of_theirs() -> None:
    run = build([task_result("t", outcomes(25, 0))], [task_result("t", outcomes(24, 0))], rules=[DROP])
    assert _row(run, "| ✅").startswith("| ✅ | `pass_rate` | 1.00 [0.86, 1.00] | 1.00, n = 24 | 0.00 |")


def test_a_floor_over_fewer_cases_than_the_task_has_names_no_number_of_them() -> None:
    now = outcomes(10, 10) | {f"new-{n}": [passed()] for n in range(20)}
    run = build([task_result("t", now)], [task_result("t", outcomes(20, 0))], rules=[FLOOR])
    assert run.rules[0].now == 0.5
    assert _row(run, "| ❌").startswith("| ❌ | `pass_rate` | 1.00 [0.84, 1.00], n = 20 | 0.50 | −0.50 |")


def test_a_baseline_over_another_number_of_cases_says_its_own() -> None:
    run = build([task_result("t", outcomes(25, 0))], [task_result("t", outcomes(20, 0))], rules=[DROP])
    assert _row(run, "| `schema_valid`").startswith(
        "| `schema_valid` | 1.00 [0.84, 1.00], n = 20 | 1.00 [0.87, 1.00], n = 25 | 0.00 |"
    )


def test_pass_hat_k_of_the_baseline_does_not_stand_beside_one_of_another_k() -> None:
    rule = Rule(metric="all_k_pass_rate", task="t", min=0.5)
    run = build(
        [task_result("t", outcomes(20, 0, repeats=3), repeats=3)],
        [task_result("t", outcomes(20, 0, repeats=2), repeats=2)],
        rules=[rule],
    )
    assert _row(run, "| ✅").startswith("| ✅ | `all_k_pass_rate` | – | 1.00 [0.84, 1.00], n = 20 | – |")


def _reasons(number: int, text: str = "is worse") -> list[Reason]:
    return [Reason(kind="rule", text=f"case {n} {text}") for n in range(number)]


def test_a_verdict_without_a_reason_is_still_rendered() -> None:
    run = replace(builders.passing(), verdict="drift")

    assert first_line(run) == "### 🧭 trapgate: drift — no reason was recorded"


def test_a_report_of_no_task_at_all_is_still_a_report() -> None:
    assert "Nothing was evaluated: no task was run" in first_line(build([]))


def test_the_versions_and_the_commit_are_at_the_end() -> None:
    text = comment.render(builders.regressing())

    assert "commit `8c3ae2f0d1b9` · model `openai/gpt-4.1-mini`" in text.splitlines()[-1]
    assert "litellm 1.110.0" in text


_PLAIN = page(comment.render(builders.hostile("plain")))


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
@given(hostile)
@example("</details>\n\n| a | b |\n<!-- trapgate:comment -->@user #1 https://a.example")
def test_hostile_text_in_every_place_changes_neither_tags_nor_tables(text: str) -> None:
    shown, plain = page(comment.render(builders.hostile(text))), _PLAIN

    assert set(shown.tags) <= set(plain.tags) | {"code"}
    assert "a" not in shown.tags
    assert shown.attributes <= {"open", "align"}
    assert shown.tags.count("details") == shown.tags.count("summary")
    assert set(shown.columns) <= set(plain.columns)
    assert not shown.comments
    assert not LINKED_BY_GITHUB.search(shown.prose)


def test_a_report_on_3000_regressed_cases_fits_and_keeps_the_verdict_the_reasons_and_the_table() -> None:
    text = comment.render(_large())

    assert len(text.encode()) <= 65_000
    assert text.startswith("### ❌ trapgate: regression — json-call `pass_rate` fell 1.00 → 0.00 (3,000 of 3,000 cases")
    assert "| ❌ | `pass_rate` | 1.00" in text
    assert re.search(r"… and 2,750 more", text)
    assert "Shortened to fit; all of it is in results.json." in text
    assert page(text).tags.count("details") == page(text).tags.count("summary")


def test_the_summary_has_room_for_what_the_comment_leaves_out() -> None:
    short, long = comment.render(_large()), summary.render(_large())

    assert len(short.encode()) < len(long.encode()) <= 1_000_000
    assert "`call-3000`" in long


@pytest.mark.parametrize("most", [3_000, 6_000, 12_000, 30_000, 120_000])
def test_details_go_first_then_lists_then_slices(most: int) -> None:
    text = comment.render(_large(), max_bytes=most)

    assert len(text.encode()) <= most
    assert "| ❌ | `pass_rate` | 1.00" in text
    assert ("<summary>Slices</summary>" in text) >= ("<summary>Regressed cases (3,000)</summary>\n\n|" not in text)


def test_a_core_that_does_not_fit_is_cut_at_a_line_and_says_so() -> None:
    run = replace(builders.regressing(), reasons=_reasons(3_000, "x" * 400))
    text = comment.render(run)

    assert len(text.encode()) <= 65_000
    assert text.endswith("… cut here: this is the most that fits. All of it is in results.json.\n")
    assert text.count("<details>") == text.count("</details>")


def test_the_limit_counts_bytes_not_characters() -> None:
    run = build([task_result("日本語" * 20, {f"{'漢字' * 30}-{n}": [failed(1)] for n in range(300)})])

    text = comment.render(run)

    assert len(text.encode()) <= 65_000
    assert "Shortened to fit" in text


@cache
def _large() -> Run:
    bad = [
        failed(
            1,
            *[
                Finding(path=f"$.arguments.items[{n}].price", keyword="value", wanted=n, got="x" * 500)
                for n in range(4)
            ],
        )
    ]
    now, before = dict.fromkeys(outcomes(3000, 0), bad), outcomes(3000, 0)
    tags = {case_id: [f"slice-{case_id[-1]}"] for case_id in now}
    return build([task_result("json-call", now, slices=tags)], [task_result("json-call", before, slices=tags)])


def test_evidence_of_a_fractional_metric_names_its_test() -> None:
    run = builders.regressing()
    assert run.comparison is not None
    part = run.comparison.tasks[0]
    evidence = Evidence(test="sign-flip", n=20, worse=3, better=1, difference=-0.05, p=0.2, low=-0.1, high=0.0)
    changed = replace(run, comparison=replace(run.comparison, tasks=[replace(part, pass_rate=evidence)]))

    assert "p = 0.200 (sign-flip test, one-sided)" in comment.render(changed)
