"""(run so far, baseline, rules) → Run with its verdict. Pure.

The part of the line that `run`, `score` and `compare` share: whoever produced the transcripts, they are compared and
gated here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from evaluator import __version__
from evaluator.baselines import BaselineState, Found
from evaluator.cases import Subject
from evaluator.comparison import ceilings, compare_task, fingerprint_differences, pair
from evaluator.config.types import GateConfig
from evaluator.drift import provider_drift, rescore
from evaluator.gate import decide
from evaluator.metrics import totals
from evaluator.results import (
    SCHEMA_VERSION,
    CanaryResults,
    Comparison,
    Fingerprint,
    Reason,
    Run,
    TaskResult,
    not_accepted,
)
from evaluator.rules import Facts
from evaluator.scoring import Ruler


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """A run before it is judged. `started` is ISO 8601 in UTC, `seconds` wall time. `selection`: the tasks asked for,
    None for all; `unselected`: those of the configuration that were therefore left out.
    `expected`: tasks of the rules' own configuration that were to be run; without them a change could drop a task.
    `rescored`: stored scores of this run that today's validators do not give again. `spent`: as in `Facts`."""

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
    comparison, facts = _compare(measured, baseline, gate, allow_missing, rulers)
    decision = decide(gate, facts)
    return Run(
        schema_version=SCHEMA_VERSION,
        evaluator=__version__,
        started=measured.started,
        verdict=decision.verdict,
        reasons=decision.reasons,
        warnings=[
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
    )


def _compare(
    measured: Measured,
    baseline: BaselineState | None,
    gate: GateConfig,
    allow_missing: bool,
    rulers: Mapping[str, Ruler],
) -> tuple[Comparison | None, Facts]:
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
        )
        return None, facts
    stored = baseline.baseline.run
    wanted = [task for task in stored.tasks if task.name not in measured.unselected]
    rescored = rescore(wanted, rulers)
    before = {task.name: task for task in rescored.tasks}
    pairings = {task.name: pair(before.get(task.name), task) for task in measured.tasks}
    changes = [*measured.rescored, *rescored.changes]
    comparison = Comparison(
        baseline=_in_words(baseline),
        tasks=[compare_task(pairing, before.get(name), gate.alpha) for name, pairing in pairings.items()],
        fingerprint=fingerprint_differences(stored.fingerprint, measured.fingerprint),
        validator_drift=changes,
    )
    facts = Facts(
        canaries=measured.canaries,
        tasks=measured.tasks,
        baseline=baseline,
        pairings=pairings,
        lost_tasks=lost
        | {
            task.name: f"with {len(task.cases)} cases of the baseline"
            for task in rescored.tasks
            if task.name not in names
        },
        validator=_in_short(changes),
        movers=provider_drift(stored, measured.fingerprint, list(pairings.values()), measured.tasks),
        allow_missing=allow_missing,
        unselected=measured.unselected,
        spent=measured.spent,
    )
    return comparison, facts


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
    return f"{baseline.where}, accepted {accepted.at} by {accepted.by}: {accepted.why}"


def _in_short(changes: list[str], most: int = 5) -> list[str]:
    """Validator drift as few sentences; the whole list is in the comparison."""
    if not changes:
        return []
    shown = "; ".join(changes[:most]) + (f"; and {len(changes) - most} more" if len(changes) > most else "")
    return [f"Today's validators judge stored transcripts differently: {shown}."]


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
