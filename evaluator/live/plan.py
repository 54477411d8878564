"""The live canaries among a run's attempts: which are needed, and the jobs that send them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evaluator.cases import Subject
from evaluator.live import canaries, results
from evaluator.live.canaries import ATTEMPTS, MECHANISMS, PLAIN, REFERENCE, Canary
from evaluator.results import LiveCanaries
from evaluator.runners.request import build
from evaluator.runners.schedule import Job, Outcome

# No task of a user's has this name: theirs have no slash.
TASK = "trapgate/live canaries"

ONLY_TEXT = "the run asks for nothing but text: it sends no schema and offers no tool"


@dataclass(frozen=True)
class Prepared:
    """What is to be sent before the run's own attempts. `subjects`: whom the jobs name, by keys of their own; `silent`:
    key of a run's model → why nothing is sent to it."""

    jobs: list[Job]
    subjects: dict[str, Subject]
    silent: dict[str, str]


def prepare(jobs: Sequence[Job], subjects: Mapping[str, Subject]) -> Prepared:
    """The live canaries of a run that is to make `jobs`, whose models are `subjects`."""
    sent: list[Job] = []
    asked: dict[str, Subject] = {}
    silent: dict[str, str] = {}
    for key, subject in subjects.items():
        needed = for_model(subject, [job for job in jobs if job.model == key])
        if not needed:
            silent[key] = ONLY_TEXT
        for canary in needed:
            asked[_key(canary.mechanism, key)] = canaries.subject_for(canary.mechanism, subject)
            sent += _jobs(canary, key)
    return Prepared(jobs=sent, subjects=asked, silent=silent)


def collect(outcomes: Iterable[Outcome], prepared: Prepared, key: str) -> LiveCanaries:
    """What became of those that were sent to the model of this key. `outcomes`: those of the whole run."""
    if key in prepared.silent:
        return LiveCanaries(silent=prepared.silent[key])
    keys = {_key(mechanism, key) for mechanism in (PLAIN, *MECHANISMS)}
    made = [each for each in outcomes if each.job.task == TASK and each.job.model in keys]
    return results.of((each.job.case_id, each.result) for each in made)


def for_model(subject: Subject, jobs: Iterable[Job]) -> list[Canary]:
    """The canaries for a model that is asked these jobs: the reference and those of each mechanism that is in fact
    used, or none."""
    used = _mechanisms(subject, jobs)
    chosen = [canary for mechanism in MECHANISMS if mechanism in used for canary in canaries.of(mechanism)]
    return [REFERENCE, *chosen] if chosen else []


def _mechanisms(subject: Subject, jobs: Iterable[Job]) -> set[str]:
    used: set[str] = set()
    for job in jobs:
        if job.number > 1:  # it sends what the first attempt does
            continue
        try:
            wire = build(subject, job.request, job.tools)
        except RecursionError:  # too deep to be sent at all
            continue
        if wire.response_format is not None:
            used.add("schema")
        if wire.tools is not None:
            used.add("tools" if wire.tool_choice is None else "tool")
    return used


def _jobs(canary: Canary, key: str) -> list[Job]:
    return [
        Job(
            task=TASK,
            case_id=canary.id,
            number=number,
            request=canary.request,
            tools=canary.tools,
            model=_key(canary.mechanism, key),
            fresh=True,
        )
        for number in range(1, ATTEMPTS + 1)
    ]


def _key(mechanism: str, key: str) -> str:
    return f"{TASK}/{mechanism}/{key}"
