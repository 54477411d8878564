"""The `workflow_run` event: the run of another workflow that has ended, as the event names it. Pure.

Only what GitHub itself knows is taken: ids, the commit, the branch and whose it is. `workflow_run.pull_requests` is
empty for forks, and is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evaluator.errors import UserError, user_error
from evaluator.github.environment import is_commit, utc

EVENT = "workflow_run"

_DEPENDABOT = "dependabot[bot]"
_WHERE = "GITHUB_EVENT_PATH"


@dataclass(frozen=True)
class FirstRun:
    """`event`: what started it; `owner`: login of whom `repository`, that of its head, belongs to, both empty where it
    is deleted; `fork`: that is not this repository; `conclusion`: how it ended, in GitHub's word; `began`: when it was
    started, a second attempt anew, None where the event does not say."""

    id: int
    event: str
    commit: str
    branch: str
    repository: str
    owner: str
    fork: bool
    dependabot: bool
    conclusion: str
    began: datetime | None

    @property
    def by(self) -> str:
        """Whose word its result is, in words of our own."""
        return "the fork's own run" if self.fork else "Dependabot's own run"


def read(event_name: str, event: Mapping[str, Any], repository: str) -> FirstRun:
    """What the payload `event` says. `repository`: this one, as `owner/name`.

    Raises UserError `event-refused` on any other event, `event-unreadable` where the payload lacks what it always has.
    """
    if event_name != EVENT:
        raise _refused(
            f"`mode: publish` is for `on: {EVENT}`, not for `on: {event_name}`", "Remove `mode` to evaluate."
        )
    if event.get("action") != "completed":
        raise _refused("the run of the other workflow has not ended yet", "Give the trigger `types: [completed]`.")
    run = event.get("workflow_run")
    number, commit, started_by = at(run, "id"), at(run, "head_sha"), _text(run, "event")
    if type(number) is not int or number < 1 or not is_commit(commit) or not started_by:
        raise _unreadable("has no complete `workflow_run`")
    if _text(run, "repository", "full_name") != repository:
        raise _unreadable("is about a run of another repository")
    head = _text(run, "head_repository", "full_name")
    actors = (_text(run, "actor", "login"), _text(run, "triggering_actor", "login"))
    return FirstRun(
        id=number,
        event=started_by,
        commit=commit,
        branch=_text(run, "head_branch"),
        repository=head,
        owner=_text(run, "head_repository", "owner", "login"),
        fork=head != repository,
        dependabot=_DEPENDABOT in actors,
        conclusion=word if re.fullmatch("[a-z_]{1,40}", word := _text(run, "conclusion")) else "unknown",
        began=utc(at(run, "run_started_at")) or utc(at(run, "created_at")),
    )


def nothing_to_publish(run: FirstRun) -> str:
    """Why nothing of this run can or need be published, as a sentence; empty where something may."""
    if run.event != "pull_request":
        return f"The run was started by `{run.event}`, not by `pull_request`."
    if not run.fork and not run.dependabot:
        return "The pull request is of this repository: its own run comments."
    if not run.repository or not run.owner or not run.branch:
        return "The branch of the pull request, or the fork that it was on, is deleted."
    return ""


def at(value: Any, *keys: str) -> Any:
    """What stands under `keys` in nested objects, None where there is nothing."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _text(value: Any, *keys: str) -> str:
    found = at(value, *keys)
    return found if isinstance(found, str) else ""


def _refused(what: str, mend: str) -> UserError:
    return user_error("event-refused", what, where="input mode", mend=mend)


def _unreadable(what: str) -> UserError:
    return user_error(
        "event-unreadable",
        f"the event's payload {what}",
        where=_WHERE,
        mend="Run the job again; where a step before this one writes to that file, remove it.",
    )
