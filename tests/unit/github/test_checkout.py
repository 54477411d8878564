"""What is checked out, in real repositories."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evaluator.errors import UserError
from evaluator.github.checkout import Seen, look
from evaluator.github.environment import Environment, Inputs
from evaluator.github.events import Activity

PUSH = Activity(base_ref="main", moves=True)
OTHER = "d" * 40


def git(repository: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Octo", "-c", "user.email=octo@example.com")
    done = subprocess.run(["git", *identity, *arguments], cwd=repository, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def checkout(folder: Path) -> str:
    """A repository with two commits; the id of the last."""
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "trap.yaml").write_text("tasks: {}\n")
    git(folder, "add", ".")
    for message in ("first", "second"):
        git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def settings(workspace: Path, sha: str) -> Environment:
    return Environment(
        api_url="https://api.github.com",
        server_url="https://github.com",
        event_name="push",
        event_path=workspace,
        repository="octo/agent",
        sha=sha,
        ref="refs/heads/main",
        job="evals",
        workspace=workspace,
        runner_temp=workspace,
        output_file=workspace,
        summary_file=workspace,
        began=datetime.now(UTC),
        inputs=Inputs(),
    )


def seen(workspace: Path, sha: str, activity: Activity = PUSH, path: str = "trap.yaml") -> Seen:
    return look(settings(workspace, sha), activity, workspace / path)


def change(head: str) -> Activity:
    return Activity(pull_request=7, base_sha="a" * 40, head_sha=head, base_ref="main", rules_from_base=True)


@pytest.mark.parametrize("how", ["branch", "detached", "packed", "worktree"])
def test_the_commit_of_the_event_is_known_however_it_is_checked_out(workspace: Path, how: str) -> None:
    if how == "worktree":
        head = checkout(workspace.parent / "main")
        git(workspace.parent / "main", "worktree", "add", "-q", "--detach", str(workspace))
    else:
        head = checkout(workspace)
    if how == "detached":
        git(workspace, "checkout", "-q", "--detach")
    if how == "packed":
        git(workspace, "pack-refs", "--all")
    assert seen(workspace, head) == Seen()


def test_on_a_pull_request_its_head_is_as_good_as_its_merge(workspace: Path) -> None:
    head = checkout(workspace)
    assert seen(workspace, OTHER, change(head)) == Seen()
    assert seen(workspace, head, change(OTHER)) == Seen()


def test_another_commit_is_named_and_neither_accepts_nor_moves(workspace: Path) -> None:
    head = checkout(workspace)
    note = f"The checkout is of {head[:12]}, and the event is about {OTHER[:12]}: "
    assert seen(workspace, OTHER) == Seen(True, note + "nothing is accepted and no baseline is moved.")


@pytest.mark.parametrize("activity", [change(OTHER), replace(change(OTHER), pull_request=None, before="a" * 40)])
def test_where_a_pass_is_merged_another_commit_is_an_error_that_says_what_to_remove(
    workspace: Path, activity: Activity
) -> None:
    head = checkout(workspace)
    with pytest.raises(UserError) as caught:
        seen(workspace, OTHER, activity)
    assert caught.value.code == "checkout-other"
    assert f"The checkout is of {head[:12]}, and the event is about {OTHER[:12]}" in str(caught.value)
    assert "Remove `ref:` and `repository:`" in str(caught.value)


def target(head: str) -> Activity:
    return replace(change(head), target=True, comment=True)


def test_on_pull_request_target_the_head_of_the_pull_request_is_what_has_to_be_checked_out(workspace: Path) -> None:
    head = checkout(workspace)
    assert seen(workspace, OTHER, target(head)) == Seen()


def test_on_pull_request_target_the_commit_of_the_run_is_the_base_and_no_stand_in_for_the_change(
    workspace: Path,
) -> None:
    tip = checkout(workspace)
    with pytest.raises(UserError) as caught:
        seen(workspace, tip, target(OTHER))
    assert caught.value.code == "checkout-other"
    assert str(caught.value) == (
        f"actions/checkout: The checkout is of {tip[:12]}, and on pull_request_target it has to be the head of the "
        f"pull request, {OTHER[:12]}: else the base is judged in the name of the change\n    Give that step "
        "`ref: ${{ github.event.pull_request.head.sha }}` and `persist-credentials: false`."
    )


def test_on_pull_request_target_a_merge_of_the_head_is_not_taken_since_anybody_may_have_made_it(
    workspace: Path,
) -> None:
    tip = checkout(workspace)
    git(workspace, "checkout", "-q", "-b", "topic")
    git(workspace, "commit", "-q", "--allow-empty", "-m", "head")
    head = git(workspace, "rev-parse", "HEAD")
    git(workspace, "checkout", "-q", "main")
    git(workspace, "merge", "-q", "--no-ff", "-m", "merge", "topic")
    assert git(workspace, "show", "-s", "--format=%P").split() == [tip, head]
    with pytest.raises(UserError, match="it has to be the head of the pull request"):
        seen(workspace, tip, target(head))


@pytest.mark.parametrize("broken", [False, True])
def test_on_pull_request_target_files_that_nothing_vouches_for_are_not_taken(workspace: Path, broken: bool) -> None:
    if broken:
        (workspace / ".git").mkdir()
    with pytest.raises(UserError, match="What is checked out cannot be told, and on pull_request_target it has to be"):
        seen(workspace, OTHER, target("e" * 40))


def test_without_a_repository_a_first_line_says_that_nobody_knows(workspace: Path) -> None:
    for activity in (PUSH, change(OTHER)):
        got = seen(workspace, OTHER, activity)
        assert not got.other
        assert got.note.startswith("There is no repository in the workspace")


def test_a_repository_that_cannot_be_read_is_none_of_the_event(workspace: Path) -> None:
    (workspace / ".git").mkdir()
    git(workspace.parent, "init", "-q")  # an outer one does not stand in for it
    assert seen(workspace, OTHER).other
    with pytest.raises(UserError, match="What is checked out cannot be told"):
        seen(workspace, OTHER, change(OTHER))


def test_the_repository_in_a_folder_of_the_workspace_counts_and_no_submodule_of_it(workspace: Path) -> None:
    head = checkout(workspace / "agent")
    inner = checkout(workspace / "agent" / "evals")
    assert seen(workspace, head, path="agent/evals/trap.yaml") == Seen()
    assert inner == head or seen(workspace, inner, path="agent/evals/trap.yaml").other


def test_the_environment_of_earlier_steps_leads_to_no_other_repository_and_no_hook_runs(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = checkout(workspace)
    elsewhere = workspace.parent / "elsewhere"
    checkout(elsewhere)
    git(elsewhere, "commit", "-q", "--allow-empty", "-m", "third")
    monkeypatch.setenv("GIT_DIR", str(elsewhere / ".git"))
    monkeypatch.chdir(workspace)
    tool = workspace / "bin" / "git"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\ntouch {workspace}/ran\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"bin{os.pathsep}{os.environ['PATH']}")
    git_config = workspace / ".git" / "config"
    git_config.write_text(git_config.read_text() + f"\tfsmonitor = touch {workspace}/ran\n\tpager = touch\n")
    assert seen(workspace, head) == Seen()
    assert not (workspace / "ran").exists()
