"""Intervals and tests. Pure; each names its source. No number where a number would mean nothing.

Differences are signed in the *bad* direction by the caller: positive is worse. All tests are one-sided towards worse.
Values are finite. An `alpha` that several tests share is divided by the caller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean

_Z = NormalDist()
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


def holm(p_values: Sequence[float], weights: Sequence[float] | None = None) -> list[float]:
    """Holm's step-down adjusted p values, in the order given: rejecting those ≤ alpha keeps the chance of any false
    rejection at alpha or below, however the tests depend on one another. `weights`: positive, the share of alpha that
    each test has to begin with; all alike where there are none.

    Holm (1979), A simple sequentially rejective multiple test procedure, Scand. J. Stat. 6.
    """
    shares = list(weights) if weights is not None else [1.0] * len(p_values)
    adjusted, least, left = [0.0] * len(p_values), 0.0, math.fsum(shares)
    for place in sorted(range(len(p_values)), key=lambda place: p_values[place] / shares[place]):
        # The last one has all that is left, whatever was lost in subtracting.
        least = max(least, min(1.0, max(left / shares[place], 1.0) * p_values[place]))
        adjusted[place] = least
        left -= shares[place]
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
