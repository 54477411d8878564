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
from evaluator.results import Fingerprint
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


def differences(kind, before, after):
    empty = {"packages": {}, "scorers": {}, "subject": {}, "sources": {}}
    return fingerprint_differences(Fingerprint(**empty | {kind: before}), Fingerprint(**empty | {kind: after}))


def test_equal_fingerprints_differ_in_nothing():
    assert fingerprint_differences(fingerprint(system="a"), fingerprint(system="a")) == []


@pytest.mark.parametrize(
    ("kind", "before", "after", "lines"),
    [
        ("packages", {"jsonschema": "4.26.0"}, {"jsonschema": "4.27.0"}, ["jsonschema 4.26.0 → 4.27.0"]),
        ("packages", {}, {"isolation of cmd": "landlock"}, ["isolation of cmd landlock added"]),
        ("packages", {"isolation of cmd": "landlock"}, {}, ["isolation of cmd removed"]),
        ("scorers", {"trace": "trace@1"}, {"trace": "trace@2"}, ["scorer trace 1 → 2"]),
        ("scorers", {"canaries": "1.0.0"}, {"canaries": "1.1.0"}, ["scorer canaries 1.0.0 → 1.1.0"]),
        (
            "scorers",
            {"judge of capitals": "a" * 12},
            {"judge of capitals": "b" * 12},
            ["scorer judge of capitals changed"],
        ),
        ("subject", {"model": "openai/x"}, {"model": "openai/y"}, ["model openai/x → openai/y"]),
        ("subject", {"params.seed": "1"}, {"params.seed": "2"}, ["params.seed 1 → 2"]),
        ("subject", {}, {"params.seed": "1"}, ["params.seed 1 added"]),
        ("subject", {"params.seed": "1"}, {}, ["params.seed removed"]),
        (
            "sources",
            {"refunds": "3f2c1ab" + "0" * 33},
            {"refunds": "9c81d02" + "1" * 33},
            ["source of refunds 3f2c1ab00000 → 9c81d0211111"],
        ),
        ("sources", {"refunds": "a" * 64}, {"refunds": "unknown"}, ["source of refunds aaaaaaaaaaaa → unknown"]),
        ("answered", {"models": ["x-0613"]}, {"models": ["x-0914"]}, ["model answered x-0613 → x-0914"]),
        (
            "answered",
            {"system_fingerprints": ["fp_1"]},
            {"system_fingerprints": ["fp_1", "fp_2"]},
            ["system fingerprint answered fp_1 → fp_1, fp_2"],
        ),
        ("answered", {"models": ["x-0613"]}, {"models": []}, ["model answered x-0613 → (none)"]),
    ],
)
def test_the_fingerprint_says_what_differs_in_words(kind, before, after, lines):
    assert differences(kind, before, after) == lines


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("system", "system prompt"),
        ("tools/refund", "tools/refund"),
        ("tools.json/refund of orders", "tools.json/refund of orders"),
        ("params.files", "files of the solution"),
    ],
)
def test_of_what_the_subject_has_a_digest_of_only_the_change_is_said(name, words):
    old, new = "1f2e3d4c5b6a", "9a8b7c6d5e4f"
    assert differences("subject", {name: old}, {name: new}) == [f"{words} changed"]
    assert differences("subject", {}, {name: new}) == [f"{words} added"]
    assert differences("subject", {name: old}, {}) == [f"{words} removed"]
    assert differences("subject", {name: f'"{old}"'}, {name: f'"{new}"'}) == [f"{words} changed"]
    assert differences("subject", {name: old * 5 + "abcd"}, {name: new}) == [f"{words} changed"]


def test_sources_whose_first_digits_are_the_same_are_still_said_to_differ():
    before, after = {"refunds": "a" * 40}, {"refunds": "a" * 12 + "b" * 28}
    assert differences("sources", before, after) == ["source of refunds changed"]


def test_a_sign_flip_test_on_too_few_cases_promises_nothing():
    assert evidence([1.0, 0.5, 0.5], [0.5, 0.5, 1.0], 0.02, False, higher_is_better=True).detectable is None
    alike = evidence([0.8] * 20, [0.6] * 20, 0.02, False, higher_is_better=True)
    assert alike.p < 0.001
    assert alike.detectable is None


def attempts_of(*passed):
    return [scored(each, number) for number, each in enumerate(passed, start=1)]


def test_a_baseline_of_other_repeats_is_held_against_as_many_attempts_of_each_side():
    before = task_result({"a": attempts_of(True), "b": attempts_of(True)}, repeats=1)
    now = task_result({"a": attempts_of(True, False, False), "b": attempts_of(False, True, True)}, repeats=3)
    change = difference("pass_rate", pair(before, now), alpha=0.02, higher_is_better=True)
    assert (change.baseline, change.now, change.worse, change.evidence.test) == (1.0, 0.5, ["b"], "mcnemar")


def test_an_attempt_that_was_not_scored_is_none_of_those_that_are_compared():
    before = task_result({"a": [failed_call(), *attempts_of(False, True)]}, repeats=3)
    now = task_result({"a": attempts_of(True, True, False)}, repeats=3)
    change = difference("pass_rate", pair(before, now), alpha=0.02, higher_is_better=True)
    assert (change.baseline, change.now) == (0.5, 1.0)


def test_every_attempt_of_a_recording_counts_and_every_dollar_of_a_run():
    before = task_result({"a": attempts_of(True)}, repeats=1, deterministic=True)
    now = task_result({"a": attempts_of(True, False)}, repeats=2, deterministic=True)
    change = difference("pass_rate", pair(before, now), alpha=0.02, higher_is_better=True)
    assert (change.baseline, change.now) == (1.0, 0.5)
    before, now = (
        task_result({"a": attempts_of(True)}, repeats=1),
        task_result({"a": attempts_of(True, True)}, repeats=2),
    )
    cost = difference("cost_usd", pair(before, now), alpha=0.02, higher_is_better=False)
    assert (cost.baseline, cost.now) == (0.001, 0.002)


def test_the_interval_of_a_difference_of_shares_stays_where_such_a_difference_can_be() -> None:
    before, after = [1.0, 1.0, 0.0, 1.0, 0.5], [0.0, 1 / 3, 1.0, 1.0, 0.5]
    share = evidence(before, after, 0.02, deterministic=False, higher_is_better=True)
    count = evidence(before, after, 0.02, deterministic=False, higher_is_better=False)
    assert (share.low, share.high) == (-1.0, pytest.approx(count.high))
    assert count.low is not None
    assert count.low < -1
