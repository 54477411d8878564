"""Whether anything that matters differs from the baseline, and what a run that need not ask is judged by. Pure.

What such a run leaves out is the model and the provider: it can tell nothing of them, and says so. Everything else is
as in any run: the canaries are scored, the baseline's answers are scored again, and today's rules are applied to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from evaluator.baselines import BaselineState, Found
from evaluator.cases import Subject, Task
from evaluator.config.types import TaskConfig
from evaluator.drift import rescore
from evaluator.results import Attempt, Fingerprint, Run, TaskResult
from evaluator.scoring import Ruler
from evaluator.transcript import Transcript, Usage


def difference(
    baseline: BaselineState | None,
    subject: Subject,
    mark: Fingerprint,
    tasks: Sequence[Task],
    wanted: Sequence[TaskConfig],
) -> str:
    """What differs first, in words; empty where nothing that matters does, so that asking again would only show what
    the model does today. `mark`: today's fingerprint, its `subject` filled in; `wanted`: the settings of `tasks`, in
    the same order."""
    if not isinstance(baseline, Found):
        return "there is no baseline"
    run = baseline.baseline.run
    if run.subject is None or run.subject != subject or run.fingerprint.subject != mark.subject:
        return "the subject differs from the baseline's"
    if run.fingerprint.packages != mark.packages or run.fingerprint.scorers != mark.scorers:
        return "the validators differ from the baseline's"
    if run.fingerprint.sources != mark.sources:
        return "the task sources differ from the baseline's"
    before = {task.name: task for task in run.tasks}
    if before.keys() != {task.name for task in tasks}:
        return "the tasks differ from the baseline's"
    return next(
        (why for task, own in zip(tasks, wanted, strict=True) if (why := _differs(before[task.name], task, own))), ""
    )


def _differs(before: TaskResult, task: Task, wanted: TaskConfig) -> str:
    old = {case.id: (case.digest, sorted(case.slices), case.critical, case.cluster) for case in before.cases}
    new = {case.id: (case.digest(), sorted(case.slices), case.critical, case.cluster) for case in task.cases}
    if old != new or before.tools != task.tools or before.scorer != task.scorer:
        return f"the cases of {task.name} differ from the baseline's"
    if before.tries != wanted.retry.max_attempts:
        return f"`retry` of {task.name} differs from the baseline's"
    if before.repeats < wanted.repeats or before.scored < before.planned or before.deterministic:
        return f"the baseline has not as many answers of {task.name} as are wanted"
    return ""


def answers(run: Run, rulers: Mapping[str, Ruler]) -> list[TaskResult]:
    """The tasks of the baseline, scored by today's validators, each answer marked as old: it cost nothing now."""
    return [
        msgspec.structs.replace(
            task,
            cases=[
                msgspec.structs.replace(case, attempts=[_old(attempt) for attempt in case.attempts])
                for case in task.cases
            ],
        )
        for task in rescore(run.tasks, rulers).tasks
    ]


def _old(attempt: Attempt) -> Attempt:
    if attempt.transcript is None:
        return attempt
    return msgspec.structs.replace(attempt, transcript=_unpaid(attempt.transcript))


def _unpaid(transcript: Transcript) -> Transcript:
    usage = msgspec.structs.replace(transcript.usage or Usage(), cost_usd=0.0)
    later = None if transcript.later is None else [_unpaid(each) for each in transcript.later]
    return msgspec.structs.replace(transcript, cached=True, usage=usage, later=later)
