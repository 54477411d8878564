"""What can be said of the cases of a task as a whole."""

from __future__ import annotations

import math
from collections.abc import Iterator

from evaluator.reports import evidence as proof
from evaluator.reports import numbers
from evaluator.reports.cases import scored
from evaluator.reports.figures import comparison_of
from evaluator.reports.view_model import TaskSentence
from evaluator.reports.words import TESTS
from evaluator.results import Evidence, Run, TaskResult

# The usual `alpha`, which a report does not know.
_PROVEN = 0.02


def task_sentences(run: Run) -> list[TaskSentence]:
    """For each task: how sure its difference is, how steady its cases are, what its tools could not answer."""
    return [TaskSentence(task.name, text) for task in run.tasks for text in _sentences(run, task)]


def _sentences(run: Run, task: TaskResult) -> Iterator[str]:
    compared = comparison_of(run, task.name)
    if compared is not None and task.pooled:
        yield _difference(task, compared.pass_rate)
    elif compared is not None:
        yield from (f"{name}: {_difference(task, evidence)}" for name, evidence in compared.slices.items())
    if task.repeats > 1 and task.scored and task.pooled:
        yield _steadiness(task)
    unanswered = _unanswered(task)
    if unanswered:
        calls = numbers.counted(unanswered, "call was", "calls were")
        yield f"{calls} answered by a frozen error, for nothing that was recorded answers them."


def _steadiness(task: TaskResult) -> str:
    """How many cases pass always, sometimes and never."""
    shares = [sum(a.passed is True for a in done) / len(done) for case in task.cases if (done := scored(case))]
    always, never = shares.count(1.0), shares.count(0.0)
    return (
        f"of {numbers.counted(len(shares), 'case')}, {numbers.count(always)} passed every attempt, "
        f"{numbers.count(len(shares) - always - never)} passed some and failed others, {numbers.count(never)} failed "
        "every attempt."
    )


def _unanswered(task: TaskResult) -> int:
    values = [a.values.get("unanswered_calls", 0.0) for case in task.cases for a in case.attempts]
    return round(math.fsum(values))


def _difference(task: TaskResult, evidence: Evidence | None) -> str:
    """Pairs, attempts, difference, p, and what the suite could have seen."""
    if evidence is None:
        return "no case could be paired with the baseline."
    attempts = numbers.counted(task.repeats, "attempt")
    text = (
        f"{numbers.counted(evidence.n, 'paired case')}{proof.clusters(evidence)}, {attempts} each; "
        f"{numbers.count(evidence.worse)} regressed, "
        f"{numbers.count(evidence.better)} fixed; difference in pass_rate {numbers.signed(evidence.difference)}"
        f"{numbers.interval(evidence.low, evidence.high)}"
    )
    if evidence.test == "deterministic":
        return f"{text}. The transcripts are recorded, so every change is real and no statistics apply."
    if evidence.p is not None:
        text += f", {proof.chance(evidence)} ({TESTS.get(evidence.test, evidence.test)})"
    p = proof.counted_p(evidence)
    if p is not None and p <= _PROVEN:
        return f"{text}."  # what these cases could have missed is no question where they have shown a drop
    return f"{text}. {_power(evidence)}"


def _power(evidence: Evidence) -> str:
    if evidence.detectable is None:
        return "So few cases cannot detect any drop, however large, with 80 % power."
    return f"A real drop under {numbers.rate(evidence.detectable)} would be missed more than one time in five."
