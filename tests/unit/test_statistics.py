"""Every statistic against scipy or brute force, and what is said where a number would mean nothing."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evaluator import statistics


def test_wilson_agrees_with_scipy_for_every_count_up_to_sixty():
    for n in range(1, 61):
        for passed in range(n + 1):
            low, high = statistics.wilson(passed / n, n)
            oracle = stats.binomtest(passed, n).proportion_ci(method="wilson")
            assert low == pytest.approx(oracle.low, abs=1e-12)
            assert high == pytest.approx(oracle.high, abs=1e-12)


@given(st.floats(0, 1), st.integers(1, 10_000))
def test_wilson_holds_its_own_estimate_and_stays_in_the_unit_interval(share, n):
    low, high = statistics.wilson(share, n)
    assert 0.0 <= low <= share <= high <= 1.0


def test_wilson_has_no_interval_without_cases():
    assert statistics.wilson(0.0, 0) is None


def test_mcnemar_agrees_with_the_binomial_test():
    for worse in range(31):
        for better in range(31):
            n = worse + better
            oracle = stats.binomtest(worse, n, alternative="greater").pvalue if n else 1.0
            assert statistics.mcnemar(worse, better) == pytest.approx(oracle, rel=1e-9)


def test_mcnemar_does_not_underflow_on_thousands_of_discordant_cases():
    assert 0 < statistics.mcnemar(1_400, 1_300) < 0.05
    assert statistics.mcnemar(1_300, 1_400) > 0.95


def test_five_discordant_cases_are_never_significant_at_two_percent_and_six_can_be():
    assert statistics.mcnemar(5, 0) > 0.02
    assert statistics.mcnemar(6, 0) <= 0.02
    assert statistics.fewest_discordant(0.02) == 6


differences = st.lists(st.sampled_from([-1.0, -2 / 3, -0.5, -0.2, 0.0, 0.2, 1 / 3, 0.5, 1.0]), min_size=1, max_size=9)


@given(differences)
def test_the_sign_flip_test_is_the_share_of_all_sign_patterns(values):
    sizes = [abs(v) for v in values]
    patterns = list(itertools.product((1, -1), repeat=len(values)))
    hits = sum(
        math.fsum(s * d for s, d in zip(signs, sizes, strict=True)) >= math.fsum(values) - 1e-9 for signs in patterns
    )
    assert statistics.sign_flip(values) == pytest.approx(hits / len(patterns))


def test_the_sign_flip_test_agrees_with_scipy_in_exact_and_sampled_size():
    rng = random.Random(7)
    for n in (3, 8, 12, 40, 200):
        values = [rng.choice([-0.4, -0.2, 0.0, 0.2, 0.4, 0.6]) for _ in range(n)]
        oracle = stats.permutation_test(
            (values,),
            lambda x, axis: x.mean(axis=axis),
            permutation_type="samples",
            alternative="greater",
            n_resamples=9_999,
            rng=1,
            vectorized=True,
        ).pvalue
        assert statistics.sign_flip(values) == pytest.approx(oracle, abs=0.02)


def test_the_sign_flip_test_of_whole_cases_is_mcnemars():
    for worse, better in [(6, 0), (7, 2), (3, 3), (0, 5)]:
        values = [1.0] * worse + [-1.0] * better + [0.0] * 10
        assert statistics.sign_flip(values) == pytest.approx(statistics.mcnemar(worse, better))


def test_the_sign_flip_test_gives_the_same_answer_whatever_the_order():
    rng = random.Random(3)
    values = [rng.gauss(0.1, 1) for _ in range(60)]
    first = statistics.sign_flip(values)
    rng.shuffle(values)
    assert statistics.sign_flip(values) == first


def test_no_difference_at_all_is_no_evidence():
    assert statistics.sign_flip([0.0] * 30) == 1.0
    assert statistics.mcnemar(0, 0) == 1.0


def test_a_sampled_p_is_never_zero():
    assert statistics.sign_flip([1.0] * 500) == pytest.approx(1 / 10_000)


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=40).filter(lambda v: max(v) - min(v) > 1e-3))
def test_the_mean_interval_is_students(values):
    low, high = statistics.mean_interval(values)
    oracle = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (low, high) == (pytest.approx(oracle.low, abs=1e-7), pytest.approx(oracle.high, abs=1e-7))


def test_the_t_quantile_agrees_with_scipy_from_one_degree_of_freedom_on():
    for degrees in (1, 2, 3, 4, 5, 9, 10, 29, 30, 100, 999, 3_000):
        for probability in (0.5, 0.8, 0.95, 0.975, 0.995):
            assert statistics.student_t_quantile(probability, degrees) == pytest.approx(
                stats.t.ppf(probability, degrees), abs=1e-6, rel=1e-6
            )


@pytest.mark.parametrize("values", [[], [0.3], [0.5, 0.5, 0.5]])
def test_there_is_no_mean_interval_where_nothing_varies(values):
    assert statistics.mean_interval(values) is None
    assert statistics.detectable_mean(values, 0.02) is None


def test_the_paired_interval_covers_the_truth_as_often_as_it_says():
    rng = random.Random(11)
    for n, worse_rate, better_rate in [(20, 0.1, 0.1), (50, 0.2, 0.05), (200, 0.05, 0.05)]:
        covered = 0
        for _ in range(1_000):
            draws = [rng.random() for _ in range(n)]
            worse = sum(d < worse_rate for d in draws)
            better = sum(worse_rate <= d < worse_rate + better_rate for d in draws)
            low, high = statistics.paired_proportion_interval(worse, better, n)
            covered += low <= worse_rate - better_rate <= high
        assert covered / 1_000 >= 0.93


def test_the_paired_interval_is_not_a_point_where_no_pair_is_discordant():
    low, high = statistics.paired_proportion_interval(0, 0, 20)
    assert low < 0 < high


def test_the_detectable_share_is_the_smallest_that_the_binomial_finds():
    for n in (6, 20, 50, 400):
        share = statistics.detectable_share(n, 0.02)
        assert stats.binom.sf(5, n, share) == pytest.approx(0.8, abs=1e-6)
    assert statistics.detectable_share(5, 0.02) is None


def test_the_detectable_mean_is_the_textbook_formula():
    values = [0.0, 0.2, -0.2, 0.4, 0.0, 0.1]
    wanted = (stats.norm.ppf(0.98) + stats.norm.ppf(0.8)) * stats.tstd(values) / math.sqrt(6)
    assert statistics.detectable_mean(values, 0.02) == pytest.approx(wanted)
