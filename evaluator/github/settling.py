"""What a run may become, decided before it begins, and what became of it: accepted, and the baseline of its branch.

The verdict word is not touched here. An acceptance makes the exit code 0; a baseline that could not be moved takes
nothing away from a run, and is said in its first lines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from evaluator import gate
from evaluator.baselines import BaselineState, moving
from evaluator.baselines.branch import BranchStore
from evaluator.baselines.store import Place
from evaluator.config.types import Config
from evaluator.errors import EXIT_CONFIGURATION, Problem, UserError, user_error
from evaluator.github import acceptance, base
from evaluator.github.acceptance import Label
from evaluator.github.client import Client, Failure
from evaluator.github.commands import in_a_line
from evaluator.github.environment import Environment
from evaluator.github.events import Activity
from evaluator.results import Acceptance, Reason, Run

PERMISSION = "github-permission"


@dataclass(frozen=True)
class Plan:
    """`store`, `place`: the branch of baselines and whose baseline is meant there, None for a file. `moves`: the run
    may become the baseline. `accepted`: who accepts what the run may say. `remember`: the head commit under which that
    is kept for the merge, None where it is not. `notes`: first lines of the report."""

    store: BranchStore | None = None
    place: Place | None = None
    moves: bool = False
    accepted: Acceptance | None = None
    remember: str | None = None
    notes: list[Reason] = field(default_factory=list)


@dataclass(frozen=True)
class Settled:
    """A run with what became of it. `problem`: what went wrong on the way, for an annotation; the run says it too."""

    run: Run
    code: int
    problem: Problem | None = None


def plan(client: Client, settings: Environment, activity: Activity, config: Config, path: Path) -> Plan:
    """What the run may become. `config`: the one that rules; `path`: of the trap.yaml of the checkout.

    Raises UserError `move-baseline` or `github-permission` where the baseline could not be moved: before anything is
    paid for.
    """
    inputs = settings.inputs
    if inputs.move_baseline and (config.baseline.store != "branch" or inputs.baseline):
        raise _not_a_branch(settings)
    label = acceptance.by_label(client, settings.repository, activity, inputs.accept_label, _now())
    notes = [_note(label.note)] if label.note else []
    if config.baseline.store != "branch" or inputs.baseline or activity.base_ref is None:
        return Plan(accepted=label.acceptance, notes=notes)
    store = BranchStore(client, settings.repository, branch=config.baseline.branch, keep=config.baseline.keep)
    where = Place(
        commit=activity.base_sha or settings.sha,
        branch=activity.base_ref,
        config=base.repository_path(settings.workspace, path),
        otherwise=activity.default_branch or "",
    )
    if label.acceptance is not None:
        return _labelled(store, where, label, activity, notes)
    moves = activity.moves and inputs.move_baseline
    if moves and inputs.model and config.model and inputs.model != config.model:
        moves = False
        notes.append(_note(f"The baseline stays that of {config.model}: the input `model` names another one."))
    if moves:
        _refuse_without_permission(store)
    accepted, note = None, ""
    if (moves and settings.event_name == "push") or settings.event_name == "merge_group":
        accepted, note = _remembered(client, settings, activity, store)
    return Plan(store, where, moves, accepted, notes=[*notes, _note(note)] if note else notes)


def _refuse_without_permission(store: BranchStore) -> None:
    """A server that does not answer now may do so after the run."""
    try:
        store.check_writable()
    except UserError as error:
        if error.code == PERMISSION:
            raise


def _labelled(store: BranchStore, where: Place, label: Label, activity: Activity, notes: list[Reason]) -> Plan:
    """The acceptance holds for this run whether or not it can be kept for the merge."""
    try:
        _refuse_without_permission(store)
    except UserError as error:
        text = f"The label's acceptance holds for this run and cannot be kept for the merge: {_in_words(error)}"
        return Plan(store, where, accepted=label.acceptance, notes=[*notes, _note(text)])
    return Plan(store, where, accepted=label.acceptance, remember=activity.head_sha, notes=notes)


def _remembered(
    client: Client, settings: Environment, activity: Activity, store: BranchStore
) -> tuple[Acceptance | None, str]:
    """Who accepted the pull request that was merged into what this run looks at, and what could not be told of it."""
    head: str | Failure | None
    if activity.pull_request is not None:
        head = acceptance.head_of(client, settings.repository, activity.pull_request)
    else:
        head = acceptance.merged_head(client, settings.repository, settings.sha, activity.base_ref or "")
    if isinstance(head, Failure):
        return None, f"Whether the merged pull request was accepted cannot be told: {head.message}."
    try:
        return (store.remembered(head) if head is not None else None), ""
    except UserError as error:
        return None, f"Whether the merged pull request was accepted cannot be told: {_in_words(error)}"


def settle(plan: Plan, run: Run, config: Config, previous: BaselineState) -> Settled:
    """`run` accepted where somebody may and does, remembered, and made the baseline. `config`: of the checkout;
    `previous`: the baseline that the run was compared with."""
    run = _accepted(run, plan.accepted)
    try:
        if plan.store is not None and plan.place is not None:
            if plan.remember is not None and run.accepted is not None:
                plan.store.remember(plan.remember, run.accepted)
            if plan.moves:
                run = _moved(plan.store, plan.place, plan.accepted, run, config, previous)
    except UserError as error:
        what = "The baseline was not moved" if plan.moves else "The acceptance is not kept for the merge"
        said = _said(run, f"{what}: {_in_words(error)}")
        code = EXIT_CONFIGURATION if error.code == PERMISSION else gate.exit_code(run)
        return Settled(said, code, error.problems[0])
    return Settled(run, gate.exit_code(run))


def _accepted(run: Run, by: Acceptance | None) -> Run:
    if by is None or run.verdict == "pass":
        return run
    if why := gate.acceptable(run):
        return _said(run, f"{by.by} accepts what the verdict says ({by.why}), without effect: {why.rstrip('.')}.")
    return gate.accepted(run, by)


def _moved(
    store: BranchStore, place: Place, by: Acceptance | None, run: Run, config: Config, previous: BaselineState
) -> Run:
    """The run, as the baseline of `place` where it is fit for that."""
    if run.verdict != "pass" and run.accepted is None:
        return run  # the verdict says enough
    if by is not None:
        fault = moving.unfit(run, config)
        why = fault.what if fault is not None else ""
    else:
        why = moving.unfit_to_move(run, config, previous)
    if why:
        return _said(run, f"The baseline was not moved: {why.rstrip('.')}.")
    where = store.write(run, by or moving.by_itself(_now()), place)
    name = f", in the name of {by.by} ({by.why})" if by is not None else ""
    return _said(run, f"This run is the new baseline{name}: {where.rstrip('.')}.")


def _not_a_branch(settings: Environment) -> UserError:
    override = "the input `baseline` names a file" if settings.inputs.baseline else "trap.yaml keeps it in a file"
    return user_error(
        "move-baseline",
        f"the baseline cannot be moved by a run: {override}, which only a commit can change",
        where="input move-baseline",
        mend="Set `baseline: {store: branch}` in trap.yaml, or accept a run with `trapgate baseline accept`.",
    )


def _said(run: Run, text: str) -> Run:
    return msgspec.structs.replace(run, warnings=[_note(text), *run.warnings])


def _note(text: str) -> Reason:
    return Reason(kind="note", text=text)


def _in_words(error: UserError) -> str:
    return in_a_line(error.problems[0], with_place=False).rstrip(".") + "."


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
