from __future__ import annotations

import gzip
import socket
import threading
import time
from email.utils import formatdate
from pathlib import Path

import pytest

from evaluator.github.client import Answer, Client, Failure, an_object
from evaluator.runners.stopping import StopSignal
from tests.servers.github_server import Fault, GitHubServer
from tests.unit.github.conftest import NOW, TOKEN, MakeClient

COMMENTS = "/repos/octo/agent/issues/7/comments"
PERMISSION = "pull-requests: write"


def get(client: Client) -> Answer | Failure:
    return client.get(COMMENTS, permission=PERMISSION)


def test_token_and_version_of_the_api_are_sent(server: GitHubServer, client: Client) -> None:
    assert isinstance(get(client), Answer)
    headers = server.requests[0].headers
    assert headers["Authorization"] == f"Bearer {TOKEN}"
    assert headers["X-GitHub-Api-Version"] == "2022-11-28"
    assert headers["Accept"] == "application/vnd.github+json"


def test_without_a_token_nothing_is_sent_in_its_place(server: GitHubServer, make_client: MakeClient) -> None:
    get(make_client(token=None)[0])
    assert "Authorization" not in server.requests[0].headers


def test_a_netrc_file_does_not_replace_the_token(
    server: GitHubServer, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password other\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    get(client)
    assert server.requests[0].headers["Authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_server_error_is_tried_again_after_growing_waits(
    server: GitHubServer, make_client: MakeClient, status: int
) -> None:
    server.fail("GET", "comments", Fault(status), Fault(status), Fault(0))
    client, waits = make_client()
    assert isinstance(get(client), Answer)
    assert waits == [1.0, 2.0, 4.0]


@pytest.mark.parametrize(
    ("fault", "wait"),
    [
        (Fault(429, headers={"Retry-After": "7"}), 7.0),
        (Fault(403, headers={"Retry-After": "7"}), 7.0),
        (Fault(429), 60.0),
        (Fault(403, "You have exceeded a secondary rate limit."), 60.0),
        (Fault(403, "You have triggered an abuse detection mechanism."), 60.0),
        (Fault(403, "API rate limit exceeded for installation ID 1."), 60.0),
        (Fault(403, headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(NOW) + 30)}), 31.0),
        (Fault(429, headers={"Retry-After": "soon"}), 60.0),
        (Fault(429, headers={"Retry-After": "nan"}), 60.0),
        (Fault(429, headers={"Retry-After": "0"}), 1.0),
        (Fault(429, headers={"Retry-After": formatdate(NOW + 7, usegmt=True)}), 7.0),
        (Fault(429, headers={"Retry-After": formatdate(NOW - 7, usegmt=True)}), 1.0),
        (Fault(429, headers={"Retry-After": "Tue, 14 Nov 2023 22:13:30 -0000"}), 10.0),
        (Fault(403, headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(NOW) - 30)}), 1.0),
        (Fault(403, headers={"X-RateLimit-Remaining": "0"}), 60.0),
    ],
)
def test_a_rate_limit_of_either_kind_is_waited_for_as_long_as_it_asks(
    server: GitHubServer, make_client: MakeClient, fault: Fault, wait: float
) -> None:
    server.fail("GET", "comments", fault)
    client, waits = make_client()
    assert isinstance(get(client), Answer)
    assert waits == [wait]


def test_a_limit_beyond_our_patience_is_given_up_at_once(server: GitHubServer, make_client: MakeClient) -> None:
    server.fail("GET", "comments", Fault(403, headers={"Retry-After": "3600"}))
    client, waits = make_client()
    assert get(client) == Failure(
        "rate_limit", "rate limit: asked to wait 3600 s more; given up after 0 s of waiting", 403
    )
    assert waits == []


def test_a_limit_that_is_reset_in_half_an_hour_is_given_up_at_once(
    server: GitHubServer, make_client: MakeClient
) -> None:
    reset = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(NOW) + 1800)}
    server.fail("GET", "comments", Fault(403, headers=reset))
    client, waits = make_client()
    assert get(client) == Failure(
        "rate_limit", "rate limit: asked to wait 1801 s more; given up after 0 s of waiting", 403
    )
    assert waits == []


def test_a_secondary_limit_without_a_time_is_waited_for_longer_each_time(
    server: GitHubServer, make_client: MakeClient
) -> None:
    server.fail("GET", "comments", *[Fault(403, "You have exceeded a secondary rate limit.")] * 2)
    client, waits = make_client(patience=200.0)
    assert isinstance(get(client), Answer)
    assert waits == [60.0, 120.0]


def test_all_requests_of_a_job_share_what_is_waited_for_a_server_that_is_down(
    server: GitHubServer, make_client: MakeClient
) -> None:
    server.fail("GET", "comments", *[Fault(503)] * 100)
    client, waits = make_client(patience=40.0, budget=70.0)
    first, second, third, fourth = (get(client) for _ in range(4))
    assert all(isinstance(answer, Failure) and answer.kind == "unavailable" for answer in (first, second, third))
    # 1 + 2 + 4 + 8 + 16 = 31 s each, as far as the budget goes.
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0] * 2 + [1.0, 2.0, 4.0]
    assert isinstance(fourth, Failure)
    assert len(server.requests) == 6 + 6 + 4 + 1


def test_one_request_waits_for_two_minutes_and_a_half_and_a_job_for_five_at_most(
    server: GitHubServer, make_client: MakeClient
) -> None:
    server.fail("GET", "comments", *[Fault(503)] * 200)
    client, waits = make_client()
    get(client)
    assert 60.0 < sum(waits) <= 150.0
    for _ in range(10):
        get(client)
    assert 250.0 < sum(waits) <= 300.0


def test_a_server_that_is_back_answers_although_the_waiting_is_used_up(
    server: GitHubServer, make_client: MakeClient
) -> None:
    server.fail("GET", "comments", *[Fault(503)] * 4)
    client, _ = make_client(patience=40.0, budget=7.5)
    assert isinstance(get(client), Failure)
    assert isinstance(get(client), Answer)


def test_all_waiting_together_has_an_end(server: GitHubServer, make_client: MakeClient) -> None:
    server.fail("GET", "comments", *[Fault(503, "try later")] * 50)
    client, waits = make_client(patience=100.0)
    assert get(client) == Failure("unavailable", "HTTP 503 (try later); given up after 63 s of waiting", 503)
    assert sum(waits) == 63.0


def test_a_stop_ends_the_waiting_at_once_and_the_answer_says_so(server: GitHubServer) -> None:
    server.fail("GET", "comments", *[Fault(429, headers={"Retry-After": "25"})] * 2)
    stop = StopSignal()
    client = Client(server.api_url, TOKEN, stop=stop)
    threading.Timer(0.3, stop.request, ["SIGINT"]).start()
    began = time.monotonic()
    given_up = "rate limit: asked to wait 25 s more; given up since the run was stopped (SIGINT)"
    assert get(client) == Failure("rate_limit", given_up, 429)
    assert get(client) == Failure("rate_limit", given_up, 429)
    assert time.monotonic() - began < 2.0
    assert len(server.requests) == 2


def test_after_a_stop_a_server_that_answers_is_still_asked(server: GitHubServer) -> None:
    stop = StopSignal()
    stop.request("SIGTERM")
    assert isinstance(get(Client(server.api_url, TOKEN, stop=stop)), Answer)


def test_a_missing_permission_is_named_and_not_tried_again(server: GitHubServer, make_client: MakeClient) -> None:
    server.granted = set()
    client, waits = make_client()
    assert client.send("POST", COMMENTS, permission=PERMISSION, body={"body": "x"}) == Failure(
        "permission",
        "HTTP 403 (Resource not accessible by integration): the token needs the permission `pull-requests: write`",
        403,
    )
    assert waits == []


@pytest.mark.parametrize("words", ["Resource not accessible by personal access token", ""])
def test_a_403_in_these_words_or_without_any_is_a_missing_permission(
    server: GitHubServer, client: Client, words: str
) -> None:
    server.fail("GET", "comments", Fault(403, words))
    said = f" ({words})" if words else ""
    assert get(client) == Failure(
        "permission", f"HTTP 403{said}: the token needs the permission `pull-requests: write`", 403
    )


@pytest.mark.parametrize(
    "words",
    [
        "Unable to create comment because issue is locked.",
        "Repository was archived so is read-only.",
        "the `octo` organization has an IP allow list enabled, and your IP address is not permitted",
        "Resource protected by organization SAML enforcement.",
        "Repository access blocked",
    ],
)
def test_a_refusal_that_no_permission_would_mend_is_not_called_a_missing_one(
    server: GitHubServer, client: Client, words: str
) -> None:
    server.fail("POST", "comments", Fault(403, words))
    answer = client.send("POST", COMMENTS, permission=PERMISSION, body={"body": "x"})
    assert answer == Failure("refused", f"HTTP 403 ({words})", 403)


@pytest.mark.parametrize("slashes", ["", "/"])
def test_the_api_may_stand_below_a_path_with_or_without_a_slash_at_its_end(
    server: GitHubServer, make_client: MakeClient, slashes: str
) -> None:
    assert server.api_url.endswith("/api/v3")  # as on GitHub Enterprise Server
    assert isinstance(get(make_client(api_url=server.api_url + slashes)[0]), Answer)
    assert [request.path for request in server.requests] == [COMMENTS]


def test_a_bad_token_is_said_to_be_one_and_not_shown(server: GitHubServer, client: Client) -> None:
    server.fail("GET", "comments", Fault(401, "Bad credentials"))
    failure = get(client)
    assert failure == Failure(
        "permission", "the server does not accept the token of `github-token` (Bad credentials)", 401
    )


@pytest.mark.parametrize(
    ("fault", "wanted"),
    [
        (Fault(404, "Not Found"), Failure("not_found", "HTTP 404 (Not Found)", 404)),
        (Fault(410), Failure("not_found", "HTTP 410", 410)),
        (Fault(422, "Validation\n::error::Failed"), Failure("refused", "HTTP 422 (Validation ::error::Failed)", 422)),
        (Fault(400, body=b"<html>"), Failure("refused", "HTTP 400", 400)),
        (Fault(400, body=b"[" * 100_000), Failure("refused", "HTTP 400", 400)),
    ],
)
def test_other_refusals_are_values_in_the_servers_words(
    server: GitHubServer, client: Client, fault: Fault, wanted: Failure
) -> None:
    server.fail("GET", "comments", fault)
    assert get(client) == wanted


def test_a_server_that_is_not_there_is_a_value_without_the_token(make_client: MakeClient) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        client, waits = make_client(api_url=f"http://127.0.0.1:{unused.getsockname()[1]}", patience=5.0)
        failure = get(client)
    assert failure == Failure(
        "unavailable", "the server cannot be reached (ConnectionError); given up after 3 s of waiting"
    )
    assert waits == [1.0, 2.0]


def test_a_slow_server_is_not_waited_for_forever(server: GitHubServer, make_client: MakeClient) -> None:
    server.fail("GET", "comments", Fault(delay=2.0))
    client, _ = make_client(timeout=(1.0, 0.2), patience=0.0)
    failure = get(client)
    assert isinstance(failure, Failure)
    assert failure.message.startswith("the server cannot be reached (ReadTimeout)")


def test_tries_that_take_long_use_up_the_patience_too(server: GitHubServer, make_client: MakeClient) -> None:
    server.fail("GET", "comments", *[Fault(delay=5.0)] * 9)
    client, waits = make_client(timeout=(1.0, 0.3), patience=3.4)
    assert isinstance(get(client), Failure)
    # Waits alone would allow 1 + 2 s.
    assert waits == [1.0]


@pytest.mark.parametrize("compressed", [False, True])
def test_an_answer_without_end_is_cut_off(server: GitHubServer, make_client: MakeClient, compressed: bool) -> None:
    body = b"x" * 300_000
    fault = Fault(200, body=body)
    if compressed:
        fault = Fault(200, body=gzip.compress(body), headers={"Content-Encoding": "gzip"})
    server.fail("GET", "comments", fault)
    client, _ = make_client(largest=100_000)
    assert get(client) == Failure("malformed", "the server's answer is larger than 100,000 bytes")


def test_a_list_is_read_to_its_last_page(server: GitHubServer, client: Client) -> None:
    ids = [server.add_comment(7, f"comment {number}") for number in range(250)]
    comments = client.items(COMMENTS, permission=PERMISSION)
    assert isinstance(comments, list)
    assert [comment["id"] for comment in comments] == ids
    assert len(server.requests) == 3


def test_a_page_on_another_server_is_not_asked_for(server: GitHubServer, client: Client) -> None:
    link = {"Link": '<http://127.0.0.1:1/comments>; rel="next"'}
    server.fail("GET", "comments", Fault(200, body=b"[]", headers=link))
    assert client.items(COMMENTS, permission=PERMISSION) == Failure(
        "malformed", "the next page is said to be on another server"
    )


# The first one is another server's to whoever sends the request, and this one's to Python's own parser.
NO_ADDRESS = [
    "http://{other}\\@{here}/api/v3/user",
    "http://{other}\t@{here}/",
    "http:\\\\{other}/",
    "/\\{other}/",
    "http://{here}/a b",
    "http://me@{here}/api/v3/user",
    "http://me:secret@{here}/api/v3/user",
    "http://@{here}/api/v3/user",
    "http://{here}\x7f/",
    "https://host:99999/",
    "https://host:x/",
    "https://[::1",
]


@pytest.mark.parametrize("address", NO_ADDRESS)
def test_a_redirect_to_what_two_readers_may_read_differently_is_not_followed(
    server: GitHubServer, client: Client, address: str
) -> None:
    with GitHubServer() as other:
        location = address.format(here=server.root.removeprefix("http://"), other=other.root.removeprefix("http://"))
        server.fail("GET", "comments", Fault(302, headers={"Location": location}))
        assert get(client) == Failure("malformed", "the server redirects to what is no plain address")
        assert (len(server.requests), other.requests) == (1, [])


@pytest.mark.parametrize("address", NO_ADDRESS)
def test_a_page_at_what_two_readers_may_read_differently_is_not_asked_for(
    server: GitHubServer, client: Client, address: str
) -> None:
    with GitHubServer() as other:
        link = address.format(here=server.root.removeprefix("http://"), other=other.root.removeprefix("http://"))
        server.fail("GET", "comments", Fault(200, body=b"[]", headers={"Link": f'<{link}>; rel="next"'}))
        assert client.items(COMMENTS, permission=PERMISSION) == Failure(
            "malformed", "the next page is said to be at what is no plain address"
        )
        assert (len(server.requests), other.requests) == (1, [])


def test_pages_without_end_are_cut_off(server: GitHubServer, client: Client) -> None:
    link = {"Link": f'<{server.api_url}{COMMENTS}>; rel="next"'}
    server.fail("GET", "comments", *[Fault(200, body=b"[]", headers=link)] * 300)
    assert client.items(COMMENTS, permission=PERMISSION) == Failure("malformed", "a list of more than 200 pages")


@pytest.mark.parametrize("body", [b"", b"{}", b"[1]", b"\xff", b"[" * 100_000])
def test_an_answer_that_is_no_list_is_malformed(server: GitHubServer, client: Client, body: bytes) -> None:
    server.fail("GET", "comments", Fault(200, body=body))
    failure = client.items(COMMENTS, permission=PERMISSION)
    assert failure == Failure("malformed", "the server's answer is not a list of objects", 200)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_to_another_server_gets_neither_token_nor_request(
    server: GitHubServer, client: Client, status: int
) -> None:
    with GitHubServer() as other:
        server.fail("GET", "comments", Fault(status, headers={"Location": other.api_url + COMMENTS}))
        assert get(client) == Failure("refused", "the server redirects to another server")
        assert other.requests == []


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_on_the_same_server_keeps_method_body_and_token(
    server: GitHubServer, client: Client, status: int
) -> None:
    server.fail("POST", "/repositories/1/", Fault(status, headers={"Location": server.api_url + COMMENTS}))
    answer = client.send("POST", "/repositories/1/issues/7/comments", permission=PERMISSION, body={"body": "moved"})
    assert isinstance(answer, Answer)
    assert [comment["body"] for comment in server.comments[7]] == ["moved"]
    assert server.requests[-1].headers["Authorization"] == f"Bearer {TOKEN}"


def test_what_comes_with_a_redirect_is_not_read(server: GitHubServer, make_client: MakeClient) -> None:
    """However long it is: only as much arrives as the sockets hold."""
    fault = Fault(302, body=b"x" * 300_000, headers={"Location": server.api_url + COMMENTS})
    server.fail("GET", "/repositories/1", fault)
    client, _ = make_client(largest=1000)
    assert client.get("/repositories/1", permission=PERMISSION) == Answer(200, b"[]")


def test_a_circle_of_redirects_ends(server: GitHubServer, client: Client) -> None:
    server.fail("GET", "comments", *[Fault(302, headers={"Location": COMMENTS})] * 9)
    # A relative Location leaves the prefix, where the server still meets the fault.
    assert get(client) == Failure("malformed", "the server redirects in a circle")


def test_an_object_is_told_from_other_json() -> None:
    assert an_object(Answer(200, b'{"id": 1}')) == {"id": 1}
    assert an_object(Answer(200, b"[]")) == Failure("malformed", "the server's answer is not an object", 200)
