"""A task whose shares are never pooled: each slice is a figure, a rule and a sentence of its own."""

from __future__ import annotations

import msgspec
import pytest

from evaluator.cases import Case, Request, SourceRef, Task
from evaluator.comparison import ceilings, compare_task, pair
from evaluator.config.types import GateConfig, Rule
from evaluator.gate import decide, effective_rules
from evaluator.metrics import summarize
from evaluator.results import TaskResult
from evaluator.rules import Facts
from tests.unit.builders import GOOD_CANARIES, failed_call, found, not_run, scored

A, B = "tool_call/close_required", "tool_call/opener_retention"


def task_of(attempts, *, name="closure", absent=()) -> TaskResult:
    """`attempts`: (slice, id) → attempts."""
    cases = [
        Case(
            id=case_id,
            request=Request(messages=[]),
            expected={},
            slices=[part],
            absent="gone" if case_id in absent else "",
        )
        for part, case_id in attempts
    ]
    task = Task(
        name=name, format="closure", source=SourceRef(location="./c"), scorer="closure", cases=cases, pooled=False
    )
    by_id = {case_id: made for (_, case_id), made in attempts.items()}
    planned = dict.fromkeys(by_id, 1)
    return summarize(task, by_id, repeats=1, planned_per_case=planned, deterministic=False, faults={})


def half_and_half(passed_a: int, passed_b: int, n: int = 20) -> TaskResult:
    def attempt(passed: bool):
        values = {"syntax_complete": 1.0, "trailing_content": 0.0 if passed else 1.0}
        return [scored(passed, mode="content_changed", **values)]

    made = {(A, f"a{i:02}"): attempt(i < passed_a) for i in range(n)}
    return task_of(made | {(B, f"b{i:02}"): attempt(i < passed_b) for i in range(n)})


def facts(now, before=None) -> Facts:
    return Facts(
        canaries=GOOD_CANARIES,
        tasks=[now],
        baseline=found(before) if before is not None else None,
        pairings={now.name: pair(before, now)} if before is not None else {},
    )


def judged(now, before=None, *rules):
    return decide(GateConfig(rules=list(rules) or None), facts(now, before))


def test_the_whole_task_has_amounts_and_no_share_and_each_slice_has_both():
    task = half_and_half(20, 5)
    assert set(task.metrics) == {"cost_usd", "input_tokens", "output_tokens"}
    assert task.failure_modes == {}
    assert (task.planned, task.scored) == (40, 40)
    assert {name: part.metrics["pass_rate"].value for name, part in task.slices.items()} == {A: 1.0, B: 0.25}
    assert {name: part.metrics["trailing_content"].value for name, part in task.slices.items()} == {A: 0.0, B: 0.75}
    assert task.slices[B].failure_modes == {"content_changed": 15}
    assert task.slices[B].metrics["syntax_complete"].n == 20


def test_by_default_there_is_a_rule_for_each_slice_of_today_and_of_the_baseline():
    now, before = half_and_half(20, 20), half_and_half(20, 20)
    gone = msgspec.structs.replace(before.cases[0], id="x", slices=["json_object/close_required"])
    before = msgspec.structs.replace(before, cases=[*before.cases, gone])
    rules = effective_rules(GateConfig(), facts(now, before))
    assert [(rule.slice, rule.metric, rule.max_drop) for rule in rules] == [
        ("json_object/close_required", "pass_rate", 0.0),
        (A, "pass_rate", 0.0),
        (B, "pass_rate", 0.0),
    ]


def test_a_drop_in_one_slice_is_a_regression_however_much_another_rose():
    decision = judged(half_and_half(20, 2), half_and_half(4, 18))
    assert decision.verdict == "regression"
    assert [reason.text for reason in decision.reasons] == [
        f"closure pass_rate ({B}), max_drop 0: 0.90 → 0.10 (16 cases worse, 0 better, p = 1.5e-05, 6.1e-05 after Holm "
        "over 3 tests)."
    ]


@pytest.mark.parametrize(
    "metric", ["pass_rate", "syntax_complete", "trailing_content", "failure_modes.content_changed"]
)
def test_a_rule_on_a_share_of_the_whole_task_is_not_judged_and_says_how_to_mend_it(metric):
    decision = judged(half_and_half(20, 20), half_and_half(20, 20), Rule(metric=metric, task="closure", max=0.5))
    assert decision.verdict == "inconclusive"
    assert [reason.text for reason in decision.reasons] == [
        f"closure {metric}, max 0.5: no share is taken over all cases of this task; name a slice, e.g. slice: {A}."
    ]


def test_a_rule_on_an_amount_of_the_whole_task_is_judged():
    decision = judged(half_and_half(20, 20), half_and_half(20, 20), Rule(metric="output_tokens", task="closure", max=9))
    assert [(result.outcome, result.now) for result in decision.rules] == [("fail", 200.0)]


def test_a_rule_on_a_slice_is_judged_by_that_slice_alone():
    decision = judged(half_and_half(20, 2), None, Rule(metric="pass_rate", task="closure", slice=A, min=0.5))
    assert (decision.verdict, decision.rules[0].now) == ("pass", 1.0)


def test_a_slice_with_missing_cases_is_not_judged_whatever_the_others_are():
    rows = {(A, f"a{i:02}"): [scored(True)] for i in range(100)}
    rows |= {(B, f"b{i}"): [scored(True)] if i < 3 else [not_run("missing")] for i in range(5)}
    now = task_of(rows, absent=["b3", "b4"])
    before = task_of({key: [scored(True)] for key in rows})
    decision = judged(now, before)
    assert decision.verdict == "inconclusive"
    assert f"closure pass_rate ({B}), max_drop 0: only 3 of 5 attempts at its cases were scored." in [
        reason.text for reason in decision.reasons
    ]
    assert (now.planned, now.scored, now.slices[B].planned, now.slices[B].scored) == (105, 103, 5, 3)


def test_infrastructure_failures_stand_apart_from_every_share():
    task = task_of({(A, "a"): [scored(True)], (A, "b"): [failed_call()]})
    assert (task.slices[A].planned, task.slices[A].scored) == (2, 1)
    assert task.slices[A].metrics["pass_rate"].n == 1


def test_the_comparison_has_evidence_for_each_slice_and_none_for_all():
    before, now = half_and_half(20, 18), half_and_half(20, 2)
    compared = compare_task(pair(before, now), before, 0.02)
    assert compared.pass_rate is None
    assert {name: (each.n, each.worse) for name, each in compared.slices.items()} == {A: (20, 0), B: (20, 16)}
    assert set(compared.baseline_metrics) == {"cost_usd", "input_tokens", "output_tokens"}


def test_a_slice_where_everything_passed_then_and_now_is_flagged_as_a_ceiling():
    before, now = half_and_half(20, 19), half_and_half(20, 20)
    assert ceilings(pair(before, now)) == [A]
    pooled = [msgspec.structs.replace(task, pooled=True) for task in (before, now)]
    assert ceilings(pair(*pooled)) == []


def test_small_groups_that_all_fall_are_a_regression_of_the_task_as_a_whole():
    decision = judged(half_and_half(0, 0, n=5), half_and_half(5, 5, n=5))
    assert decision.verdict == "regression"
    assert decision.reasons[-1].text.startswith(
        "closure: over all its groups 10 of 10 cases do worse and 0 better, p = "
    )


def test_a_few_cases_of_small_groups_are_no_regression_of_the_whole():
    assert judged(half_and_half(4, 4, n=5), half_and_half(5, 5, n=5)).verdict == "pass"


def test_rules_of_ones_own_are_all_that_is_held_against_a_task():
    rule = Rule(metric="input_tokens", task="closure", max=1e9)
    assert judged(half_and_half(0, 0, n=5), half_and_half(5, 5, n=5), rule).verdict == "pass"


def test_small_groups_that_fall_step_by_step_are_held_against_the_accepted_baseline_as_a_whole():
    accepted, before, now = (half_and_half(passed, passed, n=5) for passed in (5, 3, 1))
    assert judged(before, accepted).verdict == judged(now, before).verdict == "pass"
    anchored = msgspec.structs.replace(facts(now, before), anchored={now.name: pair(accepted, now)})
    decision = decide(GateConfig(), anchored)
    assert decision.verdict == "regression"
    assert [reason.text for reason in decision.reasons] == [
        "closure: over all its groups, since the accepted baseline, 8 of 10 cases do worse and 0 better, p = 0.016."
    ]
    assert [each.anchor for each in decision.suspicions] == [True]
