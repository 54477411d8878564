"""What the GitHub server does about issues: lists them, pull requests among them, opens, edits and closes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.servers.github_people import NOW, user

if TYPE_CHECKING:
    from tests.servers.github_server import GitHubServer

MOST_CHARACTERS = 65_536
MOST_OF_TITLE = 256


def routes(handler: Any, repository: str) -> dict[tuple[str, str], Callable[..., None]]:
    """The operations, by method and path; `repository`: a regular expression for the path of the repository."""
    return {
        ("GET", repository + r"/issues"): lambda received: _list(handler, received),
        ("POST", repository + r"/issues"): lambda received: _create(handler, received),
        ("PATCH", repository + r"/issues/(\d+)"): lambda received, number: _edit(handler, received, int(number)),
    }


def add(
    server: GitHubServer, body: str, *, title: str = "", login: str = "someone", kind: str = "User", pull: bool = False
) -> int:
    """An issue as somebody wrote it, or a pull request; returns its number."""
    with server.lock:
        number = max([100, *server.issues, *server.pulls]) + 1
        issue = _issue(server, number, title, body, login, kind)
        server.issues[number] = issue | ({"pull_request": _links(server, number)} if pull else {})
        return number


def comment_permission(server: GitHubServer, number: str) -> str:
    """What it takes to comment on the issue or pull request `number`."""
    return "issues: write" if int(number) in server.issues else "pull-requests: write"


def _list(handler: Any, received: Any) -> None:
    server: GitHubServer = handler.github
    if not ("issues: write" in server.granted or handler._allowed("issues: read")):
        return
    wanted = received.query.get("state", "open")
    with server.lock:
        shown = [dict(issue) for issue in server.issues.values() if wanted in (issue["state"], "all")]
    shown.sort(key=lambda issue: -issue["number"])  # the newest first
    handler.send_page(received, shown)


def _create(handler: Any, received: Any) -> None:
    server: GitHubServer = handler.github
    if not handler._allowed("issues: write"):
        return
    body = received.body or {}
    if "title" not in body:
        handler._error(422, 'Invalid request.\n\n"title" wasn\'t supplied.')
    elif fault := _fault(body):
        handler._error(422, fault)
    else:
        login, kind = server.identity
        number = add(server, body.get("body", ""), title=body["title"], login=login, kind=kind)
        handler._json(201, server.issues[number])


def _edit(handler: Any, received: Any, number: int) -> None:
    server: GitHubServer = handler.github
    if not handler._allowed("issues: write"):
        return
    if number not in server.issues:
        handler._error(404, "Not Found")
    elif fault := _fault(received.body):
        handler._error(422, fault)
    else:
        with server.lock:
            issue = server.issues[number]
            issue.update(received.body)
            issue["closed_at"] = NOW if issue["state"] == "closed" else None
        handler._json(200, issue)


def _fault(body: dict[str, Any]) -> str:
    if len(body.get("title", "")) > MOST_OF_TITLE:
        return "Validation Failed: title is too long (maximum is 256 characters)"
    if len(body.get("body", "")) > MOST_CHARACTERS:
        return "Validation Failed: body is too long (maximum is 65536 characters)"
    return ""


def _links(server: GitHubServer, number: int) -> dict[str, Any]:
    """What tells a pull request in the list of issues."""
    page = f"{server.root}/{server.repository}/pull/{number}"
    api = f"{server.api_url}/repos/{server.repository}/pulls/{number}"
    return {"url": api, "html_url": page, "diff_url": f"{page}.diff", "patch_url": f"{page}.patch"}


def _issue(server: GitHubServer, number: int, title: str, body: str, login: str, kind: str) -> dict[str, Any]:
    api = f"{server.api_url}/repos/{server.repository}"
    url = f"{api}/issues/{number}"
    return {
        "id": number,
        "node_id": f"I_{number}",
        "number": number,
        "title": title,
        "body": body,
        "state": "open",
        "state_reason": None,
        "user": user(server, login, kind),
        "url": url,
        "html_url": f"{server.root}/{server.repository}/issues/{number}",
        "repository_url": api,
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "labels": [],
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "locked": False,
        "comments": 0,
        "closed_at": None,
        "created_at": NOW,
        "updated_at": NOW,
        "author_association": "NONE",
    }
