"""The runner of git: bounded output, and nothing said to anybody by commands that are local."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evaluator.sources.environment import Remote
from evaluator.sources.git import Fault, Git, GitError
from tests.integration.sources.git_server import GitServer
from tests.integration.sources.repositories import Repository


def empty_repository(remote: Remote, folder: Path, environ: dict[str, str], max_output: int) -> Git:
    home = folder / "home"
    home.mkdir()
    git = Git(remote, folder / "bare", home, environ, pauses=(), max_output=max_output)
    git.local("init", "--quiet", "--bare", "--template=", str(git.repository))
    return git


def test_an_answer_beyond_the_limit_ends_the_command(repository: Repository, tmp_path: Path) -> None:
    blob = repository.blob(b"x" * 100_000)
    git = Git(Remote(repository.url), repository.path / ".git", tmp_path, {"PATH": os.environ["PATH"]})
    assert len(git.local("cat-file", "blob", blob, limit=200_000)) == 100_000
    with pytest.raises(GitError) as caught:
        git.local("cat-file", "blob", blob, limit=50_000)
    assert caught.value.fault is Fault.TOO_LARGE


def test_a_server_that_sends_more_than_the_limit_is_cut_off(
    repository: Repository, server: GitServer, tmp_path: Path
) -> None:
    commit = repository.commit({"large": os.urandom(3 << 20)})
    remote = Remote(server.url("repo"))
    git = empty_repository(remote, tmp_path, server.environ(), max_output=1 << 20)
    with pytest.raises(GitError) as caught:
        git.network("fetch", "--quiet", "--depth=1", "origin", commit)
    assert caught.value.fault is Fault.TOO_LARGE
    error = caught.value.as_user_error(remote, server.environ(), "tasks.a")
    assert error.code == "source-too-large"
    assert "the repository sent more than 2 GiB" in str(error)


def test_a_local_command_asks_nobody_even_where_objects_are_missing(
    repository: Repository, server: GitServer, tmp_path: Path
) -> None:
    commit = repository.commit({"file": "content"})
    repository.allow_partial_fetches()
    git = empty_repository(Remote(server.url("repo"), partial=True), tmp_path, server.environ(), 1 << 20)
    git.network("fetch", "--quiet", "--depth=1", "--filter=blob:none", "origin", commit)
    asked = len(server.behaviour.requests)
    with pytest.raises(GitError):
        git.local("cat-file", "blob", f"{commit}:file")
    assert len(server.behaviour.requests) == asked
