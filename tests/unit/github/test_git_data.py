from __future__ import annotations

import json

import pytest

from evaluator.github.client import Client, Failure
from evaluator.github.git_data import Blob, GitData, Tip, default_branch
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
    file, empty = data.file(found, "a.txt"), data.file(found, "folder/b.txt")
    assert isinstance(file, Blob)
    assert isinstance(empty, Blob)
    assert (file.size, empty.size, data.read(file)) == (5, 0, b"hello")
    assert data.folder(found, "folder") == {"b.txt": empty}


@pytest.mark.parametrize("path", ["b.txt", "other/b.txt", "folder/other/b.txt"])
def test_what_is_not_on_the_branch_is_none(server: GitHubServer, data: GitData, path: str) -> None:
    server.git.put("b", {"a.txt": b"hello", "folder/b.txt": b""})
    assert data.file(tip(data), path) is None


def test_everything_is_read_at_one_commit_and_each_folder_is_listed_once(server: GitHubServer, data: GitData) -> None:
    server.git.put("b", {"folder/a": b"1"})
    before = tip(data)
    server.git.put("b", {"folder/a": b"22", "folder/b": b"3"})
    for _ in range(2):
        file = data.file(before, "folder/a")
        assert isinstance(file, Blob)
        assert file.size == 1
    assert sum("/git/trees/" in request.path for request in server.requests) == 2


@pytest.mark.parametrize("mode", ["120000", "160000"])
def test_what_leads_elsewhere_is_a_failure_where_it_is_looked_up(
    server: GitHubServer, data: GitData, mode: str
) -> None:
    git = server.git
    blob = git.add_blob(b"/etc/passwd")
    git.branches["b"] = git.add_commit(git.add_tree({"x": (mode, blob), "a": ("100755", blob)}), (), "a link")
    found = tip(data)
    assert data.file(found, "x") == Failure("malformed", "x is no plain file")
    assert data.file(found, "x/y") == Failure("malformed", "x is no folder")
    assert isinstance(data.file(found, "a"), Blob)


GOOD = {"path": "a", "mode": "100644", "type": "blob", "sha": "c" * 40, "size": 1}


@pytest.mark.parametrize(
    "entry",
    [
        None,
        "a",
        {**GOOD, "path": None},
        {**GOOD, "path": ""},
        {**GOOD, "path": "a/b"},
        {**GOOD, "sha": "x"},
        {**GOOD, "size": None},
        {**GOOD, "size": -1},
        {**GOOD, "size": True},
        {**GOOD, "size": "1"},
        {**GOOD, "type": "tree", "sha": None},
        {**GOOD, "path": "other"},
    ],
)
def test_an_entry_that_is_not_whole_is_a_failure_and_never_absent(
    server: GitHubServer, data: GitData, entry: object
) -> None:
    server.git.put("b", {"a": b"x"})
    body = json.dumps({"truncated": False, "tree": [{**GOOD, "path": "other"}, entry]}).encode()
    server.fail("GET", "/git/trees/", Fault(200, body=body))
    failure = data.file(tip(data), "a")
    assert isinstance(failure, Failure)
    assert failure.kind == "malformed"


def test_only_the_very_name_counts(server: GitHubServer, data: GitData) -> None:
    server.git.put("branch-2", {"a": b"x"})
    assert data.tip("branch") is None


def test_a_listing_that_is_cut_off_is_not_taken_for_all(server: GitHubServer, data: GitData) -> None:
    server.git.put("b", {"a": b"x"})
    server.fail("GET", "/git/trees/", Fault(200, body=b'{"tree": [], "truncated": true}'))
    failure = data.file(tip(data), "a")
    assert failure == Failure("malformed", "a folder of the branch has more files than the server lists")


@pytest.mark.parametrize("refs", [[{}], [{"ref": None}], [{"ref": 7}], [{"ref": "refs/heads/b-2"}, {}]])
def test_a_listing_of_branches_without_their_names_is_not_taken_for_none(
    server: GitHubServer, data: GitData, refs: list[object]
) -> None:
    server.fail("GET", "/git/matching-refs/", Fault(200, body=json.dumps(refs).encode()))
    assert data.tip("b") == Failure("malformed", "the server lists a branch without a name")


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


@pytest.mark.parametrize(
    ("commit", "to", "standing"),
    [(1, 0, "ahead"), (0, 1, "behind"), (0, 0, "identical"), (1, 2, "diverged"), (1, 3, "unknown")],
)
def test_how_two_commits_stand_to_each_other(
    server: GitHubServer, data: GitData, commit: int, to: int, standing: str
) -> None:
    one, two = server.git.line("one", "two")
    aside = server.git.add_commit(server.git.add_tree({}), (one,), "aside")
    commits = [one, two, aside, "f" * 40]
    assert data.standing(commits[commit], to=commits[to]) == standing


def test_a_comparison_that_fails_or_says_nothing_is_a_failure(server: GitHubServer, data: GitData) -> None:
    one, two = server.git.line("one", "two")
    server.fail("GET", "/compare/", Fault(200, body=b'{"status": "fine"}'))
    failure = data.standing(two, to=one)
    assert isinstance(failure, Failure)
    assert failure.kind == "malformed"
    server.fail("GET", "/compare/", *[Fault(503)] * 20)
    assert isinstance(data.standing(two, to=one), Failure)


def test_the_default_branch_is_asked_for(server: GitHubServer, data: GitData, client: Client) -> None:
    assert default_branch(client, server.repository) == "main"
    for fault in (Fault(404), Fault(200, body=b"[]"), Fault(200, body=b'{"default_branch": 7}')):
        server.fail("GET", "/repos/[^/]*/[^/]*$", fault)
        assert default_branch(client, server.repository) is None


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"sha": "../.."}', b'{"sha": 7}'])
def test_an_answer_without_an_object_is_a_failure(server: GitHubServer, data: GitData, body: bytes) -> None:
    server.fail("POST", "/git/blobs", Fault(201, body=body))
    failure = data.add(b"x")
    assert isinstance(failure, Failure)
    assert failure.kind == "malformed"
