from __future__ import annotations

import socket
from pathlib import Path

import pytest

from evaluator.github.client import Client, Failure
from evaluator.github.downloads import Bounds, fetch
from tests.servers import github_actions
from tests.servers.github_server import Fault, GitHubServer
from tests.unit.github.conftest import TOKEN, MakeClient

DATA = b"PK and so on"


@pytest.fixture
def server_with_artifact(server: GitHubServer) -> GitHubServer:
    server.granted |= {"actions: read"}
    github_actions.add_artifact(server, DATA)
    return server


def download(
    client: Client, *, most: int = 1000, scheme: str = "http", deadline: float = 10.0
) -> tuple[bytes | Failure, list[float]]:
    waits: list[float] = []
    found = fetch(
        client,
        "/repos/octo/agent/actions/artifacts/500/zip",
        permission="actions: read",
        scheme=scheme,
        bounds=Bounds(most=most, timeout=(2.0, 2.0), deadline=deadline),
        sleep=waits.append,
    )
    return found, waits


def test_the_other_server_gives_the_file_and_gets_no_token(server_with_artifact: GitHubServer, client: Client) -> None:
    assert download(client) == (DATA, [])
    [headers] = server_with_artifact.storage.headers
    assert "Authorization" not in headers
    assert TOKEN not in str(headers)
    assert server_with_artifact.requests[0].headers["Authorization"] == f"Bearer {TOKEN}"


def test_a_netrc_file_gives_the_other_server_no_login(
    server_with_artifact: GitHubServer, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password other\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    assert download(client) == (DATA, [])
    assert "Authorization" not in server_with_artifact.storage.headers[0]


def test_a_file_that_the_api_gives_itself_is_taken(server_with_artifact: GitHubServer, client: Client) -> None:
    server_with_artifact.fail("GET", "zip", Fault(200, body=DATA), Fault(200, body=DATA))
    assert download(client) == (DATA, [])
    assert download(client, most=5)[0] == Failure("malformed", "the file is larger than 5 bytes")
    assert server_with_artifact.storage.headers == []


def test_a_second_redirect_is_not_followed(server_with_artifact: GitHubServer, client: Client) -> None:
    server_with_artifact.storage.moved_to = server_with_artifact.api_url
    assert download(client) == (Failure("refused", "the server of the file redirects once more"), [])
    assert len(server_with_artifact.requests) == 1


def test_a_second_redirect_to_what_cannot_be_read_is_not_even_looked_at(
    server_with_artifact: GitHubServer, client: Client
) -> None:
    server_with_artifact.storage.moved_to = "https://[::1"
    assert download(client) == (Failure("refused", "the server of the file redirects once more"), [])


def test_an_https_server_is_not_followed_into_the_clear(server_with_artifact: GitHubServer, client: Client) -> None:
    found, _ = download(client, scheme="https")
    assert found == Failure("refused", "the server redirects to an address that is not https")
    assert server_with_artifact.storage.headers == []


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://127.0.0.1/x"])
def test_a_redirect_to_no_web_address_is_refused(
    server_with_artifact: GitHubServer, client: Client, location: str
) -> None:
    server_with_artifact.fail("GET", "zip", Fault(302, headers={"Location": location}))
    found, _ = download(client)
    assert found == Failure("refused", "the server redirects to an address that is not https")


@pytest.mark.parametrize("address", [*("{0}\\@{1}/x", "me:secret@{0}/x", "{0}/a b", "{0}/\x01"), "{0}0000/", "[::1"])
def test_a_redirect_to_what_is_no_plain_address_is_refused(
    server_with_artifact: GitHubServer, client: Client, address: str
) -> None:
    servers = [each.root.removeprefix("http://") for each in (server_with_artifact.storage, server_with_artifact)]
    server_with_artifact.fail("GET", "zip", Fault(302, headers={"Location": "http://" + address.format(*servers)}))
    assert download(client)[0] == Failure("malformed", "the server redirects to what is no plain address")
    assert server_with_artifact.storage.headers == []


def test_any_other_request_is_still_not_sent_on_to_another_server(server: GitHubServer, client: Client) -> None:
    server.fail("GET", "agent", Fault(302, headers={"Location": server.storage.root}))
    found = client.get("/repos/octo/agent", permission="contents: read")
    assert found == Failure("refused", "the server redirects to another server")


def test_more_bytes_than_allowed_are_not_read(server_with_artifact: GitHubServer, client: Client) -> None:
    assert download(client, most=len(DATA))[0] == DATA
    assert download(client, most=len(DATA) - 1)[0] == Failure("malformed", "the file is larger than 11 bytes")


def test_a_server_that_fails_is_asked_again_at_a_fresh_address(
    server_with_artifact: GitHubServer, client: Client
) -> None:
    server_with_artifact.storage.failures = [503, 429]
    assert download(client) == (DATA, [1.0, 2.0])
    assert len([one for one in server_with_artifact.requests if one.path.endswith("/zip")]) == 3


def test_a_server_that_fails_for_long_is_given_up(server_with_artifact: GitHubServer, client: Client) -> None:
    server_with_artifact.storage.failures = [500] * 9
    assert download(client) == (Failure("unavailable", "the server of the file answers HTTP 500", 500), [1.0, 2.0])


@pytest.mark.parametrize(("status", "kind"), [(403, "refused"), (404, "not_found"), (410, "not_found")])
def test_a_server_that_refuses_is_asked_once(
    server_with_artifact: GitHubServer, client: Client, status: int, kind: str
) -> None:
    server_with_artifact.storage.failures = [status]
    found, waits = download(client)
    assert isinstance(found, Failure)
    assert (found.kind, found.message, waits) == (kind, f"the server of the file answers HTTP {status}", [])


def test_an_expired_artifact_is_not_found(server: GitHubServer, client: Client) -> None:
    server.granted |= {"actions: read"}
    github_actions.add_artifact(server, DATA, expired=True)
    assert download(client)[0] == Failure("not_found", "HTTP 410 (Artifact has expired)", 410)


def test_a_missing_permission_is_named(server: GitHubServer, client: Client) -> None:
    github_actions.add_artifact(server, DATA)
    found, _ = download(client)
    assert isinstance(found, Failure)
    assert found.kind == "permission"
    assert found.message.endswith("the token needs the permission `actions: read`")


def test_a_server_that_is_not_there_is_unavailable(server_with_artifact: GitHubServer, make_client: MakeClient) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        location = f"https://127.0.0.1:{nobody.getsockname()[1]}/x"
        server_with_artifact.fail("GET", "zip", *[Fault(302, headers={"Location": location})] * 3)
        found, waits = download(make_client()[0])
    assert found == Failure("unavailable", "the server of the file cannot be reached (ConnectionError)")
    assert waits == [1.0, 2.0]
