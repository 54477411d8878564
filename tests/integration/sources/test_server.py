"""Fetching over HTTPS from a real git server: how much, with which credentials, and through which faults."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from evaluator.sources.environment import Remote
from evaluator.sources.fetch import fetch
from evaluator.sources.git import Fault, Git, GitError
from evaluator.sources.location import GitSource
from tests.integration.sources.conftest import NO_PAUSES, Fetch, Refusal, contents
from tests.integration.sources.git_server import GitServer, command_lines, serve
from tests.integration.sources.repositories import Repository

TOKEN = "s3cret/t0ken+for=tests"
TASK: dict[str, str | bytes] = {"task/a.json": "{}", "task/b/c.txt": "c", ".gitmodules": ""}
BALLAST = 30 << 20  # bytes


def add_ballast(repository: Repository) -> None:
    repository.git("config", "core.compression", "0")
    repository.write({f"video/{n}.bin": os.urandom(BALLAST // 10) for n in range(10)})


def source(server: GitServer, commit: str, subdirectory: str = "task") -> GitSource:
    return GitSource(server.url("repo"), commit, subdirectory)


def size_on_disk(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*"))


def test_of_a_large_repository_only_the_subdirectory_is_downloaded(
    repository: Repository, server: GitServer, get: Fetch, cache: Path
) -> None:
    add_ballast(repository)
    commit = repository.commit(TASK)
    repository.allow_partial_fetches()
    fetched = get(source(server, commit), server.environ())
    assert contents(fetched.directory) == {"a.json": b"{}", "b/c.txt": b"c"}
    assert server.behaviour.sent < 20_000
    assert size_on_disk(cache) < 100_000
    assert fetched.notes == ()


def test_a_server_without_filters_sends_the_whole_commit_and_a_note_says_so(
    repository: Repository, server: GitServer, get: Fetch, cache: Path
) -> None:
    add_ballast(repository)
    fetched = get(source(server, repository.commit(TASK)), server.environ())
    assert contents(fetched.directory) == {"a.json": b"{}", "b/c.txt": b"c"}
    assert server.behaviour.sent > BALLAST
    assert size_on_disk(cache) < 100_000
    assert len(fetched.notes) == 1
    assert "the whole commit was downloaded, not the subdirectory alone" in fetched.notes[0]


def test_only_the_pinned_commit_is_downloaded_and_not_its_history(
    repository: Repository, server: GitServer, get: Fetch
) -> None:
    add_ballast(repository)
    repository.commit()
    repository.git("rm", "-q", "-r", "video")
    get(source(server, repository.commit(TASK)), server.environ())
    assert server.behaviour.sent < 20_000


def test_a_server_that_gives_out_no_single_files_is_asked_for_the_commit(
    repository: Repository, server: GitServer, get: Fetch
) -> None:
    server.behaviour.protocol_2 = False
    repository.git("config", "uploadpack.allowFilter", "true")
    fetched = get(source(server, repository.commit(TASK)), server.environ())
    assert contents(fetched.directory) == {"a.json": b"{}", "b/c.txt": b"c"}
    assert "the server sends no single files" in fetched.notes[0]


def test_a_server_that_gives_out_no_old_commits_is_asked_for_its_branches(
    repository: Repository, server: GitServer, get: Fetch
) -> None:
    server.behaviour.protocol_2 = False
    commit = repository.commit(TASK)
    repository.commit({"task/a.json": "later"})
    fetched = get(source(server, commit), server.environ())
    assert contents(fetched.directory)["a.json"] == b"{}"
    assert "the server sends no single commits" in fetched.notes[0]


def test_a_server_of_plain_files_is_understood(repository: Repository, server: GitServer, get: Fetch) -> None:
    commit = repository.commit(TASK)
    bare = repository.path.parent / "bare"
    repository.git("clone", "-q", "--bare", str(repository.path), str(bare))
    repository.git("--git-dir", str(bare), "update-server-info")
    server.behaviour.dumb = True
    fetched = get(GitSource(server.url("bare"), commit, "task"), server.environ())
    assert contents(fetched.directory) == {"a.json": b"{}", "b/c.txt": b"c"}


@pytest.mark.parametrize("protocol_2", [True, False])
def test_a_missing_commit_is_named_and_not_tried_again(
    repository: Repository, server: GitServer, refusal: Refusal, protocol_2: bool
) -> None:
    repository.commit(TASK)
    server.behaviour.protocol_2 = protocol_2
    error = refusal(source(server, "1234" * 10), server.environ())
    assert error.code == "source-commit-missing"
    asked = [path for method, path, _ in server.behaviour.requests if method == "GET"]
    assert len(asked) == (1 if protocol_2 else 3)


@pytest.mark.parametrize("fault", [{"cut": 2}, {"status": [503, 429]}, {"status": [502, 500]}], ids=str)
def test_a_connection_that_fails_twice_is_tried_a_third_time(
    repository: Repository, server: GitServer, get: Fetch, fault: dict[str, object]
) -> None:
    for name, value in fault.items():
        setattr(server.behaviour, name, value)
    repository.allow_partial_fetches()
    fetched = get(source(server, repository.commit(TASK)), server.environ())
    assert contents(fetched.directory) == {"a.json": b"{}", "b/c.txt": b"c"}
    assert fetched.notes == (), "the same way was tried again, not a more expensive one"


def test_the_pauses_between_tries_are_those_given(repository: Repository, server: GitServer, tmp_path: Path) -> None:
    server.behaviour.cut = 100
    slept: list[float] = []
    remote = Remote(server.url("repo"))
    git = Git(remote, tmp_path / "r", tmp_path, server.environ(), (1.0, 3.0, 9.0), sleep=slept.append)
    with pytest.raises(GitError) as caught:
        git.network("ls-remote", "origin")
    assert caught.value.fault is Fault.NETWORK
    assert slept == [1.0, 3.0, 9.0]


def test_a_server_that_never_answers_is_given_up_with_what_git_said(
    repository: Repository, server: GitServer, refusal: Refusal
) -> None:
    commit = repository.commit(TASK)
    server.behaviour.cut = 100
    error = refusal(source(server, commit), server.environ())
    assert error.code == "source-unreachable"
    assert "git said: " in str(error)
    assert f"fatal: unable to access '{server.url('repo')}/'" in str(error)
    assert len(server.behaviour.requests) == len(NO_PAUSES) + 1


def test_a_host_that_refuses_connections_is_named(refusal: Refusal) -> None:
    error = refusal(GitSource("https://localhost:1/o/r", "1234" * 10))
    assert error.code == "source-unreachable"
    assert "localhost" in str(error)


def test_a_git_that_hangs_is_stopped_with_everything_it_started(
    repository: Repository, server: GitServer, tmp_path: Path
) -> None:
    server.behaviour.hang = threading.Event()
    git = Git(Remote(server.url("repo")), tmp_path / "r", tmp_path, server.environ(), (), timeout=2)
    started = time.monotonic()
    with pytest.raises(GitError) as caught:
        git.network("ls-remote", "origin")
    assert caught.value.fault is Fault.TIMEOUT
    assert "stopped after 2 seconds" in caught.value.said
    assert server.behaviour.requests
    while any(server.host in line for line in command_lines()):  # a killed process takes a moment to go
        assert time.monotonic() - started < 10
        time.sleep(0.05)


def test_the_token_reaches_its_server_in_the_header_and_no_list_of_processes(
    repository: Repository, server: GitServer, get: Fetch, tmp_path: Path
) -> None:
    log = tmp_path / "arguments"
    wrapper = tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nPATH={os.environ["PATH"]}\nprintf "%s\\n" "$*" >> {log}\nexec git "$@"\n')
    wrapper.chmod(0o755)
    server.behaviour.token = TOKEN
    commit = repository.commit(TASK)
    environ = server.environ(
        PATH=f"{wrapper.parent}:{os.environ['PATH']}", TRAPGATE_GIT_TOKEN=TOKEN, TRAPGATE_GIT_HOST=server.host
    )
    fetched = get(source(server, commit), environ)
    assert contents(fetched.directory)
    assert {headers["Authorization"] for _, _, headers in server.behaviour.requests} == {server.behaviour.basic()}
    secrets = (TOKEN, server.behaviour.basic().removeprefix("Basic "))
    arguments = [*log.read_text().splitlines(), *server.behaviour.processes]
    assert any("fetch" in line for line in log.read_text().splitlines())
    assert any("remote-https" in line for line in server.behaviour.processes)
    assert not [line for line in arguments if any(secret in line for secret in secrets)]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and secrets[1].encode() in path.read_bytes()]


def test_without_the_token_a_private_repository_says_which_variable_is_missing(
    repository: Repository, server: GitServer, refusal: Refusal
) -> None:
    server.behaviour.token = TOKEN
    error = refusal(source(server, repository.commit(TASK)), server.environ())
    assert error.code == "source-access-denied"
    assert "put a token that may read it into TRAPGATE_GIT_TOKEN" in str(error)


def test_a_wrong_token_is_refused_and_not_shown(repository: Repository, server: GitServer, refusal: Refusal) -> None:
    server.behaviour.token = "another"
    environ = server.environ(TRAPGATE_GIT_TOKEN=TOKEN, TRAPGATE_GIT_HOST=server.host)
    error = refusal(source(server, repository.commit(TASK)), environ)
    assert error.code == "source-access-denied"
    assert TOKEN not in str(error)
    assert "what TRAPGATE_GIT_TOKEN may read" in str(error)


def test_the_token_is_never_sent_to_a_host_that_it_is_not_for(
    repository: Repository, server: GitServer, refusal: Refusal
) -> None:
    server.behaviour.token = TOKEN
    error = refusal(source(server, repository.commit(TASK)), server.environ(TRAPGATE_GIT_TOKEN=TOKEN))
    assert "TRAPGATE_GIT_TOKEN is sent to github.com only; set TRAPGATE_GIT_HOST" in str(error)
    assert not any("Authorization" in headers for _, _, headers in server.behaviour.requests)


def test_the_token_does_not_follow_a_redirect(
    repository: Repository, server: GitServer, refusal: Refusal, certificate: Path
) -> None:
    commit = repository.commit(TASK)
    with serve(repository.path.parent, certificate) as stranger:
        server.behaviour.redirect = f"https://{stranger.host}"
        environ = server.environ(TRAPGATE_GIT_TOKEN=TOKEN, TRAPGATE_GIT_HOST=server.host)
        error = refusal(source(server, commit), environ)
        assert stranger.behaviour.requests == []
    assert error.code == "source-access-denied"
    assert "a redirect is not followed with a token" in str(error)


def test_without_a_token_a_repository_that_moved_is_followed(
    repository: Repository, server: GitServer, get: Fetch, certificate: Path
) -> None:
    commit = repository.commit(TASK)
    with serve(repository.path.parent, certificate) as moved:
        server.behaviour.redirect = f"https://{moved.host}"
        assert contents(get(source(server, commit), server.environ()).directory)


def test_a_redirect_to_plain_http_is_refused(repository: Repository, server: GitServer, refusal: Refusal) -> None:
    server.behaviour.redirect = "http://localhost:1"
    error = refusal(source(server, repository.commit(TASK)), server.environ())
    assert error.code == "source-unreachable"
    assert "protocol" in str(error).lower()
    assert len(server.behaviour.requests) == 1


def test_a_certificate_that_nobody_vouches_for_is_refused(
    repository: Repository, server: GitServer, refusal: Refusal
) -> None:
    error = refusal(source(server, repository.commit(TASK)), {"PATH": os.environ["PATH"], "GIT_SSL_NO_VERIFY": "1"})
    assert error.code == "source-unreachable"
    assert "certificate" in str(error)
    assert "GIT_SSL_CAINFO" in str(error)


def test_ssh_runs_without_prompts_and_gets_the_agent_but_no_token(repository: Repository, tmp_path: Path) -> None:
    log = tmp_path / "ssh.log"
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(
        "#!/bin/sh\n"
        f'printf "%s\\n" "$*" "HOME=$HOME" "SSH_AUTH_SOCK=$SSH_AUTH_SOCK" >> {log}\n'
        f"env >> {log}\n"
        'for last in "$@"; do :; done\n'
        'exec sh -c "$last"\n'
    )
    ssh.chmod(0o755)
    commit = repository.commit(TASK)
    environ = {
        "PATH": f"{ssh.parent}:{os.environ['PATH']}",
        "HOME": "/home/someone",
        "SSH_AUTH_SOCK": "/run/agent",
        "TRAPGATE_GIT_TOKEN": TOKEN,
    }
    fetched = fetch(
        GitSource(f"ssh://git@localhost{repository.path}", commit, "task"),
        base=tmp_path,
        cache=tmp_path / "cache",
        environ=environ,
        pauses=(),
    )
    assert contents(fetched.directory) == {"a.json": b"{}", "b/c.txt": b"c"}
    said = log.read_text()
    assert "-oBatchMode=yes" in said
    assert "git@localhost" in said
    assert "HOME=/home/someone" in said
    assert "SSH_AUTH_SOCK=/run/agent" in said
    assert TOKEN not in said
