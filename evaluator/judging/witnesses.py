"""Golds and mutants: what a judge must say before it is believed about an answer of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from evaluator.cases import OwnJudge, Task
from evaluator.errors import UserError, user_error
from evaluator.judging.judge import key
from evaluator.judging.mutants import mutant
from evaluator.judging.verdicts import Judgement
from evaluator.results import CanaryResult, Score
from evaluator.transcript import Infrastructure, Transcript


class Witness(NamedTuple):
    """An answer to a case, and whether the judge must let it pass."""

    case_id: str
    transcript: Transcript
    passes: bool
    kind: str


_KINDS = {
    "expected": "every expected answer passes",
    "mutant": "no expected answer that was made wrong passes",
    "empty": "no empty answer passes",
}


def of(task: Task) -> list[Witness]:
    """For each case with an expected answer: that, a mutant of it, and nothing at all."""
    return [witness for case in task.cases for gold in case.golds for witness in _of_gold(case.id, gold)]


def _of_gold(case_id: str, gold: Transcript) -> Iterator[Witness]:
    yield Witness(case_id, gold, True, "expected")
    yield Witness(case_id, Transcript(text=mutant(gold.text or "")), False, "mutant")
    yield Witness(case_id, Transcript(text=""), False, "empty")


def results(task: Task, own: OwnJudge, judgements: Mapping[str, Judgement]) -> list[CanaryResult]:
    """A canary for each kind of witness. One that is not ok names the judge and the cases."""
    found = of(task)
    return [
        _result(
            f"{task.name}: {kind} answers before `{own.judge}`",
            wanted,
            [w for w in found if w.kind == kind],
            judgements,
        )
        for kind, wanted in _KINDS.items()
    ]


def _result(name: str, wanted: str, witnesses: list[Witness], judgements: Mapping[str, Judgement]) -> CanaryResult:
    wrong = []
    for witness in witnesses:
        score = judgements[key(witness.case_id, witness.transcript)].score
        if isinstance(score, Infrastructure) or score.passed != witness.passes:
            wrong.append(f"{witness.case_id} ({_said(score)})")
    got = f"{len(wrong)} of {len(witnesses)} otherwise: {', '.join(wrong)}" if wrong else wanted
    return CanaryResult(id=name, expected=wanted, got=got, ok=not wrong)


def _said(score: Score | Infrastructure) -> str:
    if isinstance(score, Infrastructure):
        return f"{score.kind}: {score.message}"
    return f"score {score.values['score']:g}"


def refuse_unwitnessed(task: Task) -> None:
    """Raises UserError `judge-unwitnessed` for a task with no expected answer at all: nothing would tell a judge that
    works from one that does not."""
    if any(case.golds for case in task.cases):
        return
    raise _unwitnessed(task.name)


def _unwitnessed(name: str) -> UserError:
    return user_error(
        "judge-unwitnessed",
        "no case has an expected answer, so nothing can show that the task's judge works",
        where=f"tasks.{name}",
        mend="Give at least one case an expected/<id>/answer.json whose member `answer` its judge must accept.",
    )
