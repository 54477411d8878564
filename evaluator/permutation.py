"""Permutation tests: what is exchangeable when nothing has changed is exchanged. Pure; each names its source.

Differences are signed in the *bad* direction by the caller: positive is worse. All tests are one-sided towards worse.
Values are finite.
"""

from __future__ import annotations

import hashlib
import math
import random
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from operator import getitem
from typing import NamedTuple

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
    draw = random.Random(seed).randbytes  # noqa: S311 - reproducible on purpose, nothing secret
    # A byte says the signs of eight sizes; what they sum to then is looked up. The last ones may be fewer.
    blocks = [_sums(sizes[place : place + 8]) for place in range(0, len(sizes), 8)]
    tables = [block * (256 // len(block)) for block in blocks]
    hits = sum(sum(map(getitem, tables, draw(len(tables)))) >= observed for _ in range(_DRAWS))
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
