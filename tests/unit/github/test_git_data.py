from __future__ import annotations

import pytest

from evaluator.github.client import Client, Failure
from evaluator.github.git_data import Blob, GitData, Tip
from tests.servers.github_server import Fault, GitHubServer


@pytest.fixture
def data(server: GitHubServer, client: Client) -> GitData:
    server.granted |= {"contents: write"}
    return GitData(client, server.repository)


def tip(data: GitData, branch: str = "b") -> Tip:
    found = data.tip(branch)
    assert isinstance(found, Tip)
    return found


def test_a_branch_is_read_with_its_files_and_their_sizes(server: GitHubServer, data: GitData) -> None:
    commit = server.git.put("b", {"a.txt": b"hello", "folder/b.txt": b""})
    found = tip(data)
    assert found.commit == commit
    assert {path: blob.size for path, blob in found.files.items()} == {"a.txt": 5, "folder/b.txt": 0}
    assert data.read(found.files["a.txt"]) == b"hello"


def test_only_the_very_name_counts(server: GitHubServer, data: GitData) -> None:
    server.git.put("branch-2", {"a": b"x"})
    assert data.tip("branch") is None


def test_a_listing_that_is_cut_off_is_not_taken_for_all(server: GitHubServer, data: GitData) -> None:
    server.git.put("b", {"a": b"x"})
    server.fail("GET", "/git/trees/", Fault(200, body=b'{"tree": [], "truncated": true}'))
    assert data.tip("b") == Failure("malformed", "the branch has more files than the server lists")


def test_a_commit_changes_adds_and_deletes_and_leaves_the_rest(server: GitHubServer, data: GitData) -> None:
    server.git.put("b", {"changed": b"1", "deleted": b"1", "kept": b"1"})
    before = tip(data)
    blob = data.add(b"\xff\x00")
    assert isinstance(blob, Blob)
    commit = data.commit(before, {"changed": b"2", "deleted": None, "new/binary": blob}, "message")
    assert isinstance(commit, str)
    assert tip(data) == before, "nobody sees it yet"
    assert data.advance("b", commit, before) is None
    assert server.git.files("b") == {"changed": b"2", "kept": b"1", "new/binary": b"\xff\x00"}
    assert server.git.commits[commit].parents == (before.commit,)


def test_a_branch_that_moved_meanwhile_is_not_overwritten(server: GitHubServer, data: GitData) -> None:
    server.git.put("b", {"a": b"1"})
    before = tip(data)
    commit = data.commit(before, {"a": b"ours"}, "ours")
    server.git.put("b", {"a": b"theirs"})
    assert isinstance(commit, str)
    assert data.advance("b", commit, before) == Failure("refused", "HTTP 422 (Update is not a fast forward)", 422)
    assert server.git.files("b") == {"a": b"theirs"}


def test_a_branch_is_made_where_there_is_none_and_once_only(server: GitHubServer, data: GitData) -> None:
    commit = data.commit(None, {"a": b"1"}, "first")
    assert isinstance(commit, str)
    assert data.advance("b/c", commit, None) is None
    assert tip(data, "b/c").commit == commit
    assert data.advance("b/c", commit, None) == Failure("refused", "HTTP 422 (Reference already exists)", 422)


@pytest.mark.parametrize(("commit", "of", "ahead"), [(1, 0, True), (0, 1, False), (0, 0, False)])
def test_a_descendant_is_ahead_and_nothing_else_is(
    server: GitHubServer, data: GitData, commit: int, of: int, ahead: bool
) -> None:
    line = server.git.line("one", "two")
    assert data.is_ahead(line[commit], of=line[of]) is ahead


def test_a_commit_that_the_server_does_not_know_is_not_ahead(server: GitHubServer, data: GitData) -> None:
    (commit,) = server.git.line("one")
    assert data.is_ahead("f" * 40, of=commit) is False
    server.fail("GET", "/compare/", *[Fault(503)] * 20)
    assert isinstance(data.is_ahead(commit, of=commit), Failure)


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"sha": "../.."}', b'{"sha": 7}'])
def test_an_answer_without_an_object_is_a_failure(server: GitHubServer, data: GitData, body: bytes) -> None:
    server.fail("POST", "/git/blobs", Fault(201, body=body))
    failure = data.add(b"x")
    assert isinstance(failure, Failure)
    assert failure.kind == "malformed"
