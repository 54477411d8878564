from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from evaluator.errors import UserError
from evaluator.github import workflow_run
from evaluator.github.workflow_run import FirstRun, nothing_to_publish
from tests.servers.github_actions import workflow_run_event
from tests.servers.github_server import GitHubServer

HEAD = "a" * 40


@pytest.fixture
def event(server: GitHubServer) -> dict[str, Any]:
    return workflow_run_event(server, head=HEAD)


def read(event: dict[str, Any], name: str = "workflow_run") -> FirstRun:
    return workflow_run.read(name, event, "octo/agent")


def test_of_a_forks_run_its_id_commit_branch_and_owner_are_taken(event: dict[str, Any]) -> None:
    run = read(event)
    assert run == FirstRun(
        id=42,
        event="pull_request",
        commit=HEAD,
        branch="change",
        repository="stranger/agent",
        owner="stranger",
        fork=True,
        dependabot=False,
        conclusion="failure",
        began=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    )
    assert nothing_to_publish(run) == ""
    assert run.by == "the fork's own run"


@pytest.mark.parametrize("name", ["pull_request", "push", "pull_request_target", "workflow_dispatch", ""])
def test_another_event_is_refused_with_how_to_mend_it(event: dict[str, Any], name: str) -> None:
    with pytest.raises(UserError) as caught:
        read(event, name)
    assert str(caught.value) == (
        f"input mode: `mode: publish` is for `on: workflow_run`, not for `on: {name}`\n    Remove `mode` to evaluate."
    )
    assert caught.value.code == "event-refused"


@pytest.mark.parametrize("action", ["requested", "in_progress", None])
def test_a_run_that_has_not_ended_is_refused_with_the_trigger_to_give(event: dict[str, Any], action: Any) -> None:
    event["action"] = action
    with pytest.raises(UserError, match=r"has not ended yet\n    Give the trigger `types: \[completed\]`\."):
        read(event)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("id", None),
        ("id", 0),
        ("id", True),
        ("id", "42"),
        ("head_sha", None),
        ("head_sha", "a" * 12),
        ("head_sha", ["a" * 40]),
        ("event", None),
    ],
)
def test_a_payload_without_what_each_has_is_unreadable(event: dict[str, Any], name: str, value: Any) -> None:
    event["workflow_run"][name] = value
    with pytest.raises(UserError, match="the event's payload has no complete `workflow_run`"):
        read(event)


@pytest.mark.parametrize("payload", [None, [], "run", {}])
def test_a_payload_without_a_run_is_unreadable(event: dict[str, Any], payload: Any) -> None:
    event["workflow_run"] = payload
    with pytest.raises(UserError) as caught:
        read(event)
    assert caught.value.code == "event-unreadable"


def test_a_run_of_another_repository_is_unreadable(event: dict[str, Any]) -> None:
    event["workflow_run"]["repository"]["full_name"] = "stranger/agent"
    with pytest.raises(UserError, match="is about a run of another repository"):
        read(event)


def change(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda event: event["workflow_run"].update({name: value})


def own(event: dict[str, Any]) -> None:
    event["workflow_run"]["head_repository"] = event["workflow_run"]["repository"]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (change("event", "push"), "The run was started by `push`, not by `pull_request`."),
        (change("event", "pull_request_target"), "The run was started by `pull_request_target`, not by"),
        (own, "The pull request is of this repository: its own run comments."),
        (change("head_repository", None), "The branch of the pull request, or the fork that it was on, is deleted."),
        (change("head_branch", None), "The branch of the pull request, or the fork that it was on, is deleted."),
        (change("head_repository", {"full_name": "a/b", "owner": None}), "or the fork that it was on, is deleted."),
    ],
)
def test_a_run_of_which_nothing_can_or_need_be_published_is_said_to_be_one(
    event: dict[str, Any], changed: Callable[[dict[str, Any]], None], why: str
) -> None:
    changed(event)
    assert why in nothing_to_publish(read(event))


@pytest.mark.parametrize("actor", ["actor", "triggering_actor"])
def test_dependabots_run_on_a_branch_of_this_repository_is_published(event: dict[str, Any], actor: str) -> None:
    own(event)
    event["workflow_run"][actor]["login"] = "dependabot[bot]"
    run = read(event)
    assert nothing_to_publish(run) == ""
    assert run.by == "Dependabot's own run"


@pytest.mark.parametrize("conclusion", [None, "Pass\n::error::", "x" * 50, 7])
def test_a_conclusion_that_is_no_word_of_github_is_unknown(event: dict[str, Any], conclusion: Any) -> None:
    event["workflow_run"]["conclusion"] = conclusion
    assert read(event).conclusion == "unknown"


@pytest.mark.parametrize("odd", [None, "soon", 7, "2026-01-02T03:04:05"])
def test_a_run_of_which_nobody_says_when_it_was_started_began_when_it_was_created(
    event: dict[str, Any], odd: Any
) -> None:
    event["workflow_run"] |= {"run_started_at": odd, "created_at": "2026-01-01T00:00:00Z"}
    assert read(event).began == datetime(2026, 1, 1, tzinfo=UTC)
    event["workflow_run"]["created_at"] = odd
    assert read(event).began is None


def test_pull_requests_that_the_payload_names_are_not_looked_at(event: dict[str, Any]) -> None:
    before = read(event)
    event["workflow_run"]["pull_requests"] = [{"number": 1}]
    assert read(event) == before
