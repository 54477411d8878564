"""Intervals and paired tests. Pure; each names its source. No number where a number would mean nothing.

Differences are signed in the *bad* direction by the caller: positive is worse. All tests are one-sided towards worse.
"""

from __future__ import annotations

import hashlib
import math
import random
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from statistics import NormalDist, fmean, stdev

_Z = NormalDist()
_EXACT_LIMIT = 20
_DRAWS = 9_999
_TOLERANCE = 1e-9


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

    Fisher (1935), The Design of Experiments, §21. Exact over all 2^n sign patterns for at most 20 non-zero differences,
    else 9,999 draws seeded by the differences themselves, so that the same data always give the same p;
    (hits + 1) / (draws + 1) keeps it valid (Davison & Hinkley 1997, §4.2). 1.0 when every difference is zero.
    """
    # Means of attempts such as 1/3 + 1/3 must compare equal to 2/3, so all are rounded alike before anything is summed.
    rounded = sorted(round(d, 9) for d in differences)
    sizes = [abs(d) for d in rounded if d]
    if not sizes:
        return 1.0
    observed = math.fsum(rounded) - len(sizes) * _TOLERANCE
    if len(sizes) <= _EXACT_LIMIT:
        half = len(sizes) // 2
        left, right = _sums(sizes[:half]), sorted(_sums(sizes[half:]))
        hits = sum(len(right) - bisect_left(right, observed - value) for value in left)
        return hits / (1 << len(sizes))
    groups = sorted(Counter(sizes).items())
    seed = hashlib.sha256(repr(rounded).encode()).hexdigest()
    draw = random.Random(seed).getrandbits  # noqa: S311 - reproducible on purpose, nothing secret
    hits = 0
    for _ in range(_DRAWS):
        # m equal sizes with random signs sum to size × (2·ones − m): one draw of m bits.
        total = math.fsum(size * (2 * draw(m).bit_count() - m) for size, m in groups)
        hits += total >= observed
    return (hits + 1) / (_DRAWS + 1)


def _sums(sizes: Sequence[float]) -> list[float]:
    sums = [0.0]
    for size in sizes:
        sums = [s + size for s in sums] + [s - size for s in sums]
    return sums


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
    n = len(differences)
    if n < 2:
        return None
    spread = stdev(differences)
    if spread <= _TOLERANCE:
        return None
    half = student_t_quantile(0.5 + confidence / 2, n - 1) * spread / math.sqrt(n)
    mean = fmean(differences)
    return mean - half, mean + half


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


def detectable_mean(differences: Sequence[float], alpha: float, power: float = 0.8) -> float | None:
    """The smallest mean drop that a paired test shows with the given power, by the normal approximation:
    (z_{1−α} + z_{power}) · sd / √n. None where the differences do not vary."""
    if len(differences) < 2 or stdev(differences) <= _TOLERANCE:
        return None
    return (_Z.inv_cdf(1 - alpha) + _Z.inv_cdf(power)) * stdev(differences) / math.sqrt(len(differences))


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
