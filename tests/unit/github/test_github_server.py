"""The test server answers as GitHub says that GitHub answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import requests

from tests.servers import github_server
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
