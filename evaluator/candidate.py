"""(baseline's model, this run's model) → who is better on what, and whether the evidence is enough. Pure.

It answers another question than the gate. The gate asks whether a change made things worse, one-sided, by its own
rules; here two models are compared in both directions on every figure. The verdict does not rest on any of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from evaluator import candidate_words as words
from evaluator.comparison import Difference, Pair, Pairing, at_level, difference
from evaluator.metrics import case_value, totals
from evaluator.results import (
    Attempt,
    Candidate,
    CandidateTask,
    CaseResult,
    Duel,
    ModeShare,
    PassCost,
    Run,
    TaskResult,
    Winner,
)
from evaluator.rules import higher_is_better
from evaluator.statistics import detectable_share, holm
from evaluator.vocabulary import AMOUNT_METRICS, FAILURE_MODES

_SHARES = ("pass_rate", "all_k_pass_rate", "tool_score", "argument_score", "order_score", "schema_valid")
_SAME = 1e-9
_PLACES = {mode: place for place, mode in enumerate(FAILURE_MODES)}


class _Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A metric on both sides before it is decided. `unit`: what sums are divided by, 1 of a mean; `leader`: who is
    better if the difference is real; `p`: two-sided, None for recordings."""

    task: str
    metric: str
    change: Difference
    unit: int
    leader: Winner
    p: float | None


def of(
    before: Run,
    rescored: Sequence[TaskResult],
    now_model: str,
    tasks: Sequence[TaskResult],
    pairings: Mapping[str, Pairing],
    alpha: float,
) -> Candidate | None:
    """`now_model` beside the model of the baseline's run `before`; None where both are the same or either is unknown.
    `rescored`: the baseline's tasks as today's scorers judge them; `pairings`: task name → its pairs.

    A figure is decided where its two-sided p, twice the smaller one of the same paired test in either direction, is at
    most `alpha` after Holm's correction over all figures of all tasks.
    """
    known = before.subject.model if before.subject is not None else ""
    if not known or not now_model or known == now_model:
        return None
    figures = [figure for task in tasks for figure in _figures(pairings[task.name], alpha)]
    tested = [figure for figure in figures if figure.p is not None]
    adjusted = dict(zip(map(_key, tested), holm([figure.p for figure in tested if figure.p is not None]), strict=True))
    undecided = sum(p > alpha for p in adjusted.values())
    # What a figure that is still undecided would have to reach, on either side.
    level = alpha / (2 * max(1, undecided))
    duels = [(figure.task, _duel(figure, adjusted.get(_key(figure)), alpha, level)) for figure in figures]
    earlier = {task.name: task for task in rescored}
    compared = [
        _compared(
            earlier.get(task.name), task, pairings[task.name], [duel for name, duel in duels if name == task.name]
        )
        for task in tasks
    ]
    names = {task.name for task in tasks}
    gone = [CandidateTask(task=name, paired=0, gap=words.GONE) for name in earlier if name not in names]
    return Candidate(
        candidate=now_model,
        baseline=known,
        alpha=alpha,
        sentence=words.sentence(now_model, known, [*compared, *gone], level),
        tasks=[*compared, *gone],
    )


def _key(figure: _Figure) -> tuple[str, str]:
    return figure.task, figure.metric


def _figures(pairing: Pairing, alpha: float) -> Iterator[_Figure]:
    shares = [metric for metric in _SHARES if pairing.k > 1 or metric != "all_k_pass_rate"] if pairing.pooled else []
    for metric in (*shares, *AMOUNT_METRICS):
        figure = _figure(metric, pairing, alpha)
        if figure is not None:
            yield figure


def _figure(metric: str, pairing: Pairing, alpha: float) -> _Figure | None:
    pairs, unit = pairing.pairs, 1
    if metric in AMOUNT_METRICS:
        pairs = [each for each in map(_as_often, pairs) if _has(metric, each.baseline) and _has(metric, each.now)]
        unit = sum(len(each.now.attempts) for each in pairs)
    good = higher_is_better(metric)
    untested = msgspec.structs.replace(pairing, deterministic=True)
    plain = difference(metric, untested, pairs, alpha=alpha, higher_is_better=good)
    if plain is None:
        return None
    gain = (plain.now - plain.baseline) * (1 if good else -1)
    # The test in the direction of the difference has the smaller p of the two.
    tested = difference(metric, pairing, pairs, alpha=alpha, higher_is_better=good if gain < 0 else not good)
    assert tested is not None  # noqa: S101 - the same cases
    p = tested.evidence.p
    return _Figure(
        task=pairing.task,
        metric=metric,
        change=tested,
        unit=unit,
        leader="neither" if abs(gain) <= _SAME else "candidate" if gain > 0 else "baseline",
        p=min(1.0, 2 * p) if p is not None else None,
    )


def _as_often(each: Pair) -> Pair:
    """As many scored attempts on either side, so that sums can be held against each other."""
    before, after = _scored(each.baseline), _scored(each.now)
    most = min(len(before), len(after))
    return Pair(_with(each.baseline, before[:most]), _with(each.now, after[:most]))


def _scored(case: CaseResult) -> list[Attempt]:
    return [attempt for attempt in case.attempts if attempt.status == "scored"]


def _with(case: CaseResult, attempts: list[Attempt]) -> CaseResult:
    return msgspec.structs.replace(case, attempts=attempts)


def _has(metric: str, case: CaseResult) -> bool:
    return case_value(metric, case, 1) is not None


def _duel(figure: _Figure, adjusted: float | None, alpha: float, level: float) -> Duel:
    decided = figure.p is None or (adjusted is not None and adjusted <= alpha)
    change, unit = figure.change, figure.unit
    return Duel(
        metric=figure.metric,
        baseline=change.baseline / unit,
        candidate=change.now / unit,
        n=change.evidence.n,
        winner=figure.leader if decided else "neither",
        p=figure.p,
        adjusted=adjusted,
        detectable=None if decided else _detectable(figure, level),
    )


def _detectable(figure: _Figure, level: float) -> float | None:
    """The smallest difference that would be shown at `level`. Where few cases differ their spread promises too much: a
    share then needs as many cases, changed altogether, as the exact test does; of an amount nothing can be said."""
    found = at_level(figure.change, figure.metric, level)
    if not found.underpowered:
        return found.detectable / figure.unit if found.detectable is not None else None
    by_count = detectable_share(found.clusters or found.n, level)
    if figure.metric in AMOUNT_METRICS or by_count is None:
        return None
    return max(by_count, found.detectable or 0.0)


def _compared(before: TaskResult | None, now: TaskResult, pairing: Pairing, duels: list[Duel]) -> CandidateTask:
    pairs = pairing.pairs
    if before is None or not pairs:
        return CandidateTask(task=now.name, paired=0, gap=words.NEW if pairing.is_new else words.UNPAIRED)
    old, new = [each.baseline for each in pairs], [each.now for each in pairs]
    return CandidateTask(
        task=now.name,
        paired=len(pairs),
        k=pairing.k,
        recorded=pairing.deterministic,
        gap="" if pairing.pooled else words.NOT_POOLED,
        duels=duels,
        modes=_modes(old, new) if pairing.pooled else [],
        candidate_cost=_cost(now, new, pairing.k) if pairing.pooled else None,
        baseline_cost=_cost(before, old, pairing.k) if pairing.pooled else None,
        only_candidate=[each.now.id for each in pairs if _passes(each.now) and not _passes(each.baseline)],
        only_baseline=[each.now.id for each in pairs if _passes(each.baseline) and not _passes(each.now)],
    )


def _passes(case: CaseResult) -> bool:
    return all(attempt.passed for attempt in _scored(case))


def _modes(old: Sequence[CaseResult], new: Sequence[CaseResult]) -> list[ModeShare]:
    """The most frequent first, on whichever side; among equals the one that is decided first."""
    before, after = _mode_shares(old), _mode_shares(new)
    shares = [
        ModeShare(mode=mode, baseline=before.get(mode, 0.0), candidate=after.get(mode, 0.0))
        for mode in before.keys() | after.keys()
    ]
    return sorted(shares, key=lambda s: (-max(s.baseline, s.candidate), _PLACES.get(s.mode, len(_PLACES)), s.mode))


def _mode_shares(cases: Sequence[CaseResult]) -> dict[str, float]:
    scored = [attempt for case in cases for attempt in _scored(case)]
    counts = Counter(attempt.failure_mode for attempt in scored if attempt.failure_mode)
    return {mode: count / len(scored) for mode, count in counts.items()}


def _cost(task: TaskResult, cases: Sequence[CaseResult], k: int) -> PassCost:
    """Where all of several attempts must pass, only the first `k` of a case count, in dollars too: otherwise a side
    with more attempts would look dearer."""
    if k > 1:
        cases = [_with(case, [attempt for attempt in case.attempts if attempt.number <= k]) for case in cases]
        passed = sum(len(case.attempts) == k and all(attempt.passed for attempt in case.attempts) for case in cases)
    else:
        passed = sum(attempt.passed is True for case in cases for attempt in case.attempts)
    spent = totals([msgspec.structs.replace(task, cases=list(cases))], 0.0)
    each = spent.cost_usd / passed if spent.cost_usd is not None and passed else None
    return PassCost(passed=passed, cost_state=spent.cost_state, cost_usd=spent.cost_usd, each=each)
