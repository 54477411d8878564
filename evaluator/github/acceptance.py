"""Acceptance by label: somebody who may write to the repository says that what a verdict names is meant.

A label is worth something in one run only: the one that its being set started. The event of that run names who set it
and the commit that was looked at. A label that is merely there says neither, and would still be there after a push.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from evaluator.github.client import Answer, Client, Failure, an_object
from evaluator.github.events import Activity
from evaluator.results import Acceptance

# Of a role of one's own as well, GitHub says which of these it is built on.
_MAY_WRITE = ("admin", "write")
_PERSON = "metadata: read"


@dataclass(frozen=True)
class Label:
    """What the label of this run is worth. `acceptance` None: nothing, and `note` says why, empty where none was set.
    `needs`: the permissions of the job that would mend it."""

    acceptance: Acceptance | None = None
    note: str = ""


def by_label(client: Client, repository: str, activity: Activity, label: str, now: str) -> Label:
    """The acceptance that the event is. `label`: the name of the one that accepts; `now`: ISO 8601, UTC."""
    if activity.label is None or activity.label.casefold() != label.casefold():
        return Label()
    what = f"The label `{label}` does not count"
    if activity.fork or activity.dependabot:
        return Label(note=f"{what}: nothing is accepted on a pull request from a fork, or in Dependabot's name.")
    if activity.sender is None or activity.pull_request is None:
        return Label(note=f"{what}: the event does not say who set it.")
    answer = client.get(
        f"/repos/{repository}/collaborators/{quote(activity.sender, safe='')}/permission", permission=_PERSON
    )
    told = an_object(answer) if isinstance(answer, Answer) else answer
    if isinstance(told, Failure):
        return Label(note=f"{what}: whether {activity.sender}, who set it, may write cannot be told: {_why(told)}.")
    if told.get("permission") not in _MAY_WRITE:
        return Label(note=f"{what}: it was set by {activity.sender}, who may not write to this repository.")
    why = f"label {label} on #{activity.pull_request}"
    return Label(Acceptance(by=activity.sender, at=now, why=why, explicit=True))


def _why(failure: Failure) -> str:
    """The server's refusal. It may say "not found" where a token may not even know of a person."""
    if failure.kind == "not_found":
        return f"{failure.message}: no such person, or the token lacks the permission `{_PERSON}`"
    return failure.message
