from __future__ import annotations

import re
import threading
from datetime import UTC, datetime, timedelta

import pytest

from evaluator.github.client import Client
from evaluator.github.comments import NotPosted, Posted, Sticky, Superseded, marker, room
from tests.servers.github_server import ACTIONS_BOT, Fault, GitHubServer
from tests.unit.github.conftest import TOKEN, MakeClient

MARK = marker("trap.yaml", "evals")


OLD, NEW = "a" * 40, "b" * 40
EARLIER = datetime(2026, 11, 30, 18, tzinfo=UTC)
LATER = EARLIER + timedelta(microseconds=1)
EARLIER_TEXT, LATER_TEXT = "2026-11-30T18:00:00.000000Z", "2026-11-30T18:00:00.000001Z"


def sticky(
    client: Client, mark: str = MARK, token: str = TOKEN, commit: str = "", began: datetime | None = EARLIER
) -> Sticky:
    return Sticky(client, "octo/agent", 7, mark, token, commit, began)


def head_is(server: GitHubServer, commit: str) -> None:
    server.pulls[7] = {"head": commit, "base_ref": "main", "merge_commit": None}


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


def test_the_legs_of_a_matrix_have_comments_of_their_own_whatever_the_order_of_the_tasks() -> None:
    marks = [
        MARK,
        marker("trap.yaml", "evals", "openai/a"),
        marker("trap.yaml", "evals", "openai/b"),
        marker("trap.yaml", "evals", None, ("a", "b")),
        marker("trap.yaml", "evals", "openai/a", ("a", "b")),
        marker("trap.yaml", "evals", None, ("openai/a",)),
        marker("trap.yaml", "evals", "a", ("b",)),
        marker("trap.yaml", "evals", "b", ("a",)),
    ]
    assert len(set(marks)) == len(marks)
    assert marker("trap.yaml", "evals", None, ("b", "a")) == marks[3]
    assert marker("trap.yaml", "evals", None, ()) == MARK


def test_the_comment_of_a_job_without_model_and_tasks_is_the_one_that_earlier_versions_wrote() -> None:
    assert MARK == "<!-- trapgate:70b619997b3a27ad -->"


def test_a_comment_says_in_its_hidden_first_line_which_commit_it_speaks_of_and_when_its_run_began(
    server: GitHubServer, client: Client
) -> None:
    sticky(client, commit=NEW, began=LATER).post("text")
    assert bodies(server) == [f"{MARK}<!-- {NEW} {LATER_TEXT} -->\ntext"]


def test_a_run_of_an_older_commit_that_ends_later_leaves_the_comment_of_the_head_alone(
    server: GitHubServer, client: Client
) -> None:
    head_is(server, NEW)
    sticky(client, commit=NEW).post("of the head")
    posted = sticky(client, commit=OLD, began=LATER).post("late")
    assert posted == Superseded(NEW)
    assert posted.why == f"The comment tells of {NEW[:12]}, the head of the pull request by now, and stays as it is."
    assert bodies(server) == [f"{MARK}<!-- {NEW} {EARLIER_TEXT} -->\nof the head"]


def test_the_comment_of_another_commit_is_replaced_by_that_of_the_head_whichever_began_first(
    server: GitHubServer, client: Client
) -> None:
    head_is(server, NEW)
    sticky(client, commit=OLD, began=LATER).post("old")
    assert isinstance(sticky(client, commit=NEW).post("new"), Posted)
    assert bodies(server) == [f"{MARK}<!-- {NEW} {EARLIER_TEXT} -->\nnew"]


@pytest.mark.parametrize("commit", [NEW, OLD], ids=["the same commit", "two commits, and neither is the head"])
def test_the_comment_of_a_run_that_began_later_is_left_alone(server: GitHubServer, client: Client, commit: str) -> None:
    head_is(server, NEW if commit == NEW else "c" * 40)
    sticky(client, commit=NEW, began=LATER).post("of the later run")
    posted = sticky(client, commit=commit).post("ended later")
    assert posted == Superseded(NEW, later_run=True)
    assert posted.why == f"The comment is of a later run, on {NEW[:12]}, and stays as it is."
    assert bodies(server) == [f"{MARK}<!-- {NEW} {LATER_TEXT} -->\nof the later run"]


@pytest.mark.parametrize("commit", [NEW, OLD])
def test_the_comment_of_a_run_that_began_before_is_replaced(server: GitHubServer, client: Client, commit: str) -> None:
    head_is(server, NEW if commit == NEW else "c" * 40)
    sticky(client, commit=NEW).post("of the earlier run")
    assert isinstance(sticky(client, commit=commit, began=LATER).post("later"), Posted)
    assert bodies(server) == [f"{MARK}<!-- {commit} {LATER_TEXT} -->\nlater"]


@pytest.mark.parametrize("time", ["", " 2026-13-01T00:00:00Z"], ids=["of a version that wrote no time", "no time"])
@pytest.mark.parametrize("commit", [NEW, OLD])
def test_a_comment_that_does_not_say_when_its_run_began_counts_as_the_earlier_one(
    server: GitHubServer, client: Client, commit: str, time: str
) -> None:
    head_is(server, NEW if commit == NEW else "c" * 40)
    bot_comment(server, f"{MARK}<!-- {NEW}{time} -->\nof an earlier version")
    assert isinstance(sticky(client, commit=commit).post("text"), Posted)


def test_a_comment_of_a_version_that_wrote_no_time_is_left_alone_where_it_speaks_of_the_head(
    server: GitHubServer, client: Client
) -> None:
    head_is(server, NEW)
    bot_comment(server, f"{MARK}<!-- {NEW} -->\nof the head")
    assert sticky(client, commit=OLD).post("text") == Superseded(NEW)


@pytest.mark.parametrize(
    ("fault", "why", "lacks"),
    [
        (Fault(422), "HTTP 422", ""),
        (
            Fault(429, headers={"Retry-After": "3600"}),
            "rate limit: asked to wait 3600 s more; given up after 0 s of wai",
            "",
        ),
        (Fault(200, body=b"{}"), "the server's answer has no head commit", ""),
        (Fault(404), "HTTP 404", "pull-requests: write"),
        (Fault(403, "Resource not accessible by integration"), "HTTP 403 (Resource not", "pull-requests: write"),
    ],
)
def test_where_the_head_cannot_be_told_the_comment_of_another_commit_is_never_overwritten(
    server: GitHubServer, client: Client, fault: Fault, why: str, lacks: str
) -> None:
    head_is(server, NEW)
    sticky(client, commit=NEW).post("of the head")
    server.fail("GET", "/pulls/7$", fault)
    posted = sticky(client, commit=OLD, began=LATER).post("old")
    assert isinstance(posted, NotPosted)
    assert posted.why.startswith(
        f"The comment could not be written: it tells of {NEW[:12]}, and which commit is the head of the pull request "
        f"cannot be told ({why}"
    )
    assert posted.lacks == lacks
    assert bodies(server) == [f"{MARK}<!-- {NEW} {EARLIER_TEXT} -->\nof the head"]


def test_a_run_of_the_same_commit_again_replaces_its_comment_without_asking_for_the_head(
    server: GitHubServer, client: Client
) -> None:
    for text in ("first", "second"):
        sticky(client, commit=NEW).post(text)
    assert bodies(server) == [f"{MARK}<!-- {NEW} {EARLIER_TEXT} -->\nsecond"]
    assert [request for request in server.requests if "/pulls/" in request.path] == []


def test_a_comment_of_a_version_that_named_no_commit_is_replaced(server: GitHubServer, client: Client) -> None:
    head_is(server, NEW)
    bot_comment(server, f"{MARK}\n<!-- {NEW} -->")
    assert isinstance(sticky(client, commit=OLD).post("text"), Posted)


@pytest.mark.parametrize("order", [(OLD, NEW), (NEW, OLD)])
def test_of_two_jobs_at_once_for_two_commits_the_one_comment_left_speaks_of_the_head(
    server: GitHubServer, make_client: MakeClient, order: tuple[str, str]
) -> None:
    """Whichever creates its comment first: both have listed before, and found none."""
    head_is(server, NEW)
    server.fail("GET", "comments", *[Fault(200, body=b"[]", barrier=threading.Barrier(2))] * 2)
    server.fail("POST", "comments", Fault(), Fault(delay=0.2))
    first = threading.Thread(target=sticky(make_client()[0], commit=order[0]).post, args=(order[0],))
    second = threading.Thread(target=sticky(make_client()[0], commit=order[1]).post, args=(order[1],))
    for job in (first, second):
        job.start()
    for job in (first, second):
        job.join()
    assert bodies(server) == [f"{MARK}<!-- {NEW} {EARLIER_TEXT} -->\n{NEW}"]


@pytest.mark.parametrize("order", [(EARLIER, LATER), (LATER, EARLIER)])
def test_of_two_jobs_at_once_for_one_commit_the_one_comment_left_is_that_of_the_later_one(
    server: GitHubServer, make_client: MakeClient, order: tuple[datetime, datetime]
) -> None:
    server.fail("GET", "comments", *[Fault(200, body=b"[]", barrier=threading.Barrier(2))] * 2)
    server.fail("POST", "comments", Fault(), Fault(delay=0.2))
    jobs = [
        threading.Thread(target=sticky(make_client()[0], commit=NEW, began=began).post, args=(f"{began}",))
        for began in order
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert bodies(server) == [f"{MARK}<!-- {NEW} {LATER_TEXT} -->\n{LATER}"]


def test_a_locked_conversation_is_named_and_is_no_missing_permission(server: GitHubServer, client: Client) -> None:
    server.locked = {7}
    assert sticky(client).post("text") == NotPosted(
        "The comment could not be written: HTTP 403 (Unable to create comment because issue is locked.)."
    )


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


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (Fault(422), "HTTP 422."),
        (Fault(404), "HTTP 404."),
        (Fault(403, "Your IP address is not permitted."), "HTTP 403 (Your IP address is not permitted.)."),
        (Fault(200, body=b"{}"), "the server's answer has no login."),
        (
            Fault(401, "Bad credentials"),
            "the server does not accept the token of `github-token` (Bad credentials). "
            "Leave the input `github-token` out, so that it is the job's own token, or renew it.",
        ),
    ],
)
def test_a_personal_token_whose_user_cannot_be_told_writes_no_second_comment(
    server: GitHubServer, client: Client, fault: Fault, why: str
) -> None:
    server.identity = ("alice", "User")
    sticky(client, token="ghp_x").post("first")
    server.fail("GET", "/user$", fault)
    assert sticky(client, token="ghp_x").post("second") == NotPosted(
        f"The comment could not be written: whose the token of `github-token` is cannot be told: {why}"
    )
    assert bodies(server) == [f"{MARK}\nfirst"]


def test_duplicates_of_earlier_runs_are_removed(server: GitHubServer, client: Client) -> None:
    kept = bot_comment(server, f"{MARK}\nold")
    bot_comment(server, f"{MARK}\nolder twin")
    server.add_comment(7, f"{MARK}\nfaked", login="eve")
    assert sticky(client).post("new") == Posted(kept, f"{server.root}/octo/agent/pull/7#issuecomment-{kept}")
    assert bodies(server) == [f"{MARK}\nnew", f"{MARK}\nfaked"]


def test_a_duplicate_of_a_later_run_is_not_removed_by_an_earlier_one(server: GitHubServer, client: Client) -> None:
    for began in (EARLIER_TEXT, LATER_TEXT):
        bot_comment(server, f"{MARK}<!-- {NEW} {began} -->\n{began}")
    before = bodies(server)
    assert sticky(client, commit=NEW).post("earlier") == Superseded(NEW, later_run=True)
    assert bodies(server) == before
    assert isinstance(sticky(client, commit=NEW, began=LATER).post("later"), Posted)
    assert bodies(server) == [f"{MARK}<!-- {NEW} {LATER_TEXT} -->\nlater"]


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
    assert posted.lacks == "pull-requests: write"


@pytest.mark.parametrize(
    "fault", [Fault(401, "Bad credentials"), Fault(422, "too long"), Fault(403, headers={"Retry-After": "999"})]
)
def test_other_failures_are_told_without_a_mend_that_would_not_help(
    server: GitHubServer, client: Client, fault: Fault
) -> None:
    server.fail("POST", "comments", fault)
    posted = sticky(client).post("text")
    assert isinstance(posted, NotPosted)
    assert posted.lacks == ""
    assert TOKEN not in posted.why


@pytest.mark.parametrize("words", ["Repository access blocked", "Resource protected by organization SAML enforcement."])
def test_a_refusal_that_is_about_no_permission_is_told_in_the_servers_words(
    server: GitHubServer, client: Client, words: str
) -> None:
    server.fail("POST", "comments", Fault(403, words))
    assert sticky(client).post("text") == NotPosted(f"The comment could not be written: HTTP 403 ({words}).")


def test_a_token_that_is_not_accepted_is_told_with_how_to_mend_that(server: GitHubServer, client: Client) -> None:
    server.fail("POST", "comments", Fault(401, "Bad credentials"))
    assert sticky(client).post("text") == NotPosted(
        "The comment could not be written: the server does not accept the token of `github-token` (Bad credentials). "
        "Leave the input `github-token` out, so that it is the job's own token, or renew it."
    )


def test_a_listing_that_fails_after_the_comment_stands_does_not_unmake_it(server: GitHubServer, client: Client) -> None:
    server.fail("GET", "comments", Fault(), Fault(400))
    assert isinstance(sticky(client).post("text"), Posted)


def test_marker_and_text_fit_into_the_longest_comment(server: GitHubServer, client: Client) -> None:
    assert isinstance(sticky(client, commit="a" * 64, began=LATER).post("x" * room(MARK), begun=True), Posted)
    assert len(bodies(server)[0]) == 65_536


@pytest.mark.parametrize("comment", [b'[{"id": "1", "user": null, "body": null}]', b"[{}]"])
def test_comments_of_an_odd_shape_are_nobodys(server: GitHubServer, client: Client, comment: bytes) -> None:
    server.fail("GET", "comments", Fault(200, body=comment))
    assert isinstance(sticky(client).post("text"), Posted)


def test_a_comment_that_a_run_has_begun_hides_no_verdict_of_another_run_of_the_same_commit(
    server: GitHubServer, client: Client
) -> None:
    sticky(client, commit=NEW, began=LATER).post("no verdict yet", begun=True)
    sticky(client, commit=NEW, began=EARLIER).post("a verdict")
    assert [body.split("\n")[1] for body in bodies(server)] == ["a verdict"]
    sticky(client, commit=NEW, began=LATER).post("the later verdict")
    sticky(client, commit=NEW, began=EARLIER).post("a verdict")
    assert [body.split("\n")[1] for body in bodies(server)] == ["the later verdict"]
