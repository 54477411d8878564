"""Tasks → the attempts to be made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluator.cases import Task
from evaluator.runners.schedule import Job


def jobs(
    tasks: Sequence[Task],
    repeats: Mapping[str, int],
    *,
    retry: Mapping[str, int] | None = None,
    models: Sequence[str] = ("",),
) -> list[Job]:
    """Every attempt, model by model, task by task, case by case. `repeats`: task name → attempts of each case; `retry`:
    task name → tries of each attempt, one where it is left out."""
    return [
        Job(
            task=task.name,
            case_id=case.id,
            number=number,
            request=case.request,
            tools=case.offered(),
            frozen=case.recorded,
            retry=(retry or {}).get(task.name, 1),
            model=model,
        )
        for model in models
        for task in tasks
        for case in task.cases
        if not case.absent
        for number in range(1, repeats[task.name] + 1)
    ]
