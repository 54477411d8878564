"""(run so far, baseline, rules) → Run with its verdict. Pure.

The part of the line that `run`, `score` and `compare` share: whoever produced the transcripts, they are compared and
gated here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from evaluator import __version__, candidate
from evaluator.baselines import BaselineState, Found
from evaluator.cases import Subject
from evaluator.comparison import Pairing, ceilings, compare_task, fingerprint_differences, pair
from evaluator.config.types import GateConfig
from evaluator.control import Suspicion
from evaluator.drift import Rescored, provider_drift, rescore, witnesses
from evaluator.gate import decide
from evaluator.live.comparison import moved
from evaluator.metrics import totals
from evaluator.results import (
    SCHEMA_VERSION,
    Acceptance,
    CanaryResults,
    Comparison,
    Control,
    Fingerprint,
    LiveCanaries,
    Reason,
    Run,
    TaskResult,
    Witness,
    not_accepted,
)
from evaluator.rules import Facts
from evaluator.scoring import Ruler


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A run before it is judged. `started` is ISO 8601 in UTC, `seconds` wall time. `selection`: the tasks asked for,
    None for all; `unselected`: those of the configuration that were therefore left out.
    `expected`: tasks of the rules' own configuration that were to be run; without them a change could drop a task.
    `rescored`: stored scores of this run that today's validators do not give again. `spent`: as in `Facts`. `live`: its
    live canaries, None where no model was asked; `control`: its control arm, None where it was not asked (yet).
    `unasked`, `other_judges`: as in `Facts`."""

    name: str | None
    started: str
    seconds: float
    fingerprint: Fingerprint
    canaries: CanaryResults
    tasks: list[TaskResult]
    subject: Subject | None = None
    commit: str | None = None
    selection: list[str] | None = None
    unselected: list[str] = []
    expected: list[str] = []
    warnings: list[Reason] = []
    rescored: list[str] = []
    spent: list[TaskResult] = []
    live: LiveCanaries | None = None
    control: Control | None = None
    unchanged: bool = False
    unasked: str = ""
    other_judges: dict[str, str] = {}


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """A judged run, and what the control arm could be asked about. `alike`: nothing of what is asked differs from the
    baseline, so there is nothing to ask."""

    run: Run
    suspicions: list[Suspicion]
    alike: bool


def judge(
    measured: Measured,
    baseline: BaselineState | None,
    gate: GateConfig,
    *,
    allow_missing: bool = False,
    rulers: Mapping[str, Ruler] = MappingProxyType({}),
) -> Run:
    """The run with comparison, rules and verdict. `baseline` None: there is nothing to compare with by intention.
    `rulers`: task name → that of a task with a judge of its own."""
    return judged(measured, baseline, gate, allow_missing=allow_missing, rulers=rulers).run


def judged(
    measured: Measured,
    baseline: BaselineState | None,
    gate: GateConfig,
    *,
    allow_missing: bool = False,
    rulers: Mapping[str, Ruler] = MappingProxyType({}),
) -> Judgement:
    """The same, with what is suspected."""
    comparison, facts, rescored = _compare(measured, baseline, gate, allow_missing, rulers)
    decision = decide(gate, facts)
    run = Run(
        schema_version=SCHEMA_VERSION,
        evaluator=__version__,
        started=measured.started,
        verdict=decision.verdict,
        reasons=decision.reasons,
        warnings=[
            *_still_allowed(baseline, allow_missing),
            *measured.warnings,
            *_impossible(measured.tasks),
            *decision.warnings,
            *_task_warnings(measured.tasks),
            *_ceilings(facts),
        ],
        fingerprint=measured.fingerprint,
        canaries=measured.canaries,
        tasks=measured.tasks,
        totals=totals(measured.tasks, measured.seconds),
        name=measured.name,
        subject=measured.subject,
        selection=measured.selection,
        rules=decision.rules,
        comparison=comparison,
        commit=measured.commit,
        layer=decision.layer,
        witnesses=witnesses(measured.canaries, rescored, facts.live, decision.control, measured.control),
        live=measured.live,
        control=measured.control,
        unchanged=measured.unchanged,
    )
    return Judgement(run=run, suspicions=decision.suspicions, alike=facts.alike)


def _compare(
    measured: Measured,
    baseline: BaselineState | None,
    gate: GateConfig,
    allow_missing: bool,
    rulers: Mapping[str, Ruler],
) -> tuple[Comparison | None, Facts, Rescored | None]:
    names = {task.name for task in measured.tasks}
    lost = {name: "which the rules expect" for name in measured.expected if name not in names}
    if not isinstance(baseline, Found):
        facts = Facts(
            canaries=measured.canaries,
            tasks=measured.tasks,
            baseline=baseline,
            pairings={},
            lost_tasks=lost,
            allow_missing=allow_missing,
            unselected=measured.unselected,
            spent=measured.spent,
            unasked=measured.unasked,
            other_judges=measured.other_judges,
            live=_live(measured, None)[0],
        )
        return None, facts, None
    stored, anchor = baseline.baseline.run, baseline.baseline.anchor
    rescored = rescore(_wanted(stored, measured), rulers)
    before = {task.name: task for task in rescored.tasks}
    pairings = {task.name: pair(before.get(task.name), task) for task in measured.tasks}
    changes = [*measured.rescored, *rescored.changes]
    anchored: dict[str, Pairing] = {}
    if anchor is not None:
        accepted = rescore(_wanted(anchor.run, measured), rulers)
        anchored = _anchored(accepted.tasks, measured.tasks)
        changes += [f"in the accepted baseline, {change}" for change in accepted.changes]
    live, moved_live = _live(measured, stored)
    comparison = Comparison(
        baseline=_in_words(baseline),
        tasks=[compare_task(pairing, before.get(name), gate.alpha) for name, pairing in pairings.items()],
        fingerprint=fingerprint_differences(stored.fingerprint, measured.fingerprint),
        validator_drift=changes,
        subject=_differing(stored.fingerprint.subject, measured.fingerprint.subject),
        anchor=_acceptance(anchor.accepted) if anchor is not None else "",
        candidate=candidate.of(stored, rescored.tasks, _model(measured), measured.tasks, pairings, gate.alpha),
    )
    facts = Facts(
        canaries=measured.canaries,
        tasks=measured.tasks,
        baseline=baseline,
        pairings=pairings,
        anchored=anchored,
        lost_tasks=lost
        | {
            task.name: f"with {len(task.cases)} cases of the baseline"
            for task in rescored.tasks
            if task.name not in names
        },
        validator=_in_short(changes),
        movers=[
            *(Reason(kind="provider", text=f"A live canary came out otherwise: {text}.") for text in moved_live),
            *provider_drift(stored, measured.fingerprint, list(pairings.values()), measured.tasks),
        ],
        live=live,
        control=measured.control,
        alike=_alike(stored, measured),
        alike_anchor=anchor is not None and _alike(anchor.run, measured),
        allow_missing=allow_missing,
        unselected=measured.unselected,
        spent=measured.spent,
        unasked=measured.unasked,
        other_judges=measured.other_judges,
    )
    # The anchor's answers are stored ones as well, and so are this run's where it was read from a file.
    return comparison, facts, msgspec.structs.replace(rescored, changes=changes)


def _model(measured: Measured) -> str:
    return measured.subject.model if measured.subject is not None else ""


def _wanted(stored: Run, measured: Measured) -> list[TaskResult]:
    return [task for task in stored.tasks if task.name not in measured.unselected]


def _anchored(accepted: Sequence[TaskResult], tasks: Sequence[TaskResult]) -> dict[str, Pairing]:
    known = {task.name: task for task in accepted}
    return {task.name: pair(known[task.name], task) for task in tasks if task.name in known}


def _live(measured: Measured, stored: Run | None) -> tuple[Witness | None, list[str]]:
    """What the live canaries say, and those that moved, in words."""
    if measured.live is None:
        return None, []
    asked = measured.fingerprint.subject.get("model")
    before = stored.live if stored is not None else None
    same_model = stored is not None and stored.fingerprint.subject.get("model") == asked
    return moved(before, measured.live, same_model=same_model)


# Whose other version may ask the same thing in another way.
_ASKING = ("trapgate", "litellm")


def _alike(stored: Run, measured: Measured) -> bool:
    """Whether everything that a model is asked is what it was, by the subject and every tool on offer (the cases are
    paired by their digests). A command may do otherwise for reasons that nobody sees."""
    if measured.subject is None or measured.subject != stored.subject or "files" in measured.subject.params:
        return False
    before, now = stored.fingerprint, measured.fingerprint
    then = {task.name: task for task in stored.tasks}
    return (
        before.subject == now.subject
        and all(before.packages.get(name) == now.packages.get(name) for name in _ASKING)
        and all(_asked_alike(then.get(task.name, task), task) for task in measured.tasks)
    )


def _asked_alike(before: TaskResult, now: TaskResult) -> bool:
    asked = [(task.tools, task.repeats, task.tries) for task in (before, now)]
    return asked[0] == asked[1] and not now.deterministic


def _differing(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return [name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)]


def _ceilings(facts: Facts) -> list[Reason]:
    """One for each task that has slices in which every attempt passed on both sides: they can tell nothing."""
    return [
        Reason(
            kind="task",
            task=pairing.task,
            text=f"{pairing.task}: every attempt passed in the baseline and now, so these slices give no signal: "
            f"{', '.join(names)}.",
        )
        for pairing in facts.pairings.values()
        if (names := ceilings(pairing))
    ]


def _in_words(baseline: Found) -> str:
    accepted = baseline.baseline.accepted
    if accepted == not_accepted(baseline.baseline.run):
        return f"{baseline.where}, not accepted by anybody"
    return f"{baseline.where}, {_acceptance(accepted)}"


def _acceptance(accepted: Acceptance) -> str:
    if not accepted.explicit:
        return f"moved by itself {accepted.at}: {accepted.why}"
    return f"accepted {accepted.at} by {accepted.by}: {accepted.why}"


def _in_short(changes: list[str], most: int = 5) -> list[str]:
    """Validator drift as few sentences; the whole list is in the comparison."""
    if not changes:
        return []
    shown = "; ".join(changes[:most]) + (f"; and {len(changes) - most} more" if len(changes) > most else "")
    return [f"Today's validators judge stored transcripts differently: {shown}."]


def _still_allowed(baseline: BaselineState | None, allow_missing: bool) -> list[Reason]:
    """A first line: with a baseline there, `allow_missing` does nothing but let a run pass once it is taken away."""
    if not allow_missing or not isinstance(baseline, Found):
        return []
    text = (
        "There is a baseline, and `baseline.allow_missing` is still true: without it a run would pass. Set it to false."
    )
    return [Reason(kind="note", text=text)]


def _impossible(tasks: Sequence[TaskResult]) -> list[Reason]:
    """First lines: cases that can never pass, so that what else goes wrong in them cannot be seen."""
    lines = []
    for task in tasks:
        names = sorted(task.faults)
        if names:
            shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
            text = f"{task.name}: cases that can never pass, by a fault of their own: {shown}. See the warnings."
            lines.append(Reason(kind="note", task=task.name, text=text))
    return lines


def _task_warnings(tasks: Sequence[TaskResult]) -> list[Reason]:
    return [
        Reason(kind="task", task=task.name, text=f"{task.name}/{case_id}: {fault}")
        for task in tasks
        for case_id, fault in task.faults.items()
    ] + [Reason(kind="task", task=task.name, text=f"{task.name}: {note}") for task in tasks for note in task.notes]
