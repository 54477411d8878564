"""The test server answers as GitHub says that GitHub answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import requests

from tests.servers import github_issues, github_server
from tests.servers.github_server import GitHubServer

SCHEMAS = json.loads(Path(github_server.__file__).with_name("github_schemas.json").read_text(encoding="utf-8"))


@pytest.fixture
def server() -> Iterator[GitHubServer]:
    with GitHubServer() as running:
        yield running


def check(value: Any, name: str) -> None:
    jsonschema.Draft202012Validator({**SCHEMAS, "$ref": f"#/$defs/{name}"}).validate(value)


def test_the_schemas_refuse_what_is_not_a_comment() -> None:
    with pytest.raises(jsonschema.ValidationError):
        check({"id": 1}, "issue-comment")


def test_a_created_listed_and_edited_comment_has_githubs_shape(server: GitHubServer) -> None:
    comments = f"{server.api_url}/repos/octo/agent/issues/7/comments"
    created = requests.post(comments, json={"body": "hello"}, timeout=5)
    edit = f"{server.api_url}/repos/octo/agent/issues/comments/{created.json()['id']}"
    edited = requests.patch(edit, json={"body": "hello again"}, timeout=5)
    listed = requests.get(comments, timeout=5).json()
    assert (created.status_code, edited.status_code) == (201, 200)
    assert [comment["body"] for comment in listed] == ["hello again"]
    for comment in (created.json(), edited.json(), *listed):
        check(comment, "issue-comment")


def test_an_issue_and_a_pull_request_among_the_issues_have_githubs_shape(server: GitHubServer) -> None:
    server.granted |= {"issues: write"}
    issues = f"{server.api_url}/repos/octo/agent/issues"
    github_issues.add(server, "change", pull=True)
    opened = requests.post(issues, json={"title": "drift", "body": "it moved"}, timeout=5)
    closing = {"state": "closed", "state_reason": "completed"}
    closed = requests.patch(f"{issues}/{opened.json()['number']}", json=closing, timeout=5)
    assert (opened.status_code, closed.status_code) == (201, 200)
    listed = requests.get(issues, params={"state": "all"}, timeout=5).json()
    assert [issue["number"] for issue in listed] == [102, 101]  # the newest first
    for issue in (opened.json(), closed.json(), *listed):
        check(issue, "issue")
    assert [issue["number"] for issue in requests.get(issues, timeout=5).json()] == [101]


@pytest.mark.parametrize(
    ("granted", "body", "status", "message"),
    [
        (set(), {}, 403, "Resource not accessible by integration"),
        ({"issues: write"}, {}, 422, '"title" wasn\'t supplied'),
        ({"issues: write"}, {"title": "x" * 257}, 422, "title is too long"),
        ({"issues: write"}, {"title": "x", "body": "x" * 65_537}, 422, "body is too long"),
    ],
)
def test_an_issue_is_refused_as_github_refuses_it_for_want_of_permission_first(
    server: GitHubServer, granted: set[str], body: dict[str, str], status: int, message: str
) -> None:
    server.granted = granted
    answer = requests.post(f"{server.api_url}/repos/octo/agent/issues", json=body, timeout=5)
    assert answer.status_code == status
    assert message in answer.json()["message"]
    check(answer.json(), "basic-error")
    assert server.issues == {}


def test_a_repository_has_githubs_shape(server: GitHubServer) -> None:
    check(requests.get(f"{server.api_url}/repos/octo/agent", timeout=5).json(), "repository")


def test_a_comparison_has_githubs_shape(server: GitHubServer) -> None:
    base, head = server.commit("base"), server.commit("head")
    server.merge_bases[base, head] = base
    answer = requests.get(f"{server.api_url}/repos/octo/agent/compare/{base}...{head}", timeout=5)
    check(answer.json(), "commit-comparison")


def test_a_git_commit_has_githubs_shape(server: GitHubServer) -> None:
    answer = requests.get(f"{server.api_url}/repos/octo/agent/git/commits/{server.commit()}", timeout=5)
    check(answer.json(), "git-commit")


def test_a_person_is_told_and_an_installation_is_refused_who_they_are(server: GitHubServer) -> None:
    refused = requests.get(f"{server.api_url}/user", timeout=5)
    assert refused.status_code == 403
    check(refused.json(), "basic-error")
    server.identity = ("alice", "User")
    check(requests.get(f"{server.api_url}/user", timeout=5).json(), "public-user")


def test_a_persons_permission_has_githubs_shape_and_maps_roles_to_levels(server: GitHubServer) -> None:
    server.roles = {"alice": "maintain", "bob": "triage", "eve": "none"}
    url = f"{server.api_url}/repos/octo/agent/collaborators"
    told = {name: requests.get(f"{url}/{name}/permission", timeout=5).json() for name in server.roles}
    for answer in told.values():
        check(answer, "repository-collaborator-permission")
    assert {name: answer["permission"] for name, answer in told.items()} == {
        "alice": "write",
        "bob": "read",
        "eve": "none",
    }
    assert requests.get(f"{url}/nobody/permission", timeout=5).status_code == 404


def test_the_pull_request_that_made_a_commit_has_githubs_shape(server: GitHubServer) -> None:
    head, merge = server.commit("head"), server.commit("merge")
    server.pulls = {7: {"head": head, "base_ref": "main", "merge_commit": merge}}
    repo = f"{server.api_url}/repos/octo/agent"
    [pull] = requests.get(f"{repo}/commits/{merge}/pulls", timeout=5).json()
    check(pull, "pull-request-simple")
    assert (pull["head"]["sha"], pull["base"]["ref"], pull["merge_commit_sha"]) == (head, "main", merge)
    alone = requests.get(f"{repo}/pulls/7", timeout=5).json()
    check(alone, "pull-request")
    assert alone["merged"]
    assert requests.get(f"{repo}/commits/{server.commit('other')}/pulls", timeout=5).json() == []


def test_the_git_database_has_githubs_shape(server: GitHubServer) -> None:
    server.granted |= {"contents: write"}
    git = f"{server.api_url}/repos/octo/agent/git"

    def post(what: str, body: dict[str, Any], name: str) -> Any:
        answer = requests.post(f"{git}/{what}", json=body, timeout=5)
        assert answer.status_code == 201, answer.text
        check(answer.json(), name)
        return answer.json()

    blob = post("blobs", {"content": "aGVsbG8=", "encoding": "base64"}, "short-blob")
    entry = {"path": "folder/a.txt", "mode": "100644", "type": "blob", "sha": blob["sha"]}
    tree = post("trees", {"tree": [entry]}, "git-tree")
    first = post("commits", {"message": "first", "tree": tree["sha"], "parents": []}, "git-commit")
    second = post("commits", {"message": "second", "tree": tree["sha"], "parents": [first["sha"]]}, "git-commit")
    post("refs", {"ref": "refs/heads/b", "sha": first["sha"]}, "git-ref")
    moved = requests.patch(f"{git}/refs/heads/b", json={"sha": second["sha"], "force": False}, timeout=5)
    check(moved.json(), "git-ref")
    for ref in requests.get(f"{git}/matching-refs/heads/b", timeout=5).json():
        check(ref, "git-ref")
    listed = requests.get(f"{git}/trees/{tree['sha']}", timeout=5).json()
    check(listed, "git-tree")
    [folder] = listed["tree"]
    assert (folder["path"], folder["type"]) == ("folder", "tree")
    inside = requests.get(folder["url"], timeout=5).json()
    check(inside, "git-tree")
    assert [each["path"] for each in inside["tree"]] == ["a.txt"]
    comparison = requests.get(
        f"{server.api_url}/repos/octo/agent/compare/{first['sha']}...{second['sha']}", timeout=5
    ).json()
    check(comparison, "commit-comparison")
    assert comparison["status"] == "ahead"


@pytest.mark.parametrize(
    ("what", "body", "status", "message"),
    [
        ("trees", {"tree": [{"path": "a", "mode": "100644", "sha": None}]}, 422, "GitRPC::BadObjectState"),
        ("trees", {"tree": [{"path": "../a", "mode": "100644", "content": ""}]}, 422, "malformed path component"),
        ("trees", {"tree": [{"path": "a", "mode": "100644"}]}, 422, "Must supply either tree.sha or tree.content"),
        ("commits", {"message": "m", "tree": "0", "parents": []}, 422, "Tree SHA does not exist"),
        ("refs", {"ref": "refs/heads/b", "sha": "0"}, 422, "Object does not exist"),
    ],
)
def test_the_git_database_refuses_what_github_refuses(
    server: GitHubServer, what: str, body: dict[str, Any], status: int, message: str
) -> None:
    server.granted |= {"contents: write"}
    answer = requests.post(f"{server.api_url}/repos/octo/agent/git/{what}", json=body, timeout=5)
    assert answer.status_code == status
    assert message in answer.json()["message"]
    check(answer.json(), "basic-error")
