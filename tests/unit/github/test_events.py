"""The table of events: each row with everything that is done, and docs/github.md held to it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import UserError
from evaluator.github.events import Activity, activity, load

PAGE = Path(__file__).parents[3] / "docs" / "github.md"
BASE, HEAD, BEFORE = "b" * 40, "c" * 40, "a" * 40
BOT = "dependabot[bot]"


def pull_request(head_repository: str | None = "octo/agent", sender: str = "alice", **other: Any) -> dict[str, Any]:
    return {
        "action": "synchronize",
        "sender": {"login": sender},
        "repository": {"default_branch": "main"},
        "pull_request": {
            "number": 7,
            "base": {"sha": BASE, "ref": "release/v2", "repo": {"full_name": "octo/agent"}},
            "head": {"sha": HEAD, "repo": head_repository and {"full_name": head_repository}},
            **other,
        },
    }


def labeled(name: str = "trapgate:accept", head_repository: str = "octo/agent") -> dict[str, Any]:
    return {
        **pull_request(head_repository, labels=[{"name": "bug"}]),
        "action": "labeled",
        "label": {"name": name},
    }


def merge_group(ref: Any, **other: Any) -> dict[str, Any]:
    return {
        "merge_group": {
            "base_sha": BASE,
            "base_ref": "refs/heads/release/v2",
            "head_sha": HEAD,
            "head_ref": ref,
            **other,
        }
    }


def push(ref: Any = "refs/heads/main", before: Any = BEFORE, sender: str = "bob") -> dict[str, Any]:
    return {
        "ref": ref,
        "before": before,
        "repository": {"default_branch": "trunk"},
        "sender": {"login": sender},
    }


QUEUE = f"refs/heads/gh-readonly-queue/release/v2/pr-7-{HEAD}"
MAIN, TAG, MERGE = "refs/heads/main", "refs/tags/v1", "refs/pull/7/merge"

FORK_NOTE = (
    "This pull request comes from a fork: the token of its run can only read, so that the run itself cannot comment, "
    "and no provider key is handed out. The report is in the job summary; a second workflow can publish it, see "
    "docs/forks.md. To have the models called, push the branch to this repository."
)
BOT_NOTE = (
    "This run was started by Dependabot: its token can only read, so that the run itself cannot comment, and it gets "
    "Dependabot secrets only. The report is in the job summary; a second workflow can publish it, see docs/forks.md. "
    "Store the provider key as a Dependabot secret to have the models called."
)
BOT_PUSH_NOTE = (
    "This run was started by Dependabot: its token can only read and it gets Dependabot secrets only, so no baseline "
    "is moved."
)
TARGET_NOTE = (
    "This run had this repository's secrets (`pull_request_target`) and evaluated the code of the change with them: "
    "its prompts and tools were sent to the model in this repository's name."
)
TARGET_REFUSED = (
    "`pull_request_target` hands this repository's secrets to a run on code that a stranger wrote. "
    "Use `pull_request` instead: docs/security.md says why. If you want it all the same, set "
    "`allow-pull-request-target: true`."
)
UNSAFE_REFUSED = (
    "`pull_request_target` hands this repository's secrets to a run on code that a stranger wrote, and "
    "`unsafe-judges: true` would run that code without isolation. Take `unsafe-judges` away."
)
SECOND_STAGE_REFUSED = (
    "A `workflow_run` workflow does not evaluate: it publishes what the run of another workflow found. Set "
    "`mode: publish` in this step (docs/forks.md). Use `pull_request` to evaluate a change."
)

# On a pull request of the same repository; every field that is not named has the default that is written here.
NOTHING = Activity(
    pull_request=None,
    base_sha=None,
    head_sha=None,
    before=None,
    base_ref=None,
    default_branch=None,
    label=None,
    sender=None,
    moves=False,
    fork=False,
    dependabot=False,
    target=False,
    tracking=False,
    comment=False,
    rules_from_base=False,
    note="",
    refused="",
)
PULL = replace(
    NOTHING,
    pull_request=7,
    base_sha=BASE,
    head_sha=HEAD,
    base_ref="release/v2",
    default_branch="main",
    sender="alice",
    comment=True,
    rules_from_base=True,
)
FORK = replace(PULL, fork=True, comment=False, note=FORK_NOTE)
TARGET = replace(PULL, target=True, note=TARGET_NOTE)
GROUP = replace(
    NOTHING, pull_request=7, base_sha=BASE, head_sha=HEAD, before=BASE, base_ref="release/v2", rules_from_base=True
)
ON_MAIN = replace(NOTHING, base_ref="main")
PUSH = replace(ON_MAIN, before=BEFORE, default_branch="trunk", sender="bob", moves=True)
ALLOWED = {"allow_pull_request_target": True}

Row = tuple[str, dict[str, Any], str, dict[str, bool], Activity]
ROWS: dict[str, Row] = {
    "pull request": ("pull_request", pull_request(), MERGE, {}, PULL),
    "pull request that is closed": ("pull_request", pull_request() | {"action": "closed"}, MERGE, {}, PULL),
    "review": ("pull_request_review", pull_request(), MERGE, {}, PULL),
    "review from a fork": ("pull_request_review", pull_request("eve/agent"), MERGE, {}, FORK),
    "comment in a review": ("pull_request_review_comment", pull_request(), MERGE, {}, PULL),
    "label is set": ("pull_request", labeled(), MERGE, {}, replace(PULL, label="trapgate:accept")),
    "another label is set": ("pull_request", labeled("bug"), MERGE, {}, replace(PULL, label="bug")),
    "label is taken off": ("pull_request", labeled() | {"action": "unlabeled"}, MERGE, {}, PULL),
    "label was set before": ("pull_request", labeled() | {"action": "synchronize"}, MERGE, {}, PULL),
    "label without a name": ("pull_request", labeled() | {"label": None}, MERGE, {}, PULL),
    "label of a wrong type": ("pull_request", labeled() | {"label": {"name": 7}}, MERGE, {}, PULL),
    "fork": ("pull_request", pull_request("eve/agent"), MERGE, {}, FORK),
    "fork with a label": (
        "pull_request",
        labeled(head_repository="eve/agent"),
        MERGE,
        {},
        replace(FORK, label="trapgate:accept"),
    ),
    "fork that is gone": ("pull_request", pull_request(None), MERGE, {}, FORK),
    "head without a repository": ("pull_request", pull_request(head={"sha": HEAD}), MERGE, {}, FORK),
    "head's repository of a wrong type": (
        "pull_request",
        pull_request(head={"sha": HEAD, "repo": {"full_name": ["octo/agent"]}}),
        MERGE,
        {},
        FORK,
    ),
    "Dependabot": (
        "pull_request",
        pull_request(sender=BOT),
        MERGE,
        {},
        replace(PULL, dependabot=True, comment=False, sender=BOT, note=BOT_NOTE),
    ),
    "Dependabot in a fork": (
        "pull_request",
        pull_request("eve/agent", sender=BOT),
        MERGE,
        {},
        replace(FORK, dependabot=True, sender=BOT),
    ),
    "sender of a wrong type": (
        "pull_request",
        pull_request() | {"sender": {"login": 7}, "repository": None},
        MERGE,
        {},
        replace(PULL, sender=None, default_branch=None),
    ),
    "target": ("pull_request_target", pull_request(), MAIN, {}, replace(NOTHING, refused=TARGET_REFUSED)),
    "target with nothing in it": ("pull_request_target", {}, MAIN, {}, replace(NOTHING, refused=TARGET_REFUSED)),
    "target that is asked for": ("pull_request_target", pull_request(), MAIN, ALLOWED, TARGET),
    "target of a fork": (
        "pull_request_target",
        labeled(head_repository="eve/agent"),
        MAIN,
        ALLOWED,
        replace(TARGET, fork=True, label="trapgate:accept"),
    ),
    "target of Dependabot": (
        "pull_request_target",
        pull_request(sender=BOT),
        MAIN,
        ALLOWED,
        replace(TARGET, dependabot=True, sender=BOT),
    ),
    "target without isolation": (
        "pull_request_target",
        pull_request(),
        MAIN,
        ALLOWED | {"unsafe_judges": True},
        replace(NOTHING, refused=UNSAFE_REFUSED),
    ),
    "second stage": ("workflow_run", {}, MAIN, {}, replace(NOTHING, refused=SECOND_STAGE_REFUSED)),
    "merge group": ("merge_group", merge_group(QUEUE), QUEUE, {}, GROUP),
    "merge group by another ref": (
        "merge_group",
        merge_group("refs/heads/x"),
        QUEUE,
        {},
        replace(GROUP, pull_request=None),
    ),
    "merge group without a ref": ("merge_group", merge_group(None), QUEUE, {}, replace(GROUP, pull_request=None)),
    "push": ("push", push(), MAIN, {}, PUSH),
    "push to another branch": (
        "push",
        push("refs/heads/release/v2"),
        "",
        {},
        replace(PUSH, base_ref="release/v2"),
    ),
    "push of a tag": ("push", push(TAG), TAG, {}, replace(PUSH, base_ref=None, moves=False)),
    "push to the merge queue": (
        "push",
        push(QUEUE),
        QUEUE,
        {},
        replace(PUSH, base_ref=QUEUE.removeprefix("refs/heads/"), moves=False),
    ),
    "push with a ref of a wrong type": ("push", push(["x"]), MAIN, {}, PUSH),
    "push with no former tip": ("push", push(before="main"), MAIN, {}, replace(PUSH, before=None)),
    "push with nothing in it": ("push", {}, MAIN, {}, replace(ON_MAIN, moves=True)),
    "push by Dependabot": (
        "push",
        push(sender=BOT),
        MAIN,
        {},
        replace(PUSH, moves=False, dependabot=True, sender=BOT, note=BOT_PUSH_NOTE),
    ),
    "tag by Dependabot": (
        "push",
        push(TAG, sender=BOT),
        TAG,
        {},
        replace(PUSH, base_ref=None, moves=False, dependabot=True, sender=BOT),
    ),
    "schedule": ("schedule", {"schedule": "17 3 * * *"}, MAIN, {}, replace(ON_MAIN, moves=True, tracking=True)),
    "dispatch": ("workflow_dispatch", {"inputs": {}, "ref": "ignored"}, MAIN, {}, replace(ON_MAIN, moves=True)),
    "dispatch on a tag": ("workflow_dispatch", {"inputs": {}, "ref": MAIN}, TAG, {}, NOTHING),
    "dispatch on nothing": ("workflow_dispatch", {}, "", {}, NOTHING),
    "repository dispatch": ("repository_dispatch", {}, MAIN, {}, ON_MAIN),
    "release": ("release", {}, TAG, {}, NOTHING),
    "comment on a pull request": ("issue_comment", {"issue": {"number": 7, "pull_request": {}}}, MAIN, {}, ON_MAIN),
    "event of tomorrow": (
        "page_flip",
        pull_request(),
        MAIN,
        {},
        replace(ON_MAIN, default_branch="main", sender="alice"),
    ),
    "branch without a name": ("schedule", {}, "refs/heads/", {}, replace(NOTHING, tracking=True)),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_each_event_says_all_that_may_be_done(row: Row) -> None:
    name, event, ref, inputs, wanted = row
    assert activity(name, event, ref, **inputs) == wanted


def test_inputs_for_pull_request_target_change_nothing_elsewhere() -> None:
    for name, event, ref, inputs, wanted in ROWS.values():
        if not inputs and name != "pull_request_target":
            assert activity(name, event, ref, allow_pull_request_target=True, unsafe_judges=True) == wanted


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("pull_request", {}),
        ("pull_request", {"pull_request": None}),
        ("pull_request", {"pull_request": [7]}),
        ("pull_request", pull_request(number="7")),
        ("pull_request", pull_request(number=True)),
        ("pull_request", pull_request(number=7.0)),
        ("pull_request", pull_request(number=0)),
        ("pull_request", pull_request(head=None)),
        ("pull_request", pull_request(head={"sha": HEAD.upper(), "repo": {"full_name": "octo/agent"}})),
        ("pull_request", pull_request(base={"sha": "main", "ref": "main", "repo": {"full_name": "octo/agent"}})),
        ("pull_request", pull_request(base={"sha": BASE, "ref": "main"})),
        ("pull_request", pull_request(base={"sha": BASE, "ref": "main", "repo": {"full_name": {"octo": "agent"}}})),
        ("pull_request", pull_request(base={"sha": BASE, "repo": {"full_name": "octo/agent"}})),
        ("pull_request", pull_request(base={"sha": BASE, "ref": 1, "repo": {"full_name": "octo/agent"}})),
        ("pull_request_review", {}),
        ("pull_request_target", {}),
        ("merge_group", {"merge_group": {"head_ref": QUEUE}}),
        ("merge_group", merge_group(QUEUE, base_ref="refs/tags/v1")),
        ("merge_group", merge_group(QUEUE, base_sha=None)),
        ("merge_group", merge_group(QUEUE, head_sha=7)),
    ],
)
def test_a_pull_request_whose_base_is_unknown_is_an_error_and_never_judged_by_its_own_rules(
    name: str, event: dict[str, Any]
) -> None:
    with pytest.raises(UserError, match="the event's payload has no complete") as caught:
        activity(name, event, allow_pull_request_target=True)
    assert caught.value.code == "event-unreadable"


@pytest.mark.parametrize("data", [b"", b"[]", b"\xff", b"[" * 100_000])
def test_an_unreadable_event_is_an_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "event.json").write_bytes(data)
    with pytest.raises(UserError, match="the event's payload"):
        load(tmp_path / "event.json")


# First cell of a row of the page → the rows of this table that it speaks of.
DOCUMENTED = {
    "`pull_request`, same repository": ("pull request", "another label is set", "label is taken off"),
    "`pull_request`, `labeled` with the label that accepts": ("label is set",),
    "`pull_request` from a fork, or from one that is gone": ("fork", "fork that is gone", "fork with a label"),
    "`pull_request` set off by Dependabot": ("Dependabot",),
    "`pull_request_review`, `pull_request_review_comment`": ("review", "comment in a review"),
    "`pull_request_target`": ("target",),
    "`pull_request_target` with `allow-pull-request-target: true`": (
        "target that is asked for",
        "target of a fork",
        "target of Dependabot",
    ),
    "`merge_group`": ("merge group",),
    "`push` to a branch": ("push", "push to another branch"),
    "`push` to a branch by Dependabot": ("push by Dependabot",),
    "`push` of a tag": ("push of a tag",),
    "`schedule`": ("schedule",),
    "`workflow_dispatch` on a branch": ("dispatch",),
    "`workflow_dispatch` on a tag": ("dispatch on a tag",),
    "`issue_comment`, `release`, `repository_dispatch`, others": (
        "comment on a pull request",
        "release",
        "repository dispatch",
        "event of tomorrow",
    ),
    "`workflow_run`": ("second stage",),
}


def documented() -> dict[str, list[str]]:
    """First cell → the others, of the table of events."""
    section = PAGE.read_text(encoding="utf-8").split("\n## Events\n\n")[1].split("\n\n")[0]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.strip().splitlines()[2:]]
    return {first: others for first, *others in lines}


def test_the_page_has_these_rows_and_no_other() -> None:
    assert list(documented()) == list(DOCUMENTED)


@pytest.mark.parametrize("event", DOCUMENTED)
def test_the_page_says_what_is_done(event: str) -> None:
    rules, comment, baseline = documented()[event]
    for row in DOCUMENTED[event]:
        name, payload, ref, inputs, _ = ROWS[row]
        done = activity(name, payload, ref, **inputs)
        assert rules.startswith("refused") == bool(done.refused), row
        if done.refused:
            assert (comment, baseline) == ("", "")
            continue
        assert rules == ("the base" if done.rules_from_base else "the checkout"), row
        assert re.search(r"\b(yes|no)\b", comment), row
        assert ("yes" in re.findall(r"\b(yes|no)\b", comment)[:1]) == done.comment, row
        assert baseline.startswith("moves") == done.moves, row
        assert ("`tracking-issue`" in comment) == done.tracking, row
        by_label = done.label == "trapgate:accept" and not done.fork
        assert by_label <= ("keep" in baseline), row
