from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import UserError
from evaluator.github.events import Activity, activity, load

BASE, HEAD = "b" * 40, "c" * 40


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


def labeled(name: str = "trapgate:accept") -> dict[str, Any]:
    return {**pull_request(labels=[{"name": "bug"}]), "action": "labeled", "label": {"name": name}}


def merge_group(ref: str, **other: Any) -> dict[str, Any]:
    return {
        "merge_group": {
            "base_sha": BASE,
            "base_ref": "refs/heads/release/v2",
            "head_sha": HEAD,
            "head_ref": ref,
            **other,
        }
    }


QUEUE = f"refs/heads/gh-readonly-queue/release/v2/pr-7-{HEAD}"
MAIN, TAG, MERGE = "refs/heads/main", "refs/tags/v1", "refs/pull/7/merge"
OF_PULL_REQUEST = {"pull_request": 7, "comment": True, "rules_from_base": True, "base_ref": "release/v2"}
READ_ONLY = {"comment": False, "rules_from_base": True, "base_ref": "release/v2"}
ON_MAIN = {"pull_request": None, "comment": False, "rules_from_base": False, "base_ref": "main"}
NOWHERE = {"pull_request": None, "comment": False, "rules_from_base": False, "base_ref": None, "moves": False}


@pytest.mark.parametrize(
    ("name", "event", "ref", "wanted"),
    [
        ("pull_request", pull_request(), MERGE, {**OF_PULL_REQUEST, "moves": False, "label": None}),
        ("pull_request_review", pull_request(), MERGE, {**OF_PULL_REQUEST, "moves": False}),
        ("pull_request", labeled(), MERGE, {**OF_PULL_REQUEST, "moves": False, "label": "trapgate:accept"}),
        ("pull_request", labeled("bug"), MERGE, {**OF_PULL_REQUEST, "label": "bug"}),
        ("pull_request", labeled() | {"action": "unlabeled"}, MERGE, {**OF_PULL_REQUEST, "label": None}),
        ("pull_request", labeled() | {"action": "synchronize"}, MERGE, {**OF_PULL_REQUEST, "label": None}),
        ("pull_request", labeled() | {"label": None}, MERGE, {**OF_PULL_REQUEST, "label": None}),
        ("pull_request", pull_request("eve/agent"), MERGE, {"fork": True, "moves": False, **READ_ONLY}),
        ("pull_request", pull_request(None), MERGE, {"fork": True, "moves": False, **READ_ONLY}),
        (
            "pull_request",
            pull_request(sender="dependabot[bot]"),
            MERGE,
            {"fork": False, "dependabot": True, "moves": False, **READ_ONLY},
        ),
        ("merge_group", merge_group(QUEUE), QUEUE, {"pull_request": 7, "moves": False, **READ_ONLY}),
        ("merge_group", merge_group("refs/heads/x"), QUEUE, {"pull_request": None, "moves": False, **READ_ONLY}),
        ("push", {"ref": MAIN}, MAIN, {**ON_MAIN, "moves": True}),
        ("push", {"ref": "refs/heads/release/v2"}, "", {**ON_MAIN, "base_ref": "release/v2", "moves": True}),
        ("push", {"ref": TAG}, TAG, NOWHERE),
        ("push", {"ref": QUEUE}, QUEUE, {"moves": False}),
        ("schedule", {"schedule": "17 3 * * *"}, MAIN, {**ON_MAIN, "moves": True}),
        ("workflow_dispatch", {"inputs": {}, "ref": MAIN}, MAIN, {**ON_MAIN, "moves": True}),
        ("workflow_dispatch", {"inputs": {}, "ref": "v1"}, TAG, NOWHERE),
        ("workflow_dispatch", {}, "", NOWHERE),
        ("repository_dispatch", {}, MAIN, {**ON_MAIN, "moves": False}),
        ("release", {}, TAG, NOWHERE),
        ("issue_comment", {"issue": {"number": 7, "pull_request": {}}}, MAIN, {**ON_MAIN, "moves": False}),
    ],
)
def test_each_event_says_what_may_be_done(name: str, event: dict[str, Any], ref: str, wanted: dict[str, Any]) -> None:
    got = activity(name, event, ref)
    assert {key: getattr(got, key) for key in wanted} == wanted
    assert got.refused == ""


def test_an_event_says_who_set_it_off_and_which_branch_is_the_default() -> None:
    got = activity("pull_request", labeled())
    assert (got.sender, got.default_branch) == ("alice", "main")
    got = activity("push", {"ref": MAIN, "repository": {"default_branch": "trunk"}, "sender": {"login": "bob"}})
    assert (got.sender, got.default_branch) == ("bob", "trunk")
    got = activity("schedule", {"repository": None, "sender": {"login": 7}}, MAIN)
    assert (got.sender, got.default_branch) == (None, None)


def test_a_pull_request_and_a_merge_group_name_both_commits() -> None:
    for got in (activity("pull_request", pull_request()), activity("merge_group", merge_group(QUEUE))):
        assert (got.base_sha, got.head_sha) == (BASE, HEAD)


def test_a_fork_is_told_where_its_report_is_and_what_to_do() -> None:
    note = activity("pull_request", pull_request("eve/agent")).note
    assert "comes from a fork" in note
    assert "job summary" in note
    assert "push the branch to this repository" in note


def test_dependabot_is_told_which_secrets_it_gets() -> None:
    assert "Dependabot secret" in activity("pull_request", pull_request(sender="dependabot[bot]")).note


def test_pull_request_target_is_refused_with_the_reason() -> None:
    got = activity("pull_request_target", pull_request())
    assert "hands this repository's secrets to a run on code that a stranger wrote" in got.refused
    assert got == Activity(refused=got.refused)


def test_the_second_stage_is_refused_until_it_is_there() -> None:
    assert "`workflow_run` is not supported yet" in activity("workflow_run", {}).refused


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("pull_request", {}),
        ("pull_request", {"pull_request": None}),
        ("pull_request", pull_request(number="7")),
        ("pull_request", pull_request(base={"sha": "main", "ref": "main", "repo": {"full_name": "octo/agent"}})),
        ("pull_request", pull_request(base={"sha": BASE, "ref": "main"})),
        ("pull_request", pull_request(base={"sha": BASE, "repo": {"full_name": "octo/agent"}})),
        ("merge_group", {"merge_group": {"head_ref": QUEUE}}),
        ("merge_group", merge_group(QUEUE, base_ref="refs/tags/v1")),
    ],
)
def test_a_pull_request_whose_base_is_unknown_is_an_error_and_never_judged_by_its_own_rules(
    name: str, event: dict[str, Any]
) -> None:
    with pytest.raises(UserError, match="the event's payload has no complete"):
        activity(name, event)


@pytest.mark.parametrize("data", [b"", b"[]", b"\xff", b"[" * 100_000])
def test_an_unreadable_event_is_an_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "event.json").write_bytes(data)
    with pytest.raises(UserError, match="the event's payload"):
        load(tmp_path / "event.json")
