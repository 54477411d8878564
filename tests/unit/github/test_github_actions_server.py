"""The test server answers about runs and artifacts as GitHub says that GitHub answers."""

from __future__ import annotations

import pytest
import requests

from tests.servers.github_actions import add_artifact, workflow_run_event, zipped
from tests.servers.github_server import GitHubServer
from tests.unit.github.test_github_server import check

HEAD = "a" * 40


def test_artifacts_have_githubs_shape_and_are_filtered_by_run_and_name(server: GitHubServer) -> None:
    server.granted |= {"actions: read"}
    add_artifact(server, zipped({"a": b"b"}), "one")
    add_artifact(server, zipped({"a": b"b"}), "two")
    add_artifact(server, zipped({"a": b"b"}), "one", run_id=43)
    url = f"{server.api_url}/repos/octo/agent/actions/runs/42/artifacts"
    answer = requests.get(url, timeout=5).json()
    assert answer["total_count"] == 2
    for artifact in answer["artifacts"]:
        check(artifact, "artifact")
    [named] = requests.get(url, params={"name": "two"}, timeout=5).json()["artifacts"]
    assert named["name"] == "two"
    paged = requests.get(url, params={"per_page": "1"}, timeout=5)
    assert 'rel="next"' in paged.headers["Link"]
    assert len(paged.json()["artifacts"]) == 1


def test_an_archive_lies_on_another_server_which_refuses_a_token(server: GitHubServer) -> None:
    server.granted |= {"actions: read"}
    stored = add_artifact(server, b"archive")
    url = f"{server.api_url}/repos/octo/agent/actions/artifacts/{stored.id}/zip"
    answer = requests.get(url, timeout=5, allow_redirects=False)
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith(server.storage.root)
    assert server.storage.root != server.root
    assert requests.get(answer.headers["Location"], timeout=5).content == b"archive"
    refused = requests.get(answer.headers["Location"], headers={"Authorization": "Bearer t"}, timeout=5)
    assert refused.status_code == 400


def test_artifacts_need_a_permission_and_end(server: GitHubServer) -> None:
    stored = add_artifact(server, b"archive", expired=True)
    artifact = f"{server.api_url}/repos/octo/agent/actions/artifacts/{stored.id}/zip"
    assert requests.get(artifact, timeout=5).status_code == 403
    server.granted |= {"actions: read"}
    ended = requests.get(artifact, timeout=5)
    assert ended.status_code == 410
    check(ended.json(), "basic-error")


def test_open_pull_requests_are_listed_by_owner_and_branch_of_their_head(server: GitHubServer) -> None:
    fork = {"head": HEAD, "base_ref": "main", "merge_commit": None, "head_repository": "stranger/agent"}
    server.pulls = {
        7: {**fork, "head_ref": "change"},
        8: {**fork, "head_ref": "other"},
        9: {"head": HEAD, "base_ref": "main", "merge_commit": HEAD},
    }
    url = f"{server.api_url}/repos/octo/agent/pulls"
    listed = requests.get(url, params={"state": "all"}, timeout=5).json()
    for pull in listed:
        check(pull, "pull-request-simple")
    assert [pull["number"] for pull in listed] == [7, 8, 9]
    [found] = requests.get(url, params={"head": "stranger:change"}, timeout=5).json()
    assert (found["number"], found["head"]["repo"]["full_name"]) == (7, "stranger/agent")


@pytest.mark.parametrize("head_repository", ["stranger/agent", "octo/agent"])
def test_the_event_of_a_run_that_has_ended_has_githubs_shape(server: GitHubServer, head_repository: str) -> None:
    check(workflow_run_event(server, head=HEAD, head_repository=head_repository), "webhook-workflow-run-completed")
