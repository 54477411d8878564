"""Two models' duels → one sentence that says whether the evidence is enough. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from evaluator.results import CandidateTask, Duel, Winner
from evaluator.statistics import fewest_discordant
from evaluator.vocabulary import AMOUNT_METRICS

GONE = "this run does not have it"
NEW = "the baseline does not know it"
UNPAIRED = "no case could be paired"
NOT_POOLED = "no share is taken over all of its cases, see its slices"

# Figures that are named for each model, and tasks that are named for each question left open.
_NAMED = 3
# What is said of a task that is undecided rests on this figure.
_HEADLINE = "pass_rate"


def sentence(candidate: str, baseline: str, tasks: Sequence[CandidateTask], level: float) -> str:
    """Whether the evidence is enough to prefer one of the two models, and on which figures of which tasks. `level`: the
    p that a figure which is undecided would have to reach in one direction."""
    both: list[tuple[str, Winner]] = [(candidate, "candidate"), (baseline, "baseline")]
    won = [(model, side, figures) for model, side in both if (figures := _won_by(side, tasks))]
    # Who does better at the tasks comes first; an attempt that costs less may still be worth less.
    won.sort(key=lambda each: _is_amount(each[2][0]))
    said = ", and that ".join(_better(model, figures, side) for model, side, figures in won)
    if said:
        parts = [f"Enough to say that {said}"]
    elif any(task.duels for task in tasks):
        parts = ["Not enough to say that either model is better on any figure"]
    else:
        parts = ["Nothing can be said of the two models"]
    parts += _some([_undecided(task, level) for task in tasks if _is_undecided(task)])
    parts += _some([f"of {task.task} nothing is said: {task.gap}" for task in tasks if task.gap])
    if any(task.recorded for task in tasks):
        parts.append("transcripts are recorded, so this is about them and not about what a model would answer anew")
    return "; ".join(parts) + "."


def _won_by(side: Winner, tasks: Sequence[CandidateTask]) -> list[tuple[str, Duel]]:
    """Task and duel of each figure that one of the two won, quality before amounts."""
    won = [(task.task, duel) for task in tasks for duel in task.duels if duel.winner == side]
    return sorted(won, key=_is_amount)


def _is_amount(won: tuple[str, Duel]) -> bool:
    return won[1].metric in AMOUNT_METRICS


def _better(model: str, won: Sequence[tuple[str, Duel]], side: Winner) -> str:
    """ "a is better on t pass_rate (0.90 against 0.70, p = 0.004)"."""
    shown = [f"{name} {duel.metric} ({_figures(duel, side)})" for name, duel in won[:_NAMED]]
    if len(won) > _NAMED:
        left = len(won) - _NAMED
        shown.append(f"{left} more figure{'s' if left > 1 else ''}")
    return f"{model} is better on {_listed(shown)}"


def _figures(duel: Duel, side: Winner) -> str:
    better, other = duel.candidate, duel.baseline
    if side == "baseline":
        better, other = other, better
    proof = "" if duel.adjusted is None else f", {_probability(duel.adjusted)}"
    if duel.metric in AMOUNT_METRICS:
        return f"{_less(better, other)} an attempt{proof}"
    decimals = 2 if round(better, 2) != round(other, 2) else 4
    return f"{better:.{decimals}f} against {other:.{decimals}f}{proof}"


def _less(better: float, other: float) -> str:
    share = 1 - better / other
    return f"{share:.0%} less" if share >= 0.01 else "under 1% less"


def _is_undecided(task: CandidateTask) -> bool:
    return any(duel.metric == _HEADLINE and duel.winner == "neither" for duel in task.duels)


def _undecided(task: CandidateTask, level: float) -> str:
    duel = next(duel for duel in task.duels if duel.metric == _HEADLINE)
    cases = f"{duel.n} case{'' if duel.n == 1 else 's'}"
    if task.recorded:
        return f"on {task.task} both have the same {_HEADLINE}"
    if duel.n < fewest_discordant(level) or (duel.detectable is not None and duel.detectable > 1):
        return f"on {task.task} {cases} are too few for any difference in {_HEADLINE} to show"
    text = f"on {task.task} {cases} cannot tell the two apart by {_HEADLINE}"
    if duel.detectable is None:
        return text
    return f"{text}: only a difference of {math.ceil(100 * duel.detectable) / 100:.2f} or more would show"


def _some(texts: Sequence[str]) -> Iterator[str]:
    yield from texts[:_NAMED]
    if len(texts) > _NAMED:
        left = len(texts) - _NAMED
        yield f"and so for {left} more task{'s' if left > 1 else ''}"


def _listed(texts: Sequence[str]) -> str:
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def _probability(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
