"""Which layer moved besides the change: validators, provider, model. Pure.

Four witnesses: replay canaries (`evaluator.canaries`), the baseline scored again by today's validators, live canaries
(`evaluator.live`) and the control arm (`evaluator.control`). Beside them, what every call shows: a schema that the
provider took before and refuses now, and the model that says it answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Literal

import msgspec

from evaluator import scoring
from evaluator.cases import Case
from evaluator.comparison import Pairing
from evaluator.control import Answer
from evaluator.decision import ControlWord
from evaluator.results import (
    Attempt,
    CanaryResults,
    CaseResult,
    Control,
    Fingerprint,
    Reason,
    Run,
    Score,
    TaskResult,
    Witness,
)
from evaluator.scoring import Ruler, Scorer
from evaluator.transcript import Infrastructure

_SAME = 1e-9
# A judge that was stopped or was too slow has not changed its mind. The attempt is left without a verdict.
_NO_WITNESS = frozenset({"cancelled", "judge_timeout"})


class Rescored(msgspec.Struct, frozen=True, kw_only=True):
    """A run's tasks as today's validators score them. `changes`: each verdict or figure that is no longer what was
    stored, in words; empty when the ruler is the same."""

    tasks: list[TaskResult]
    changes: list[str]


def rescore(tasks: list[TaskResult], rulers: Mapping[str, Ruler] = MappingProxyType({})) -> Rescored:
    """Scores every stored transcript again. A comparison then uses the result, so that both sides are measured by one
    ruler; the changes are validator drift.

    `rulers`: task name → that of a task with a judge of its own. What such a judge cannot be asked any more, because
    the task now has another case or another judge, is left without a verdict and is no drift: it is compared with
    nothing, and counts against coverage.
    """
    changes: list[str] = []
    rescored = []
    for task in tasks:
        ruler = _ruler(task, rulers.get(task.name))
        cases = [_rescore_case(task, case, ruler, changes) for case in task.cases]
        rescored.append(msgspec.structs.replace(task, cases=cases))
    return Rescored(tasks=rescored, changes=changes)


def _ruler(task: TaskResult, own: Ruler | None) -> Ruler | None:
    if task.scorer in scoring.FOREIGN:
        return own
    return Ruler(partial(scoring.prepare, task.scorer), task.scorer)


def _rescore_case(task: TaskResult, case: CaseResult, ruler: Ruler | None, changes: list[str]) -> CaseResult:
    whole = Case(id=case.id, request=case.request, expected=case.expected, options=case.options, tools=task.tools)
    score = ruler.prepare(whole) if ruler is not None else None
    if ruler is None or score is None:
        return msgspec.structs.replace(case, attempts=[_unjudged(attempt) for attempt in case.attempts])
    by = f" by {ruler.name}" if ruler.name else ""
    if gold := _gold_change(task, case, score):
        changes.append(f"{task.name}/{case.id}{by}: {gold}")
    attempts = []
    for attempt in case.attempts:
        if attempt.status != "scored" or attempt.transcript is None:
            attempts.append(attempt)
            continue
        again = rescored_attempt(attempt, score(attempt.transcript))
        difference = _difference(attempt, again)
        if difference:
            changes.append(f"{task.name}/{case.id} attempt {attempt.number}{by}: {difference}")
        attempts.append(again)
    return msgspec.structs.replace(case, attempts=attempts)


def _unjudged(attempt: Attempt) -> Attempt:
    nobody = Infrastructure(kind="judge_missing", message="the task has no such case, or no such judge, any more")
    return rescored_attempt(attempt, nobody) if attempt.status == "scored" else attempt


def rescored_attempt(attempt: Attempt, score: Score | Infrastructure) -> Attempt:
    """`attempt` with today's score, or without a verdict where today's validators can give none."""
    if isinstance(score, Infrastructure):
        return msgspec.structs.replace(
            attempt, status="infrastructure", passed=None, failure_mode=None, values={}, infrastructure=score
        )
    return msgspec.structs.replace(
        attempt,
        passed=score.passed,
        failure_mode=score.failure_mode,
        values=score.values,
        findings=score.findings,
    )


def _difference(stored: Attempt, again: Attempt) -> str:
    """What differs, in words; empty where nothing does. A figure that did not exist then is not a difference."""
    if again.infrastructure is not None:
        if again.infrastructure.kind in _NO_WITNESS:
            return ""
        return f"was scored, now {again.infrastructure.kind}: {again.infrastructure.message}"
    if stored.passed != again.passed or stored.failure_mode != again.failure_mode:
        return f"{_word(stored)} → {_word(again)}"
    for name, value in stored.values.items():
        now = again.values.get(name)
        if now is None and name == scoring.AGREES:
            continue  # a second opinion that is missing is said elsewhere; the verdict did not rest on it
        if now is None or abs(now - value) > _SAME:
            return f"{name} {value:g} → {'no value' if now is None else format(now, 'g')}"
    return ""


def _word(attempt: Attempt) -> str:
    return "passed" if attempt.passed else f"failed ({attempt.failure_mode})"


def _gold_change(task: TaskResult, case: CaseResult, score: Scorer) -> str:
    """In words, where the baseline's own expected answer passed its scorer then and does not now; else empty. Today's
    expected answers are no witness: the change may have edited them."""
    if case.id in task.faults:
        return ""
    for gold in case.golds:
        again = score(gold)
        if isinstance(again, Infrastructure):
            if again.kind not in _NO_WITNESS:
                return f"its expected answer passed, now {again.kind}: {again.message}"
        elif not again.passed:
            return f"its expected answer passed, now it fails as {again.failure_mode}"
    return ""


def provider_drift(
    baseline: Run, fingerprint: Fingerprint, pairings: list[Pairing], tasks: list[TaskResult]
) -> list[Reason]:
    """What the provider or the model did differently though the repository asks for the same: a schema that was taken
    and is refused, another model behind the same name."""
    same_subject = baseline.fingerprint.subject == fingerprint.subject
    reasons = []
    unscored = {(pairing.task, case_id) for pairing in pairings for case_id in pairing.unscored}
    refused = [
        case.id
        for task in tasks
        for case in task.cases
        if (task.name, case.id) in unscored and any(_refused_schema(attempt) for attempt in case.attempts)
    ]
    if refused and same_subject:
        reasons.append(
            Reason(
                kind="provider",
                text=f"The provider now refuses a schema that it took in the baseline ({_some(refused)}).",
            )
        )
    before, after = baseline.fingerprint.answered.get("models", []), fingerprint.answered.get("models", [])
    # A name that answers for several snapshots shows now these, now those: only a new one has moved.
    if _asks_the_same(baseline.fingerprint, fingerprint) and before and set(after) - set(before):
        reasons.append(
            Reason(
                kind="model",
                text=f"Another model answers under the same name: {', '.join(before)} → {', '.join(after)}.",
            )
        )
    return reasons


def _asks_the_same(before: Fingerprint, after: Fingerprint) -> bool:
    """Whether the same model is asked in the same way: a parameter may well send a request elsewhere."""
    one, other = (
        {name: value for name, value in mark.subject.items() if name == "model" or name.startswith("params.")}
        for mark in (before, after)
    )
    return one == other


def witnesses(
    canaries: CanaryResults, rescored: Rescored | None, live: Witness | None, arm: Answer | None, asked: Control | None
) -> list[Witness]:
    """The line of each witness, in their order. `rescored`: the baseline's, None where there is none; `live`: None
    where no live canary could be sent; `arm`: what the control arm says, None where nothing is suspected, or by the
    answers of `asked` no longer."""
    sound = bool(canaries.cases) and all(canary.ok for canary in canaries.cases)
    return [
        _of_canaries(canaries),
        _of_rescored(rescored, sound=sound),
        live or Witness(name="live_canaries", state="silent", text="No model was asked in this run."),
        _of_control(arm, asked, sound=sound),
    ]


def _of_canaries(canaries: CanaryResults) -> Witness:
    failed = [canary.id for canary in canaries.cases if not canary.ok]
    count = len(canaries.cases)
    if not count:
        return Witness(name="replay_canaries", state="moved", text="No replay canary was scored.")
    if failed:
        verb = "is" if len(failed) == 1 else "are"
        text = f"{len(failed)} of {count} recorded answers {verb} judged otherwise than they must be: {_some(failed)}."
        return Witness(name="replay_canaries", state="moved", text=text)
    return Witness(
        name="replay_canaries", state="steady", text=f"All {count} recorded answers are judged as they must be."
    )


def _of_rescored(rescored: Rescored | None, *, sound: bool) -> Witness:
    if rescored is None:
        return Witness(name="baseline_rescored", state="silent", text="There is no baseline to score again.")
    count = sum(a.status == "scored" for task in rescored.tasks for case in task.cases for a in case.attempts)
    if not sound:
        text = "Nothing was measured, since replay canaries are judged otherwise than they must be."
        return Witness(name="baseline_rescored", state="silent", text=text)
    if rescored.changes:
        many = len(rescored.changes)
        what = (
            "1 stored verdict or figure of the baseline is" if many == 1 else f"{many} stored verdicts or figures are"
        )
        text = f"{what} not given again by today's validators."
        return Witness(name="baseline_rescored", state="moved", text=text)
    if not count:
        text = "No stored attempt of the baseline was scored again."
        return Witness(name="baseline_rescored", state="silent", text=text)
    text = f"Today's validators judge all {count} stored attempts of the baseline as they were judged."
    return Witness(name="baseline_rescored", state="steady", text=text)


def _of_control(arm: Answer | None, asked: Control | None, *, sound: bool) -> Witness:
    if not sound:
        text = "Nothing was measured, so nothing was asked again."
        return Witness(name="control_arm", state="silent", text=text)
    if arm is None and asked is not None and not asked.silent:
        text = "Asked again, what failed does no worse than the base, so no drop is suspected."
        return Witness(name="control_arm", state="steady", text=text)
    if arm is None:
        return Witness(name="control_arm", state="silent", text="No drop is suspected, so nothing was asked again.")
    states: dict[ControlWord, Literal["steady", "moved", "silent"]] = {"holds": "steady", "fell": "moved"}
    text = arm.text[:1].upper() + arm.text[1:]
    return Witness(name="control_arm", state=states.get(arm.word, "silent"), text=f"{text.removesuffix('.')}.")


def _refused_schema(attempt: Attempt) -> bool:
    return attempt.infrastructure is not None and attempt.infrastructure.kind == "refused_schema"


def _some(names: list[str], most: int = 5) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
