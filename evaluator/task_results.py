"""A task and what was made of its cases → its result. The one place where attempts meet their scorer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from evaluator import attempts, scoring
from evaluator.attempts import Made
from evaluator.cases import Case, Task
from evaluator.metrics import summarize
from evaluator.results import TaskResult
from evaluator.scoring import Ruler, Scorer
from evaluator.scoring.self_check import self_check


def live(task: Task, repeats: int, made: Sequence[Made], rulers: Mapping[str, Ruler]) -> TaskResult:
    """The result of a task whose attempts were made now, `repeats` of each case."""
    result = of(
        task,
        [*made, *attempts.absent(task, repeats)],
        {case.id: repeats for case in task.cases},
        repeats,
        rulers,
        deterministic=False,
    )
    return msgspec.structs.replace(result, faults=silent(task) | result.faults)


def of(
    task: Task,
    made: Sequence[Made],
    planned: Mapping[str, int],
    repeats: int,
    rulers: Mapping[str, Ruler],
    *,
    deterministic: bool,
) -> TaskResult:
    """The result of a task, whoever made the attempts. `planned`: case id → attempts that were to be made; `rulers`:
    task name → that of a task with a judge of its own."""
    ruler = _preparing_once(rulers.get(task.name) or scoring.ruler(task.scorer))
    return summarize(
        task,
        attempts.scored(task, made, ruler),
        repeats=repeats,
        planned_per_case=planned,
        deterministic=deterministic,
        faults=self_check(task, ruler),
    )


def silent(task: Task) -> dict[str, str]:
    """Case id → why its tools have no answer to what is expected of them: a fault of the case."""
    from evaluator.runners.frozen import unanswerable

    return {case.id: "; ".join(why) for case in task.cases if (why := unanswerable(case))}


def _preparing_once(ruler: Ruler) -> Ruler:
    """The same for the cases of one task: golds and attempts are measured by one preparation of each."""
    prepared: dict[str, Scorer | None] = {}

    def prepare(case: Case) -> Scorer | None:
        if case.id not in prepared:
            prepared[case.id] = ruler.prepare(case)
        return prepared[case.id]

    return ruler._replace(prepare=prepare)
