"""What a run of a fork or of Dependabot goes by that has no provider key: replay canaries and recordings, no model.

Recordings are files that the author of the change writes, so they may be made to look right. By default they are
scored and shown and decide nothing. Those of the tasks that the base names in `gate.on_fork` decide alone, as in
`trapgate score`, and the first line says so. The change does not choose which tasks these are: where it has taken the
recordings of one away, its attempts are missing.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping

import msgspec

from evaluator import attempts, leaks, models, task_results
from evaluator.asking import Answers, Line
from evaluator.attempts import Made
from evaluator.cases import Subject, Task
from evaluator.judging import stage
from evaluator.redaction import Redactor
from evaluator.results import LiveCanaries, Reason, TaskResult
from evaluator.transcript import Infrastructure

SILENT = "recordings are compared, and nothing is asked"
REPLACED = "The base asks a model; this change, which has no key, runs a command in its place, which decides nothing."


class Unasked(msgspec.Struct, frozen=True, kw_only=True):
    """What a run goes by for one model. `left`: tasks that are no part of it; `why`: why it decides nothing, empty
    where it decides; `note`: a first line of the report."""

    answers: Answers
    left: list[str]
    why: str
    note: Reason


def missing(subjects: Mapping[str, Subject]) -> dict[str, str]:
    """Key of each of `subjects` whose provider cannot be called → the variables that could hold the key, in words.

    Imports litellm, which knows the providers.
    """
    from evaluator.runners import client, keys

    found = {}
    for key, subject in subjects.items():
        names = keys.missing_key(client.provider(subject.model), os.environ, subject.params)
        if names := names or client.missing_keys(subject.model):
            found[key] = names
    return found


def judged(line: Line, subject: Subject, variables: str, *, decisive: Collection[str]) -> Unasked:
    """What the recordings of the tasks say of `subject`. `variables`: those that lack the key; `decisive`: tasks whose
    recordings make the verdict, all others being left out; with none nothing decides."""
    decides = bool(decisive)
    left = [task.name for task in line.tasks if decides and task.name not in decisive]
    used = [(task, own) for task, own in zip(line.tasks, line.wanted, strict=True) if task.name not in left]
    absent = Infrastructure(kind="no_key", message=f"no key for {subject.model} in {variables}")
    made = {task.name: _made(task, own.repeats, subject, absent) for task, own in used}
    baseline = models.baseline_of(line.baseline, subject.model)
    rulers = stage.rulers(line.bench, [task for task, _ in used], made, baseline)
    results = []
    for task, own in used:
        planned = attempts.planned(task, task.recorded, own.repeats)
        recorded = bool(task.recorded)
        one = task_results.of(task, made[task.name], planned, own.repeats, rulers, deterministic=recorded)
        results.append(stage.with_notes(one, line.bench))
    cases = sum(_scored(result) for result in results)
    return Unasked(
        answers=Answers(results, rulers, LiveCanaries(silent=absent.message)),
        left=left,
        why=_why(cases, decides),
        note=Reason(kind="note", text=_note(absent.message, cases, left, decides)),
    )


def _made(task: Task, repeats: int, subject: Subject, absent: Infrastructure) -> list[Made]:
    if task.recorded:
        made = attempts.recorded(task, task.recorded, subject, marked=True)[0]
        return leaks.recorded_without(made, Redactor(os.environ))
    return [*attempts.absent(task, repeats), *_not_run(task, repeats, absent)]


def _not_run(task: Task, repeats: int, absent: Infrastructure) -> Iterator[Made]:
    for case in task.cases:
        if not case.absent:
            yield from (Made(case.id, number, absent, not_run=True) for number in range(1, repeats + 1))


def _scored(result: TaskResult) -> int:
    return sum(any(attempt.status == "scored" for attempt in case.attempts) for case in result.cases)


def _why(cases: int, decides: bool) -> str:
    if not cases:
        return "No model was asked, and no recording could be scored in its place."
    if not decides:
        return "No model was asked, and what a change has recorded itself decides nothing (`gate.on_fork`)."
    return ""


def _note(why: str, cases: int, left: list[str], decides: bool) -> str:
    what = "1 case was" if cases == 1 else f"{cases} cases were"
    judged = f": {what} judged by recordings that the change itself brings"
    text = f"No model was asked ({why}){judged if cases else ', and no recording was scored'}."
    if cases and not decides:
        text += " They decide nothing: the base names no task in `gate.on_fork`."
    return f"{text} Left out: {', '.join(left)}." if left else text
