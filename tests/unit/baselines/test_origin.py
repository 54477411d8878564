from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from evaluator import config as configuration
from evaluator.baselines.file import FileStore
from evaluator.baselines.origin import GitHub, current_branch, default_branch, github, proposed
from evaluator.baselines.store import Place
from evaluator.baselines.stores import STORES, here, open_store
from evaluator.config.types import Config
from evaluator.errors import UserError
from tests.servers.github_server import Fault, GitHubServer

TOKEN = {"GITHUB_TOKEN": "ghs_x"}
GHES = {"GITHUB_SERVER_URL": "https://git.example.com"}


def git(folder: Path, *arguments: str) -> str:
    options = ("-c", "user.name=o", "-c", "user.email=o@example.com", "-c", "init.defaultBranch=main")
    return subprocess.run(
        ["git", *options, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with one commit on main."""
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "first")
    return tmp_path


def on_branch(store: str = "branch") -> Config:
    return configuration.parse(
        f"model: m/m\ntasks: {{t: {{source: ./t}}}}\nbaseline: {{store: {store}}}\n", "trap.yaml"
    )


@pytest.mark.parametrize(
    ("url", "server", "api"),
    [
        ("https://github.com/octo/agent.git", {}, "https://api.github.com"),
        ("https://github.com/octo/agent", {}, "https://api.github.com"),
        ("https://user:secret@github.com/octo/agent/", {}, "https://api.github.com"),
        ("git@github.com:octo/agent.git", {}, "https://api.github.com"),
        ("ssh://git@github.com:22/octo/agent.git", {}, "https://api.github.com"),
        ("git@git.example.com:octo/agent.git", GHES, "https://git.example.com/api/v3"),
        ("https://GitHub.com/octo/agent", {"GITHUB_API_URL": "http://127.0.0.1:1/"}, "http://127.0.0.1:1"),
    ],
)
def test_the_repository_is_that_of_origin(clone: Path, url: str, server: dict[str, str], api: str) -> None:
    git(clone, "remote", "add", "origin", url)
    assert github(clone, TOKEN | server) == GitHub(api, "octo/agent", "ghs_x")


@pytest.mark.parametrize(
    ("url", "server", "what"),
    [
        (
            "https://evil.example.com/octo/agent",
            {},
            "(evil.example.com/octo/agent) is no repository on https://github.com",
        ),
        ("git@gitlab.com:octo/agent.git", {}, "(gitlab.com/octo/agent) is no repository on https://github.com"),
        ("https://github.com/octo/agent", GHES, "is no repository on https://git.example.com"),
        ("https://github.com.evil.example.com/octo/agent", {}, "is no repository on https://github.com"),
        ("https://github.com@evil.example.com/octo/agent", {}, "is no repository on https://github.com"),
        ("https://github.com/octo/../agent", {}, "is no repository on https://github.com"),
        ("https://github.com/octo", {}, "is no repository on https://github.com"),
        ("/srv/git/agent.git", {}, "is no repository on https://github.com"),
        ("https://[github.com/octo/agent", {}, "is no repository on https://github.com"),
    ],
)
def test_a_token_goes_to_no_other_server(clone: Path, url: str, server: dict[str, str], what: str) -> None:
    git(clone, "remote", "add", "origin", url)
    with pytest.raises(UserError) as caught:
        github(clone, TOKEN | server)
    assert caught.value.code == "baseline-no-repository"
    assert what in str(caught.value)


def test_a_secret_in_the_address_of_origin_is_not_shown(clone: Path) -> None:
    git(clone, "remote", "add", "origin", "https://user:hunter2@evil.example.com/octo/agent")
    with pytest.raises(UserError) as caught:
        github(clone, TOKEN)
    assert "hunter2" not in str(caught.value)


def test_the_environment_goes_before_origin(clone: Path) -> None:
    git(clone, "remote", "add", "origin", "https://evil.example.com/octo/agent")
    assert github(clone, TOKEN | {"GITHUB_REPOSITORY": "octo/other"}).repository == "octo/other"


@pytest.mark.parametrize("name", ["octo", "octo/agent/x", "octo/..", "../x", "octo/agent?x"])
def test_a_malformed_repository_is_refused(clone: Path, name: str) -> None:
    with pytest.raises(UserError, match=r"GITHUB_REPOSITORY is `.*`, which is not of the form owner/name"):
        github(clone, TOKEN | {"GITHUB_REPOSITORY": name})


def test_what_is_missing_is_named(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(UserError, match="no remote `origin`, and GITHUB_REPOSITORY is not set"):
        github(tmp_path_factory.mktemp("empty"), TOKEN)
    with pytest.raises(UserError) as caught:
        github(clone, {"GITHUB_REPOSITORY": "octo/agent"})
    assert caught.value.code == "baseline-no-token"
    assert "the baselines are on a branch of octo/agent, and there is no token" in str(caught.value)
    assert github(clone, {"GITHUB_REPOSITORY": "octo/agent", "GH_TOKEN": "gho_y"}).token == "gho_y"


def test_a_token_is_not_in_what_is_printed_of_the_server(clone: Path) -> None:
    assert "ghs_x" not in repr(github(clone, TOKEN | {"GITHUB_REPOSITORY": "octo/agent"}))


def test_the_branch_is_the_one_that_is_checked_out(clone: Path) -> None:
    assert current_branch(clone, {}) == "main"
    git(clone, "checkout", "--quiet", "-b", "release/1")
    assert current_branch(clone, {}) == "release/1"
    git(clone, "checkout", "--quiet", "--detach")
    assert current_branch(clone, {}) is None


@pytest.mark.parametrize(
    ("environ", "branch"),
    [
        ({"GITHUB_REF": "refs/heads/release/1"}, "release/1"),
        ({"GITHUB_REF": "refs/pull/7/merge", "GITHUB_BASE_REF": "main"}, "main"),
        ({"GITHUB_REF": "refs/tags/v1", "GITHUB_BASE_REF": ""}, None),
        ({"GITHUB_REF": "refs/heads/gh-readonly-queue/main/pr-7-0a1b2c"}, "main"),
        ({"GITHUB_REF": "refs/heads/gh-readonly-queue/release/v2/pr-7-0a1b2c"}, "release/v2"),
        ({"GITHUB_REF": "refs/heads/gh-readonly-queue/main"}, None),
        ({"GITHUB_REF": "refs/heads/"}, None),
        ({}, None),
    ],
)
def test_a_job_says_its_branch_in_the_environment(clone: Path, environ: dict[str, str], branch: str | None) -> None:
    assert current_branch(clone, {"GITHUB_ACTIONS": "true", **environ}) == branch


def event(tmp_path: Path, payload: object) -> dict[str, str]:
    """A job of GitHub Actions on main whose event says `payload`."""
    path = tmp_path / "event.json"
    path.write_text(json.dumps(payload))
    return {"GITHUB_ACTIONS": "true", "GITHUB_REF": "refs/heads/main", "GITHUB_EVENT_PATH": str(path)}


def test_a_review_of_a_pull_request_names_the_base_in_its_event(clone: Path) -> None:
    environ = event(clone, {"pull_request": {"base": {"ref": "release"}}}) | {"GITHUB_REF": "refs/pull/7/merge"}
    assert current_branch(clone, environ) == "release"


@pytest.mark.parametrize(
    ("environ", "what"),
    [
        ({"GITHUB_REF": "refs/heads/main"}, ""),
        ({"GITHUB_REF": "refs/tags/v1"}, ""),
        ({"GITHUB_REF": "refs/pull/7/merge", "GITHUB_BASE_REF": "main"}, "a pull request"),
        ({"GITHUB_REF": "refs/pull/7/merge"}, "a pull request"),
        ({"GITHUB_REF": "refs/heads/change", "GITHUB_BASE_REF": "main"}, "a pull request"),
        ({"GITHUB_REF": "refs/heads/gh-readonly-queue/main/pr-7-0a1b2c"}, "a merge queue"),
    ],
)
def test_a_job_on_what_is_not_merged_yet_is_told_apart(environ: dict[str, str], what: str) -> None:
    assert proposed({"GITHUB_ACTIONS": "true", **environ}) == what
    assert proposed(environ) == "", "no job of GitHub Actions"


def test_a_job_knows_the_default_branch_from_its_event(clone: Path) -> None:
    environ = event(clone, {"repository": {"default_branch": "trunk"}})
    assert default_branch(clone, environ) == "trunk"
    assert here(on_branch(), clone / "trap.yaml", environ).otherwise == "trunk"
    assert default_branch(clone, {**environ, "GITHUB_ACTIONS": ""}) is None


@pytest.mark.parametrize("payload", [{}, [], None, {"repository": 7}, {"repository": {"default_branch": ["x"]}}])
def test_an_event_that_does_not_say_the_default_branch_leaves_it_to_github(
    clone: Path, server: GitHubServer, payload: object
) -> None:
    environ = event(clone, payload) | TOKEN
    environ |= {"GITHUB_API_URL": server.api_url, "GITHUB_REPOSITORY": server.repository}
    assert default_branch(clone, environ) is None
    git(clone, "checkout", "--quiet", "-b", "feature")
    feature = {**environ, "GITHUB_REF": "refs/heads/feature"}
    assert here(on_branch(), clone / "trap.yaml", feature).otherwise == "main"
    assert here(on_branch(), clone / "trap.yaml", environ).otherwise == "", "main itself"
    server.fail("GET", "/repos/octo/agent$", Fault(404))
    assert here(on_branch(), clone / "trap.yaml", feature).otherwise is None


def test_an_event_that_cannot_be_read_says_nothing(clone: Path) -> None:
    assert default_branch(clone, {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": str(clone / "none")}) is None
    assert default_branch(clone, {"GITHUB_ACTIONS": "true"}) is None


def test_the_place_is_that_of_the_work_folder(clone: Path) -> None:
    (clone / "evals").mkdir()
    head = git(clone, "rev-parse", "HEAD")
    git(clone, "update-ref", "refs/remotes/origin/main", head)
    git(clone, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    path = clone / "evals" / "trap.yaml"
    assert default_branch(clone, {}) == "main"
    assert here(on_branch(), path, {}) == Place(head, "main", "evals/trap.yaml")
    git(clone, "checkout", "--quiet", "-b", "feature")
    assert here(on_branch(), path, {}) == Place(head, "feature", "evals/trap.yaml", "main")
    assert here(on_branch(), path, {}, "release") == Place(head, "release", "evals/trap.yaml")


def test_without_a_branch_it_is_not_known_whose_baseline_is_meant(clone: Path) -> None:
    git(clone, "checkout", "--quiet", "--detach")
    with pytest.raises(UserError, match="no branch is checked out"):
        here(on_branch(), clone / "trap.yaml", {})
    assert here(on_branch(), clone / "trap.yaml", {}, "main").branch == "main"


def test_a_file_needs_neither_git_nor_a_server(tmp_path: Path) -> None:
    assert isinstance(open_store(on_branch("file"), tmp_path, {}), FileStore)
    assert here(on_branch("file"), tmp_path / "trap.yaml", {}) == Place(None, "", "")


def test_every_store_that_a_file_may_name_is_there() -> None:
    import typing

    from evaluator.config.types import BaselineConfig

    assert set(typing.get_args(typing.get_type_hints(BaselineConfig)["store"])) == set(STORES)
