"""The judges of a run: isolated, set up, tried on what they must know, then asked about answers."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from evaluator import foreign
from evaluator.cases import OwnJudge, Task
from evaluator.errors import user_error
from evaluator.isolation.command import Isolation, never
from evaluator.isolation.folders import copy, scratch
from evaluator.judging import grader, ruler, witnesses
from evaluator.judging.judge import Judge, key
from evaluator.judging.verdicts import Judgement
from evaluator.results import Attempt, CanaryResult, CaseResult
from evaluator.scoring import Ruler
from evaluator.transcript import Transcript


class Asked(NamedTuple):
    """An answer that the judge of a task is to judge."""

    case_id: str
    transcript: Transcript


@dataclass
class _Seat:
    task: Task
    own: OwnJudge
    folder: Path
    judge: Judge
    judgements: dict[str, Judgement] = field(default_factory=dict)


class Bench:
    """Made by `open_bench`. Holds no judge where no task has one, and then nothing here runs anything."""

    def __init__(
        self, seats: Sequence[_Seat], isolation: Isolation | None, stop: Callable[[], bool], note: str
    ) -> None:
        self._seats = {seat.task.name: seat for seat in seats}
        self._isolation = isolation
        self._stop = stop
        self.note = note

    @property
    def fingerprint(self) -> dict[str, str]:
        """Name → version, of each judge and of what it runs in."""
        judges = {f"judge of {name}": seat.own.version for name, seat in self._seats.items()}
        return judges | ({"isolation": ", ".join(self._isolation.means)} if self._isolation is not None else {})

    @property
    def deciding(self) -> dict[str, str]:
        """Task name → version, of each judge whose verdict counts."""
        return {name: seat.own.version for name, seat in self._seats.items() if seat.own.decides}

    def witnessed(self) -> dict[str, list[CanaryResult]]:
        """Task name → its judge before the expected answers, their mutants and nothing."""
        self._judge([(s, Asked(w.case_id, w.transcript)) for s in self._seats.values() for w in witnesses.of(s.task)])
        return {name: witnesses.results(seat.task, seat.own, seat.judgements) for name, seat in self._seats.items()}

    def rulers(self, asked: Mapping[str, Iterable[Asked]]) -> dict[str, Ruler]:
        """Task name → ruler, once every answer of `asked` (by task name) is judged."""
        self._judge(
            [(self._seats[name], each) for name, answers in asked.items() for each in answers if name in self._seats]
        )
        return {name: ruler.build(seat.task, seat.own, seat.judgements) for name, seat in self._seats.items()}

    def notes(self, task: str, cases: Sequence[CaseResult]) -> list[str]:
        """What a reader should know of the judging of a task: where two judges differ, what its grader says."""
        seat = self._seats.get(task)
        if seat is None or self._isolation is None:
            return []
        rows = [grader.row(case.id, _first(case), seat.judgements) for case in cases if case.attempts]
        differ = [] if seat.own.decides else ruler.disagreements(cases)
        grade = grader.grade(seat.own, seat.folder, rows, self._isolation, self._stop)
        return [*differ, *([grade] if grade else [])]

    def _judge(self, asked: Iterable[tuple[_Seat, Asked]]) -> None:
        """Judges what is not judged yet, as many at once as there are processors."""
        waiting = {
            (seat.task.name, key(*each)): (seat, each)
            for seat, each in asked
            if not ruler.is_cut(each.transcript) and key(*each) not in seat.judgements
        }
        if not waiting:
            return
        from concurrent.futures import ThreadPoolExecutor  # most runs have no judge of their own

        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            judged = pool.map(lambda one: one[0].judge(*one[1]), waiting.values())
            for (seat, each), said in zip(waiting.values(), judged, strict=True):
                seat.judgements[key(*each)] = said


@contextlib.contextmanager
def open_bench(
    tasks: Iterable[Task],
    *,
    environ: Mapping[str, str],
    workspace: Path,
    unsafe: bool = False,
    stop: Callable[[], bool] = never,
) -> Iterator[Bench]:
    """The judges of `tasks`, each on a copy of its folder.

    `environ` names the runner's files, `workspace` lies in the repository under test: no judge may see either.
    `unsafe`: where nothing isolates a judge on this machine, run it all the same.

    Raises UserError: `judge-refused` where nothing isolates it, `judge-unwitnessed`, `judge-setup`.
    """
    judged = [(task, task.own_judge) for task in tasks if task.own_judge is not None]
    if not judged:
        yield Bench([], None, stop, "")
        return
    for task, _ in judged:
        witnesses.refuse_unwitnessed(task)
    names = [task.name for task, _ in judged]
    isolation, note = foreign.isolation(
        environ,
        workspace,
        unsafe=unsafe,
        what=f"the judges of {', '.join(names)}",
        where=", ".join(f"tasks.{name}" for name in names),
    )
    with scratch() as folder:
        seats = []
        for number, (task, own) in enumerate(judged):
            place = folder / str(number)
            _prepare(task, own, place, isolation, stop)
            seats.append(_Seat(task, own, place, Judge(own, place, isolation, stop)))
        yield Bench(seats, isolation, stop, note)


def _prepare(task: Task, own: OwnJudge, place: Path, isolation: Isolation, stop: Callable[[], bool]) -> None:
    """A copy of the task's folder at `place`, set up by the task's own command where it has one."""
    try:
        copy(Path(own.directory), place)
        if own.setup is not None:
            foreign.set_up(place, own.setup, isolation, stop, f"tasks.{task.name}")
    except OSError as error:
        raise user_error(
            "judge-setup", f"the task's folder cannot be copied: {error}", where=f"tasks.{task.name}"
        ) from error


def _first(case: CaseResult) -> Attempt:
    return min(case.attempts, key=lambda attempt: attempt.number)
