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
    "This pull request comes from a fork: the token of its run can only read, so that the run itself cannot comment, "
    "and no provider key is handed out. The report is in the job summary; a second workflow can publish it, see "
    "docs/forks.md. To have the models called, push the branch to this repository."
)
_BOT = (
    "This run was started by Dependabot: its token can only read, so that the run itself cannot comment, and it gets "
    "Dependabot secrets only. The report is in the job summary; a second workflow can publish it, see docs/forks.md. "
    "Store the provider key as a Dependabot secret to have the models called."
)
_BOT_PUSH = (
    "This run was started by Dependabot: its token can only read and it gets Dependabot secrets only, so no baseline "
    "is moved."
)
_TARGET = (
    "`pull_request_target` hands this repository's secrets to a run on code that a stranger wrote. "
    "Use `pull_request` instead: docs/security.md says why. If you want it all the same, set "
    "`allow-pull-request-target: true`."
)
_UNSAFE_TARGET = (
    "`pull_request_target` hands this repository's secrets to a run on code that a stranger wrote, and "
    "`unsafe-judges: true` would run that code without isolation. Take `unsafe-judges` away."
)
_ON_TARGET = (
    "This run had this repository's secrets (`pull_request_target`) and evaluated the code of the change with them: "
    "its prompts and tools were sent to the model in this repository's name."
)
_SECOND_STAGE = (
    "A `workflow_run` workflow does not evaluate: it publishes what the run of another workflow found. Set "
    "`mode: publish` in this step (docs/forks.md). Use `pull_request` to evaluate a change."
)


@dataclass(frozen=True)
class Activity:
    """What the event asks for.

    `pull_request`: its number, None where there is none. `base_sha`, `head_sha`: the tips that the event names; that of
    a pull request's base is a snapshot, often an old one: `evaluator.github.tip` has the one that counts. `before`:
    what this run's commit was put on top of, the former tip of a pushed branch or the base of a merge group; None
    elsewhere.

    `fork`, `dependabot`: nothing is accepted in the name of either, and a run without a provider key goes by
    recordings. `target`: the run has the repository's secrets and its commit is the base's tip, so only a checkout of
    `head_sha` is the change. `comment`: whether to post on the pull request. `rules_from_base`: gate and baseline are
    read from the base, not from the change. `tracking`: an issue may be kept up to date, since nobody looks at the run
    itself. `note`: what a reader of the report should know, empty where there is nothing. `refused`: why nothing may be
    run at all, empty otherwise.

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
    target: bool = False
    tracking: bool = False
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


def activity(
    event_name: str,
    event: Mapping[str, Any],
    ref: str = "",
    *,
    allow_pull_request_target: bool = False,
    unsafe_judges: bool = False,
) -> Activity:
    """What to do on `event_name` with the payload `event`. `ref`: GITHUB_REF, for events that name no branch.
    `allow_pull_request_target`, `unsafe_judges`: the inputs of these names.

    Raises UserError `event-unreadable` where the payload lacks what that event always has: a pull request whose base
    is not known must not be judged by its own rules.
    """
    if event_name == "pull_request_target" and not allow_pull_request_target:
        return Activity(refused=_TARGET)
    if event_name == "pull_request_target" and unsafe_judges:
        return Activity(refused=_UNSAFE_TARGET)
    if event_name == "workflow_run":
        return Activity(refused=_SECOND_STAGE)
    if event_name == "pull_request_target":
        found = replace(_pull_request(event), target=True, comment=True, note=_ON_TARGET)
    elif event_name in _PULL_REQUEST_EVENTS:
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
    base_repository = _text(event, "pull_request", "base", "repo", "full_name")
    base_ref = _text(event, "pull_request", "base", "ref")
    if type(number) is not int or number < 1 or not is_commit(base) or not is_commit(head):
        raise _unreadable("has no complete `pull_request`")
    if not base_repository or not base_ref:
        raise _unreadable("has no complete `pull_request`")
    # The head's repository is null once a fork is deleted.
    fork = _at(event, "pull_request", "head", "repo", "full_name") != base_repository
    dependabot = _is_dependabot(event)
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
    before = _at(event, "before") if event_name == "push" else None
    # What Dependabot pushes or merges runs with its rights, as its pull requests do.
    dependabot = event_name == "push" and _is_dependabot(event)
    moves = event_name in _MOVING_EVENTS and branch is not None and not full.startswith(_QUEUE)
    return Activity(
        base_ref=branch,
        before=before if is_commit(before) else None,
        moves=moves and not dependabot,
        dependabot=dependabot,
        tracking=event_name == "schedule",
        note=_BOT_PUSH if dependabot and moves else "",
    )


def _is_dependabot(event: Mapping[str, Any]) -> bool:
    return _text(event, "sender", "login") == _DEPENDABOT


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
