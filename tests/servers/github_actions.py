"""What the GitHub server says of runs and artifacts, and the other server on which the artifacts lie."""

from __future__ import annotations

import io
import threading
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from tests.servers.github_people import NOW, repository, user

if TYPE_CHECKING:
    from tests.servers.github_server import GitHubServer


def routes(handler: Any, repository: str) -> dict[tuple[str, str], Callable[..., None]]:
    """The operations, by method and path; `repository`: a regular expression for the path of the repository."""
    return {
        ("GET", repository + r"/actions/runs/(\d+)/artifacts"): lambda got, run: _list(handler, got, int(run)),
        ("GET", repository + r"/actions/artifacts/(\d+)/zip"): lambda got, id: _download(handler, int(id)),
    }


def add_artifact(
    server: GitHubServer, archive: bytes, name: str = "trapgate-results", *, run_id: int = 42, expired: bool = False
) -> StoredArtifact:
    """An artifact as a run has left it."""
    with server.lock:
        number = 500 + len(server.artifacts)
        stored = StoredArtifact(number, run_id, name, archive, len(archive), expired)
        server.artifacts.append(stored)
        server.storage.files[_blob(stored)] = archive
        return stored


def _blob(stored: StoredArtifact) -> str:
    return f"/blobs/{stored.id}?sig=s"


def _list(handler: Any, received: Any, run_id: int) -> None:
    server: GitHubServer = handler.github
    if handler._allowed("actions: read"):
        name = received.query.get("name")
        found = [one for one in server.artifacts if one.run_id == run_id and name in (None, one.name)]
        handler.send_page(received, [artifact(server, one) for one in found], "artifacts")


def _download(handler: Any, artifact_id: int) -> None:
    server: GitHubServer = handler.github
    if not handler._allowed("actions: read"):
        return
    stored = next((one for one in server.artifacts if one.id == artifact_id), None)
    if stored is None:
        handler._error(404, "Not Found")
    elif stored.expired:
        handler._error(410, "Artifact has expired")
    else:
        handler.send_answer(302, b"", {"Location": server.storage.root + _blob(stored)})


def zipped(files: Mapping[str, bytes]) -> bytes:
    """An archive of `files`, by path."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, data in files.items():
            opened.writestr(name, data)
    return archive.getvalue()


@dataclass
class StoredArtifact:
    """`archive`: the bytes of its zip file; `size`: what is said of their number."""

    id: int
    run_id: int
    name: str
    archive: bytes
    size: int
    expired: bool


@dataclass
class Storage:
    """Another server than the API's. As Azure's storage does, it refuses a request that brings a token; every request's
    headers are kept. `failures`: statuses that the next requests get; `moved_to`: where all are sent on to."""

    files: dict[str, bytes] = field(default_factory=dict)
    headers: list[dict[str, str]] = field(default_factory=list)
    failures: list[int] = field(default_factory=list)
    moved_to: str = ""

    def __post_init__(self) -> None:
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _StorageHandler)
        self._http.daemon_threads = True
        self._http.storage = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _StorageHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def log_message(self, format: str, *arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        storage: Storage = self.server.storage  # type: ignore[attr-defined]
        storage.headers.append(dict(self.headers))
        data = storage.files.get(self.path)
        if "Authorization" in self.headers:
            self._send(400, b"InvalidAuthenticationInfo")
        elif storage.failures:
            self._send(storage.failures.pop(0), b"")
        elif storage.moved_to:
            self._send(302, b"", Location=storage.moved_to)
        elif data is None:
            self._send(404, b"")
        else:
            self._send(200, data)

    def _send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def artifact(server: GitHubServer, stored: StoredArtifact) -> dict[str, Any]:
    """An `artifact`."""
    url = f"{server.api_url}/repos/{server.repository}/actions/artifacts/{stored.id}"
    return {
        "id": stored.id,
        "node_id": f"A_{stored.id}",
        "name": stored.name,
        "size_in_bytes": stored.size,
        "url": url,
        "archive_download_url": f"{url}/zip",
        "expired": stored.expired,
        "created_at": NOW,
        "expires_at": NOW,
        "updated_at": NOW,
        "digest": None,
        "workflow_run": {"id": stored.run_id, "repository_id": 1, "head_repository_id": 2},
    }


def workflow_run_event(
    server: GitHubServer,
    *,
    head: str,
    branch: str = "change",
    head_repository: str = "stranger/agent",
    event: str = "pull_request",
    actor: str = "stranger",
    conclusion: str = "failure",
    run_id: int = 42,
) -> dict[str, Any]:
    """The payload of `workflow_run`. Of a fork, `pull_requests` is empty."""
    api, page = f"{server.api_url}/repos/{server.repository}", f"{server.root}/{server.repository}"
    run, person = f"{api}/actions/runs/{run_id}", {"name": "Stranger", "email": "stranger@example.com"}
    workflow = {
        "id": 5,
        "node_id": "W_5",
        "name": "Evaluate",
        "path": ".github/workflows/evaluate.yml",
        "state": "active",
        "url": f"{api}/actions/workflows/5",
        "html_url": f"{page}/blob/main/.github/workflows/evaluate.yml",
        "badge_url": f"{page}/workflows/Evaluate/badge.svg",
        "created_at": NOW,
        "updated_at": NOW,
    }
    return {
        "action": "completed",
        "repository": repository(server),
        "sender": user(server, actor, "User"),
        "workflow": workflow,
        "workflow_run": {
            "id": run_id,
            "node_id": f"WFR_{run_id}",
            "name": "Evaluate",
            "path": workflow["path"],
            "display_title": "A change",
            "run_number": 1,
            "run_attempt": 1,
            "event": event,
            "status": "completed",
            "conclusion": conclusion,
            "workflow_id": 5,
            "check_suite_id": 6,
            "check_suite_node_id": "CS_6",
            "head_branch": branch,
            "head_sha": head,
            "head_commit": {
                "id": head,
                "tree_id": head,
                "message": "A change",
                "timestamp": NOW,
                "author": person,
                "committer": person,
            },
            "head_repository": repository(server, head_repository),
            "repository": repository(server),
            "actor": user(server, actor, "User"),
            "triggering_actor": user(server, actor, "User"),
            "pull_requests": [],
            "created_at": NOW,
            "updated_at": NOW,
            "run_started_at": NOW,
            "url": run,
            "html_url": f"{page}/actions/runs/{run_id}",
            "check_suite_url": f"{api}/check-suites/6",
            "workflow_url": workflow["url"],
            "previous_attempt_url": None,
            **{f"{what}_url": f"{run}/{what}" for what in ("jobs", "logs", "artifacts", "cancel", "rerun")},
        },
    }
