"""Asks the control arm: the suspected cases once more, now, as the baseline asked them and as the change does.

Which cases, and what their answers mean, is decided in `evaluator.control`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from evaluator import control
from evaluator.attempts import Made
from evaluator.baselines import BaselineState, Found
from evaluator.cases import Case, Subject, Task
from evaluator.control import Chosen, Suspicion
from evaluator.errors import UserError
from evaluator.results import Control, Run, TaskResult

if TYPE_CHECKING:  # asyncio, which most commands do without
    from evaluator.runners.schedule import Job, Outcome

BASE, CHANGE = "base", "change"

# Makes attempts: jobs that name the arms, and what each arm is asked with, to their outcomes in order.
Make = Callable[[Sequence["Job"], Mapping[str, Subject]], Sequence["Outcome"]]
# A task with some of its cases and what was made of them, as many times each, to its result.
Score = Callable[[Task, Sequence[Made], int], TaskResult]


class CannotAskError(Exception):
    """There is nothing left to ask with, in words."""


def ask(
    suspicions: Sequence[Suspicion],
    baseline: BaselineState | None,
    subject: Subject,
    tasks: Sequence[Task],
    *,
    most: int,
    alpha: float,
    repeats: Mapping[str, int],
    retry: Mapping[str, int],
    make: Make,
    score: Score,
) -> Control:
    """The control arm's answers, or why there are none; never raises for what the baseline's model needs and this run
    does not have.

    `subject`: what the change asks with. `most`: cases to ask again at most. `repeats`, `retry`: by the name of the
    task, as in the run.
    """
    if not most:
        return Control(silent="the control arm is turned off (drift.control_cases: 0)")
    chosen = control.chosen(suspicions, most, max(repeats.values(), default=1), alpha)
    side = _side(baseline, chosen) if chosen is not None else None
    if chosen is None or side is None:
        return Control(silent="no case can be asked again")
    if side.subject is None:
        return Control(silent="the baseline does not keep what it asked with, so it cannot be asked again")
    today = [_only(task, chosen.cases[task.name]) for task in tasks if task.name in chosen.cases]
    before = [_as_then(task, side) for task in today]
    jobs = [job for tasks_, arm in ((before, BASE), (today, CHANGE)) for job in _jobs(tasks_, chosen, arm, retry)]
    try:
        # One after the other in turn, so that both arms meet the same minutes.
        outcomes = make(_interleaved(jobs), {BASE: side.subject, CHANGE: subject})
    except CannotAskError as error:
        return Control(silent=f"the base could not be asked: {error}")
    except UserError as error:
        return Control(silent=f"the base could not be asked: {error.problems[0].message}")
    return Control(
        base=[_result(task, BASE, outcomes, chosen, score) for task in before],
        change=[_result(task, CHANGE, outcomes, chosen, score) for task in today],
        left=chosen.left,
    )


def _side(baseline: BaselineState | None, chosen: Chosen) -> Run | None:
    if not isinstance(baseline, Found):
        return None
    anchor = baseline.baseline.anchor
    return anchor.run if chosen.anchor and anchor is not None else baseline.baseline.run


def _only(task: Task, ids: Sequence[str]) -> Task:
    wanted = set(ids)
    return msgspec.structs.replace(task, cases=[case for case in task.cases if case.id in wanted])


def _as_then(task: Task, side: Run) -> Task:
    """The same cases with the tools that were on offer then: all else of a case is in its digest."""
    tools = next((each.tools for each in side.tasks if each.name == task.name), {})
    cases: list[Case] = [msgspec.structs.replace(case, tools=tools) for case in task.cases]
    return msgspec.structs.replace(task, cases=cases, tools=tools)


def _jobs(tasks: Sequence[Task], chosen: Chosen, arm: str, retry: Mapping[str, int]) -> list[Job]:
    from evaluator.runners import plan

    made = plan.jobs(tasks, dict.fromkeys(chosen.cases, chosen.attempts), retry=retry, models=[arm])
    return [dataclasses.replace(job, fresh=True) for job in made]


def _interleaved(jobs: Sequence[Job]) -> list[Job]:
    half = len(jobs) // 2
    return [job for pair in zip(jobs[:half], jobs[half:], strict=True) for job in pair]


def _result(task: Task, arm: str, outcomes: Sequence[Outcome], chosen: Chosen, score: Score) -> TaskResult:
    made = [
        Made(each.job.case_id, each.job.number, each.result, each.not_run)
        for each in outcomes
        if each.job.model == arm and each.job.task == task.name
    ]
    return score(task, made, chosen.attempts)
