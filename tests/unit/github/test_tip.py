from __future__ import annotations

from dataclasses import replace

import pytest

from evaluator.errors import UserError
from evaluator.github.client import Client, Failure
from evaluator.github.events import Activity
from evaluator.github.tip import of_base
from tests.servers.github_server import Fault, GitHubServer

STALE, FRESH, HEAD = "a" * 40, "b" * 40, "c" * 40
CHANGE = Activity(pull_request=7, base_sha=STALE, head_sha=HEAD, base_ref="main", rules_from_base=True)


@pytest.fixture
def merge(server: GitHubServer) -> str:
    """What GitHub merged for the run, onto a base that is fresher than the event says."""
    return server.commit("merge", (FRESH, HEAD))


def the_tip_now(server: GitHubServer) -> str:
    server.git.branches["main"] = server.commit("now")
    return server.commit("now")


def test_the_base_is_what_the_change_was_merged_onto_and_not_the_snapshot_of_the_event(
    client: Client, server: GitHubServer, merge: str
) -> None:
    assert of_base(client, "octo/agent", CHANGE, merge) == FRESH
    assert [request.path for request in server.requests] == [f"/repos/octo/agent/git/commits/{merge}"]


@pytest.mark.parametrize(
    "parents",
    [(), (FRESH,), (FRESH, "d" * 40), (HEAD, FRESH), (FRESH, HEAD, STALE)],
    ids=["first", "squashed", "another head", "reversed", "octopus"],
)
def test_a_commit_that_is_no_merge_of_the_head_leaves_the_tip_of_the_branch_as_it_is_now(
    client: Client, server: GitHubServer, parents: tuple[str, ...]
) -> None:
    now = the_tip_now(server)
    assert of_base(client, "octo/agent", CHANGE, server.commit("other", parents)) == now


@pytest.mark.parametrize("fault", [Fault(404), Fault(422), Fault(200, body=b"{}")])
def test_a_merge_that_cannot_be_read_leaves_the_tip_of_the_branch_as_it_is_now(
    client: Client, server: GitHubServer, merge: str, fault: Fault
) -> None:
    now = the_tip_now(server)
    server.fail("GET", "/git/commits", fault)
    assert of_base(client, "octo/agent", CHANGE, merge) == now


def test_where_neither_can_be_told_the_snapshot_does_not_stand_in_for_it(client: Client, server: GitHubServer) -> None:
    head = server.commit("head alone")
    assert of_base(client, "octo/agent", CHANGE, head) == Failure("malformed", "there is no branch main")
    server.fail("GET", "/git/matching-refs", *[Fault(503)] * 20)
    got = of_base(client, "octo/agent", CHANGE, head)
    assert isinstance(got, Failure)
    assert "HTTP 503" in got.message


@pytest.mark.parametrize("hidden", [False, True])
def test_a_token_that_may_not_read_the_repository_is_told_what_it_lacks(
    client: Client, server: GitHubServer, merge: str, hidden: bool
) -> None:
    server.granted, server.hides_what_is_denied = set(), hidden
    with pytest.raises(UserError, match="the base's rules cannot be read") as caught:
        of_base(client, "octo/agent", CHANGE, merge)
    assert caught.value.code == "github-permission"


@pytest.mark.parametrize("what", ["/git/commits", "/git/matching-refs"])
def test_a_token_that_is_not_accepted_is_told_what_mends_that(
    client: Client, server: GitHubServer, merge: str, what: str
) -> None:
    server.fail("GET", what, Fault(401, "Bad credentials"))
    with pytest.raises(UserError, match="or renew it") as caught:
        of_base(client, "octo/agent", CHANGE, merge if "commits" in what else server.commit("no merge"))
    assert caught.value.code == "github-permission"
    assert "permissions:" not in str(caught.value)


def test_a_server_that_refuses_for_another_reason_leaves_the_tip_untold(
    client: Client, server: GitHubServer, merge: str
) -> None:
    server.fail("GET", "/git/", *[Fault(403, "Repository access blocked")] * 2)
    assert of_base(client, "octo/agent", CHANGE, merge) == Failure(
        "refused", "HTTP 403 (Repository access blocked)", 403
    )


def test_on_pull_request_target_the_tip_is_that_of_the_branch_and_never_that_which_was_merged_onto_before(
    client: Client, server: GitHubServer, merge: str
) -> None:
    now = the_tip_now(server)
    target = replace(CHANGE, target=True)
    assert of_base(client, "octo/agent", target, server.commit("base")) == now
    assert of_base(client, "octo/agent", target, merge) == now  # the pull request is merged, and GITHUB_SHA its merge


def test_a_merge_group_says_itself_what_it_is_built_on(client: Client, server: GitHubServer) -> None:
    group = Activity(base_sha=FRESH, before=FRESH, head_sha=HEAD, base_ref="main", rules_from_base=True)
    assert of_base(client, "octo/agent", group, HEAD) == FRESH
    assert server.requests == []
