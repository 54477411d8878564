"""Intervals and tests. Pure; each names its source. No number where a number would mean nothing.

Differences are signed in the *bad* direction by the caller: positive is worse. All tests are one-sided towards worse.
Values are finite. An `alpha` that several tests share is divided by the caller.
"""

from __future__ import annotations

import hashlib
import math
import random
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from statistics import NormalDist, fmean
from typing import NamedTuple

_Z = NormalDist()
_EXACT_LIMIT = 20
_DRAWS = 9_999
_TOLERANCE = 1e-9
# Sums that an exact permutation test may tell apart within a case, and additions that it may make over all cases: well
# under a second.
_SPLITS = 200_000
_WORK = 1_000_000
# Fractions that the values of such a test may have in common: means of up to so many attempts, and their multiples.
_DENOMINATOR = 1_000
_LARGEST_UNIT = 1_000_000


def wilson(share: float, n: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Score interval of a proportion; None for n = 0.

    Wilson (1927), Probable inference, JASA 22. `share` may be a mean of values in [0, 1]: their variance is at most
    that of a proportion with the same mean, so the interval is then conservative.
    """
    if n == 0:
        return None
    z = _Z.inv_cdf(0.5 + confidence / 2)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At the ends the formula gives the bound itself, up to rounding: an interval must hold its own estimate.
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def mcnemar(worse: int, better: int) -> float:
    """Exact one-sided McNemar test: P(X ≥ worse) for X ~ Binomial(worse + better, ½); 1.0 with no discordant case.

    McNemar (1947), Psychometrika 12; the exact conditional form.
    """
    n = worse + better
    # Integer division of big integers: a float power of two would underflow from n = 1,075 on.
    return sum(math.comb(n, k) for k in range(worse, n + 1)) / (1 << n)


def sign_flip(differences: Sequence[float]) -> float:
    """One-sided paired randomisation test on the mean: P(random signs give at least the observed sum).

    Fisher (1935), The Design of Experiments, §21. Exact where the differences are multiples of a common fraction, as
    means of attempts are, and their sums can be listed; exact over all 2^n sign patterns for at most 20 non-zero
    differences; else 9,999 draws seeded by the differences themselves, so that the same data always give the same p;
    (hits + 1) / (draws + 1) keeps it valid (Davison & Hinkley 1997, §4.2). 1.0 when every difference is zero.
    """
    # Means of attempts such as 1/3 + 1/3 must compare equal to 2/3, so all are rounded alike before anything is summed.
    rounded = sorted(round(d, 9) for d in differences)
    sizes = [abs(d) for d in rounded if d]
    if not sizes:
        return 1.0
    groups = sorted(Counter(sizes).items())
    if (unit := _common_unit(dict(groups))) is not None:
        # m equal sizes with random signs sum to size × (2·ones − m), in C(m, ones) ways.
        splits = [{round(size * unit) * (2 * k - m): math.comb(m, k) for k in range(m + 1)} for size, m in groups]
        exact = _exact_tail(splits, sum(round(d * unit) for d in rounded))
        if exact is not None:
            return exact
    observed = math.fsum(rounded) - len(sizes) * _TOLERANCE
    if len(sizes) <= _EXACT_LIMIT:
        half = len(sizes) // 2
        left, right = _sums(sizes[:half]), sorted(_sums(sizes[half:]))
        hits = sum(len(right) - bisect_left(right, observed - value) for value in left)
        return hits / (1 << len(sizes))
    seed = hashlib.sha256(repr(rounded).encode()).hexdigest()
    draw = random.Random(seed).getrandbits  # noqa: S311 - reproducible on purpose, nothing secret
    hits = 0
    for _ in range(_DRAWS):
        # One draw of m bits for m equal sizes.
        total = math.fsum(size * (2 * draw(m).bit_count() - m) for size, m in groups)
        hits += total >= observed
    return (hits + 1) / (_DRAWS + 1)


def _common_unit(values: Iterable[float]) -> int | None:
    """The least u for which every value, rounded to nine decimals, is a whole number of 1/u; None where there is none
    that is small."""
    unit = 1
    for value in values:
        near = Fraction(value).limit_denominator(_DENOMINATOR)
        if abs(near - Fraction(value)) > _TOLERANCE:
            return None
        unit = math.lcm(unit, near.denominator)
    return unit if unit <= _LARGEST_UNIT else None


def _sums(sizes: Sequence[float]) -> list[float]:
    sums = [0.0]
    for size in sizes:
        sums = [s + size for s in sums] + [s - size for s in sums]
    return sums


def permuted_within(base: Sequence[Sequence[float]], change: Sequence[Sequence[float]]) -> float:
    """One-sided permutation test of two arms that attempted the same cases: `base[i]` and `change[i]` are the values of
    case i. Within a case, which attempt belongs to which arm is exchangeable if the arms do equally well; the statistic
    is the sum over cases of mean(base) − mean(change), and p the share of all arrangements that give at least the
    observed one. Cases may have any number of attempts; one without an attempt on either side, or whose values are all
    equal, tells nothing. 1.0 where no case tells anything.

    Fisher's randomisation test (1935), stratified by case; of one case with values of 0 and 1 it is Fisher's exact
    test. Exact while the sums that can occur are few enough to list them, which values of 0 and 1 always are in
    practice, else 9,999 draws as in `sign_flip`.
    """
    arms = [(sorted(b), sorted(c)) for b, c in zip(base, change, strict=True) if b and c and len({*b, *c}) > 1]
    if not arms:
        return 1.0
    arms.sort()
    # Whole numbers from here on: equal sums must compare equal, and a tie counts as at least the observed sum.
    shared = _common_unit({value for arm in arms for values in arm for value in values})
    unit = shared or round(1 / _TOLERANCE)
    common = math.lcm(*(len(values) for arm in arms for values in arm))
    # mean(base) − mean(change) = sum(base) · (1/a + 1/b) less a constant, a and b the numbers of attempts.
    strata = [
        _Stratum(
            values=[round(value * unit) for value in (*b, *c)],
            size=len(b),
            weight=common // len(b) + common // len(c),
        )
        for b, c in arms
    ]
    observed = sum(stratum.weight * sum(stratum.values[: stratum.size]) for stratum in strata)
    least = observed if shared else observed - 2 * common * len(strata)
    splits = [_splits(stratum) for stratum in strata]
    exact = _exact_tail(splits, least)
    if exact is not None:
        return exact
    seed = hashlib.sha256(repr(arms).encode()).hexdigest()
    draw = random.Random(seed)  # noqa: S311 - reproducible on purpose, nothing secret
    totals = [0] * _DRAWS
    for stratum, split in zip(strata, splits, strict=True):
        totals = [total + value for total, value in zip(totals, _drawn(draw, stratum, split), strict=True)]
    return (sum(total >= least for total in totals) + 1) / (_DRAWS + 1)


class _Stratum(NamedTuple):
    """A case's values, the base's `size` ones first, and what a unit of the base's sum counts in the statistic."""

    values: list[int]
    size: int
    weight: int


def _splits(stratum: _Stratum) -> dict[int, int] | None:
    """Weighted sum of the base's arm → how many of the arrangements of a case give it. None where they are too many."""
    ways: list[dict[int, int]] = [{0: 1}, *({} for _ in range(stratum.size))]
    for value in stratum.values:
        for chosen in range(stratum.size, 0, -1):
            into = ways[chosen]
            for total, count in ways[chosen - 1].items():
                into[total + value] = into.get(total + value, 0) + count
        if sum(map(len, ways)) > _SPLITS:
            return None
    return {total * stratum.weight: count for total, count in ways[stratum.size].items()}


def _exact_tail(splits: Sequence[dict[int, int] | None], least: int) -> float | None:
    """The share of all arrangements whose sum over the cases is at least `least`; None where that is too much work."""
    sums, work = {0: 1}, 0
    for split in splits:
        if split is None or (work := work + len(sums) * len(split)) > _WORK:
            return None
        longer: dict[int, int] = {}
        for total, count in sums.items():
            for value, ways in split.items():
                longer[total + value] = longer.get(total + value, 0) + count * ways
        sums = longer
    return sum(count for total, count in sums.items() if total >= least) / sum(sums.values())


def _drawn(draw: random.Random, stratum: _Stratum, split: dict[int, int] | None) -> list[int]:
    """The weighted sum of the base's arm in `_DRAWS` random arrangements of a case."""
    if split is None:
        return [stratum.weight * sum(draw.sample(stratum.values, stratum.size)) for _ in range(_DRAWS)]
    arrangements = sum(split.values())
    return draw.choices(list(split), [count / arrangements for count in split.values()], k=_DRAWS)


def attempts_needed(cases: int, alpha: float) -> int:
    """How many attempts an arm needs on each of so many cases before `permuted_within` can be ≤ alpha: when every one
    of the base's passes and every one of the change's fails, p is C(2r, r)^−cases. At least one case, alpha > 0."""
    if cases < 1 or alpha <= 0.0:
        raise ValueError("attempts_needed takes at least one case and a positive alpha")
    attempts = 1
    # Big integers on one side only: their power may exceed every float.
    while math.comb(2 * attempts, attempts) ** cases < 1 / Fraction(alpha):
        attempts += 1
    return attempts


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p values, in the order given: rejecting those ≤ alpha keeps the chance of any false
    rejection at alpha or below, however the tests depend on one another.

    Holm (1979), A simple sequentially rejective multiple test procedure, Scand. J. Stat. 6.
    """
    adjusted, least = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = least
    return adjusted


def paired_proportion_interval(worse: int, better: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Interval of (worse − better) / n for paired binary outcomes, n ≥ 1; honest where no pair is discordant.

    Bonett & Price (2012), Adjusted Wald confidence interval for a difference of binomial proportions based on paired
    data, J. Educ. Behav. Stat. 37.
    """
    z = _Z.inv_cdf(0.5 + confidence / 2)
    p, q = (worse + 1) / (n + 2), (better + 1) / (n + 2)
    half = z * math.sqrt((p + q - (p - q) ** 2) / (n + 2))
    return max(-1.0, p - q - half), min(1.0, p - q + half)


def mean_interval(differences: Sequence[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """Student's t interval of the mean difference; None for fewer than two values or none that vary."""
    return clustered_mean_interval(differences, [""] * len(differences), confidence)


def clustered_sums(differences: Sequence[float], clusters: Sequence[str]) -> list[float]:
    """The sum of the differences of each cluster, in the order in which the clusters appear. A difference whose cluster
    has an empty name stands for itself.

    `sign_flip` of these sums flips whole clusters: what is randomised as one is flipped as one, so that it stays valid
    however much the members of a cluster depend on one another.
    """
    members: dict[str | int, list[float]] = {}
    for place, (difference, cluster) in enumerate(zip(differences, clusters, strict=True)):
        members.setdefault(cluster or place, []).append(difference)
    return [math.fsum(values) for values in members.values()]


def clustered_mean_interval(
    differences: Sequence[float], clusters: Sequence[str], confidence: float = 0.95
) -> tuple[float, float] | None:
    """Interval of the mean difference where the members of a cluster depend on one another: the cluster-robust variance
    (CR1) with Student's t on one degree of freedom fewer than there are clusters. Clusters as in `clustered_sums`; with
    one member each it is Student's interval. None for fewer than two clusters or none that vary.

    Cameron & Miller (2015), A practitioner's guide to cluster-robust inference, J. Hum. Resour. 50, sections II and VI.
    """
    found = _standard_error(differences, clusters)
    if found is None:
        return None
    error, degrees = found
    half = student_t_quantile(0.5 + confidence / 2, degrees) * error
    mean = fmean(differences)
    return mean - half, mean + half


def _standard_error(differences: Sequence[float], clusters: Sequence[str]) -> tuple[float, int] | None:
    """Standard error of the mean and its degrees of freedom."""
    if len(differences) < 2:
        return None
    mean = fmean(differences)
    residuals = clustered_sums([difference - mean for difference in differences], clusters)
    count = len(residuals)
    if count < 2:
        return None
    # G / (G − 1): with the mean as the only regressor the other factor of CR1, (N − 1) / (N − K), is one.
    spread = math.sqrt(count / (count - 1) * math.fsum(residual * residual for residual in residuals))
    if spread <= _TOLERANCE * math.sqrt(len(differences)):
        return None
    return spread / len(differences), count - 1


def student_t_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's t for ½ ≤ probability < 1 and whole degrees of freedom ≥ 1, by bisection of the CDF."""
    low, high = 0.0, 1.0
    while student_t_cdf(high, degrees) < probability:
        low, high = high, high * 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if student_t_cdf(middle, degrees) < probability:
            low = middle
        else:
            high = middle
    return high


def student_t_cdf(t: float, degrees: int) -> float:
    """P(T ≤ t): the finite series for whole degrees of freedom. Abramowitz & Stegun (1964), 26.7.3 and 26.7.4."""
    theta = math.atan2(t, math.sqrt(degrees))
    sine, cosine = math.sin(theta), math.cos(theta)
    total, term = 0.0, cosine if degrees % 2 else 1.0
    for k in range(2 if degrees % 2 else 1, degrees, 2):
        total += term
        term *= cosine * cosine * k / (k + 1)
    if degrees % 2:
        return 0.5 + (theta + sine * total) / math.pi
    return 0.5 + sine * total / 2


def fewest_discordant(alpha: float) -> int:
    """How many cases must get worse, with none better, before McNemar's p can be ≤ alpha: six at 0.02."""
    count = 1
    while mcnemar(count, 0) > alpha:
        count += 1
    return count


def detectable_share(n: int, alpha: float, power: float = 0.8) -> float | None:
    """The smallest share of n cases that, getting worse with none better, McNemar finds with the given power.

    The exact table: the smallest q with P(Binomial(n, q) ≥ fewest_discordant(alpha)) ≥ power. None where n is too small
    for any drop to be found.
    """
    needed = fewest_discordant(alpha)
    if n < needed:
        return None
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if _binomial_tail(n, middle, needed) >= power:
            high = middle
        else:
            low = middle
    return high


def cases_needed(share: float, alpha: float, power: float = 0.8, most: int = 10_000) -> int | None:
    """How many cases it takes to find, with the given power, that so large a share of them gets worse with none better:
    the smallest n with `detectable_share(n)` ≤ share. None where more than `most` would not do."""
    needed = fewest_discordant(alpha)
    if _binomial_tail(most, share, needed) < power:
        return None
    low, high = needed - 1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _binomial_tail(middle, share, needed) >= power else (middle, high)
    return high


def detectable_mean(differences: Sequence[float], alpha: float, power: float = 0.8) -> float | None:
    """The smallest mean drop that a paired test shows with the given power, by the normal approximation:
    (z_{1−α} + z_{power}) · sd / √n. None where the differences do not vary."""
    found = _standard_error(differences, [""] * len(differences))
    # −z_α is z_{1−α} without the rounding of 1 − α where alpha is tiny.
    return (_Z.inv_cdf(power) - _Z.inv_cdf(alpha)) * found[0] if found is not None else None


def _binomial_tail(n: int, q: float, least: int) -> float:
    """P(X ≥ least) for X ~ Binomial(n, q)."""
    if q <= 0.0:
        return 1.0 if least <= 0 else 0.0
    if q >= 1.0:
        return 1.0 if least <= n else 0.0
    log_q, log_not = math.log(q), math.log1p(-q)
    below = math.fsum(
        math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * log_q + (n - k) * log_not)
        for k in range(least)
    )
    return 1.0 - below
