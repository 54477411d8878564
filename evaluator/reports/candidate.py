"""Another model than the baseline's beside it: the sentence at the top, and the rows of who is better on what."""

from __future__ import annotations

import math
from collections.abc import Iterator

from evaluator.reports import numbers
from evaluator.reports.models import all_runs
from evaluator.reports.view_model import DuelRow, Duels, Listing, ModeRow, NamedList
from evaluator.results import Candidate, CandidateTask, Duel, PassCost, Run
from evaluator.vocabulary import AMOUNT_METRICS

# Ids of cases that only one of the two passes.
_CASES = 10
_COST = "cost per passed case"
_NAMES = 5


def lines(run: Run) -> list[str]:
    """For each model that is another than its baseline's: which two, whether the evidence is enough, and whether they
    are all that differs."""
    return [
        _line(each.comparison.candidate, [name for name in each.comparison.subject if name != "model"])
        for each in all_runs(run)
        if each.comparison is not None and each.comparison.candidate is not None
    ]


def _line(candidate: Candidate, others: list[str]) -> str:
    said = f"{candidate.candidate} beside the baseline's {candidate.baseline}. {candidate.sentence}"
    if not others:
        return said
    more = f" and {len(others) - _NAMES} more" if len(others) > _NAMES else ""
    return f"{said} The model is not all that differs: so do {', '.join(others[:_NAMES])}{more}."


def duels(run: Run) -> Duels | None:
    """The two models of a run's own comparison; None where they are one and the same."""
    candidate = run.comparison.candidate if run.comparison is not None else None
    if candidate is None:
        return None
    names = {task.name for task in run.tasks}  # the sentence says it of those that the run does not have
    tasks = [task for task in candidate.tasks if task.task in names]
    return Duels(
        candidate=candidate.candidate,
        baseline=candidate.baseline,
        rows=Listing([row for task in tasks for row in _rows(task)]),
        modes=Listing([row for task in tasks for row in _modes(task)]),
        alone=Listing([row for task in tasks for row in _alone(task)]),
    )


def beyond(modes: Listing[ModeRow], shown: Duels | None) -> Listing[ModeRow]:
    """The failure modes of tasks that do not have those of both models side by side."""
    known = {row.task for row in shown.modes.shown} if shown is not None else set()
    return Listing([row for row in modes.shown if row.task not in known], modes.more)


def _rows(task: CandidateTask) -> Iterator[DuelRow]:
    if task.gap:
        yield _row(task, "shares" if task.duels else "everything", better=f"nothing is said: {task.gap}")
    shares = [duel for duel in task.duels if duel.metric not in AMOUNT_METRICS]
    amounts = [duel for duel in task.duels if duel.metric in AMOUNT_METRICS]
    yield from (_duel_row(task, duel) for duel in (*shares, *amounts))
    if task.candidate_cost is not None and task.baseline_cost is not None:
        yield _row(
            task,
            _COST,
            baseline=_each(task.baseline_cost),
            candidate=_each(task.candidate_cost),
            better="not tested",
            cases=numbers.count(task.paired),
        )


def _row(task: CandidateTask, what: str, **cells: str) -> DuelRow:
    empty = dict.fromkeys(("baseline", "candidate", "better", "p", "cases", "shows"), numbers.NOTHING)
    return DuelRow(task=task.task, metric="", what=what, **(empty | cells))


def _duel_row(task: CandidateTask, duel: Duel) -> DuelRow:
    if duel.metric in AMOUNT_METRICS:
        before, after = _amount(duel.metric, duel.baseline), _amount(duel.metric, duel.candidate)
    else:
        before, after = numbers.pair(duel.metric, duel.baseline, duel.candidate)
    return DuelRow(
        task=task.task,
        metric=duel.metric,
        what=_taken(task, duel),
        baseline=before,
        candidate=after,
        better=duel.winner,
        p=_p(duel.adjusted) if duel.adjusted is not None else "recorded",
        cases=numbers.count(duel.n),
        shows=_shows(duel),
    )


def _p(p: float) -> str:
    """As the rest of a report says it, under a heading that says what it is."""
    return numbers.probability(p).removeprefix("p ").removeprefix("= ")


def _amount(metric: str, value: float) -> str:
    """A mean of an attempt is no whole number of tokens."""
    return numbers.money(value) if metric == "cost_usd" else numbers.mean_count(value)


def _taken(task: CandidateTask, duel: Duel) -> str:
    if duel.metric in AMOUNT_METRICS:
        return "an attempt"
    return f"k = {task.k}" if duel.metric == "all_k_pass_rate" else ""


def _shows(duel: Duel) -> str:
    """The smallest difference that would have been shown where nobody won."""
    if duel.detectable is None or (duel.metric not in AMOUNT_METRICS and duel.detectable > 1):
        return numbers.NOTHING
    if duel.metric in AMOUNT_METRICS:
        return _amount(duel.metric, duel.detectable)
    return f"{math.ceil(100 * duel.detectable) / 100:.2f}"


def _each(cost: PassCost) -> str:
    """An unknown price is never a price of nothing, and a partial one says so."""
    if not cost.passed:
        return "no case passed"
    if cost.each is None or cost.cost_state == "unknown":
        return "unknown"
    return f"{'at least ' if cost.cost_state == 'partial' else ''}{numbers.money(cost.each)}"


def _modes(task: CandidateTask) -> Iterator[ModeRow]:
    for mode in task.modes:
        yield ModeRow(
            task=task.task,
            mode=mode.mode,
            attempts="",
            share=numbers.rate(mode.candidate),
            baseline=numbers.rate(mode.baseline),
        )


def _alone(task: CandidateTask) -> Iterator[NamedList]:
    for who, names in (("candidate", task.only_candidate), ("baseline", task.only_baseline)):
        if names:
            what = f"only the {who} passes {numbers.counted(len(names), 'case')}"
            yield NamedList(task.task, what, Listing(names).first(_CASES))
