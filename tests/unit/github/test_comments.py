from __future__ import annotations

import re
import threading

import pytest

from evaluator.github.client import Client
from evaluator.github.comments import NotPosted, Posted, Sticky, marker, room
from tests.servers.github_server import ACTIONS_BOT, Fault, GitHubServer
from tests.unit.github.conftest import TOKEN, MakeClient

MARK = marker("trap.yaml", "evals")


def sticky(client: Client, mark: str = MARK, token: str = TOKEN) -> Sticky:
    return Sticky(client, "octo/agent", 7, mark, token)


def bodies(server: GitHubServer) -> list[str]:
    return [comment["body"] for comment in server.comments.get(7, [])]


def bot_comment(server: GitHubServer, body: str) -> int:
    login, kind = ACTIONS_BOT
    return server.add_comment(7, body, login=login, kind=kind)


def test_the_first_run_creates_a_comment_and_the_second_edits_it(server: GitHubServer, client: Client) -> None:
    first = sticky(client).post("first")
    second = sticky(client).post("second")
    assert bodies(server) == [f"{MARK}\nsecond"]
    assert isinstance(first, Posted)
    assert second == first
    assert first.url == f"{server.root}/octo/agent/pull/7#issuecomment-{first.id}"


def test_the_comment_is_found_behind_hundreds_of_others(server: GitHubServer, client: Client) -> None:
    for number in range(230):
        server.add_comment(7, f"talk {number}")
    bot_comment(server, f"{MARK}\nold")
    sticky(client).post("new")
    assert len(server.comments[7]) == 231
    assert bodies(server)[-1] == f"{MARK}\nnew"


def test_each_configuration_and_each_job_has_a_comment_of_its_own(server: GitHubServer, client: Client) -> None:
    marks = [marker("trap.yaml", "evals"), marker("trap.yaml", "nightly"), marker("other/trap.yaml", "evals")]
    for mark in marks:
        sticky(client, mark).post("text")
    assert bodies(server) == [f"{mark}\ntext" for mark in marks]


def test_a_path_cannot_end_the_marker() -> None:
    assert re.fullmatch("<!-- trapgate:[0-9a-f]{16} -->", marker("--> <script>", "x\n"))


@pytest.mark.parametrize(
    ("body", "login", "kind"),
    [
        (f"{MARK}\nfaked", "eve", "User"),
        (f"look: {MARK}\nquoted", *ACTIONS_BOT),
        (f"\n{MARK}\nquoted", *ACTIONS_BOT),
        (f"> {MARK}", *ACTIONS_BOT),
    ],
)
def test_a_comment_of_somebody_else_or_one_that_only_quotes_the_marker_is_left_alone(
    server: GitHubServer, client: Client, body: str, login: str, kind: str
) -> None:
    server.add_comment(7, body, login=login, kind=kind)
    sticky(client).post("ours")
    assert bodies(server) == [body, f"{MARK}\nours"]


def test_with_a_personal_token_the_comment_of_that_person_is_edited(server: GitHubServer, client: Client) -> None:
    server.identity = ("alice", "User")
    bot_comment(server, f"{MARK}\nof the bot")
    sticky(client, token="ghp_x").post("first")
    sticky(client, token="ghp_x").post("second")
    assert bodies(server) == [f"{MARK}\nof the bot", f"{MARK}\nsecond"]


def test_a_token_of_another_kind_that_has_no_user_is_an_installations(server: GitHubServer, client: Client) -> None:
    sticky(client, token="v1.opaque").post("first")
    sticky(client, token="v1.opaque").post("second")
    assert bodies(server) == [f"{MARK}\nsecond"]


def test_duplicates_of_earlier_runs_are_removed(server: GitHubServer, client: Client) -> None:
    kept = bot_comment(server, f"{MARK}\nold")
    bot_comment(server, f"{MARK}\nolder twin")
    server.add_comment(7, f"{MARK}\nfaked", login="eve")
    assert sticky(client).post("new") == Posted(kept, f"{server.root}/octo/agent/pull/7#issuecomment-{kept}")
    assert bodies(server) == [f"{MARK}\nnew", f"{MARK}\nfaked"]


def test_two_jobs_at_once_leave_one_comment(server: GitHubServer, make_client: MakeClient) -> None:
    # Both have listed before either creates.
    server.fail("GET", "comments", *[Fault(200, body=b"[]", barrier=threading.Barrier(2))] * 2)
    jobs = [threading.Thread(target=sticky(make_client()[0]).post, args=(f"text {number}",)) for number in range(2)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    creations = [request for request in server.requests if request.method == "POST"]
    assert len(creations) == 2
    assert len(bodies(server)) == 1


def test_a_creation_that_took_effect_and_then_failed_leaves_one_comment(server: GitHubServer, client: Client) -> None:
    server.fail("POST", "comments", Fault(502, after=True))
    assert isinstance(sticky(client).post("text"), Posted)
    assert bodies(server) == [f"{MARK}\ntext"]


def test_a_comment_that_is_deleted_meanwhile_is_created_anew(server: GitHubServer, client: Client) -> None:
    bot_comment(server, f"{MARK}\nold")
    server.fail("PATCH", "comments", Fault(404))
    assert isinstance(sticky(client).post("new"), Posted)
    assert f"{MARK}\nnew" in bodies(server)
    assert len(bodies(server)) == 1


@pytest.mark.parametrize(("hidden", "status"), [(False, "HTTP 403"), (True, "HTTP 404")])
def test_without_permission_the_lines_to_add_are_named(
    server: GitHubServer, client: Client, hidden: bool, status: str
) -> None:
    server.granted = {"contents: read"}
    server.hides_what_is_denied = hidden
    posted = sticky(client).post("text")
    assert isinstance(posted, NotPosted)
    assert posted.why.startswith(f"The comment could not be written: {status}")
    assert posted.needs == ("contents: read", "pull-requests: write")


@pytest.mark.parametrize(
    "fault", [Fault(401, "Bad credentials"), Fault(422, "too long"), Fault(403, headers={"Retry-After": "999"})]
)
def test_other_failures_are_told_without_a_mend_that_would_not_help(
    server: GitHubServer, client: Client, fault: Fault
) -> None:
    server.fail("POST", "comments", fault)
    posted = sticky(client).post("text")
    assert isinstance(posted, NotPosted)
    assert posted.needs == ()
    assert TOKEN not in posted.why


def test_a_listing_that_fails_after_the_comment_stands_does_not_unmake_it(server: GitHubServer, client: Client) -> None:
    server.fail("GET", "comments", Fault(), Fault(400))
    assert isinstance(sticky(client).post("text"), Posted)


def test_marker_and_text_fit_into_the_longest_comment(server: GitHubServer, client: Client) -> None:
    assert isinstance(sticky(client).post("x" * room(MARK)), Posted)
    assert len(bodies(server)[0]) == 65_536


@pytest.mark.parametrize("comment", [b'[{"id": "1", "user": null, "body": null}]', b"[{}]"])
def test_comments_of_an_odd_shape_are_nobodys(server: GitHubServer, client: Client, comment: bytes) -> None:
    server.fail("GET", "comments", Fault(200, body=comment))
    assert isinstance(sticky(client).post("text"), Posted)
