"""(baseline, run) → what changed, case by case, with the evidence. Pure.

Only cases that both sides scored and whose digests are equal are paired. Everything else has a name here and counts
against the coverage of the comparison; nothing is left out in silence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean

import msgspec

from evaluator import permutation, statistics
from evaluator.metrics import case_value, metric_of
from evaluator.results import CaseChange, CaseResult, Evidence, Fingerprint, TaskComparison, TaskResult
from evaluator.vocabulary import AMOUNT_METRICS, known_metrics

_SAME = 1e-9


class Pair(msgspec.Struct, frozen=True):
    """One case on both sides; same id, same digest, scored at least once on each."""

    baseline: CaseResult
    now: CaseResult

    @property
    def critical(self) -> bool:
        """A change cannot take the mark away from a case: either side's counts."""
        return self.baseline.critical or self.now.critical


class Pairing(msgspec.Struct, frozen=True, kw_only=True):
    """The cases of one task, sorted by what can be said about them. `is_new`: the baseline does not know the task;
    `baseline`, `now`: all cases of either side; `pooled` as in `TaskResult`."""

    task: str
    is_new: bool
    baseline: list[CaseResult]
    now: list[CaseResult]
    pairs: list[Pair]
    not_comparable: list[str]
    removed: list[CaseResult]
    added: list[str]
    unscored: list[str]
    repeats: int
    baseline_repeats: int
    deterministic: bool
    pooled: bool = True

    @property
    def k(self) -> int:
        """The k of pass^k that both sides can give."""
        return min(self.repeats, self.baseline_repeats)

    @property
    def coverage(self) -> float:
        """Share of the baseline's cases that could be paired; 1.0 for a baseline without cases."""
        known = len(self.pairs) + len(self.not_comparable) + len(self.removed) + len(self.unscored)
        return len(self.pairs) / known if known else 1.0


def pair(baseline: TaskResult | None, now: TaskResult) -> Pairing:
    """Pairs the cases of a task. `baseline` None: the task is new, every case is `added`."""
    before = {case.id: case for case in baseline.cases} if baseline is not None else {}
    after = {case.id: case for case in now.cases}
    pairs: list[Pair] = []
    not_comparable, unscored = [], []
    for case_id in before.keys() & after.keys():
        old, new = before[case_id], after[case_id]
        if old.digest != new.digest:
            not_comparable.append(case_id)
        elif _scored(old) and _scored(new):
            pairs.append(Pair(old, new))
        else:
            unscored.append(case_id)
    return Pairing(
        task=now.name,
        is_new=baseline is None,
        baseline=list(before.values()),
        now=now.cases,
        pairs=sorted(pairs, key=lambda each: each.now.id),
        not_comparable=sorted(not_comparable),
        removed=[before[case_id] for case_id in sorted(before.keys() - after.keys())],
        added=sorted(after.keys() - before.keys()),
        unscored=sorted(unscored),
        repeats=now.repeats,
        baseline_repeats=baseline.repeats if baseline is not None else now.repeats,
        deterministic=now.deterministic and (baseline is None or baseline.deterministic),
        pooled=now.pooled,
    )


def _scored(case: CaseResult) -> bool:
    return any(attempt.status == "scored" for attempt in case.attempts)


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A metric on both sides of the same cases: a mean, or the sum of an amount. `missing`: cases that had a value in
    the baseline and have none now, or none that can be held against it. `worse`: those whose value became worse, most
    harm first.
    `harm`: the change in the bad direction of each case, or of each cluster in all; `at_level` works out from it what
    the suite can show."""

    baseline: float
    now: float
    evidence: Evidence
    missing: list[str]
    worse: list[str]
    harm: list[float] = []


def difference(
    metric: str,
    pairing: Pairing,
    pairs: Sequence[Pair] | None = None,
    *,
    alpha: float,
    higher_is_better: bool,
) -> Difference | None:
    """A metric's change over `pairs` (all of the pairing's) that have a value on both sides; None where none has.

    One attempt a case and values of 0 or 1 on both sides: exact McNemar. Otherwise the mean over a case's attempts,
    then a sign-flip test of the paired differences. Where cases hang together in clusters, a cluster's differences are
    summed and flipped as one; by the baseline's clusters, for a change that puts all cases into one would see nothing
    ever be significant. Recordings on both sides: no test, any change is real.
    """
    before, after, missing, harmed, clusters = [], [], [], [], []
    sign = 1.0 if higher_is_better else -1.0
    as_they_are = pairing.deterministic or metric in AMOUNT_METRICS
    for each in pairing.pairs if pairs is None else pairs:
        # The same k on both sides: pass^3 of one run is not to be held against pass^5 of another.
        sides = (each.baseline, each.now) if as_they_are else _evened(each)
        old, new = (case_value(metric, case, pairing.k) for case in sides)
        if old is None or new is None:
            # By all of the baseline's attempts: where today's are too few for a figure, the case is missing, not gone.
            if case_value(metric, each.baseline, pairing.k) is not None:
                missing.append(each.now.id)
        else:
            before.append(old)
            after.append(new)
            clusters.append(each.baseline.cluster)
            if (harm := sign * (old - new)) > _SAME:
                harmed.append((-harm, each.now.id))
    if not before:
        return None
    found = evidence(before, after, alpha, pairing.deterministic, higher_is_better=higher_is_better, clusters=clusters)
    is_amount = metric in AMOUNT_METRICS
    return Difference(
        baseline=math.fsum(before) if is_amount else fmean(before),
        now=math.fsum(after) if is_amount else fmean(after),
        evidence=_of_sums(found, len(before)) if is_amount else found,
        missing=missing,
        worse=[case_id for _, case_id in sorted(harmed)],
        harm=statistics.clustered_sums([sign * (old - new) for old, new in zip(before, after, strict=True)], clusters),
    )


def _evened(each: Pair) -> tuple[CaseResult, CaseResult]:
    """Both sides with the first scored attempts of each, as many as the one that has fewer. The mean of one attempt and
    that of five scatter differently, and a sign-flip test takes that for evidence (`bench.power` shows it)."""
    sides = (each.baseline, each.now)
    scored = [[attempt for attempt in case.attempts if attempt.status == "scored"] for case in sides]
    fewer = min(map(len, scored))
    if all(len(attempts) == fewer for attempts in scored):
        return sides
    old, new = (
        msgspec.structs.replace(case, attempts=attempts[:fewer]) for case, attempts in zip(sides, scored, strict=True)
    )
    return old, new


def at_level(change: Difference, metric: str, alpha: float) -> Evidence:
    """The evidence of `change` with what its suite can show at another level: the one that is left of alpha where
    several tests share it."""
    found = change.evidence
    if found.test == "deterministic":
        return found
    again = msgspec.structs.replace(
        found,
        detectable=_detectable(change.harm, found.n, alpha, binary=found.test == "mcnemar"),
        underpowered=_underpowered(change.harm, alpha),
    )
    return _of_sums(again, found.n, only=("detectable",)) if metric in AMOUNT_METRICS else again


def _of_sums(found: Evidence, n: int, only: Sequence[str] = ("difference", "low", "high", "detectable")) -> Evidence:
    """Evidence on a mean over n cases, as evidence on their sum."""
    scaled = {name: value * n if (value := getattr(found, name)) is not None else None for name in only}
    return msgspec.structs.replace(found, **scaled)


def evidence(
    before: Sequence[float],
    after: Sequence[float],
    alpha: float,
    deterministic: bool,
    *,
    higher_is_better: bool,
    clusters: Sequence[str] = (),
) -> Evidence:
    """How sure the difference between two equally long lists of case values is. `clusters`: the cluster of each, empty
    where it stands for itself. Raises ValueError for empty lists."""
    sign = 1.0 if higher_is_better else -1.0
    harm = [sign * (old - new) for old, new in zip(before, after, strict=True)]
    worse, better = sum(h > _SAME for h in harm), sum(h < -_SAME for h in harm)
    difference = fmean(after) - fmean(before)
    n = len(harm)
    interval: tuple[float, float] | None
    if deterministic:
        return Evidence(test="deterministic", n=n, worse=worse, better=better, difference=difference)
    sums = statistics.clustered_sums(harm, clusters or [""] * n)
    clustered = len(sums) < n
    binary = not clustered and all(value in (0.0, 1.0) for value in (*before, *after))
    if clustered:
        p = permutation.sign_flip(sums)
        interval = statistics.clustered_mean_interval(harm, clusters)
    elif binary:
        p = statistics.mcnemar(worse, better)
        interval = statistics.paired_proportion_interval(worse, better, n)
    else:
        p = permutation.sign_flip(harm)
        interval = statistics.mean_interval(harm)
    # `harm` is positive where worse; the reader's difference is now − baseline.
    ends = sorted(-sign * end for end in interval) if interval is not None else [None, None]
    if interval is not None and higher_is_better:  # a share: no difference of two is outside
        ends = [min(max(end, -1.0), 1.0) for end in ends if end is not None]
    return Evidence(
        test="mcnemar" if binary else "sign-flip",
        n=n,
        worse=worse,
        better=better,
        difference=difference,
        p=p,
        low=ends[0],
        high=ends[1],
        detectable=_detectable(sums, n, alpha, binary=binary),
        underpowered=_underpowered(sums, alpha),
        clusters=len(sums) if clustered else None,
    )


def _underpowered(harm: Sequence[float], alpha: float) -> bool:
    """Whether so few cases, or clusters, changed that no test at this level can be significant."""
    return sum(abs(h) > _SAME for h in harm) < statistics.fewest_discordant(alpha)


def _detectable(harm: Sequence[float], n: int, alpha: float, *, binary: bool) -> float | None:
    """The smallest drop of the mean over `n` cases that `harm`, by case or by cluster, would show."""
    spread = statistics.detectable_mean(harm, alpha)
    by_spread = spread * len(harm) / n if spread is not None else None
    by_count = statistics.detectable_share(len(harm), alpha)
    if by_count is None:  # too few cases for any drop to be significant
        return None
    if not binary:
        return by_spread
    # With few discordant cases the normal approximation promises drops that the exact test cannot show.
    return max(by_spread, by_count) if by_spread is not None else by_count


def compare_task(pairing: Pairing, baseline: TaskResult | None, alpha: float) -> TaskComparison:
    """The part of the comparison that a report shows for every task, whatever the rules are."""
    moved = [(each, *_rates(each)) for each in pairing.pairs]
    pass_rate = difference("pass_rate", pairing, alpha=alpha, higher_is_better=True) if pairing.pooled else None
    before = baseline.cases if baseline is not None else []
    names = known_metrics() if pairing.pooled else AMOUNT_METRICS
    figures = {name: metric_of(name, before, pairing.baseline_repeats) for name in names}
    return TaskComparison(
        task=pairing.task,
        paired=len(pairing.pairs),
        not_comparable=pairing.not_comparable,
        removed=[case.id for case in pairing.removed],
        added=pairing.added,
        unscored=pairing.unscored,
        regressed=[_change(pairing.task, each, old, new) for each, old, new in moved if new < old - _SAME],
        fixed=[_change(pairing.task, each, old, new) for each, old, new in moved if new > old + _SAME],
        pass_rate=pass_rate.evidence if pass_rate is not None else None,
        baseline_repeats=baseline.repeats if baseline is not None else None,
        baseline_metrics={name: figure for name, figure in figures.items() if figure is not None},
        slices={} if pairing.pooled else _slice_evidence(pairing, alpha),
    )


def _slice_evidence(pairing: Pairing, alpha: float) -> dict[str, Evidence]:
    found: dict[str, Evidence] = {}
    for name, pairs in _by_slice(pairing).items():
        change = difference("pass_rate", pairing, pairs, alpha=alpha, higher_is_better=True)
        if change is not None:
            found[name] = change.evidence
    return found


def _by_slice(pairing: Pairing) -> dict[str, list[Pair]]:
    """The pairs by the slices of today, in the order of their names."""
    named: dict[str, list[Pair]] = {}
    for each in pairing.pairs:
        for name in each.now.slices:
            named.setdefault(name, []).append(each)
    return dict(sorted(named.items()))


def ceilings(pairing: Pairing) -> list[str]:
    """The slices of a task that is not pooled in which every attempt passed on both sides: they can tell nothing."""
    if pairing.pooled:
        return []
    return [name for name, pairs in _by_slice(pairing).items() if all(_rates(each) == (1.0, 1.0) for each in pairs)]


def _rates(each: Pair) -> tuple[float, float]:
    old, new = case_value("pass_rate", each.baseline, 1), case_value("pass_rate", each.now, 1)
    if old is None or new is None:
        raise ValueError(f"case {each.now.id!r} was paired without a score on both sides")
    return old, new


def _change(task: str, each: Pair, old: float, new: float) -> CaseChange:
    worse_side = each.now if new < old else each.baseline
    failed = next((a for a in worse_side.attempts if a.status == "scored" and not a.passed), None)
    return CaseChange(
        task=task,
        id=each.now.id,
        baseline=old,
        now=new,
        critical=each.critical,
        failure_mode=failed.failure_mode if failed is not None else None,
        findings=failed.findings if failed is not None else [],
    )


def critically_failed(each: Pair) -> bool:
    """A critical case whose attempts all passed in the baseline and all failed now."""
    old, new = _rates(each)
    return each.critical and old == 1.0 and new == 0.0


# A value that only says whether something is the same: a digest, or what is left of one.
_DIGEST = re.compile(r'"?(?:[0-9a-f]{12}|[0-9a-f]{40}|[0-9a-f]{64})"?')
_DIGITS = 12
_SUBJECT_WORDS = {"system": "system prompt", "params.files": "files of the solution"}
_ANSWERED_WORDS = {"models": "model answered", "system_fingerprints": "system fingerprint answered"}


def fingerprint_differences(before: Fingerprint, after: Fingerprint) -> list[str]:
    """What differs, in words, one line each: "jsonschema 4.25.1 → 4.26.0", "tools/refund changed"."""
    return [
        *_differing(before.packages, after.packages, str),
        *_differing(before.scorers, after.scorers, lambda name: f"scorer {name}"),
        *_differing(before.subject, after.subject, lambda name: _SUBJECT_WORDS.get(name, name)),
        *_differing(before.sources, after.sources, lambda name: f"source of {name}", digits=_DIGITS),
        *(
            f"{_ANSWERED_WORDS.get(name, name)} {_list(before.answered[name])} → {_list(after.answered[name])}"
            for name in sorted(before.answered.keys() & after.answered.keys())
            if before.answered[name] != after.answered[name]
        ),
    ]


def _differing(
    before: Mapping[str, str], after: Mapping[str, str], title: Callable[[str], str], *, digits: int = 0
) -> Iterator[str]:
    """`digits`: how much is shown of a digest; 0: only that it differs."""
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        shown = [_readable(name, value, digits) for value in (old, new) if value is not None]
        if old is None:
            yield " ".join(part for part in (title(name), shown[0], "added") if part)
        elif new is None:
            yield f"{title(name)} removed"
        else:
            yield (
                f"{title(name)} {shown[0]} → {shown[1]}"
                if all(shown) and shown[0] != shown[1]
                else f"{title(name)} changed"
            )


def _readable(name: str, value: str, digits: int) -> str:
    """A version without the name that it repeats ("trace@2" is 2); of a digest its first digits, empty where none are
    to be shown."""
    return value.strip('"')[:digits] if _DIGEST.fullmatch(value) else value.removeprefix(f"{name}@")


def _list(values: Iterable[str]) -> str:
    return ", ".join(values) or "(none)"
