"""What is paired, what is named, and with which evidence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.comparison import (
    compare_task,
    difference,
    evidence,
    fingerprint_differences,
    pair,
)
from tests.unit.builders import failed_call, fingerprint, outcomes, scored, task_result


def test_every_baseline_case_is_paired_or_named():
    before = task_result(
        {"same": [scored(True)], "gone": [scored(True)], "edited": [scored(True)], "lost": [scored(True)]}
    )
    now = task_result(
        {"same": [scored(False)], "edited": [scored(True)], "lost": [failed_call()], "new": [scored(True)]},
        changed=["edited"],
    )
    pairing = pair(before, now)
    assert [each.now.id for each in pairing.pairs] == ["same"]
    assert pairing.not_comparable == ["edited"]
    assert [case.id for case in pairing.removed] == ["gone"]
    assert pairing.added == ["new"]
    assert pairing.unscored == ["lost"]
    assert pairing.coverage == 0.25


def test_rates_are_compared_over_paired_cases_only():
    before = task_result(outcomes(2, 2) | {"x": [scored(True)]})
    now = task_result(outcomes(2, 2) | {"x": [failed_call()], "easy-new": [scored(True)]})
    change = difference("pass_rate", pair(before, now), alpha=0.02, higher_is_better=True)
    assert (change.baseline, change.now, change.evidence.n) == (0.5, 0.5, 4)


def test_one_attempt_a_case_is_tested_by_mcnemar_and_several_by_sign_flips():
    single = evidence([1, 1, 0], [0, 1, 1], 0.02, False, higher_is_better=True)
    several = evidence([1, 2 / 3, 0], [1 / 3, 1, 1], 0.02, False, higher_is_better=True)
    assert (single.test, single.worse, single.better) == ("mcnemar", 1, 1)
    assert several.test == "sign-flip"


def test_for_a_metric_where_low_is_good_a_rise_is_worse_and_the_interval_keeps_the_readers_sign():
    rise = evidence([0.0] * 8, [1.0] * 8, 0.02, False, higher_is_better=False)
    assert (rise.worse, rise.better, rise.difference) == (8, 0, 1.0)
    assert rise.p == pytest.approx(1 / 256)
    assert 0 < rise.low < rise.high <= 1.0
    drop = evidence([1.0] * 8, [0.0] * 8, 0.02, False, higher_is_better=True)
    assert -1.0 <= drop.low < drop.high < 0


def test_with_few_discordant_cases_no_drop_is_promised_that_the_exact_test_cannot_show():
    found = evidence([1.0] * 20, [1.0] * 19 + [0.0], 0.02, False, higher_is_better=True)
    assert found.underpowered
    assert found.detectable >= 6 / 20


def test_fewer_than_six_cases_can_show_nothing_and_say_so():
    found = evidence([1.0] * 5, [0.0] * 5, 0.02, False, higher_is_better=True)
    assert found.detectable is None
    assert found.underpowered
    assert found.p > 0.02


values = st.lists(
    st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=25
)


@given(values)
def test_swapping_the_sides_swaps_worse_and_better(cases):
    before, after = [a for a, _ in cases], [b for _, b in cases]
    there = evidence(before, after, 0.02, False, higher_is_better=True)
    back = evidence(after, before, 0.02, False, higher_is_better=True)
    assert (there.worse, there.better) == (back.better, back.worse)
    assert there.difference == pytest.approx(-back.difference)


@given(values)
def test_the_interval_holds_the_difference(cases):
    found = evidence([a for a, _ in cases], [b for _, b in cases], 0.02, False, higher_is_better=True)
    if found.low is not None and found.test == "sign-flip":
        assert found.low - 1e-9 <= found.difference <= found.high + 1e-9


def test_a_case_that_got_worse_brings_the_findings_of_its_failure():
    before, now = task_result(outcomes(2, 0)), task_result(outcomes(1, 1))
    changes = compare_task(pair(before, now), before, 0.02)
    assert [(c.id, c.baseline, c.now, c.failure_mode) for c in changes.regressed] == [("c001", 1.0, 0.0, "wrong_value")]
    assert changes.fixed == []


def test_pass_hat_k_of_both_sides_is_taken_at_the_same_k():
    before = task_result({"a": [scored(True, n) for n in (1, 2, 3)]}, repeats=3)
    now = task_result({"a": [scored(True, 1), scored(False, 2)]}, repeats=2)
    change = difference("all_k_pass_rate", pair(before, now), alpha=0.02, higher_is_better=True)
    assert (change.baseline, change.now) == (1.0, 0.0)


def test_the_fingerprint_says_what_differs_in_words():
    before, after = fingerprint(system="aaa"), fingerprint(system="bbb", seed="1")
    assert fingerprint_differences(before, after) == ["seed (absent) → 1", "system aaa → bbb"]
    assert fingerprint_differences(before, before) == []


def test_a_sign_flip_test_on_too_few_cases_promises_nothing():
    assert evidence([1.0, 0.5, 0.5], [0.5, 0.5, 1.0], 0.02, False, higher_is_better=True).detectable is None
    alike = evidence([0.8] * 20, [0.6] * 20, 0.02, False, higher_is_better=True)
    assert alike.p < 0.001
    assert alike.detectable is None
