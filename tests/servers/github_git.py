"""The git database of the GitHub server: blobs, trees, commits and branches that requests make and move.

A tree is kept flat, path → mode and blob. The refusals, and their words, are those of GitHub where its documentation or
its answers in public issue threads tell them.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.servers.github_server import GitHubServer

NOW = "2026-01-02T03:04:05Z"

Tree = Mapping[str, tuple[str, str]]
_BAD_NAMES = {"", ".", "..", ".git"}


class RefusedError(Exception):
    """What GitHub would answer instead."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


@dataclass(frozen=True)
class Commit:
    tree: str
    parents: tuple[str, ...]
    message: str


@dataclass
class GitDatabase:
    """`branches`: name → commit; `protected`: branches that no token may move; `empty`: nobody has pushed yet."""

    blobs: dict[str, bytes] = field(default_factory=dict)
    trees: dict[str, Tree] = field(default_factory=dict)
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    protected: set[str] = field(default_factory=set)
    empty: bool = False

    def put(self, branch: str, files: Mapping[str, bytes | None], message: str = "by hand") -> str:
        """A commit on `branch` as somebody pushed it; None deletes a file."""
        parent = self.branches.get(branch)
        tree = dict(self.trees[self.commits[parent].tree]) if parent else {}
        for path, data in files.items():
            if data is None:
                del tree[path]
            else:
                tree[path] = ("100644", self.add_blob(data))
        self.branches[branch] = self.add_commit(self.add_tree(tree), (parent,) if parent else (), message)
        return self.branches[branch]

    def files(self, branch: str) -> dict[str, bytes]:
        """What is on `branch` now."""
        tree = self.trees[self.commits[self.branches[branch]].tree]
        return {path: self.blobs[sha] for path, (_, sha) in tree.items()}

    def line(self, *names: str) -> list[str]:
        """Commits of the code, each the child of the one before."""
        made: list[str] = []
        for name in names:
            made.append(self.add_commit(self.add_tree({}), tuple(made[-1:]), name))
        return made

    def add_blob(self, data: bytes) -> str:
        sha = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        self.blobs[sha] = data
        return sha

    def add_tree(self, tree: Tree) -> str:
        sha = _digest("tree", sorted(tree.items()))
        self.trees[sha] = dict(tree)
        return sha

    def add_commit(self, tree: str, parents: tuple[str, ...], message: str) -> str:
        sha = _digest("commit", [tree, parents, message])
        self.commits[sha] = Commit(tree, parents, message)
        return sha

    def history(self, commit: str) -> Iterator[str]:
        """`commit` and its ancestors."""
        waiting, seen = [commit], set()
        while waiting:
            sha = waiting.pop()
            if sha not in seen:
                seen.add(sha)
                yield sha
                waiting += self.commits[sha].parents if sha in self.commits else ()

    def status(self, base: str, head: str) -> str | None:
        """How `head` stands to `base`, in the words of a comparison; None where they have nothing in common."""
        if base not in self.commits or head not in self.commits:
            return None
        if base == head:
            return "identical"
        of_base, of_head = set(self.history(base)), set(self.history(head))
        if base in of_head:
            return "ahead"
        if head in of_base:
            return "behind"
        return "diverged" if of_base & of_head else None


def make_blob(git: GitDatabase, body: Mapping[str, Any]) -> str:
    _refuse_empty(git)
    content = body["content"]
    return git.add_blob(base64.b64decode(content) if body.get("encoding") == "base64" else content.encode())


def make_tree(git: GitDatabase, body: Mapping[str, Any]) -> str:
    _refuse_empty(git)
    tree: dict[str, tuple[str, str]] = {}
    if "base_tree" in body:
        if body["base_tree"] not in git.trees:
            raise RefusedError(422, "base_tree is not a valid tree oid")
        tree = dict(git.trees[body["base_tree"]])
    for entry in body["tree"]:
        path = entry["path"]
        if _BAD_NAMES & {part.lower() for part in path.split("/")}:
            raise RefusedError(422, "tree.path contains a malformed path component")
        if ("sha" in entry) == ("content" in entry):
            raise RefusedError(422, "Must supply either tree.sha or tree.content. Both were given, or none.")
        if "content" in entry:
            tree[path] = (entry["mode"], git.add_blob(entry["content"].encode()))
        elif entry["sha"] is None:
            if tree.pop(path, None) is None:
                raise RefusedError(422, "GitRPC::BadObjectState")
        elif entry["sha"] not in git.blobs:
            raise RefusedError(422, f"tree.sha {entry['sha']} is not a valid blob")
        else:
            tree[path] = (entry["mode"], entry["sha"])
    return git.add_tree(tree)


def make_commit(git: GitDatabase, body: Mapping[str, Any]) -> str:
    _refuse_empty(git)
    if body["tree"] not in git.trees:
        raise RefusedError(422, "Tree SHA does not exist")
    if any(parent not in git.commits for parent in body["parents"]):
        raise RefusedError(422, "Parent SHA does not exist or is not a commit object")
    return git.add_commit(body["tree"], tuple(body["parents"]), body["message"])


def make_branch(git: GitDatabase, body: Mapping[str, Any]) -> str:
    _refuse_empty(git)
    name = body["ref"].removeprefix("refs/heads/")
    if body["sha"] not in git.commits:
        raise RefusedError(422, "Object does not exist")
    if name in git.branches:
        raise RefusedError(422, "Reference already exists")
    taken = any(other.startswith(f"{name}/") or name.startswith(f"{other}/") for other in git.branches)
    if taken or name in git.protected:
        raise RefusedError(422, "Reference update failed")
    git.branches[name] = body["sha"]
    return name


def move_branch(git: GitDatabase, name: str, body: Mapping[str, Any]) -> str:
    if name not in git.branches:
        raise RefusedError(422, "Reference does not exist")
    if name in git.protected:
        raise RefusedError(422, "Cannot update this protected ref.")
    if body["sha"] not in git.commits:
        raise RefusedError(422, "Object does not exist")
    if not body.get("force") and git.branches[name] not in git.history(body["sha"]):
        raise RefusedError(422, "Update is not a fast forward")
    git.branches[name] = body["sha"]
    return name


def ref(server: GitHubServer, name: str) -> dict[str, Any]:
    """A `git-ref`."""
    sha, api = server.git.branches[name], f"{server.api_url}/repos/{server.repository}/git"
    return {
        "ref": f"refs/heads/{name}",
        "node_id": f"REF_{name}",
        "url": f"{api}/refs/heads/{name}",
        "object": {"type": "commit", "sha": sha, "url": f"{api}/commits/{sha}"},
    }


def matching(server: GitHubServer, prefix: str) -> list[dict[str, Any]]:
    """Every branch whose name begins so, as `git-ref`."""
    _refuse_empty(server.git)
    return [ref(server, name) for name in sorted(server.git.branches) if name.startswith(prefix)]


def tree(server: GitHubServer, sha: str) -> dict[str, Any]:
    """A `git-tree` as it is listed where nothing asks for `recursive`: what is in the folder, and no more."""
    url = f"{server.api_url}/repos/{server.repository}/git"
    entries: list[dict[str, Any]] = []
    below: dict[str, dict[str, tuple[str, str]]] = {}
    for path, (mode, blob) in sorted(server.git.trees[sha].items()):
        name, _, rest = path.partition("/")
        if rest:
            below.setdefault(name, {})[rest] = (mode, blob)
        elif mode == "160000":
            entries.append({"path": name, "mode": mode, "type": "commit", "sha": blob})
        else:
            size = len(server.git.blobs[blob])
            entry = {"path": name, "mode": mode, "type": "blob", "sha": blob, "size": size}
            entries.append(entry | {"url": f"{url}/blobs/{blob}"})
    for name, files in below.items():
        inside = server.git.add_tree(files)
        entries.append({"path": name, "mode": "040000", "type": "tree", "sha": inside, "url": f"{url}/trees/{inside}"})
    return {"sha": sha, "url": f"{url}/trees/{sha}", "tree": entries, "truncated": False}


def short_blob(server: GitHubServer, sha: str) -> dict[str, Any]:
    """A `short-blob`."""
    return {"url": f"{server.api_url}/repos/{server.repository}/git/blobs/{sha}", "sha": sha}


def commit(server: GitHubServer, sha: str) -> dict[str, Any]:
    """A `git-commit`. A commit that only has a name has an empty tree."""
    known = server.git.commits.get(sha, Commit(sha, (), "a commit"))
    api, page = f"{server.api_url}/repos/{server.repository}/git", f"{server.root}/{server.repository}/commit"
    person = {"date": NOW, "email": "octo@example.com", "name": "Octo"}
    return {
        "sha": sha,
        "node_id": f"C_{sha}",
        "url": f"{api}/commits/{sha}",
        "html_url": f"{page}/{sha}",
        "author": person,
        "committer": person,
        "message": known.message,
        "tree": {"sha": known.tree, "url": f"{api}/trees/{known.tree}"},
        "parents": [
            {"sha": each, "url": f"{api}/commits/{each}", "html_url": f"{page}/{each}"} for each in known.parents
        ],
        "verification": {
            "verified": False,
            "reason": "unsigned",
            "signature": None,
            "payload": None,
            "verified_at": None,
        },
    }


def _refuse_empty(git: GitDatabase) -> None:
    if git.empty:
        raise RefusedError(409, "Git Repository is empty.")


def _digest(kind: str, value: object) -> str:
    return hashlib.sha1(f"{kind} {value!r}".encode(), usedforsecurity=False).hexdigest()
