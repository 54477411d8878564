"""What the GitHub server says of people and of pull requests: who may do what, and which merge made a commit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.servers.github_server import GitHubServer

NOW = "2026-01-02T03:04:05Z"
# The role that each base level goes by where nobody made roles of their own.
ROLES = {"maintain": "write", "triage": "read"}


def user(server: GitHubServer, login: str, kind: str) -> dict[str, Any]:
    """A `simple-user`."""
    url = f"{server.api_url}/users/{login}"
    linked = ("events", "followers", "following", "gists", "organizations", "received_events", "repos", "starred")
    return {
        "login": login,
        "id": 41898282,
        "node_id": "U_1",
        "avatar_url": f"{server.root}/avatars/1",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{server.root}/{login}",
        **{f"{name}_url": f"{url}/{name}" for name in linked},
        "subscriptions_url": f"{url}/subscriptions",
        "type": kind,
        "site_admin": False,
    }


def permission(server: GitHubServer, login: str, role: str) -> dict[str, Any]:
    """A `repository-collaborator-permission`: roles beyond the four base levels are mapped to one of them."""
    return {
        "permission": ROLES.get(role, role),
        "role_name": role,
        "user": {**user(server, login, "User"), "role_name": role},
    }


def pull_request(
    server: GitHubServer,
    number: int,
    *,
    head: str,
    base_ref: str,
    merge_commit: str | None,
    head_ref: str = "",
    head_repository: str = "",
) -> dict[str, Any]:
    """A `pull-request-simple`, merged where it has a merge commit. Its head is in this repository where none is
    named."""
    api = f"{server.api_url}/repos/{server.repository}"
    page = f"{server.root}/{server.repository}/pull/{number}"
    issue = f"{api}/issues/{number}"
    links = {
        "self": f"{api}/pulls/{number}",
        "html": page,
        "issue": issue,
        "comments": f"{issue}/comments",
        "review_comments": f"{api}/pulls/{number}/comments",
        "review_comment": f"{api}/pulls/comments{{/number}}",
        "commits": f"{api}/pulls/{number}/commits",
        "statuses": f"{api}/statuses/{head}",
    }
    return {
        "id": number,
        "node_id": f"PR_{number}",
        "number": number,
        "url": links["self"],
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "issue_url": issue,
        "comments_url": links["comments"],
        "review_comments_url": links["review_comments"],
        "review_comment_url": links["review_comment"],
        "commits_url": links["commits"],
        "statuses_url": links["statuses"],
        "state": "open" if merge_commit is None else "closed",
        "locked": False,
        "title": f"Change {number}",
        "body": None,
        "user": user(server, "alice", "User"),
        "labels": [],
        "milestone": None,
        "assignee": None,
        "author_association": "MEMBER",
        "auto_merge": None,
        "created_at": NOW,
        "updated_at": NOW,
        "closed_at": None if merge_commit is None else NOW,
        "merged_at": None if merge_commit is None else NOW,
        "merge_commit_sha": merge_commit,
        "head": _side(server, head_ref or f"change-{number}", head, head_repository),
        "base": _side(server, base_ref, server.commit("base")),
        "_links": {name: {"href": url} for name, url in links.items()},
    }


def alone(pull: dict[str, Any]) -> dict[str, Any]:
    """A `pull-request`, as it is told when it is asked for by its number."""
    counts = dict.fromkeys(("additions", "deletions", "changed_files", "comments", "review_comments"), 0)
    merged = pull["merged_at"] is not None
    return {
        **pull,
        **counts,
        "commits": 1,
        "merged": merged,
        "merged_by": pull["user"] if merged else None,
        "mergeable": None,
        "mergeable_state": "unknown",
        "maintainer_can_modify": False,
    }


def _side(server: GitHubServer, ref: str, sha: str, full_name: str = "") -> dict[str, Any]:
    owner = (full_name or server.repository).split("/")[0]
    return {
        "label": f"{owner}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": user(server, owner, "User"),
        "repo": repository(server, full_name),
    }


_LINKED = re.findall(
    r"\w+",
    "archive assignees blobs branches collaborators comments commits compare contents contributors deployments "
    "downloads events forks git_commits git_refs git_tags hooks issue_comment issue_events issues keys labels "
    "languages merges milestones notifications pulls releases stargazers statuses subscribers subscription tags teams "
    "trees",
)


def repository(server: GitHubServer, full_name: str = "") -> dict[str, Any]:
    """A `repository`: the server's own where none is named, else a fork of it."""
    full_name = full_name or server.repository
    owner, name = full_name.split("/")
    api, page = f"{server.api_url}/repos/{full_name}", f"{server.root}/{full_name}"
    return {
        "id": 1,
        "node_id": "R_1",
        "name": name,
        "full_name": full_name,
        "owner": user(server, owner, "User"),
        "private": False,
        "visibility": "public",
        "fork": full_name != server.repository,
        "archived": False,
        "disabled": False,
        "license": None,
        "description": None,
        "homepage": None,
        "language": None,
        "mirror_url": None,
        "default_branch": server.default_branch,
        "url": api,
        "html_url": page,
        "clone_url": f"{page}.git",
        "git_url": f"{page}.git",
        "ssh_url": f"git@127.0.0.1:{full_name}.git",
        "svn_url": page,
        **{f"{link}_url": f"{api}/{link}" for link in _LINKED},
        **dict.fromkeys(("has_issues", "has_projects", "has_wiki", "has_downloads", "has_pages"), False),
        "has_discussions": False,
        **dict.fromkeys(
            ("forks", "forks_count", "open_issues", "open_issues_count", "size", "stargazers_count", "watchers"), 0
        ),
        "watchers_count": 0,
        "created_at": NOW,
        "updated_at": NOW,
        "pushed_at": NOW,
    }
