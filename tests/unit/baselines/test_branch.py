"""The branch of baselines on a GitHub server: what is read, what a write leaves there, what races and refusals do."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from evaluator.baselines import Found, Missing, Unreadable, names
from evaluator.baselines.store import Place
from evaluator.errors import UserError
from evaluator.results import Acceptance
from tests.servers.github_server import Fault, GitHubServer
from tests.unit.baselines.runs import ALICE, BRANCH, a_run, a_store, baseline, by_itself, kept, main

FOLDER = names.of_branch("trap.yaml", "main")
INDEX = f"{FOLDER}/index.json"


@pytest.fixture
def code(server: GitHubServer) -> list[str]:
    """Four commits of main, each the child of the one before."""
    made = server.git.line("one", "two", "three", "four")
    server.git.branches["main"] = made[-1]
    return made


def documents(server: GitHubServer) -> list[str]:
    return [path.rsplit("/", 1)[1] for path in server.git.files(BRANCH) if "/documents/" in path]


# reading


def test_what_was_written_is_read(server: GitHubServer, code: list[str]) -> None:
    said = a_store(server).write(a_run(code[0]), ALICE, main())
    assert said == f"trapgate-baselines: main at {code[0][:12]}, the newest"
    found = a_store(server).read(main(code[1]))
    assert isinstance(found, Found)
    assert found.where == f"trapgate-baselines: main at {code[0][:12]}, the newest"
    assert (found.baseline.accepted, found.baseline.run) == (ALICE, a_run(code[0]))


def test_the_baseline_of_the_very_commit_goes_before_the_newest(server: GitHubServer, code: list[str]) -> None:
    store = a_store(server)
    for commit in code[:3]:
        store.write(a_run(commit), ALICE, main())
    found = store.read(main(code[1]))
    assert isinstance(found, Found)
    assert found.where == f"trapgate-baselines: main at {code[1][:12]}, of this very commit"
    assert found.baseline.run.commit == code[1]


def test_a_commit_whose_document_is_gone_has_the_newest_baseline(server: GitHubServer, code: list[str]) -> None:
    store = a_store(server, keep=1)
    for commit in code[:2]:
        store.write(a_run(commit), ALICE, main())
    assert baseline(store.read(main(code[0]))).run.commit == code[1]


def test_branches_and_configurations_do_not_see_each_other(server: GitHubServer, code: list[str]) -> None:
    store = a_store(server)
    store.write(a_run(code[0]), ALICE, main(branch="release/1"))
    assert not isinstance(store.read(main()), Found)
    assert not isinstance(store.read(main(branch="release/2")), Found)
    assert not isinstance(store.read(Place(None, "release/1", "evals/trap.yaml")), Found)
    assert isinstance(store.read(main(branch="release/1")), Found)


def test_another_branch_does_where_the_own_one_has_none(server: GitHubServer, code: list[str]) -> None:
    store = a_store(server)
    store.write(a_run(code[0]), ALICE, main())
    found = store.read(main(branch="feature", otherwise="main"))
    assert isinstance(found, Found)
    assert found.where == f"trapgate-baselines: main at {code[0][:12]}, the newest"


def test_everything_is_read_at_one_commit_whatever_is_written_meanwhile(server: GitHubServer, code: list[str]) -> None:
    store = a_store(server, keep=1)
    store.write(a_run(code[0]), ALICE, main())
    barrier = threading.Barrier(2)
    server.fail("GET", r"/git/blobs/", Fault(barrier=barrier))
    found: list[Any] = []
    reader = threading.Thread(target=lambda: found.append(a_store(server).read(main())))
    reader.start()
    wait_for(server, "GET", "/git/blobs/")  # now the reader knows what is on the branch
    a_store(server, keep=1).write(a_run(code[1]), ALICE, main())
    barrier.wait(timeout=10)
    reader.join()
    assert baseline(found[0]).run.commit == code[0]


def test_without_the_branch_there_is_certainly_none(server: GitHubServer) -> None:
    server.git.put(f"{BRANCH}-of-others", {"a": b"x"})
    assert a_store(server).read(main()) == Missing("trapgate-baselines: main")
    assert a_store(server).history(main()) == []


def test_a_branch_without_any_baseline_has_certainly_none(server: GitHubServer) -> None:
    server.git.put(BRANCH, {"README.md": b"hello", "acceptances.json": b"{}"})
    assert a_store(server).read(main()) == Missing("trapgate-baselines: main")


@pytest.mark.parametrize(
    ("place", "others"),
    [
        (Place(None, "trunk", "trap.yaml"), "baselines/trap.yaml/main"),
        (Place(None, "main", "evals/trap.yaml"), "baselines/trap.yaml"),
        (Place(None, "feature", "trap.yaml", "trunk"), "baselines/trap.yaml/main"),
    ],
)
def test_none_among_others_is_never_taken_for_none_yet_since_something_may_have_been_renamed(
    server: GitHubServer, code: list[str], place: Place, others: str
) -> None:
    a_store(server).write(a_run(code[0]), ALICE, main())
    assert a_store(server).read(place) == Unreadable(
        f"trapgate-baselines: {place.branch}",
        f"there is none for {place.branch} by {place.config} while there are others ({others}); where nothing was "
        "renamed or taken away, somebody has to accept the first one",
    )


def test_that_the_default_branch_is_not_known_is_said_where_its_baseline_might_do(
    server: GitHubServer, code: list[str]
) -> None:
    a_store(server).write(a_run(code[0]), ALICE, main())
    found = a_store(server).read(Place(None, "feature", "trap.yaml", None))
    assert isinstance(found, Unreadable)
    assert found.why.endswith("; which branch is the default one could not be told either")


def test_somebody_may_accept_the_first_one_of_another_branch_or_configuration(
    server: GitHubServer, code: list[str]
) -> None:
    store = a_store(server)
    store.write(a_run(code[0]), ALICE, main())
    for place in (main(branch="trunk"), Place(None, "main", "evals/trap.yaml")):
        assert store.write(a_run(code[1]), ALICE, place).endswith("the newest")
        assert baseline(store.read(place)).run.commit == code[1]


def test_a_folder_that_lost_its_index_is_unreadable_until_somebody_accepts_anew(
    server: GitHubServer, code: list[str]
) -> None:
    store = a_store(server)
    store.write(a_run(code[0]), ALICE, main())
    server.git.put(BRANCH, {INDEX: None})
    found = store.read(main())
    assert isinstance(found, Unreadable)
    assert found.why == f"{FOLDER} has no index any more"
    with pytest.raises(UserError, match="has no index any more"):
        store.history(main())
    store.write(a_run(code[1]), ALICE, main())
    assert baseline(store.read(main())).run.commit == code[1]
    assert [name[:40] for name in documents(server)] == [code[1]]


def test_how_many_other_branches_have_baselines_makes_no_listing_longer(server: GitHubServer, code: list[str]) -> None:
    store = a_store(server)
    store.write(a_run(code[0]), ALICE, main())
    documents = {f"baselines/trap.yaml/b{number}/documents/d{number}": b"x" for number in range(50)}
    server.git.put(BRANCH, {**documents, **{f"baselines/other/b{number}/index.json": b"x" for number in range(50)}})
    server.requests.clear()
    assert isinstance(a_store(server).read(main()), Found)
    asked = [request for request in server.requests if "/git/trees/" in request.path]
    assert [request.query for request in asked] == [{}] * 5, "the root, three folders and that of the documents"


def test_a_tag_of_the_same_name_is_no_branch(server: GitHubServer, code: list[str]) -> None:
    server.git.tags[BRANCH] = code[0]
    assert isinstance(a_store(server).read(main()), Missing)


@pytest.mark.parametrize("hidden", [False, True])
def test_a_token_that_may_not_read_is_told_and_never_taken_for_no_baseline(server: GitHubServer, hidden: bool) -> None:
    server.granted, server.hides_what_is_denied = set(), hidden
    with pytest.raises(UserError) as caught:
        a_store(server).read(main())
    assert caught.value.code == "github-permission"
    assert "the branch of the baselines cannot be read: HTTP 40" in str(caught.value)
    assert "permissions: {contents: read}" in str(caught.value)


def test_a_token_that_is_not_accepted_is_told_what_mends_that_and_no_permission(server: GitHubServer) -> None:
    server.fail("GET", "/git/", Fault(401, "Bad credentials"))
    with pytest.raises(UserError) as caught:
        a_store(server).read(main())
    assert (caught.value.code, str(caught.value)) == (
        "github-permission",
        "input github-token, or GITHUB_TOKEN: the branch of the baselines cannot be read: the server does not accept "
        "the token of `github-token` (Bad credentials)\n"
        "    Leave the input `github-token` out, so that it is the job's own token, or renew it.",
    )


def test_a_refusal_that_is_about_no_permission_leaves_the_baseline_unreadable(server: GitHubServer) -> None:
    server.fail("GET", "/git/", Fault(403, "Repository access blocked"))
    found = a_store(server).read(main())
    assert isinstance(found, Unreadable)
    assert found.why == "HTTP 403 (Repository access blocked)"


@pytest.mark.parametrize("path", ["/git/matching-refs/", "/git/commits/", "/git/trees/", "/git/blobs/"])
def test_a_server_that_fails_leaves_the_baseline_unreadable(server: GitHubServer, code: list[str], path: str) -> None:
    a_store(server).write(a_run(code[0]), ALICE, main())
    server.fail("GET", path, *[Fault(503)] * 20)
    found = a_store(server).read(main())
    assert isinstance(found, Unreadable)
    assert "HTTP 503" in found.why


@pytest.mark.parametrize("path", ["/git/commits/", "/git/trees/", "/git/blobs/"])
def test_what_vanished_while_it_was_read_is_unreadable_and_no_matter_of_permissions(
    server: GitHubServer, code: list[str], path: str
) -> None:
    a_store(server).write(a_run(code[0]), ALICE, main())
    server.fail("GET", path, Fault(404, "Not Found"))
    found = a_store(server).read(main())
    assert isinstance(found, Unreadable)
    assert found.why == "HTTP 404 (Not Found)"


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"tree": 7}', b"[{}]", b'{"tree": [], "truncated": true}', b"[" * 99_999]
)
@pytest.mark.parametrize("path", ["/git/matching-refs/", "/git/commits/", "/git/trees/"])
def test_an_answer_that_makes_no_sense_is_unreadable_and_never_a_baseline(
    server: GitHubServer, code: list[str], path: str, body: bytes
) -> None:
    a_store(server).write(a_run(code[0]), ALICE, main())
    server.fail("GET", path, Fault(200, body=body))
    found = a_store(server).read(main())
    if (path, body) == ("/git/matching-refs/", b"[]"):
        assert isinstance(found, Missing)
    else:
        assert isinstance(found, Unreadable)


def document_of(server: GitHubServer) -> str:
    return f"{FOLDER}/documents/{documents(server)[0]}"


@pytest.mark.parametrize(
    ("break_it", "why"),
    [
        (lambda server: {INDEX: b"{}"}, "not a readable index of baselines"),
        (lambda server: {INDEX: b"[" * 100_000}, "not a readable index of baselines"),
        (lambda server: {INDEX: b" " * (5 << 20)}, "larger than 4,194,304 bytes"),
        (lambda server: {document_of(server): b"garbage"}, "it is not gzip"),
        (lambda server: {document_of(server): None}, "is in the index, and there is no such file"),
        (
            lambda server: {INDEX: server.git.files(BRANCH)[INDEX].replace(b'"main"', b'"other"')},
            "the index is that of other by trap.yaml",
        ),
        (
            lambda server: {
                INDEX: server.git.files(BRANCH)[INDEX].replace(
                    b'"commit": "', b'"commit": "' + b"0" * 40 + b'", "x": "'
                )
            },
            "holds a run of another commit",
        ),
    ],
)
def test_what_somebody_broke_is_unreadable_with_what_is_wrong_and_never_missing(
    server: GitHubServer, code: list[str], break_it: Callable[[GitHubServer], dict[str, bytes | None]], why: str
) -> None:
    a_store(server).write(a_run(code[0]), ALICE, main())
    server.git.put(BRANCH, break_it(server))
    found = a_store(server).read(main())
    assert isinstance(found, Unreadable)
    assert why in found.why


def test_an_anchor_that_is_gone_leaves_the_baseline_unreadable(server: GitHubServer, code: list[str]) -> None:
    store = a_store(server)
    store.write(a_run(code[0]), ALICE, main())
    anchor = document_of(server)
    store.write(a_run(code[1]), by_itself(), main())
    server.git.put(BRANCH, {anchor: None})
    found = store.read(main())
    assert isinstance(found, Unreadable)
    assert "is in the index, and there is no such file" in found.why


@pytest.mark.parametrize("mode", ["120000", "160000"])
@pytest.mark.parametrize("path", ["baselines", "baselines/trap.yaml", FOLDER, INDEX, "the document"])
def test_a_link_or_submodule_in_the_place_of_a_file_or_folder_is_unreadable_and_not_followed(
    server: GitHubServer, code: list[str], path: str, mode: str
) -> None:
    a_store(server).write(a_run(code[0]), ALICE, main())
    git = server.git
    path = document_of(server) if path == "the document" else path
    before = git.trees[git.commits[git.branches[BRANCH]].tree]
    tree = {name: each for name, each in before.items() if name != path and not name.startswith(f"{path}/")}
    tree[path] = (mode, git.add_blob(b"/etc/passwd"))
    git.branches[BRANCH] = git.add_commit(git.add_tree(tree), (git.branches[BRANCH],), "a link")
    found = a_store(server).read(main())
    assert isinstance(found, Unreadable)
    assert found.why.endswith(("is no folder", "is no plain file"))


# writing


def test_a_branch_that_is_not_there_begins_a_history_of_its_own(server: GitHubServer, code: list[str]) -> None:
    server.git.branches["main"] = code[0]
    a_store(server).write(a_run(code[0]), ALICE, main())
    first = server.git.commits[server.git.branches[BRANCH]]
    assert first.parents == ()
    assert first.message == f"Baseline of main at {code[0][:12]}\n\nalice: first"
    assert sorted(path.rsplit("/", 1)[0] for path in server.git.files(BRANCH)) == [
        "README.md",
        FOLDER,
        f"{FOLDER}/documents",
    ]
    assert server.git.branches["main"] == code[0]


def test_a_write_leaves_what_others_keep_on_the_branch_alone(server: GitHubServer, code: list[str]) -> None:
    server.git.put(BRANCH, {"notes.txt": b"ours", "baselines/other=2Eyaml/main/index.json": b"theirs"})
    a_store(server).write(a_run(code[0]), ALICE, main())
    files = server.git.files(BRANCH)
    assert (files["notes.txt"], files["baselines/other=2Eyaml/main/index.json"]) == (b"ours", b"theirs")


def test_the_history_says_who_when_and_why_newest_first(server: GitHubServer, code: list[str]) -> None:
    store = a_store(server)
    store.write(a_run(code[0], passed=2, failed=2), ALICE, main())
    store.write(a_run(code[1]), by_itself(), main())
    now, before = store.history(main())
    assert (before.commit, before.at, before.by, before.why, before.explicit) == (
        code[0],
        ALICE.at,
        "alice",
        "first",
        True,
    )
    assert (now.commit, now.by, now.explicit, now.verdict) == (code[1], "trapgate", False, "pass")
    assert [(each.task, each.cases, each.metrics["pass_rate"]) for each in (*now.figures, *before.figures)] == [
        ("refunds", 4, 0.75),
        ("refunds", 4, 0.5),
    ]


def test_moves_by_themselves_keep_the_accepted_baseline_as_their_anchor(server: GitHubServer, code: list[str]) -> None:
    store = a_store(server, keep=2)
    store.write(a_run(code[0]), ALICE, main())
    for commit in code[1:]:
        store.write(a_run(commit), by_itself(), main())
    held = baseline(store.read(main()))
    assert held.run.commit == code[3]
    assert held.anchor is not None
    assert (held.anchor.accepted, held.anchor.run.commit) == (ALICE, code[0])
    assert len(documents(server)) == 3, "two that are kept, and their anchor"


def test_documents_that_are_kept_no_longer_are_taken_off_the_branch(server: GitHubServer, code: list[str]) -> None:
    store = a_store(server, keep=2)
    for commit in code:
        store.write(a_run(commit), ALICE, main())
    assert sorted(name[:40] for name in documents(server)) == sorted(code[2:])
    assert [bool(entry.file) for entry in store.history(main())] == [True, True, False, False]


def test_documents_are_bounded_in_sum(server: GitHubServer, code: list[str]) -> None:
    for commit in code:
        a_store(server, most_bytes=1).write(a_run(commit), ALICE, main())
    assert [name[:40] for name in documents(server)] == [code[3]]


def test_a_write_that_arrived_twice_stands_once(server: GitHubServer, code: list[str]) -> None:
    for _ in range(2):
        a_store(server).write(a_run(code[0]), ALICE, main())
    assert len(a_store(server).history(main())) == 1


@pytest.mark.parametrize("commit", [None, "../../etc", "main"])
def test_a_run_of_no_known_commit_is_refused(server: GitHubServer, commit: str | None) -> None:
    with pytest.raises(UserError, match="the run does not say which commit it is of"):
        a_store(server).write(a_run(commit), ALICE, main())
    assert server.requests == []


def test_a_run_that_names_no_commit_is_one_of_the_commit_that_is_checked_out(
    server: GitHubServer, code: list[str]
) -> None:
    a_store(server).write(a_run(None), ALICE, main(code[1]))
    assert baseline(a_store(server).read(main())).run.commit == code[1]


def test_nothing_is_built_on_an_index_that_cannot_be_read(server: GitHubServer, code: list[str]) -> None:
    server.git.put(BRANCH, {INDEX: b"{}"})
    with pytest.raises(UserError) as caught:
        a_store(server).write(a_run(code[0]), ALICE, main())
    assert caught.value.code == "baseline-unreadable"
    assert server.git.files(BRANCH) == {INDEX: b"{}"}


def test_a_document_that_comes_too_late_to_be_kept_is_not_left_on_the_branch(
    server: GitHubServer, code: list[str]
) -> None:
    store = a_store(server, keep=1)
    store.write(a_run(code[1]), ALICE, main())
    store.write(a_run(code[0]), ALICE, main())
    assert [name[:40] for name in documents(server)] == [code[1]]
    assert [entry.file != "" for entry in store.history(main())] == [True, False]


# order


def test_the_baseline_of_an_earlier_commit_that_comes_late_does_not_become_the_newest(
    server: GitHubServer, code: list[str]
) -> None:
    store = a_store(server)
    store.write(a_run(code[3]), ALICE, main())
    store.write(a_run(code[2]), ALICE, main())
    said = store.write(a_run(code[0]), ALICE, main())
    assert said == (
        f"trapgate-baselines: main at {code[0][:12]}, in the history only: {code[3][:12]} is a later commit and stays "
        "the newest"
    )
    assert [entry.commit for entry in store.history(main())] == [code[3], code[2], code[0]]
    assert baseline(store.read(main())).run.commit == code[3]


@pytest.mark.parametrize("known", [True, False])
def test_of_commits_that_do_not_follow_on_each_other_the_one_that_is_written_later_is_the_newest(
    server: GitHubServer, code: list[str], known: bool
) -> None:
    other = server.git.add_commit(server.git.add_tree({}), (code[0],), "aside") if known else "f" * 40
    store = a_store(server)
    store.write(a_run(code[3]), ALICE, main())
    store.write(a_run(other), ALICE, main())
    assert [entry.commit for entry in store.history(main())] == [other, code[3]]


def test_an_acceptance_from_aside_in_between_does_not_let_an_older_commit_become_the_newest(
    server: GitHubServer, code: list[str]
) -> None:
    aside = server.git.add_commit(server.git.add_tree({}), (code[0],), "squashed later")
    store = a_store(server)
    store.write(a_run(code[3]), by_itself(), main())
    store.write(a_run(aside), ALICE, main())
    said = store.write(a_run(code[2]), by_itself(), main())
    assert said.endswith(f"in the history only: {code[3][:12]} is a later commit and {aside[:12]} stays the newest")
    assert [entry.commit for entry in store.history(main())] == [aside, code[3], code[2]]


def test_a_baseline_on_top_of_the_newest_takes_one_comparison(server: GitHubServer, code: list[str]) -> None:
    store = a_store(server)
    for commit in code[:3]:
        store.write(a_run(commit), ALICE, main())
    server.requests.clear()
    store.write(a_run(code[3]), ALICE, main())
    assert sum("/compare/" in request.path for request in server.requests) == 1


# moves by themselves


def test_a_commit_that_is_no_longer_on_its_branch_moves_nothing_by_itself(
    server: GitHubServer, code: list[str]
) -> None:
    store = a_store(server)
    store.write(a_run(code[0]), ALICE, main())
    reset = server.git.add_commit(server.git.add_tree({}), (code[0],), "after the reset")
    server.git.branches["main"] = reset
    with pytest.raises(UserError) as caught:
        store.write(a_run(code[2]), by_itself(), main())
    assert caught.value.code == "baseline-not-moved"
    assert f"its commit {code[2][:12]} is not on main, which is at {reset[:12]}" in str(caught.value)
    assert store.write(a_run(reset), by_itself(), main()).endswith("the newest")
    assert store.write(a_run(code[2]), ALICE, main()).endswith("the newest"), "somebody may"


@pytest.mark.parametrize("commit", ["f" * 40, "0" * 40])
def test_a_commit_that_github_does_not_know_moves_nothing_by_itself(
    server: GitHubServer, code: list[str], commit: str
) -> None:
    with pytest.raises(UserError, match="is not on main, which is at"):
        a_store(server).write(a_run(commit), by_itself(), main())


def test_a_branch_of_the_code_that_is_gone_has_no_baseline_moved(server: GitHubServer, code: list[str]) -> None:
    del server.git.branches["main"]
    server.git.branches["main-2"] = code[0]
    with pytest.raises(UserError, match="there is no branch main on GitHub"):
        a_store(server).write(a_run(code[0]), by_itself(), main())


@pytest.mark.parametrize("path", ["/git/matching-refs/heads/main", "/compare/"])
def test_where_github_cannot_say_what_is_on_the_branch_nothing_moves(
    server: GitHubServer, code: list[str], path: str
) -> None:
    server.fail("GET", path, *[Fault(503)] * 20)
    with pytest.raises(UserError, match="the commits cannot be compared: HTTP 503"):
        a_store(server).write(a_run(code[0]), by_itself(), main())
    assert BRANCH not in server.git.branches


@pytest.mark.parametrize("place", [Place(None, "release", "trap.yaml", "main"), Place(None, "main", "evals/trap.yaml")])
def test_the_first_of_a_line_among_others_does_not_move_by_itself_since_it_would_have_no_anchor(
    server: GitHubServer, code: list[str], place: Place
) -> None:
    server.git.branches["release"] = code[1]
    store = a_store(server)
    store.write(a_run(code[0]), ALICE, main())
    with pytest.raises(UserError, match="somebody has to accept the first one") as caught:
        store.write(a_run(code[1]), by_itself(), place)
    assert caught.value.code == "baseline-not-moved"
    store.write(a_run(code[0]), ALICE, place)
    store.write(a_run(code[1]), by_itself(), place)
    held = baseline(store.read(place))
    assert held.anchor is not None
    assert held.anchor.accepted == ALICE


def test_the_very_first_of_all_moves_by_itself(server: GitHubServer, code: list[str]) -> None:
    a_store(server).write(a_run(code[0]), by_itself(), main())
    assert baseline(a_store(server).read(main())).anchor is None


# what cannot be compared


def test_commits_that_cannot_be_compared_for_now_leave_the_branch_as_it_is(
    server: GitHubServer, code: list[str]
) -> None:
    store = a_store(server)
    store.write(a_run(code[0]), ALICE, main())
    server.fail("GET", "/compare/", *[Fault(503)] * 20)
    with pytest.raises(UserError, match="the commits cannot be compared: HTTP 503"):
        store.write(a_run(code[1]), ALICE, main())
    assert [entry.commit for entry in store.history(main())] == [code[0]]


# races


@pytest.mark.parametrize("first", [True, False])
def test_two_that_write_at_once_are_both_in_the_history_and_the_later_commit_is_the_newest(
    server: GitHubServer, code: list[str], first: bool
) -> None:
    if not first:
        a_store(server).write(a_run(code[0]), ALICE, main())
    barrier = threading.Barrier(2)
    server.fail("POST" if first else "PATCH", "/git/refs", *[Fault(barrier=barrier)] * 2)
    together(*(lambda commit=commit: a_store(server).write(a_run(commit), ALICE, main()) for commit in code[1:3]))
    history = [entry.commit for entry in a_store(server).history(main())]
    assert history == [code[2], code[1], *([] if first else [code[0]])]
    assert baseline(a_store(server).read(main())).run.commit == code[2]
    assert len(documents(server)) == len(history)


def test_many_that_write_at_once_lose_nothing(server: GitHubServer) -> None:
    code = server.git.line(*map(str, range(6)))
    server.git.branches["main"] = code[-1]
    a_store(server).remember(kept(code[0]))
    together(
        *(lambda commit=commit: a_store(server).write(a_run(commit), by_itself(), main()) for commit in code),
        lambda: a_store(server).remember(kept(code[1])),
    )
    assert [entry.commit for entry in a_store(server).history(main())] == code[::-1]
    assert [a_store(server).remembered(commit) for commit in code[:2]] == [[kept(code[0])], [kept(code[1])]]


def test_a_move_that_was_overtaken_by_an_acceptance_has_it_as_its_anchor(server: GitHubServer, code: list[str]) -> None:
    a_store(server).write(a_run(code[0]), ALICE, main())
    barrier = threading.Barrier(2)
    server.fail("PATCH", "/git/refs", Fault(barrier=barrier))
    mover = threading.Thread(target=lambda: a_store(server).write(a_run(code[2]), by_itself(), main()))
    mover.start()
    wait_for(server, "PATCH", "/git/refs/")  # now the mover has built its commit
    bob = Acceptance(by="bob", at="2026-01-03T00:00:00+00:00", why="a better prompt")
    a_store(server).write(a_run(code[1]), bob, main())
    barrier.wait(timeout=10)
    mover.join()
    held = baseline(a_store(server).read(main()))
    assert held.run.commit == code[2]
    assert held.anchor is not None
    assert held.anchor.accepted == bob


def test_a_writer_that_is_overtaken_again_and_again_gives_up_with_a_reason(
    server: GitHubServer, code: list[str]
) -> None:
    a_store(server).write(a_run(code[0]), ALICE, main())
    server.fail("PATCH", "/git/refs", *[Fault(422, "Update is not a fast forward")] * 50)
    with pytest.raises(UserError, match="others wrote 10 times in between"):
        a_store(server).write(a_run(code[1]), ALICE, main())


@pytest.mark.parametrize("status", [500, 0, 409])
def test_a_write_whose_answer_was_lost_is_not_made_again(server: GitHubServer, code: list[str], status: int) -> None:
    a_store(server).write(a_run(code[0]), ALICE, main())
    server.fail("PATCH", "/git/refs", Fault(status, after=True))
    said = a_store(server).write(a_run(code[1]), ALICE, main())
    assert said.endswith("the newest")
    assert [entry.commit for entry in a_store(server).history(main())] == [code[1], code[0]]


# refusals


@pytest.mark.parametrize("hidden", [False, True])
def test_a_token_that_may_not_write_is_told_before_and_when_it_writes(
    server: GitHubServer, code: list[str], hidden: bool
) -> None:
    server.granted, server.hides_what_is_denied = {"contents: read"}, hidden
    for refused in (a_store(server).check_writable, lambda: a_store(server).write(a_run(code[0]), ALICE, main())):
        with pytest.raises(UserError) as caught:
            refused()
        assert caught.value.code == "github-permission"
        assert "permissions: {contents: write}" in str(caught.value)
    assert BRANCH not in server.git.branches


def test_a_token_that_may_write_is_let_through_and_nothing_is_to_be_seen(server: GitHubServer) -> None:
    a_store(server).check_writable()
    assert (server.git.branches, server.git.commits) == ({}, {})


@pytest.mark.parametrize("there", [False, True])
def test_a_protected_branch_is_an_error_in_githubs_own_words(
    server: GitHubServer, code: list[str], there: bool
) -> None:
    if there:
        a_store(server).write(a_run(code[0]), ALICE, main())
    server.git.protected.add(BRANCH)
    with pytest.raises(UserError) as caught:
        a_store(server).write(a_run(code[1]), ALICE, main())
    assert caught.value.code == "baseline-not-written"
    words = "Cannot update this protected ref." if there else "Reference update failed"
    assert f"could not be written: HTTP 422 ({words})" in str(caught.value)
    assert "name another under `baseline.branch`" in str(caught.value)


def test_a_branch_that_begins_with_the_name_is_in_the_way_and_said_to_be(server: GitHubServer, code: list[str]) -> None:
    server.git.put(f"{BRANCH}/old", {"a": b"x"})
    with pytest.raises(UserError, match="Reference update failed"):
        a_store(server).write(a_run(code[0]), ALICE, main())


def test_an_empty_repository_has_nothing_to_read_and_cannot_be_written(server: GitHubServer, code: list[str]) -> None:
    server.git.empty = True
    found = a_store(server).read(main())
    assert isinstance(found, Unreadable)
    assert found.why == "HTTP 409 (Git Repository is empty.)"
    with pytest.raises(UserError, match="Git Repository is empty"):
        a_store(server).write(a_run(code[0]), ALICE, main())


# acceptances


def test_an_acceptance_is_remembered_under_its_commit(server: GitHubServer, code: list[str]) -> None:
    store = a_store(server)
    assert store.remembered(code[0]) == []
    store.remember(kept(code[0]))
    store.write(a_run(code[1]), ALICE, main())
    assert (store.remembered(code[0]), store.remembered(code[1])) == ([kept(code[0])], [])


def test_acceptances_that_cannot_be_read_are_an_error_and_stay(server: GitHubServer, code: list[str]) -> None:
    server.git.put(BRANCH, {"acceptances.json": b"{"})
    for asked in (lambda: a_store(server).remembered(code[0]), lambda: a_store(server).remember(kept(code[0]))):
        with pytest.raises(UserError) as caught:
            asked()
        assert caught.value.code == "baseline-unreadable"
    assert server.git.files(BRANCH) == {"acceptances.json": b"{"}


def test_no_token_is_in_what_is_written_or_said(server: GitHubServer, code: list[str]) -> None:
    a_store(server).write(a_run(code[0]), ALICE, main())
    assert b"ghs_" not in b"".join(server.git.files(BRANCH).values())
    assert json.loads(server.git.files(BRANCH)[INDEX])["branch"] == "main"


def wait_for(server: GitHubServer, method: str, path: str) -> None:
    """Until such a request is there."""
    end = time.monotonic() + 10
    while not any(request.method == method and path in request.path for request in list(server.requests)):
        assert time.monotonic() < end, f"no {method} of {path}"
        time.sleep(0.01)


def together(*tasks: Callable[[], Any]) -> None:
    """Runs all at once; what one raises is raised."""
    failed: list[BaseException] = []

    def attempt(task: Callable[[], Any]) -> None:
        try:
            task()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=attempt, args=[task]) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    if failed:
        raise failed[0]
