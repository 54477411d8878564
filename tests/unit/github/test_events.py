from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import UserError
from evaluator.github.events import Activity, activity, load

BASE, HEAD = "b" * 40, "c" * 40


def pull_request(head_repository: str | None = "octo/agent", sender: str = "alice", **other: Any) -> dict[str, Any]:
    return {
        "sender": {"login": sender},
        "pull_request": {
            "number": 7,
            "base": {"sha": BASE, "repo": {"full_name": "octo/agent"}},
            "head": {"sha": HEAD, "repo": head_repository and {"full_name": head_repository}},
            **other,
        },
    }


def merge_group(ref: str) -> dict[str, Any]:
    return {"merge_group": {"base_sha": BASE, "head_sha": HEAD, "head_ref": ref}}


QUEUE = f"refs/heads/gh-readonly-queue/release/v2/pr-7-{HEAD}"


@pytest.mark.parametrize(
    ("name", "event", "wanted"),
    [
        ("pull_request", pull_request(), {"pull_request": 7, "comment": True, "rules_from_base": True}),
        ("pull_request_review", pull_request(), {"pull_request": 7, "comment": True, "rules_from_base": True}),
        ("pull_request", pull_request("eve/agent"), {"fork": True, "comment": False, "rules_from_base": True}),
        ("pull_request", pull_request(None), {"fork": True, "comment": False, "rules_from_base": True}),
        (
            "pull_request",
            pull_request(sender="dependabot[bot]"),
            {"fork": False, "dependabot": True, "comment": False, "rules_from_base": True},
        ),
        ("merge_group", merge_group(QUEUE), {"pull_request": 7, "comment": False, "rules_from_base": True}),
        ("merge_group", merge_group("refs/heads/x"), {"pull_request": None, "rules_from_base": True}),
        ("push", {"ref": "refs/heads/main"}, {"pull_request": None, "comment": False, "rules_from_base": False}),
        ("schedule", {}, {"comment": False, "rules_from_base": False}),
        ("workflow_dispatch", {"inputs": {}}, {"comment": False, "rules_from_base": False}),
        ("issue_comment", {"issue": {"number": 7, "pull_request": {}}}, {"pull_request": None, "comment": False}),
    ],
)
def test_each_event_says_what_may_be_done(name: str, event: dict[str, Any], wanted: dict[str, Any]) -> None:
    got = activity(name, event)
    assert {key: getattr(got, key) for key in wanted} == wanted
    assert got.refused == ""


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
        ("pull_request", pull_request(base={"sha": "main", "repo": {"full_name": "octo/agent"}})),
        ("pull_request", pull_request(base={"sha": BASE})),
        ("merge_group", {"merge_group": {"head_ref": QUEUE}}),
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
