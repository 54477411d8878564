"""One issue for the nights that do not pass, against a GitHub server."""

from __future__ import annotations

import threading

import pytest

from evaluator.github.client import Client, Failure
from evaluator.github.tracking_issue import TrackingIssue
from tests.servers import github_issues
from tests.servers.github_server import ACTIONS_BOT, Fault, GitHubServer
from tests.unit.github.conftest import TOKEN, MakeClient

MARK = "<!-- trapgate:0123456789abcdef -->"


@pytest.fixture(autouse=True)
def grants(server: GitHubServer) -> None:
    server.granted |= {"issues: write"}


def tracking(client: Client, mark: str = MARK, token: str = TOKEN) -> TrackingIssue:
    return TrackingIssue(client, "octo/agent", mark, token)


def by_bot(server: GitHubServer, body: str = f"{MARK}\nold", *, pull: bool = False) -> int:
    login, kind = ACTIONS_BOT
    return github_issues.add(server, body, login=login, kind=kind, pull=pull)


def states(server: GitHubServer) -> dict[int, str]:
    return {number: issue["state"] for number, issue in server.issues.items()}


def test_the_first_run_opens_an_issue_and_the_second_writes_it_anew(server: GitHubServer, client: Client) -> None:
    address = tracking(client).keep("first title", "first")
    assert tracking(client).keep("second title", "second") == address
    [issue] = server.issues.values()
    assert (issue["title"], issue["body"], issue["state"]) == ("second title", f"{MARK}\nsecond", "open")
    assert address == f"{server.root}/octo/agent/issues/101"


def test_the_issue_is_found_behind_hundreds_of_others(server: GitHubServer, client: Client) -> None:
    kept = by_bot(server)
    for number in range(230):
        github_issues.add(server, f"talk {number}")
    tracking(client).keep("title", "new")
    assert len(server.issues) == 231
    assert server.issues[kept]["body"] == f"{MARK}\nnew"


def test_an_issue_of_somebody_else_and_a_pull_request_are_left_alone(server: GitHubServer, client: Client) -> None:
    others = [
        github_issues.add(server, f"{MARK}\nfaked", login="eve"),
        by_bot(server, f"look: {MARK}"),
        by_bot(server, f"{MARK}\na pull request of the bot", pull=True),
    ]
    before = {number: dict(server.issues[number]) for number in others}
    tracking(client).keep("title", "ours")
    tracking(client).close("It passes.")
    assert {number: server.issues[number] for number in others} == before
    assert server.comments.keys() == {104}


def test_with_a_personal_token_the_issue_of_that_person_is_written(server: GitHubServer, client: Client) -> None:
    server.identity = ("alice", "User")
    of_bot = by_bot(server)
    tracking(client, token="ghp_x").keep("title", "hers")
    tracking(client, token="ghp_x").keep("title", "hers again")
    assert [issue["body"] for issue in server.issues.values()] == [f"{MARK}\nold", f"{MARK}\nhers again"]
    assert server.issues[of_bot]["body"] == f"{MARK}\nold"


def test_a_run_that_passes_closes_it_with_a_comment_and_a_second_one_says_nothing_more(
    server: GitHubServer, client: Client
) -> None:
    kept = by_bot(server)
    assert tracking(client).close("It passes.") == f"{server.root}/octo/agent/issues/{kept}"
    assert tracking(client).close("It passes.") == ""
    assert (server.issues[kept]["state"], server.issues[kept]["state_reason"]) == ("closed", "completed")
    assert [comment["body"] for comment in server.comments[kept]] == ["It passes."]


def test_an_issue_that_is_closed_is_never_opened_again(server: GitHubServer, client: Client) -> None:
    old = by_bot(server)
    tracking(client).close("It passes.")
    tracking(client).keep("title", "worse again")
    assert states(server) == {old: "closed", old + 1: "open"}
    assert server.issues[old]["body"] == f"{MARK}\nold"


def test_two_runs_at_once_settle_on_the_lowest_number(server: GitHubServer, make_client: MakeClient) -> None:
    # Both have listed before either opens one.
    server.fail("GET", "issues", *[Fault(200, body=b"[]", barrier=threading.Barrier(2))] * 2)
    runs = [
        threading.Thread(target=tracking(make_client()[0]).keep, args=(f"title {number}", "text"))
        for number in range(2)
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert states(server) == {101: "open", 102: "closed"}
    assert server.issues[102]["state_reason"] == "not_planned"


def test_a_creation_that_took_effect_and_then_failed_leaves_one_open_issue(
    server: GitHubServer, client: Client
) -> None:
    server.fail("POST", "issues", Fault(502, after=True))
    assert tracking(client).keep("title", "text") == f"{server.root}/octo/agent/issues/101"
    assert states(server) == {101: "open", 102: "closed"}


def test_each_configuration_has_an_issue_of_its_own(server: GitHubServer, client: Client) -> None:
    tracking(client).keep("one", "text")
    tracking(client, mark=MARK.replace("0123", "4567")).keep("two", "text")
    assert [issue["title"] for issue in server.issues.values()] == ["one", "two"]


@pytest.mark.parametrize("fault", [Fault(403, "Resource not accessible by integration"), Fault(410, "Issues disabled")])
def test_what_fails_is_told(server: GitHubServer, client: Client, fault: Fault) -> None:
    server.fail("POST", "issues", fault)
    told = tracking(client).keep("title", "text")
    assert isinstance(told, Failure)
    assert told.status == fault.status
    assert server.issues == {}


def test_a_personal_token_whose_user_cannot_be_told_opens_no_second_issue(server: GitHubServer, client: Client) -> None:
    server.identity = ("alice", "User")
    tracking(client, token="ghp_x").keep("title", "text")
    server.fail("GET", "/user$", Fault(422))
    told = tracking(client, token="ghp_x").keep("title", "second")
    assert told == Failure("refused", "whose the token of `github-token` is cannot be told: HTTP 422", 422)
    assert len(server.issues) == 1


def test_an_answer_of_an_odd_shape_is_told(server: GitHubServer, client: Client) -> None:
    server.fail("POST", "issues", Fault(200, body=b"{}"))
    assert tracking(client).keep("title", "text") == Failure("malformed", "the server's answer has no number")


def test_a_listing_that_fails_after_the_issue_stands_does_not_unmake_it(server: GitHubServer, client: Client) -> None:
    server.fail("GET", "issues", Fault(), Fault(400))
    assert tracking(client).keep("title", "text") == f"{server.root}/octo/agent/issues/101"
