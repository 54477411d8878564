"""Whether the merge that a run is of was accepted by a label before."""

from __future__ import annotations

from dataclasses import dataclass

from evaluator.baselines.acceptances import Kept
from evaluator.baselines.branch import BranchStore
from evaluator.baselines.store import Place
from evaluator.errors import UserError
from evaluator.github import merges
from evaluator.github.client import Client, Failure
from evaluator.github.commands import in_a_line
from evaluator.github.environment import Environment
from evaluator.github.events import Activity
from evaluator.github.merges import Pull


@dataclass(frozen=True)
class Remembered:
    """`kept` None: no acceptance counts, and `note` says why, empty where nobody accepted anything."""

    kept: Kept | None = None
    note: str = ""


def look_up(client: Client, settings: Environment, activity: Activity, store: BranchStore, place: Place) -> Remembered:
    """The acceptance of the pull request that is merged by the commit of this run, into the branch and by the trap.yaml
    of `place`. It has to be the only one that is: of others nobody knows here whether they were accepted."""
    pull: Pull | Failure | None
    if activity.pull_request is not None:
        pull = merges.pull(client, settings.repository, activity.pull_request)
    else:
        pull = merges.merged(client, settings.repository, settings.sha, place.branch)
    if pull is None:
        return Remembered()
    if isinstance(pull, Failure):
        return _untold(pull.message)
    try:
        found = store.remembered(pull.head)
    except UserError as error:
        return _untold(in_a_line(error.problems[0], with_place=False).rstrip("."))
    if not found:
        return Remembered()
    kept = next((each for each in found if each.bound == (pull.head, pull.number, place.branch, place.config)), None)
    if kept is None:
        return Remembered(note=_of_another(found[0], pull, place))
    parents = merges.parents(client, settings.repository, settings.sha)
    if isinstance(parents, Failure):
        return _untold(parents.message)
    if activity.before is None or parents[:1] != (activity.before,):
        return Remembered(
            note=f"What {kept.acceptance.by} accepted of #{pull.number} does not count here: {settings.sha[:12]} does "
            "not follow directly on what was there before, so other changes may have come with it."
        )
    return Remembered(kept)


def _of_another(kept: Kept, pull: Pull, place: Place) -> str:
    return (
        f"What {kept.acceptance.by} accepted does not count here: that was #{kept.pull_request} into {kept.base} by "
        f"{kept.config}, and this is #{pull.number} into {place.branch} by {place.config}."
    )


def _untold(why: str) -> Remembered:
    return Remembered(note=f"Whether the merged pull request was accepted cannot be told: {why}.")
