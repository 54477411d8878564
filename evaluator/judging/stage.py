"""What the line asks of the judges: witnesses, rulers, and what the report says of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from evaluator.attempts import Made
from evaluator.baselines import BaselineState, Found
from evaluator.cases import Task
from evaluator.judging.bench import Asked, Bench
from evaluator.results import Baseline, CanaryResults, Fingerprint, Reason, TaskResult
from evaluator.scoring import Ruler
from evaluator.transcript import Transcript


def marked(mark: Fingerprint, bench: Bench) -> Fingerprint:
    """The fingerprint with the version of each judge and of what it runs in."""
    return msgspec.structs.replace(mark, scorers={**mark.scorers, **bench.fingerprint})


def with_witnesses(ruler: CanaryResults, bench: Bench) -> CanaryResults:
    """The canaries, and what the tasks' own judges say to answers that they must know."""
    witnessed = [result for results in bench.witnessed().values() for result in results]
    return msgspec.structs.replace(ruler, cases=[*ruler.cases, *witnessed])


def faults(bench: Bench) -> dict[str, dict[str, str]]:
    """Task name → what its judge was asked → what is wrong with its verdicts; for those that are wrong."""
    return {
        name: {result.id.removeprefix(f"{name}: "): result.got for result in results if not result.ok}
        for name, results in bench.witnessed().items()
    }


def first_lines(bench: Bench, baseline: BaselineState | None) -> list[Reason]:
    """First lines of the report: that judges were not isolated, and which are others than the baseline's."""
    said = [bench.note] if bench.note else []
    if isinstance(baseline, Found):
        before = baseline.baseline.run.fingerprint.scorers
        said += [
            f"The {name} is another than the baseline's: {before[name]} → {version}."
            for name, version in bench.fingerprint.items()
            if name.startswith("judge of ") and before.get(name, version) != version
        ]
    return [Reason(kind="note", text=text) for text in said]


def other_judges(bench: Bench, baseline: BaselineState | None) -> dict[str, str]:
    """Task name → in words, what is another about the judge that decides there than in the baseline."""
    if not isinstance(baseline, Found):
        return {}
    before = baseline.baseline.run.fingerprint.scorers
    return {
        name: f"{before[key]} → {version}"
        for name, version in bench.deciding.items()
        if before.get(key := f"judge of {name}", version) != version
    }


def rulers(
    bench: Bench, tasks: Sequence[Task], made: Mapping[str, Sequence[Made]], baseline: BaselineState | None
) -> dict[str, Ruler]:
    """The rulers of tasks with judges of their own, which have then judged what was made and what the baseline has."""
    stored = _stored(stored_tasks(baseline.baseline), tasks) if isinstance(baseline, Found) else {}
    new = {
        name: [Asked(each.case_id, each.result) for each in found if isinstance(each.result, Transcript)]
        for name, found in made.items()
    }
    return bench.rulers({name: [*new[name], *stored.get(name, [])] for name in new})


def rulers_of_stored(bench: Bench, tasks: Mapping[str, Task], results: Iterable[TaskResult]) -> dict[str, Ruler]:
    """The same for answers that are all stored."""
    return bench.rulers(_stored(results, list(tasks.values())))


def stored_tasks(baseline: Baseline) -> list[TaskResult]:
    """All tasks that hold answers of a baseline and of its anchor."""
    wholes = [baseline.run, *([baseline.anchor.run] if baseline.anchor is not None else [])]
    return [task for whole in wholes for run in (whole, *whole.beside) for task in run.tasks]


def with_notes(result: TaskResult, bench: Bench) -> TaskResult:
    """The result with what a reader should know of its judging."""
    return msgspec.structs.replace(result, notes=[*result.notes, *bench.notes(result.name, result.cases)])


def _stored(results: Iterable[TaskResult], tasks: Iterable[Task]) -> dict[str, list[Asked]]:
    """Task name → the stored answers that today's judge of the task can judge again, expected ones included."""
    asked: dict[str, list[Asked]] = {}
    today = {task.name: {case.id: case.digest() for case in task.cases} for task in tasks if task.own_judge}
    for result in results:
        for case in result.cases:
            if today.get(result.name, {}).get(case.id) == case.digest:
                scored = [attempt.transcript for attempt in case.attempts if attempt.status == "scored"]
                answers = [Asked(case.id, each) for each in (*case.golds, *scored) if each is not None]
                asked.setdefault(result.name, []).extend(answers)
    return asked
