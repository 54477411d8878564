"""Which event started the job, and what may be done about it: a pure function from event to activity."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evaluator.errors import user_error
from evaluator.github.environment import is_commit

# All of these run on the merge of a pull request and carry it in the event under `pull_request`.
_PULL_REQUEST_EVENTS = ("pull_request", "pull_request_review", "pull_request_review_comment")
_BRANCH = "refs/heads/"
_QUEUE = f"{_BRANCH}gh-readonly-queue/"
_QUEUE_REF = re.compile(rf"^{_QUEUE}.+/pr-([1-9][0-9]*)-[0-9a-f]+$")
# What these run on is what was merged, and nobody's proposal.
_MOVING_EVENTS = ("push", "schedule", "workflow_dispatch")
_DEPENDABOT = "dependabot[bot]"

_FORK = (
    "This pull request comes from a fork: its token can only read and no provider key is handed out, so nothing is "
    "posted on the pull request. The report is in the job summary. To see it on the pull request, push the branch to "
    "this repository."
)
_BOT = (
    "This run was started by Dependabot: its token can only read and it gets Dependabot secrets only, so nothing is "
    "posted on the pull request. The report is in the job summary. Store the provider key as a Dependabot secret to "
    "have the models called."
)
_TARGET = (
    "`pull_request_target` hands this repository's secrets to a run on code that a stranger wrote. "
    "Use `pull_request` instead: docs/security.md says why."
)
_SECOND_STAGE = (
    "`workflow_run` is not supported yet: the result of another workflow's run cannot be published from here. "
    "Use `pull_request`, which writes its report to the job summary where it may not comment."
)


@dataclass(frozen=True)
class Activity:
    """What the event asks for.

    `pull_request`: its number, None where there is none. `base_sha`, `head_sha`: the tips that the event names; that of
    a pull request's base is a snapshot, often an old one: `evaluator.github.tip` has the one that counts. `before`:
    what this run's commit was put on top of, the former tip of a pushed branch or the base of a merge group; None
    elsewhere.
    `comment`: whether to post on the pull request. `rules_from_base`: gate and baseline are read from the base, not
    from the change. `note`: what a reader of the report should know, empty where there is nothing. `refused`: why
    nothing may be run at all, empty otherwise.

    `base_ref`: the branch whose baseline counts: that of the base, else the one that is checked out; None where that is
    no branch, a tag for one. `default_branch`: of the repository, None where the event does not say. `label`: the one
    whose being set is the event. `sender`: login of who set off the event. `moves`: whether the run may become the
    baseline of `base_ref`.
    """

    pull_request: int | None = None
    base_sha: str | None = None
    head_sha: str | None = None
    before: str | None = None
    base_ref: str | None = None
    default_branch: str | None = None
    label: str | None = None
    sender: str | None = None
    moves: bool = False
    fork: bool = False
    dependabot: bool = False
    comment: bool = False
    rules_from_base: bool = False
    note: str = ""
    refused: str = ""


def load(path: Path) -> dict[str, Any]:
    """The event's payload. Raises UserError `event-unreadable`."""
    try:
        event = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(f"cannot be read: {error}") from error
    if not isinstance(event, dict):
        raise _unreadable("is not a JSON object")
    return event


def activity(event_name: str, event: Mapping[str, Any], ref: str = "") -> Activity:
    """What to do on `event_name` with the payload `event`. `ref`: GITHUB_REF, for events that name no branch.

    Raises UserError `event-unreadable` where the payload lacks what that event always has: a pull request whose base
    is not known must not be judged by its own rules.
    """
    if event_name == "pull_request_target":
        return Activity(refused=_TARGET)
    if event_name == "workflow_run":
        return Activity(refused=_SECOND_STAGE)
    if event_name in _PULL_REQUEST_EVENTS:
        found = _pull_request(event)
    elif event_name == "merge_group":
        found = _merge_group(event)
    else:
        found = _on_a_branch(event_name, event, ref)
    return replace(
        found,
        default_branch=_text(event, "repository", "default_branch"),
        sender=_text(event, "sender", "login"),
    )


def _pull_request(event: Mapping[str, Any]) -> Activity:
    number = _at(event, "pull_request", "number")
    base, head = _at(event, "pull_request", "base", "sha"), _at(event, "pull_request", "head", "sha")
    base_repository = _at(event, "pull_request", "base", "repo", "full_name")
    base_ref = _text(event, "pull_request", "base", "ref")
    if not isinstance(number, int) or not is_commit(base) or not is_commit(head):
        raise _unreadable("has no complete `pull_request`")
    if not base_repository or not base_ref:
        raise _unreadable("has no complete `pull_request`")
    # The head's repository is null once a fork is deleted.
    fork = _at(event, "pull_request", "head", "repo", "full_name") != base_repository
    dependabot = _at(event, "sender", "login") == _DEPENDABOT
    return Activity(
        pull_request=number,
        base_sha=base,
        head_sha=head,
        base_ref=base_ref,
        # Every event of a pull request lists the labels that are set. Only this one says that somebody set one now.
        label=_text(event, "label", "name") if event.get("action") == "labeled" else None,
        fork=fork,
        dependabot=dependabot,
        comment=not fork and not dependabot,
        rules_from_base=True,
        note=_FORK if fork else _BOT if dependabot else "",
    )


def _merge_group(event: Mapping[str, Any]) -> Activity:
    base, head = _at(event, "merge_group", "base_sha"), _at(event, "merge_group", "head_sha")
    ref, base_ref = _text(event, "merge_group", "head_ref"), _branch(_text(event, "merge_group", "base_ref"))
    if not is_commit(base) or not is_commit(head) or not base_ref:
        raise _unreadable("has no complete `merge_group`")
    match = _QUEUE_REF.match(ref or "")
    return Activity(
        pull_request=int(match[1]) if match else None,
        base_sha=base,
        head_sha=head,
        before=base,
        base_ref=base_ref,
        rules_from_base=True,
    )


def _on_a_branch(event_name: str, event: Mapping[str, Any], ref: str) -> Activity:
    full = _text(event, "ref") or ref if event_name == "push" else ref
    branch = _branch(full)
    moves = event_name in _MOVING_EVENTS and branch is not None and not full.startswith(_QUEUE)
    before = _at(event, "before") if event_name == "push" else None
    return Activity(base_ref=branch, before=before if is_commit(before) else None, moves=moves)


def _branch(ref: str | None) -> str | None:
    """The branch's name, None where `ref` is a tag, the merge of a pull request or nothing."""
    return ref.removeprefix(_BRANCH) or None if ref and ref.startswith(_BRANCH) else None


def _text(value: Any, *keys: str) -> str | None:
    found = _at(value, *keys)
    return found if isinstance(found, str) and found else None


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _unreadable(what: str) -> Exception:
    return user_error(
        "event-unreadable",
        f"the event's payload {what}",
        where="GITHUB_EVENT_PATH",
        mend="Run the job again; where a step before this one writes to that file, remove it.",
    )
