from __future__ import annotations

import pytest

from evaluator.github.client import Client, Failure
from evaluator.github.merges import Pull, merged, parents, pull
from tests.servers.github_server import Fault, GitHubServer

HEAD = "c" * 40
MERGE = "d" * 40


def test_a_pushed_commit_leads_to_the_head_of_the_pull_request_that_it_merged(
    client: Client, server: GitHubServer
) -> None:
    server.pulls = {
        3: {"head": "a" * 40, "base_ref": "main", "merge_commit": "e" * 40},
        7: {"head": HEAD, "base_ref": "main", "merge_commit": MERGE},
    }
    assert merged(client, "octo/agent", MERGE, "main") == Pull(7, HEAD)


@pytest.mark.parametrize(
    "other",
    [
        {"head": HEAD, "base_ref": "release", "merge_commit": MERGE},
        {"head": MERGE, "base_ref": "main", "merge_commit": None},
        {"head": MERGE, "base_ref": "main", "merge_commit": "e" * 40},
    ],
)
def test_a_pull_request_into_another_branch_or_not_merged_by_that_commit_is_none_of_its(
    client: Client, server: GitHubServer, other: dict[str, str]
) -> None:
    server.pulls = {7: other}
    assert merged(client, "octo/agent", MERGE, "main") is None


def test_a_commit_without_a_pull_request_has_no_head(client: Client) -> None:
    assert merged(client, "octo/agent", MERGE, "main") is None


def test_pull_requests_that_cannot_be_read_are_a_failure_and_not_none(client: Client, server: GitHubServer) -> None:
    server.granted = {"contents: read"}
    for got in (merged(client, "octo/agent", MERGE, "main"), pull(client, "octo/agent", 7)):
        assert isinstance(got, Failure)
        assert "the token needs the permission `pull-requests: read`" in got.message


def test_a_pull_request_is_asked_for_its_head(client: Client, server: GitHubServer) -> None:
    server.pulls = {7: {"head": HEAD, "base_ref": "main", "merge_commit": None}}
    assert pull(client, "octo/agent", 7) == Pull(7, HEAD)
    server.fail("GET", "/pulls/7", Fault(200, body=b'{"number": 7, "head": {"sha": "main"}}'))
    got = pull(client, "octo/agent", 7)
    assert got == Failure("malformed", "the server's answer has no head commit")


def test_a_merge_has_two_parents_in_their_order_and_a_first_commit_none(client: Client, server: GitHubServer) -> None:
    base, head = server.commit("base"), server.commit("head")
    assert parents(client, "octo/agent", server.commit("merge", (base, head))) == (base, head)
    assert parents(client, "octo/agent", base) == ()


@pytest.mark.parametrize("body", [b"{}", b'{"parents": null}', b'{"parents": [{"sha": "main"}]}', b'{"parents": [1]}'])
def test_parents_that_the_server_does_not_name_are_not_none(client: Client, server: GitHubServer, body: bytes) -> None:
    server.fail("GET", "/git/commits", Fault(200, body=body))
    got = parents(client, "octo/agent", server.commit())
    assert got == Failure("malformed", "the server's answer does not say its parents")
