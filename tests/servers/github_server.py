"""A small GitHub API server over real sockets: comments with pages, files at commits, comparisons, and bad days.

    with GitHubServer() as server:
        server.add_file("trap.yaml", b"...", commit=server.commit())
        server.fail("POST", "/comments", Fault(403))
        ...  # server.api_url, server.comments[7], server.requests

It answers below `/api/v3`, as GitHub Enterprise Server does. The shapes are held against GitHub's own description by
tests/unit/github/test_github_server.py.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from tests.servers import github_actions, github_git, github_issues
from tests.servers.github_actions import Storage, StoredArtifact
from tests.servers.github_git import Commit, GitDatabase, RefusedError
from tests.servers.github_people import NOW, alone, permission, pull_request, repository
from tests.servers.github_people import user as _user

PREFIX = "/api/v3"
ACTIONS_BOT = ("github-actions[bot]", "Bot")


@dataclass(frozen=True)
class Fault:
    """What happens instead of an answer. `status` 0: the connection is cut. `delay`: seconds before the answer, which
    is the true one where `status` is None. `after`: the request takes effect and then fails. `barrier`: the answer
    waits for those of other requests."""

    status: int | None = None
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    delay: float = 0.0
    after: bool = False
    barrier: threading.Barrier | None = None


@dataclass(frozen=True)
class Received:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


class GitHubServer:
    """State and faults are plain attributes, to be set and looked at by tests.

    `identity`: login and type of whom the token belongs to. `granted`: permissions that the token has. `roles`: login →
    the role that a person has here; nobody else exists. `pulls`: number → head, base_ref and merge_commit. `locked`:
    numbers of conversations in which this token cannot comment. `git`: what the git data API reads and writes; files at
    its commits are read as well.
    """

    def __init__(self, repository: str = "octo/agent") -> None:
        self.repository = repository
        self.default_branch = "main"
        self.identity = ACTIONS_BOT
        self.granted = {"contents: read", "metadata: read", "pull-requests: write"}
        self.hides_what_is_denied = False
        self.comments: dict[int, list[dict[str, Any]]] = {}
        self.files: dict[tuple[str, str], bytes] = {}
        self.commits: set[str] = set()
        self.merge_bases: dict[tuple[str, str], str] = {}
        self.roles: dict[str, str] = {}
        self.pulls: dict[int, dict[str, Any]] = {}
        self.issues: dict[int, dict[str, Any]] = {}
        self.locked: set[int] = set()
        self.git = GitDatabase()
        self.artifacts: list[StoredArtifact] = []
        self.storage = Storage()
        self.requests: list[Received] = []
        self.lock = threading.RLock()
        self._faults: list[tuple[str, str, Fault]] = []
        self._next_id = 1000
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._http.daemon_threads = True
        self._http.github = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def api_url(self) -> str:
        return self.root + PREFIX

    def __enter__(self) -> GitHubServer:
        self._thread.start()
        self.storage.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        self.storage.stop()

    def fail(self, method: str, path: str, *faults: Fault) -> None:
        """The next requests of `method` whose path matches the regular expression `path` meet these, one each."""
        self._faults += [(method, path, fault) for fault in faults]

    def commit(self, name: str = "base", parents: tuple[str, ...] = ()) -> str:
        """A commit that exists, with an id made from `name`."""
        sha = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()
        self.commits.add(sha)
        if parents:
            self.git.commits[sha] = Commit(self.git.add_tree({}), parents, name)
        return sha

    def add_file(self, path: str, data: bytes, commit: str) -> None:
        self.commits.add(commit)
        self.files[commit, path] = data

    def add_comment(self, number: int, body: str, *, login: str = "someone", kind: str = "User") -> int:
        """A comment as somebody wrote it; returns its id."""
        with self.lock:
            self._next_id += 1
            comment = _comment(self, number, self._next_id, body, login, kind)
            self.comments.setdefault(number, []).append(comment)
            return self._next_id

    def take_fault(self, method: str, path: str) -> Fault | None:
        with self.lock:
            for place, (wanted, pattern, fault) in enumerate(self._faults):
                if wanted == method and re.search(pattern, path):
                    del self._faults[place]
                    return fault
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet an answer: the client would wait 40 ms between head and body

    @property
    def github(self) -> GitHubServer:
        server: GitHubServer = self.server.github  # type: ignore[attr-defined]
        return server

    def log_message(self, format: str, *arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PATCH(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        data = self.rfile.read(length)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        path = unquote(parts.path).removeprefix(PREFIX)
        received = Received(self.command, path, query, dict(self.headers), json.loads(data) if data else None)
        with self.github.lock:
            self.github.requests.append(received)
        fault = self.github.take_fault(self.command, path)
        if fault is not None and self._meets(fault, received):
            return
        if not parts.path.startswith(PREFIX + "/"):
            self._error(404, "Not Found")
            return
        self._route(received)

    def _meets(self, fault: Fault, received: Received) -> bool:
        time.sleep(fault.delay)
        if fault.barrier:
            fault.barrier.wait(timeout=10)
        if fault.after:
            real, self.send_answer = self.send_answer, lambda *_, **__: None  # type: ignore[method-assign]
            self._route(received)
            self.send_answer = real  # type: ignore[method-assign]
        if fault.status is None:
            return False
        if fault.status == 0:
            self.close_connection = True
            return True
        body = fault.body if fault.body is not None else json.dumps({"message": fault.message}).encode()
        self.send_answer(fault.status, body, fault.headers)
        return True

    def _route(self, received: Received) -> None:
        repo = f"/repos/{re.escape(self.github.repository)}"
        routes: dict[tuple[str, str], Callable[..., None]] = {
            ("GET", r"/user"): self._user,
            ("GET", repo): self._repository,
            ("GET", repo + r"/issues/(\d+)/comments"): self._list,
            ("POST", repo + r"/issues/(\d+)/comments"): self._create,
            ("PATCH", repo + r"/issues/comments/(\d+)"): self._edit,
            ("DELETE", repo + r"/issues/comments/(\d+)"): self._delete,
            ("GET", repo + r"/contents/(.+)"): self._contents,
            ("GET", repo + r"/compare/([0-9a-f]+)\.\.\.([0-9a-f]+)"): self._compare,
            ("GET", repo + r"/git/commits/([0-9a-f]+)"): self._git_commit,
            ("GET", repo + r"/git/matching-refs/heads/(.+)"): self._matching_refs,
            ("GET", repo + r"/git/trees/([0-9a-f]+)"): self._tree,
            ("GET", repo + r"/git/blobs/([0-9a-f]+)"): self._blob,
            ("POST", repo + r"/git/(blobs|trees|commits|refs)"): self._make,
            ("PATCH", repo + r"/git/refs/heads/(.+)"): self._move,
            ("GET", repo + r"/collaborators/([^/]+)/permission"): self._permission,
            ("GET", repo + r"/commits/([0-9a-f]+)/pulls"): self._pulls_of_commit,
            ("GET", repo + r"/pulls/(\d+)"): self._pull,
            **github_issues.routes(self, repo),
            **github_actions.routes(self, repo),
            ("GET", repo + r"/pulls"): self._list_pulls,
        }
        for (method, pattern), answer in routes.items():
            match = re.fullmatch(pattern, received.path)
            if match and method == received.method:
                answer(received, *match.groups())
                return
        self._error(404, "Not Found")

    def _allowed(self, permission: str) -> bool:
        if permission in self.github.granted:
            return True
        if self.github.hides_what_is_denied:
            self._error(404, "Not Found")
        else:
            self._error(403, "Resource not accessible by integration")
        return False

    def _user(self, received: Received) -> None:
        login, kind = self.github.identity
        if kind == "Bot":
            self._error(403, "Resource not accessible by integration")
        else:
            self._json(200, _user(self.github, login, kind) | _PUBLIC)

    def _repository(self, received: Received) -> None:
        if self._allowed("metadata: read"):
            self._json(200, repository(self.github))

    def _list(self, received: Received, number: str) -> None:
        with self.github.lock:
            comments = list(self.github.comments.get(int(number), []))
        self.send_page(received, comments)

    def send_page(self, received: Received, items: list[Any], member: str = "") -> None:
        """A page of `items`, in an object where `member` names the list."""
        size, page = int(received.query.get("per_page", "30")), int(received.query.get("page", "1"))
        headers = {}
        if page * size < len(items):
            query = urlencode(received.query | {"per_page": size, "page": page + 1})
            url = f"{self.github.api_url}{received.path}?{query}"
            headers["Link"] = f'<{url}>; rel="next", <{url}>; rel="last"'
        shown = items[(page - 1) * size : page * size]
        self._json(200, {"total_count": len(items), member: shown} if member else shown, headers)

    def _create(self, received: Received, number: str) -> None:
        if not self._allowed(github_issues.comment_permission(self.github, number)):
            return
        if int(number) in self.github.locked:
            self._error(403, "Unable to create comment because issue is locked.")
            return
        body = received.body["body"]
        if len(body) > 65_536:
            self._error(422, "Validation Failed: body is too long (maximum is 65536 characters)")
            return
        login, kind = self.github.identity
        with self.github.lock:
            self.github.add_comment(int(number), body, login=login, kind=kind)
            comment = self.github.comments[int(number)][-1]
        self._json(201, comment)

    def _edit(self, received: Received, comment_id: str) -> None:
        if not self._allowed("pull-requests: write"):
            return
        with self.github.lock:
            for comment in self._all():
                if comment["id"] == int(comment_id):
                    comment["body"] = received.body["body"]
                    self._json(200, comment)
                    return
        self._error(404, "Not Found")

    def _delete(self, received: Received, comment_id: str) -> None:
        if not self._allowed("pull-requests: write"):
            return
        with self.github.lock:
            for comments in self.github.comments.values():
                for comment in comments:
                    if comment["id"] == int(comment_id):
                        comments.remove(comment)
                        self.send_answer(204, b"")
                        return
        self._error(404, "Not Found")

    def _all(self) -> list[dict[str, Any]]:
        return [comment for comments in self.github.comments.values() for comment in comments]

    def _contents(self, received: Received, path: str) -> None:
        if not self._allowed("contents: read"):
            return
        commit = received.query["ref"]
        data = self.github.files.get((commit, path), self._in_git(commit, path))
        if data is None:
            self._error(404, "Not Found")
        else:
            self.send_answer(200, data, {"Content-Type": "application/vnd.github.raw+json; charset=utf-8"})

    def _compare(self, received: Received, base: str, head: str) -> None:
        if not self._allowed("contents: read"):
            return
        status = self.github.git.status(base, head)
        merge_base = base if status is not None else self.github.merge_bases.get((base, head))
        if merge_base is None:
            self._error(404, "Not Found")
        else:
            self._json(200, _comparison(self.github, base, merge_base) | {"status": status or "diverged"})

    def _git_commit(self, received: Received, sha: str) -> None:
        if not self._allowed("contents: read"):
            return
        if sha not in self.github.commits and sha not in self.github.git.commits:
            self._error(404, "Not Found")
        else:
            self._json(200, github_git.commit(self.github, sha))

    def _in_git(self, commit: str, path: str) -> bytes | None:
        git = self.github.git
        if commit not in git.commits or path not in git.trees[git.commits[commit].tree]:
            return None
        return git.blobs[git.trees[git.commits[commit].tree][path][1]]

    def _matching_refs(self, received: Received, prefix: str) -> None:
        if self._allowed("contents: read"):
            with self.github.lock:
                self._or_refused(200, lambda: github_git.matching(self.github, prefix))

    def _tree(self, received: Received, sha: str) -> None:
        if not self._allowed("contents: read"):
            return
        if sha not in self.github.git.trees:
            self._error(404, "Not Found")
        else:
            self._json(200, github_git.tree(self.github, sha))

    def _blob(self, received: Received, sha: str) -> None:
        if not self._allowed("contents: read"):
            return
        data = self.github.git.blobs.get(sha)
        if data is None:
            self._error(404, "Not Found")
        else:
            self.send_answer(200, data, {"Content-Type": "application/vnd.github.raw+json; charset=utf-8"})

    def _make(self, received: Received, what: str) -> None:
        if not self._allowed("contents: write"):
            return
        server, body = self.github, received.body
        making: dict[str, Callable[[], Any]] = {
            "blobs": lambda: github_git.short_blob(server, github_git.make_blob(server.git, body)),
            "trees": lambda: github_git.tree(server, github_git.make_tree(server.git, body)),
            "commits": lambda: github_git.commit(server, github_git.make_commit(server.git, body)),
            "refs": lambda: github_git.ref(server, github_git.make_branch(server.git, body)),
        }
        with server.lock:
            self._or_refused(201, making[what])

    def _move(self, received: Received, name: str) -> None:
        if self._allowed("contents: write"):
            server = self.github
            with server.lock:
                self._or_refused(
                    200, lambda: github_git.ref(server, github_git.move_branch(server.git, name, received.body))
                )

    def _or_refused(self, status: int, answer: Callable[[], Any]) -> None:
        try:
            self._json(status, answer())
        except RefusedError as refused:
            self._error(refused.status, refused.message)

    def _permission(self, received: Received, login: str) -> None:
        if not self._allowed("metadata: read"):
            return
        role = self.github.roles.get(login)
        if role is None:
            self._error(404, f"{login} is not a user")
        else:
            self._json(200, permission(self.github, login, role))

    def _pulls_of_commit(self, received: Received, sha: str) -> None:
        if self._may_read_pulls():
            found = [pull for pull in self._pulls() if sha in (pull["merge_commit_sha"], pull["head"]["sha"])]
            self._json(200, found)

    def _pull(self, received: Received, number: str) -> None:
        if not self._may_read_pulls():
            return
        found = next((pull for pull in self._pulls() if pull["number"] == int(number)), None)
        if found is None:
            self._error(404, "Not Found")
        else:
            self._json(200, alone(found))

    def _list_pulls(self, received: Received) -> None:
        if self._may_read_pulls():
            state, head = received.query.get("state", "open"), received.query.get("head")
            found = [pull for pull in self._pulls() if state in (pull["state"], "all")]
            self.send_page(received, [pull for pull in found if head in (None, pull["head"]["label"])])

    def _may_read_pulls(self) -> bool:
        return "pull-requests: write" in self.github.granted or self._allowed("pull-requests: read")

    def _pulls(self) -> list[dict[str, Any]]:
        return [pull_request(self.github, number, **pull) for number, pull in self.github.pulls.items()]

    def _error(self, status: int, message: str) -> None:
        self._json(
            status, {"message": message, "documentation_url": "https://docs.github.com/rest", "status": str(status)}
        )

    def _json(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        json_headers = {"Content-Type": "application/json; charset=utf-8", **(headers or {})}
        self.send_answer(status, json.dumps(value).encode(), json_headers)

    def send_answer(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # a client may have given up
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            if status != 204:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)


_PUBLIC = dict.fromkeys(("bio", "blog", "company", "email", "hireable", "location", "name")) | {
    "followers": 0,
    "following": 0,
    "public_gists": 0,
    "public_repos": 0,
    "created_at": NOW,
    "updated_at": NOW,
}


def _comment(server: GitHubServer, number: int, id: int, body: str, login: str, kind: str) -> dict[str, Any]:
    issue = f"{server.api_url}/repos/{server.repository}/issues"
    return {
        "id": id,
        "node_id": f"IC_{id}",
        "url": f"{issue}/comments/{id}",
        "html_url": f"{server.root}/{server.repository}/pull/{number}#issuecomment-{id}",
        "issue_url": f"{issue}/{number}",
        "body": body,
        "user": _user(server, login, kind),
        "created_at": NOW,
        "updated_at": NOW,
        "author_association": "NONE",
    }


def _commit(server: GitHubServer, sha: str) -> dict[str, Any]:
    git = github_git.commit(server, sha)
    return {
        "sha": sha,
        "node_id": git["node_id"],
        "url": f"{server.api_url}/repos/{server.repository}/commits/{sha}",
        "html_url": git["html_url"],
        "comments_url": f"{server.api_url}/repos/{server.repository}/commits/{sha}/comments",
        "commit": {
            "url": git["url"],
            "author": git["author"],
            "committer": git["committer"],
            "message": git["message"],
            "comment_count": 0,
            "tree": git["tree"],
        },
        "author": _user(server, "octo", "User"),
        "committer": _user(server, "octo", "User"),
        "parents": [],
    }


def _comparison(server: GitHubServer, base: str, merge_base: str) -> dict[str, Any]:
    page = f"{server.root}/{server.repository}/compare"
    return {
        "url": f"{server.api_url}/repos/{server.repository}/compare",
        "html_url": page,
        "permalink_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "base_commit": _commit(server, base),
        "merge_base_commit": _commit(server, merge_base),
        "status": "diverged",
        "ahead_by": 1,
        "behind_by": 1,
        "total_commits": 1,
        "commits": [],
        "files": [],
    }
