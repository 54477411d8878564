"""What a run may become, decided before it begins, and what became of it: accepted, and the baseline of its branch.

The verdict word is not touched here. An acceptance makes the exit code 0; a baseline that could not be moved takes
nothing away from a run, and is said in its first lines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from evaluator import gate, log
from evaluator.baselines import BaselineState, moving
from evaluator.baselines.acceptances import Kept
from evaluator.baselines.accepted import Accepted, accepted, beyond
from evaluator.baselines.branch import BranchStore
from evaluator.baselines.store import Place
from evaluator.config.types import Config
from evaluator.errors import EXIT_CONFIGURATION, Problem, UserError, user_error
from evaluator.github import acceptance, base, permissions, remembering
from evaluator.github.acceptance import Label
from evaluator.github.client import Client
from evaluator.github.commands import in_a_line
from evaluator.github.environment import Environment
from evaluator.github.events import Activity
from evaluator.github.merges import Pull
from evaluator.results import Acceptance, Reason, Run

_NAMED = 3


@dataclass(frozen=True)
class Plan:
    """`store`, `place`: the branch of baselines and whose baseline is meant there, None for a file. `moves`: the run
    may become the baseline. `accepted`: who accepts what the run may say, and `within`: no more than this of it, None
    for all. `remember`: the pull request under which that is kept for the merge, None where it is not. `notes`: first
    lines of the report."""

    store: BranchStore | None = None
    place: Place | None = None
    moves: bool = False
    accepted: Acceptance | None = None
    within: Accepted | None = None
    remember: Pull | None = None
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
    if activity.moves and inputs.move_baseline and (config.baseline.store != "branch" or inputs.baseline):
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
        return _labelled(store, where, label, activity, notes, permissions.needed(settings, activity))
    moves = activity.moves and inputs.move_baseline
    if moves and inputs.model and (config.models or inputs.model != config.model):
        moves = False
        whose = ", ".join(config.models) or config.model or config.path
        notes.append(_note(f"The baseline stays that of {whose}: the input `model` names another one."))
    if moves:
        _refuse_without_permission(store)
    if not (moves and settings.event_name == "push") and settings.event_name != "merge_group":
        return Plan(store, where, moves, notes=notes)
    found = remembering.look_up(client, settings, activity, store, where)
    if found.note:
        notes.append(_note(found.note))
    if found.kept is None:
        return Plan(store, where, moves, notes=notes)
    return Plan(store, where, moves, found.kept.acceptance, found.kept.accepted, notes=notes)


def _refuse_without_permission(store: BranchStore) -> None:
    """A server that does not answer now may do so after the run."""
    try:
        store.check_writable()
    except UserError as error:
        if error.code == permissions.CODE:
            raise


def _labelled(
    store: BranchStore, where: Place, label: Label, activity: Activity, notes: list[Reason], needed: tuple[str, ...]
) -> Plan:
    """The acceptance holds for this run whether or not it can be kept for the merge."""
    try:
        _refuse_without_permission(store)
    except UserError as error:
        why = _in_words(permissions.completed(error, needed))
        text = f"The label's acceptance holds for this run and cannot be kept for the merge: {why}"
        return Plan(store, where, accepted=label.acceptance, notes=[*notes, _note(text)])
    remember = Pull(activity.pull_request, activity.head_sha) if activity.pull_request and activity.head_sha else None
    return Plan(store, where, accepted=label.acceptance, remember=remember, notes=notes)


def settle(plan: Plan, run: Run, config: Config, previous: BaselineState, needed: tuple[str, ...] = ()) -> Settled:
    """`run` accepted where somebody may and does, remembered, and made the baseline. `config`: of the checkout;
    `previous`: the baseline that the run was compared with; `needed`: permissions of the job, for the line that adds
    what lacks."""
    run, by = _accepted(run, plan)
    try:
        if plan.store is not None and plan.place is not None:
            if plan.remember is not None and run.accepted is not None:
                plan.store.remember(_kept(plan.remember, plan.place, run, run.accepted))
            if plan.moves:
                run = _moved(plan.store, plan.place, by, run, config, previous)
    except UserError as failed:
        error = permissions.completed(failed, needed)
        what = "The baseline was not moved" if plan.moves else "The acceptance is not kept for the merge"
        said = _said(run, f"{what}: {_in_words(error)}")
        code = EXIT_CONFIGURATION if error.code == permissions.CODE else gate.exit_code(run)
        return Settled(said, code, error.problems[0])
    return Settled(run, gate.exit_code(run))


def _accepted(run: Run, plan: Plan) -> tuple[Run, Acceptance | None]:
    """The run as somebody accepts it, and who does; None where nobody does or what they accepted does not reach."""
    by = plan.accepted
    if by is None:
        return run, None
    if plan.within is not None and (more := beyond(plan.within, run)):
        others = f" And {len(more) - _NAMED} more." if len(more) > _NAMED else ""
        said = "; ".join(each.rstrip(".") for each in more[:_NAMED])
        return _said(run, f"Beyond what {by.by} accepted ({by.why}), so without effect: {said}.{others}"), None
    if run.verdict == "pass":
        return run, by
    if why := gate.acceptable(run):
        return _said(run, f"{by.by} accepts what the verdict says ({by.why}), without effect: {why.rstrip('.')}."), by
    return gate.accepted(run, by), by


def _kept(pull: Pull, place: Place, run: Run, by: Acceptance) -> Kept:
    return Kept(
        head=pull.head,
        pull_request=pull.number,
        base=place.branch,
        config=place.config,
        acceptance=by,
        accepted=accepted(run),
    )


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
    log.info("baseline moved", where=where)
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
