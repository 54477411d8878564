from __future__ import annotations

from dataclasses import replace

import pytest

from evaluator.github.acceptance import Label, by_label
from evaluator.github.client import Client
from evaluator.github.events import Activity
from evaluator.results import Acceptance
from tests.servers.github_server import Fault, GitHubServer

BASE, HEAD = "b" * 40, "c" * 40
LABEL, AT = "trapgate:accept", "2026-01-02T03:04:05+00:00"
SET = Activity(pull_request=12, base_sha=BASE, head_sha=HEAD, base_ref="main", label=LABEL, sender="alice")


def label(client: Client, activity: Activity = SET, name: str = LABEL) -> Label:
    return by_label(client, "octo/agent", activity, name, AT)


@pytest.mark.parametrize("role", ["admin", "maintain", "write"])
def test_a_label_set_by_somebody_who_may_write_accepts_in_their_name(
    client: Client, server: GitHubServer, role: str
) -> None:
    server.roles = {"alice": role}
    wanted = Acceptance(by="alice", at=AT, why="label trapgate:accept on #12", explicit=True)
    assert label(client) == Label(wanted)


@pytest.mark.parametrize("role", ["triage", "read", "none"])
def test_a_label_set_by_somebody_who_may_not_write_does_not_count_and_the_note_says_whose_it_is(
    client: Client, server: GitHubServer, role: str
) -> None:
    server.roles = {"alice": role}
    assert label(client) == Label(
        note="The label `trapgate:accept` does not count: it was set by alice, who may not write to this repository."
    )


@pytest.mark.parametrize("name", [None, "bug", "trapgate:accepted"])
def test_without_our_label_nothing_is_said_and_nobody_is_asked(
    client: Client, server: GitHubServer, name: str | None
) -> None:
    server.roles = {"alice": "admin"}
    assert label(client, replace(SET, label=name)) == Label()
    assert server.requests == []


def test_a_label_of_ones_own_accepts_however_it_is_capitalized(client: Client, server: GitHubServer) -> None:
    server.roles = {"alice": "write"}
    assert label(client, replace(SET, label="Evals OK"), "evals ok").acceptance is not None
    assert label(client, SET, "evals ok") == Label()


@pytest.mark.parametrize("where", [{"fork": True}, {"dependabot": True}])
def test_a_label_on_a_pull_request_with_a_token_that_can_only_read_does_not_count(
    client: Client, server: GitHubServer, where: dict[str, bool]
) -> None:
    server.roles = {"alice": "admin"}
    got = label(client, replace(SET, **where))
    assert got.acceptance is None
    assert "nothing is accepted on a pull request from a fork, or in Dependabot's name" in got.note
    assert server.requests == []


def test_a_label_of_nobody_does_not_count(client: Client, server: GitHubServer) -> None:
    assert "the event does not say who set it" in label(client, replace(SET, sender=None)).note
    assert server.requests == []


def test_a_name_that_is_a_path_stays_a_name(client: Client, server: GitHubServer) -> None:
    server.roles = {"alice": "admin"}
    assert label(client, replace(SET, sender="x/../alice")).acceptance is None
    assert server.requests[0].path == "/repos/octo/agent/collaborators/x/../alice/permission"


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (Fault(403, "Resource not accessible by integration"), "the token needs the permission `metadata: read`"),
        (Fault(404, "alice is not a user"), "no such person, or the token lacks the permission `metadata: read`"),
        (Fault(200, body=b"[]"), "the server's answer is not an object"),
        (Fault(200, body=b"{"), "the server's answer is not an object"),
    ],
)
def test_where_a_persons_permission_cannot_be_told_the_label_does_not_count(
    client: Client, server: GitHubServer, fault: Fault, why: str
) -> None:
    server.roles = {"alice": "admin"}
    server.fail("GET", "/permission", fault)
    got = label(client)
    assert got.acceptance is None
    assert got.note.startswith(
        "The label `trapgate:accept` does not count: whether alice, who set it, may write cannot be told: "
    )
    assert why in got.note


@pytest.mark.parametrize("body", [b"{}", b'{"permission": null}', b'{"permission": ["admin"]}'])
def test_an_answer_that_names_no_permission_is_none(client: Client, server: GitHubServer, body: bytes) -> None:
    server.fail("GET", "/permission", Fault(200, body=body))
    assert label(client).acceptance is None
