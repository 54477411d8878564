"""Every statistic against scipy, numpy or brute force, and what is said where a number would mean nothing."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from evaluator import permutation, statistics

# Values that tie in many ways, among them means of two, three and five attempts.
VALUES = [-1.0, -2 / 3, -0.5, -0.2, 0.0, 0.0, 0.2, 1 / 3, 0.5, 1.0]


@pytest.fixture
def draws_only(monkeypatch):
    """As if every exact computation were too much work."""
    monkeypatch.setattr(permutation, "_WORK", 0)
    monkeypatch.setattr(permutation, "_EXACT_LIMIT", 0)


# Wilson's interval


def test_wilson_agrees_with_scipy_for_every_count_up_to_sixty():
    for n in range(1, 61):
        for passed in range(n + 1):
            low, high = statistics.wilson(passed / n, n)
            oracle = stats.binomtest(passed, n).proportion_ci(method="wilson")
            assert low == pytest.approx(oracle.low, abs=1e-12)
            assert high == pytest.approx(oracle.high, abs=1e-12)


def test_wilson_agrees_with_scipy_at_other_levels_and_sizes():
    rng = random.Random(1)
    for _ in range(1_000):
        n, confidence = rng.randint(1, 100_000), rng.uniform(0.5, 0.9999)
        passed = rng.randint(0, n)
        oracle = stats.binomtest(passed, n).proportion_ci(confidence, method="wilson")
        assert statistics.wilson(passed / n, n, confidence) == (
            pytest.approx(oracle.low, abs=1e-9),
            pytest.approx(oracle.high, abs=1e-9),
        )


@given(st.floats(0, 1), st.integers(1, 10_000))
def test_wilson_holds_its_own_estimate_and_stays_in_the_unit_interval(share, n):
    low, high = statistics.wilson(share, n)
    assert 0.0 <= low <= share <= high <= 1.0


def test_wilson_has_no_interval_without_cases():
    assert statistics.wilson(0.0, 0) is None


# McNemar's test


def test_mcnemar_agrees_with_the_binomial_test():
    for worse in range(31):
        for better in range(31):
            n = worse + better
            oracle = stats.binomtest(worse, n, alternative="greater").pvalue if n else 1.0
            assert statistics.mcnemar(worse, better) == pytest.approx(oracle, rel=1e-9)


def test_mcnemar_is_the_upper_tail_of_a_fair_coin_on_two_thousand_random_counts():
    rng = np.random.default_rng(2)
    worse, better = rng.integers(0, 400, 2_000), rng.integers(0, 400, 2_000)
    oracles = stats.binom.sf(worse - 1, worse + better, 0.5)
    for w, b, oracle in zip(worse.tolist(), better.tolist(), oracles, strict=True):
        assert statistics.mcnemar(w, b) == pytest.approx(oracle, rel=1e-6)


def test_mcnemar_does_not_underflow_on_thousands_of_discordant_cases():
    assert 0 < statistics.mcnemar(1_400, 1_300) < 0.05
    assert statistics.mcnemar(1_300, 1_400) > 0.95


def test_five_discordant_cases_are_never_significant_at_two_percent_and_six_can_be():
    assert statistics.mcnemar(5, 0) > 0.02
    assert statistics.mcnemar(6, 0) <= 0.02
    assert statistics.fewest_discordant(0.02) == 6


def test_the_fewest_discordant_cases_are_those_whose_coin_is_rarer_than_alpha():
    rng = random.Random(3)
    for _ in range(1_000):
        alpha = 10 ** rng.uniform(-12, -0.01)
        assert statistics.fewest_discordant(alpha) == max(1, math.ceil(-math.log2(alpha)))
    assert statistics.fewest_discordant(0.5) == 1
    assert statistics.fewest_discordant(0.02 / 5) == 8


# The sign-flip test


def share_of_patterns(values):
    """All 2^n sign patterns, by numpy."""
    sizes = np.abs(np.array(values))
    signs = np.array(list(itertools.product((1, -1), repeat=len(values))))
    return float(np.mean(signs @ sizes >= math.fsum(values) - 1e-9))


def test_the_sign_flip_test_is_the_share_of_all_sign_patterns():
    rng = random.Random(4)
    for _ in range(2_000):
        values = [rng.choice(VALUES) for _ in range(rng.randint(1, 9))]
        assert permutation.sign_flip(values) == pytest.approx(share_of_patterns(values))


def test_the_sign_flip_test_of_values_without_a_common_fraction_is_the_share_of_all_sign_patterns():
    rng = random.Random(5)
    for _ in range(500):
        values = [rng.uniform(-1, 1) for _ in range(rng.randint(1, 10))]
        assert permutation.sign_flip(values) == pytest.approx(share_of_patterns(values))


def test_the_sign_flip_test_of_many_cases_is_the_exact_tail_of_the_sum():
    rng = random.Random(6)
    for _ in range(200):
        k, n = rng.choice([2, 3, 5, 7]), rng.randint(21, 120)
        steps = [rng.randint(-k, k) for _ in range(n)]
        chances = np.ones(1)
        for size in map(abs, steps):  # the chances of the sum, at −Σ|d|, …, +Σ|d|
            flipped = np.zeros(2 * size + 1)
            flipped[0] += 0.5
            flipped[-1] += 0.5
            chances = np.convolve(chances, flipped)
        oracle = chances[sum(map(abs, steps)) + sum(steps) :].sum()
        assert permutation.sign_flip([step / k for step in steps]) == pytest.approx(oracle, rel=1e-9)


def test_the_sign_flip_test_agrees_with_scipy_in_exact_and_sampled_size():
    rng = random.Random(7)
    for n in (3, 8, 12, 40, 200):
        for pick in (lambda: rng.choice([-0.4, -0.2, 0.0, 0.2, 0.4, 0.6]), lambda: rng.gauss(0.1, 1)):
            values = [pick() for _ in range(n)]
            oracle = stats.permutation_test(
                (values,),
                lambda x, axis: x.mean(axis=axis),
                permutation_type="samples",
                alternative="greater",
                n_resamples=9_999,
                rng=1,
                vectorized=True,
            ).pvalue
            assert permutation.sign_flip(values) == pytest.approx(oracle, abs=0.02)


def test_the_sign_flip_test_of_whole_cases_is_mcnemars():
    for worse, better in [(6, 0), (7, 2), (3, 3), (0, 5), (40, 21), (300, 280)]:
        values = [1.0] * worse + [-1.0] * better + [0.0] * 10
        assert permutation.sign_flip(values) == pytest.approx(statistics.mcnemar(worse, better))


def test_the_sign_flip_test_gives_the_same_answer_whatever_the_order():
    rng = random.Random(3)
    values = [rng.gauss(0.1, 1) for _ in range(60)]
    first = permutation.sign_flip(values)
    rng.shuffle(values)
    assert permutation.sign_flip(values) == first


def test_sampled_sign_flips_come_near_the_exact_answer(draws_only):
    rng = random.Random(8)
    for _ in range(20):
        worse, better = rng.randint(5, 40), rng.randint(5, 40)
        p = statistics.mcnemar(worse, better)
        sampled = permutation.sign_flip([1.0] * worse + [-1.0] * better)
        assert sampled == pytest.approx(p, abs=1e-4 + 5 * math.sqrt(p * (1 - p) / 9_999))


def test_a_sampled_p_is_never_zero(draws_only):
    assert permutation.sign_flip([1.0] * 500) == pytest.approx(1 / 10_000)
    assert permutation.permuted_within([[1.0] * 9] * 40, [[0.0] * 9] * 40) == pytest.approx(1 / 10_000)


@pytest.mark.parametrize("values", [[], [0.0], [0.0] * 30, [1e-12, -1e-12]])
def test_no_difference_at_all_is_no_evidence(values):
    assert permutation.sign_flip(values) == 1.0
    assert statistics.mcnemar(0, 0) == 1.0


def test_one_case_can_be_no_more_than_a_coin():
    assert permutation.sign_flip([0.3]) == 0.5
    assert permutation.sign_flip([-0.3]) == 1.0


@given(st.lists(st.floats(-1e6, 1e6), max_size=30))
def test_the_sign_flip_test_gives_a_probability_above_zero_for_any_values(values):
    assert 0.0 < permutation.sign_flip(values) <= 1.0


# Intervals of a mean, with and without clusters


def test_the_mean_interval_is_students():
    rng = np.random.default_rng(9)
    for _ in range(2_000):
        values, confidence = rng.uniform(-1, 1, rng.integers(2, 60)), rng.uniform(0.5, 0.999)
        low, high = statistics.mean_interval(values.tolist(), confidence)
        wanted = stats.t.interval(confidence, len(values) - 1, values.mean(), stats.sem(values))
        assert (low, high) == (
            pytest.approx(wanted[0], rel=1e-7, abs=1e-7),
            pytest.approx(wanted[1], rel=1e-7, abs=1e-7),
        )


def test_the_t_quantile_agrees_with_scipy_from_one_degree_of_freedom_on():
    rng = np.random.default_rng(10)
    for degrees in (1, 2, 3, 4, 5, 9, 10, 29, 30, 100, 999, 3_000):
        for probability in (0.5, 0.8, 0.95, 0.975, 0.995, *rng.uniform(0.5, 0.9999, 100).tolist()):
            assert statistics.student_t_quantile(probability, degrees) == pytest.approx(
                stats.t.ppf(probability, degrees), abs=1e-6, rel=1e-6
            )


def test_the_t_distribution_agrees_with_scipy():
    rng = np.random.default_rng(11)
    t, degrees = rng.normal(0, 4, 2_000), rng.integers(1, 200, 2_000)
    for each, freedom, oracle in zip(t.tolist(), degrees.tolist(), stats.t.cdf(t, degrees), strict=True):
        assert statistics.student_t_cdf(each, freedom) == pytest.approx(oracle, abs=1e-12)


def sandwich(values, clusters, confidence):
    """The cluster-robust interval of an intercept in matrix form, with CR1's correction written out."""
    y, x = np.array(values), np.ones((len(values), 1))
    bread = np.linalg.inv(x.T @ x)
    residuals = y - x @ (bread @ x.T @ y)
    meat = np.zeros((1, 1))
    for name in set(clusters):
        members = np.array([cluster == name for cluster in clusters])
        score = x[members].T @ residuals[members]
        meat += np.outer(score, score)
    groups, n = len(set(clusters)), len(values)
    correction = groups / (groups - 1) * (n - 1) / (n - 1)
    error = math.sqrt((bread @ (correction * meat) @ bread)[0, 0])
    return stats.t.interval(confidence, groups - 1, y.mean(), error)


def test_the_clustered_interval_is_the_cluster_robust_sandwich():
    rng = random.Random(12)
    for _ in range(2_000):
        n = rng.randint(2, 40)
        values = [rng.uniform(-1, 1) for _ in range(n)]
        clusters = ["a", "b", *(f"c{rng.randint(0, n // 2)}" for _ in range(n - 2))]
        wanted = sandwich(values, clusters, 0.9)
        found = statistics.clustered_mean_interval(values, clusters, 0.9)
        assert found == (pytest.approx(wanted[0], rel=1e-6, abs=1e-6), pytest.approx(wanted[1], rel=1e-6, abs=1e-6))


@given(st.lists(st.floats(-1, 1), max_size=40), st.booleans())
def test_clusters_of_one_give_students_interval(values, named):
    clusters = [str(place) if named else "" for place in range(len(values))]
    assert statistics.clustered_mean_interval(values, clusters) == statistics.mean_interval(values)


def test_the_clustered_interval_covers_the_truth_where_the_plain_one_does_not():
    rng = random.Random(13)
    plain = robust = 0
    clusters = [str(place // 5) for place in range(150)]
    for _ in range(400):
        shared = [rng.gauss(0, 1) for _ in range(30)]
        values = [shared[place // 5] + rng.gauss(0, 0.5) for place in range(150)]
        low, high = statistics.mean_interval(values)
        plain += low <= 0 <= high
        low, high = statistics.clustered_mean_interval(values, clusters)
        robust += low <= 0 <= high
    assert plain / 400 < 0.75
    assert robust / 400 >= 0.92


@pytest.mark.parametrize(
    ("values", "clusters"),
    [
        ([], []),
        ([0.3], [""]),
        ([0.5, 0.5, 0.5], ["a", "b", "c"]),
        ([0.1, 0.9, 0.4], ["a", "a", "a"]),  # one cluster says nothing of others
        ([0.1, 0.9, 0.1, 0.9], ["a", "a", "b", "b"]),  # nothing varies between clusters
    ],
)
def test_there_is_no_clustered_interval_with_one_cluster_or_where_nothing_varies(values, clusters):
    assert statistics.clustered_mean_interval(values, clusters) is None


@pytest.mark.parametrize("values", [[], [0.3], [0.5, 0.5, 0.5], [0.1] * 3])
def test_there_is_no_mean_interval_where_nothing_varies(values):
    assert statistics.mean_interval(values) is None
    assert statistics.detectable_mean(values, 0.02) is None


def test_a_cluster_is_summed_and_a_case_without_one_stands_for_itself():
    sums = statistics.clustered_sums([1.0, 0.25, -1.0, 0.5, 0.25], ["a", "", "b", "", "a"])
    assert sums == [1.25, 0.25, -1.0, 0.5]
    assert statistics.clustered_sums([], []) == []


def test_differences_without_a_cluster_for_each_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        statistics.clustered_sums([1.0, 2.0], ["a"])


def test_a_cluster_that_falls_as_one_is_one_piece_of_evidence():
    differences = [1.0] * 20
    assert permutation.sign_flip(differences) < 1e-5
    assert permutation.sign_flip(statistics.clustered_sums(differences, ["a"] * 20)) == 0.5
    assert permutation.sign_flip(statistics.clustered_sums(differences, list("aaaaabbbbbcccccddddd"))) == 1 / 16


# The interval of paired proportions


def test_the_paired_interval_is_walds_on_a_table_with_one_case_more_of_each_change():
    rng = random.Random(14)
    for _ in range(2_000):
        n, confidence = rng.randint(1, 500), rng.uniform(0.5, 0.999)
        worse = rng.randint(0, n)
        better = rng.randint(0, n - worse)
        table = np.array([worse + 1, better + 1, n - worse - better]) / (n + 2)
        covariance = (np.diag(table) - np.outer(table, table)) / (n + 2)
        contrast = np.array([1, -1, 0])
        middle, error = contrast @ table, math.sqrt(contrast @ covariance @ contrast)
        wanted = np.clip(stats.norm.interval(confidence, middle, error), -1, 1)
        assert statistics.paired_proportion_interval(worse, better, n, confidence) == pytest.approx(wanted)


def test_the_paired_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(15)
    for n, worse_rate, better_rate in [(20, 0.1, 0.1), (50, 0.2, 0.05), (200, 0.05, 0.05)]:
        tables = rng.multinomial(n, [worse_rate, better_rate, 1 - worse_rate - better_rate], 3_000)
        covered = 0
        for worse, better, _ in tables.tolist():
            low, high = statistics.paired_proportion_interval(worse, better, n)
            covered += low <= worse_rate - better_rate <= high
        assert covered / 3_000 >= 0.94


@pytest.mark.parametrize("n", [1, 2, 20])
def test_the_paired_interval_is_not_a_point_where_no_pair_is_discordant(n):
    low, high = statistics.paired_proportion_interval(0, 0, n)
    assert -1 <= low < 0 < high <= 1


# What a suite can detect


def test_the_detectable_share_is_the_smallest_that_the_binomial_finds():
    rng = random.Random(16)
    for _ in range(400):
        n, alpha, power = rng.randint(1, 600), 10 ** rng.uniform(-4, -1), rng.uniform(0.5, 0.95)
        needed = math.ceil(-math.log2(alpha))
        share = statistics.detectable_share(n, alpha, power)
        if n < needed:
            assert share is None
        else:
            oracle = optimize.brentq(lambda q: stats.binom.sf(needed - 1, n, q) - power, 0, 1, xtol=1e-12)  # noqa: B023
            assert share == pytest.approx(oracle, abs=1e-7)
    assert statistics.detectable_share(0, 0.02) is None
    assert statistics.detectable_share(5, 0.02) is None


def test_the_detectable_mean_is_the_textbook_formula():
    rng = np.random.default_rng(17)
    for _ in range(1_000):
        values = rng.choice(VALUES, rng.integers(2, 50))
        alpha, power = 10 ** rng.uniform(-12, -1), rng.uniform(0.5, 0.99)
        found = statistics.detectable_mean(values.tolist(), alpha, power)
        if len(set(values)) == 1:
            assert found is None
        else:
            wanted = (stats.norm.isf(alpha) + stats.norm.ppf(power)) * stats.sem(values)
            assert found == pytest.approx(wanted, rel=1e-9)


def test_sharing_alpha_among_tests_takes_a_larger_drop_to_be_seen():
    assert statistics.detectable_share(50, 0.02 / 5) > statistics.detectable_share(50, 0.02)
    assert statistics.detectable_mean([0.0, 0.2, 0.4], 0.02 / 5) > statistics.detectable_mean([0.0, 0.2, 0.4], 0.02)


# The permutation test within cases


def brute_force(base, change):
    """Every arrangement of every case, one by one."""
    choices = []
    for b, c in zip(base, change, strict=True):
        pool, arrangements = [*b, *c], []
        for chosen in itertools.combinations(range(len(pool)), len(b)):
            left = math.fsum(pool[i] for i in chosen) / len(b)
            arrangements.append(left - math.fsum(pool[i] for i in range(len(pool)) if i not in chosen) / len(c))
        choices.append(arrangements)
    observed = sum(math.fsum(b) / len(b) - math.fsum(c) / len(c) for b, c in zip(base, change, strict=True))
    sums = np.zeros(1)
    for arrangements in choices:
        sums = np.add.outer(sums, arrangements).ravel()
    return float(np.mean(sums >= observed - 1e-9))


@pytest.mark.parametrize("values", [[0.0, 1.0], VALUES, None], ids=["binary", "tied", "all different"])
def test_permuting_within_cases_is_the_share_of_all_arrangements(values):
    rng = random.Random(18)

    def arm():
        return [rng.choice(values) if values else rng.uniform(0, 1) for _ in range(rng.randint(1, 3))]

    for _ in range(600):
        base, change = zip(*((arm(), arm()) for _ in range(rng.randint(1, 3))), strict=True)
        assert permutation.permuted_within(base, change) == pytest.approx(brute_force(base, change), rel=1e-9)


def test_permuting_within_one_case_agrees_with_scipys_permutation_test():
    rng = np.random.default_rng(19)
    for _ in range(150):
        base, change = rng.normal(0, 1, rng.integers(2, 5)), rng.normal(0, 1, rng.integers(2, 5))
        oracle = stats.permutation_test(
            (base, change),
            lambda x, y, axis: x.mean(axis=axis) - y.mean(axis=axis),
            alternative="greater",
            n_resamples=np.inf,
            vectorized=True,
        ).pvalue
        assert permutation.permuted_within([base.tolist()], [change.tolist()]) == pytest.approx(oracle)


def test_permuting_within_one_case_of_passes_and_fails_is_fishers_exact_test():
    rng = random.Random(20)
    for _ in range(1_000):
        n, m = rng.randint(1, 30), rng.randint(1, 30)
        a, b = rng.randint(0, n), rng.randint(0, m)
        oracle = stats.fisher_exact([[a, n - a], [b, m - b]], alternative="greater").pvalue
        found = permutation.permuted_within([[1.0] * a + [0.0] * (n - a)], [[0.0] * (m - b) + [1.0] * b])
        assert found == pytest.approx(oracle, rel=1e-9)


def test_permuting_within_many_cases_of_passes_and_fails_is_a_sum_of_hypergeometrics():
    rng = random.Random(21)
    for _ in range(300):
        k, n = rng.randint(1, 5), rng.randint(1, 40)
        base = [[float(rng.random() < 0.7) for _ in range(k)] for _ in range(n)]
        change = [[float(rng.random() < 0.6) for _ in range(k)] for _ in range(n)]
        chances = np.ones(1)
        for b, c in zip(base, change, strict=True):
            chances = np.convolve(chances, stats.hypergeom.pmf(range(k + 1), 2 * k, int(sum(b + c)), k))
        oracle = chances[int(sum(map(sum, base))) :].sum()
        assert permutation.permuted_within(base, change) == pytest.approx(oracle, rel=1e-7)


def test_sampled_arrangements_come_near_the_exact_answer(monkeypatch):
    rng = random.Random(22)
    for most_splits in (permutation._SPLITS, 0):  # drawn from the sums of a case, and by shuffling its values
        for _ in range(4):
            base = [[rng.choice([0.0, 1 / 3, 1.0]) for _ in range(5)] for _ in range(12)]
            change = [[rng.choice([0.0, 0.0, 1 / 3, 1.0]) for _ in range(4)] for _ in range(12)]
            p = permutation.permuted_within(base, change)
            with monkeypatch.context() as patch:
                patch.setattr(permutation, "_WORK", 0)
                patch.setattr(permutation, "_SPLITS", most_splits)
                sampled = permutation.permuted_within(base, change)
            assert sampled == pytest.approx(p, abs=1e-4 + 5 * math.sqrt(p * (1 - p) / 9_999))
            assert sampled != p


def test_permuting_gives_the_same_answer_whatever_the_order_of_cases_and_attempts():
    rng = random.Random(23)
    base = [[rng.random() for _ in range(5)] for _ in range(60)]
    change = [[rng.random() for _ in range(5)] for _ in range(60)]
    first = permutation.permuted_within(base, change)
    order = rng.sample(range(60), 60)
    assert permutation.permuted_within([base[i][::-1] for i in order], [change[i][::-1] for i in order]) == first


@pytest.mark.parametrize(
    ("base", "change"),
    [
        ([], []),
        ([[]], [[]]),
        ([[1.0, 1.0]], [[]]),  # nothing to hold it against
        ([[]], [[0.0]]),
        ([[1.0] * 3, [0.0] * 3], [[1.0] * 3, [0.0] * 3]),  # no attempt differs from another of its case
    ],
)
def test_permuting_without_anything_to_tell_is_no_evidence(base, change):
    assert permutation.permuted_within(base, change) == 1.0


def test_permuting_takes_cases_without_news_for_nothing():
    base, change = [[1.0, 1.0, 0.0]], [[0.0, 0.0, 0.0]]
    alone = permutation.permuted_within(base, change)
    assert permutation.permuted_within([*base, [1.0] * 3, []], [*change, [1.0], [1.0]]) == alone


def test_arms_of_unequal_numbers_of_cases_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        permutation.permuted_within([[1.0], [0.0]], [[1.0]])


def test_the_attempts_needed_are_the_fewest_with_which_a_total_loss_is_significant():
    rng = random.Random(24)
    for cases in (1, 2, 3, 5, 10):
        for alpha in (0.02, 0.02 / 5, 0.05, 10 ** rng.uniform(-6, -1)):
            attempts = permutation.attempts_needed(cases, alpha)
            assert permutation.permuted_within([[1.0] * attempts] * cases, [[0.0] * attempts] * cases) <= alpha
            if attempts > 1:
                fewer = attempts - 1
                assert permutation.permuted_within([[1.0] * fewer] * cases, [[0.0] * fewer] * cases) > alpha
    assert permutation.attempts_needed(1, 0.05) == 3  # 1/20 exactly
    assert permutation.attempts_needed(10_000, 0.02) == 1


@pytest.mark.parametrize(("cases", "alpha"), [(0, 0.02), (3, 0.0), (3, -1.0)])
def test_no_number_of_attempts_serves_without_cases_or_alpha(cases, alpha):
    with pytest.raises(ValueError, match="at least one case and a positive alpha"):
        permutation.attempts_needed(cases, alpha)


# Holm's correction


def by_closure(p_values):
    """An hypothesis is rejected where Bonferroni rejects every intersection that holds it (Marcus, Peritz & Gabriel
    1976); the adjusted p is the largest of those intersections' p values."""
    places = range(len(p_values))
    intersections = [s for size in range(1, len(p_values) + 1) for s in itertools.combinations(places, size)]
    return [max(min(1.0, len(s) * min(p_values[j] for j in s)) for s in intersections if i in s) for i in places]


def test_holm_is_the_closure_of_bonferronis_test():
    rng = random.Random(25)
    for _ in range(3_000):
        p_values = [rng.choice([rng.random(), rng.random() / 50, 0.01, 0.0, 1.0]) for _ in range(rng.randint(1, 6))]
        assert statistics.holm(p_values) == pytest.approx(by_closure(p_values))


def test_weighted_holm_is_the_closure_of_the_weighted_bonferroni_test():
    rng = random.Random(26)
    for _ in range(2_000):
        n = rng.randint(1, 6)
        p_values = [rng.choice([rng.random(), rng.random() / 50, 0.01, 0.0, 1.0]) for _ in range(n)]
        weights = [rng.choice([1.0, 0.5, 0.25, 1 / 21]) for _ in range(n)]
        oracle = [0.0] * n
        for size in range(1, n + 1):
            for members in itertools.combinations(range(n), size):
                whole = sum(weights[i] for i in members)
                p = min(1.0, *(p_values[i] * whole / weights[i] for i in members), 1.0)
                for i in members:
                    oracle[i] = max(oracle[i], p)
        assert statistics.holm(p_values, weights) == pytest.approx(oracle)


@given(st.lists(st.floats(0, 1), max_size=30))
def test_equal_weights_are_no_weights(p_values):
    assert statistics.holm(p_values, [1 / 7] * len(p_values)) == pytest.approx(statistics.holm(p_values))


def test_holm_worked_by_hand():
    assert statistics.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(st.lists(st.floats(0, 1), max_size=40))
def test_holm_keeps_the_order_and_lowers_no_p_nor_raises_it_above_bonferronis(p_values):
    adjusted = statistics.holm(p_values)
    for p, corrected in zip(p_values, adjusted, strict=True):
        assert p <= corrected <= min(1.0, len(p_values) * p)
    for (p, a), (q, b) in itertools.combinations(zip(p_values, adjusted, strict=True), 2):
        assert a <= b or p > q


def test_holm_of_no_test_is_nothing_and_of_one_is_its_own():
    assert statistics.holm([]) == []
    assert statistics.holm([0.013]) == [0.013]


# How many cases would do


@pytest.mark.parametrize("alpha", [0.02, 0.004, 0.05])
def test_the_cases_needed_are_the_fewest_that_scipy_finds_enough(alpha):
    rng = random.Random(31)
    discordant = statistics.fewest_discordant(alpha)
    for _ in range(100):
        share = rng.uniform(0.02, 1.0)
        n = statistics.cases_needed(share, alpha)
        assert stats.binom.sf(discordant - 1, n, share) >= 0.8 - 1e-9
        assert stats.binom.sf(discordant - 1, n - 1, share) < 0.8 + 1e-9


def test_the_cases_needed_are_at_least_those_that_must_get_worse_and_none_where_too_many_are():
    assert statistics.cases_needed(1.0, 0.02) == 6
    assert statistics.cases_needed(0.0001, 0.02) is None
    assert statistics.cases_needed(0.0, 0.02) is None
