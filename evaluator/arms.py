"""Asks the control arm: the suspected cases once more, now, as the baseline asked them and as the change does.

Which cases, and what their answers mean, is decided in `evaluator.control`.
"""

from __future__ import annotations

import dataclasses
import secrets
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
# A task with some of its cases, what was made of them, and how often each was to be asked, to its result.
Score = Callable[[Task, Sequence[Made], Mapping[str, int]], TaskResult]


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
    tries: Mapping[str, int],
    make: Make,
    score: Score,
) -> Control:
    """The control arm's answers, or why there are none; never raises for what the baseline's model needs and this run
    does not have.

    `subject`, `tries` (by the name of the task): what the change asks with. `most`: cases to ask again at most.
    """
    if not most:
        return Control(silent="the control arm is turned off (drift.control_cases: 0)")
    chosen = control.chosen(suspicions, most, alpha, seed=secrets.token_hex())
    side = _side(baseline, chosen) if chosen is not None else None
    if chosen is None or side is None:
        return Control(silent="no case can be asked again")
    if side.subject is None:
        return Control(silent="the baseline does not keep what it asked with, so it cannot be asked again")
    today = [only for task in tasks if (only := _only(task, chosen)).cases]
    before = [_as_then(task, side) for task in today]
    then = {task.name: task.tries for task in side.tasks}
    asked = zip(_jobs(before, chosen, BASE, then), _jobs(today, chosen, CHANGE, tries), strict=True)
    # One after the other in turn, so that both arms meet the same minutes.
    jobs = [job for pair in asked for job in pair]
    try:
        outcomes = make(jobs, {BASE: side.subject, CHANGE: subject})
    except CannotAskError as error:
        return Control(silent=f"the base could not be asked: {error}")
    except UserError as error:
        return Control(silent=f"the base could not be asked: {error.problems[0].message}")
    return Control(
        base=[_result(task, BASE, outcomes, chosen, score) for task in before],
        change=[_result(task, CHANGE, outcomes, chosen, score) for task in today],
        left=chosen.left,
        anchor=chosen.anchor,
    )


def _side(baseline: BaselineState | None, chosen: Chosen) -> Run | None:
    if not isinstance(baseline, Found):
        return None
    anchor = baseline.baseline.anchor
    if chosen.anchor:
        return anchor.run if anchor is not None else None
    return baseline.baseline.run


def _only(task: Task, chosen: Chosen) -> Task:
    cases = [case for case in task.cases if (task.name, case.id) in chosen.attempts]
    return msgspec.structs.replace(task, cases=cases)


def _as_then(task: Task, side: Run) -> Task:
    """The same cases with the tools that were on offer then: all else of a case is in its digest."""
    tools = next((each.tools for each in side.tasks if each.name == task.name), {})
    cases: list[Case] = [msgspec.structs.replace(case, tools=tools) for case in task.cases]
    return msgspec.structs.replace(task, cases=cases, tools=tools)


def _jobs(tasks: Sequence[Task], chosen: Chosen, arm: str, tries: Mapping[str, int]) -> list[Job]:
    from evaluator.runners import plan

    most = max(chosen.attempts.values())
    made = plan.jobs(tasks, {task.name: most for task in tasks}, retry=tries, models=[arm])
    wanted = [job for job in made if job.number <= chosen.attempts[job.task, job.case_id]]
    return [dataclasses.replace(job, fresh=True) for job in wanted]


def _result(task: Task, arm: str, outcomes: Sequence[Outcome], chosen: Chosen, score: Score) -> TaskResult:
    made = [
        Made(each.job.case_id, each.job.number, each.result, each.not_run)
        for each in outcomes
        if each.job.model == arm and each.job.task == task.name
    ]
    return score(task, made, {case.id: chosen.attempts[task.name, case.id] for case in task.cases})
