"""The second stage as a process: the action with `mode: publish`, and `trapgate publish` in a step of one's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from evaluator.github.comments import marker
from evaluator.results import decode_run, encode
from tests.integration.github import agent
from tests.integration.github.test_entrypoint import ROOT, act
from tests.servers.actions_runner import TOKEN, ActionsRunner
from tests.servers.github_actions import add_artifact, workflow_run_event, zipped
from tests.servers.github_server import Fault, GitHubServer
from tests.servers.model_server import ModelServer

FORK = "stranger/agent"
CLI = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from evaluator.cli import console; console()"
TITLE = "reported by the fork's own run; nothing of it was checked here"


@pytest.fixture
def first(tmp_path: Path, server: GitHubServer) -> ActionsRunner:
    """The job of the first stage, on the pull request of a fork."""
    return ActionsRunner(tmp_path / "first", server)


@pytest.fixture
def second(tmp_path: Path, server: GitHubServer, first: ActionsRunner) -> ActionsRunner:
    server.granted = {"actions: read", "pull-requests: write", "metadata: read"}
    server.pulls = {
        7: {
            "head": first.head,
            "base_ref": "main",
            "merge_commit": None,
            "head_ref": "change",
            "head_repository": FORK,
        }
    }
    return ActionsRunner(tmp_path / "second", server)


def environ(runner: ActionsRunner, **inputs: str) -> dict[str, str]:
    """A job in which nothing was checked out."""
    event = workflow_run_event(runner.server, head=runner.head)
    made = runner.environ("workflow_run", event, **inputs)
    shutil.rmtree(runner.workspace / ".git")
    return made


def result(first: ActionsRunner) -> bytes:
    """What the first stage of the fork leaves: a real evaluation, without a comment."""
    first.write(agent.files())
    first.on_base("trap.yaml", agent.CONFIG)
    with ModelServer(agent.good) as model:
        event = first.pull_request(head_repository=FORK)
        ended = act(first, first.environ("pull_request", event) | agent.provider(model))
    assert first.server.comments == {}, ended.stdout + ended.stderr
    return (first.workspace / "trapgate-results" / "results.json").read_bytes()


def test_what_a_forks_run_leaves_is_commented_by_the_second_workflow(
    first: ActionsRunner, second: ActionsRunner, server: GitHubServer
) -> None:
    server.granted = {"contents: read", "metadata: read", "pull-requests: read"}
    left = result(first)
    server.granted = {"actions: read", "pull-requests: write", "metadata: read"}
    add_artifact(server, zipped({"results.json": left, "comment.md": b"", "report.html": b""}))
    ended = act(second, environ(second, mode="publish"))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    [comment] = server.comments[7]
    assert comment["body"].startswith(marker("publish:trapgate-results", "evals"))
    assert f"“{decode_run(left, 'left').verdict}” — {TITLE}" in comment["body"]
    assert second.outputs()["comment-url"] == comment["html_url"]
    assert second.outputs()["verdict"] == ""
    assert "Authorization" not in server.storage.headers[0]
    assert list(second.workspace.iterdir()) == []
    assert TOKEN not in ended.stdout.replace(f"::add-mask::{TOKEN}", "") + ended.stderr


def test_a_forged_artifact_ends_with_0_a_warning_and_no_comment(second: ActionsRunner, server: GitHubServer) -> None:
    add_artifact(server, zipped({"results.json": b" " * (100 << 20)}))
    ended = act(second, environ(second, mode="publish"))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (
        "::warning title=trapgate%3A not published::Artifact trapgate-results: Nothing of it is used:" in ended.stdout
    )
    assert server.comments == {}
    assert "Nothing of it is used" in second.summary.read_text()


def test_a_missing_permission_ends_with_2_and_names_all_that_the_job_needs(
    second: ActionsRunner, server: GitHubServer
) -> None:
    server.granted = {"metadata: read", "pull-requests: write"}
    ended = act(second, environ(second, mode="publish"))
    assert ended.returncode == 2, ended.stdout + ended.stderr
    assert "permissions: {pull-requests: write, actions: read}" in second.summary.read_text()
    assert "github-permission" in ended.stdout
    assert second.outputs()["exit-code"] == "2"


def test_the_wrong_event_or_mode_ends_with_2_and_how_to_mend_it(second: ActionsRunner) -> None:
    ended = act(second, second.environ("pull_request", second.pull_request(), mode="publish"))
    assert ended.returncode == 2
    assert "`mode: publish` is for `on: workflow_run`, not for `on: pull_request`" in ended.stdout
    ended = act(second, environ(second))
    assert ended.returncode == 2
    assert "`mode: publish`" in ended.stdout


def publish_command(
    runner: ActionsRunner, settings: dict[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in settings.items() if not name.startswith("INPUT_")}
    return subprocess.run(
        [sys.executable, "-I", "-B", "-X", "importtime", "-c", CLI, "publish", *arguments],
        env={"PATH": os.environ["PATH"], "GITHUB_TOKEN": TOKEN, **variables},
        cwd=runner.workspace,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_command_publishes_with_the_runners_variables_and_no_model_library(
    second: ActionsRunner, server: GitHubServer
) -> None:
    from tests.unit.reports import builders

    run = msgspec.structs.replace(builders.passing(), commit=second.head)
    add_artifact(server, zipped({"results.json": encode(run)}), "evals-a")
    ended = publish_command(second, environ(second), "--artifact", "evals-*")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert TITLE in server.comments[7][0]["body"]
    assert "Published on pull request 7." in ended.stdout
    assert server.requests[0].headers["Authorization"] == f"Bearer {TOKEN}"
    assert "litellm" not in ended.stderr


def test_the_command_refuses_another_event(second: ActionsRunner) -> None:
    ended = publish_command(second, second.environ("push", {"ref": "refs/heads/main"}))
    assert ended.returncode == 2
    assert "not for `on: push`" in ended.stdout


def test_what_the_command_says_to_the_runner_is_a_command(second: ActionsRunner) -> None:
    settings = environ(second)
    ended = publish_command(second, {**settings, "GITHUB_REPOSITORY": "", "GITHUB_SHA": ""})
    assert ended.returncode == 2
    lines = ended.stdout.splitlines()
    assert [
        line for line in lines if line.startswith("::error title=trapgate%3A action-environment::GITHUB_SHA: is not")
    ]
    assert not [line for line in lines if line.startswith(": :")]


def test_a_server_that_stays_down_ends_with_3(second: ActionsRunner, server: GitHubServer) -> None:
    server.fail("GET", "/pulls$", Fault(429, headers={"Retry-After": "3600"}))
    began = time.monotonic()
    ended = act(second, environ(second, mode="publish"))
    assert ended.returncode == 3, ended.stdout + ended.stderr
    assert time.monotonic() - began < 30
    assert "::error title=trapgate%3A not published::The pull request cannot be found: rate limit" in ended.stdout
