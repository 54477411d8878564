"""A branch of a repository, read and written through GitHub's git data API: no checkout, no git.

Source: GitHub's documentation, "REST API endpoints for Git database".
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast
from urllib.parse import quote

from evaluator.github.client import RAW_MEDIA, Answer, Client, Failure, an_object
from evaluator.github.environment import is_commit

READ = "contents: read"
WRITE = "contents: write"

Standing = Literal["ahead", "behind", "identical", "diverged", "unknown"]

_FILE = "100644"
_PLAIN = (_FILE, "100755")


@dataclass(frozen=True)
class Blob:
    """A plain file's content as git knows it; `size` in bytes."""

    sha: str
    size: int


@dataclass(frozen=True)
class Folder:
    """A folder, by the tree that it is."""

    sha: str


@dataclass(frozen=True)
class Elsewhere:
    """A symbolic link or a submodule, which lead elsewhere and are not followed."""


Inside = Blob | Folder | Elsewhere


@dataclass(frozen=True)
class Tip:
    """A branch at one commit, and the tree of that."""

    commit: str
    tree: str


Change = Blob | bytes | None
"""What a path becomes: a blob that is on the server, a UTF-8 text, or nothing."""


class GitData:
    """The git database of one repository. Every failure is a value."""

    def __init__(self, client: Client, repository: str) -> None:
        self._client, self._root = client, f"/repos/{repository}"
        self._listed: dict[str, Mapping[str, Inside]] = {}  # by tree, which never changes

    def head(self, branch: str) -> str | Failure | None:
        """The commit that `branch` is at now; None where it is certain that there is none.

        The references that begin with its name are asked for, not the one: where there is none that answer is an empty
        list, while 404 may as well be said to a token that may not see the repository.
        """
        refs = self._client.items(f"{self._root}/git/matching-refs/heads/{quote(branch)}", permission=READ)
        if isinstance(refs, Failure):
            return refs
        if not all(isinstance(ref.get("ref"), str) for ref in refs):
            return Failure("malformed", "the server lists a branch without a name")
        found = next((ref for ref in refs if ref["ref"] == f"refs/heads/{branch}"), None)
        if found is None:
            return None
        return _sha(found.get("object")) or Failure("malformed", "the server's answer has no commit")

    def tip(self, branch: str) -> Tip | Failure | None:
        """Where `branch` is now; None where it is certain that there is none."""
        commit = self.head(branch)
        if not isinstance(commit, str):
            return commit
        found = self._object(f"{self._root}/git/commits/{commit}")
        if isinstance(found, Failure):
            return _vanished(found)
        tree = _sha(found.get("tree"))
        return Tip(commit, tree) if tree else Failure("malformed", "the server's answer has no tree")

    def folder(self, tip: Tip, path: str) -> Mapping[str, Inside] | Failure | None:
        """What is in the folder `path`, by name; None where there is no such folder. Only the folders on the way are
        listed, each by itself: what else the branch holds makes no listing longer."""
        inside = self._list(tip.tree)
        for name in path.split("/"):
            if isinstance(inside, Failure):
                return inside
            found = inside.get(name)
            if found is None:
                return None
            if not isinstance(found, Folder):
                return Failure("malformed", f"{name} is no folder")
            inside = self._list(found.sha)
        return inside

    def file(self, tip: Tip, path: str) -> Blob | Failure | None:
        """The plain file at `path`; None where there is none."""
        folder, _, name = path.rpartition("/")
        inside = self.folder(tip, folder) if folder else self._list(tip.tree)
        if inside is None or isinstance(inside, Failure):
            return inside
        found = inside.get(name)
        return found if found is None or isinstance(found, Blob) else Failure("malformed", f"{name} is no plain file")

    def _list(self, tree: str) -> Mapping[str, Inside] | Failure:
        if tree not in self._listed:
            listing = self._object(f"{self._root}/git/trees/{tree}")
            inside = _vanished(listing) if isinstance(listing, Failure) else _inside(listing)
            if isinstance(inside, Failure):
                return inside
            self._listed[tree] = inside
        return self._listed[tree]

    def read(self, blob: Blob) -> bytes | Failure:
        """The content of a blob."""
        answer = self._client.get(f"{self._root}/git/blobs/{blob.sha}", permission=READ, accept=RAW_MEDIA)
        return answer.data if isinstance(answer, Answer) else _vanished(answer)

    def add(self, data: bytes) -> Blob | Failure:
        """Puts `data` on the server. Nothing refers to it yet, so nobody sees it."""
        body = {"content": base64.b64encode(data).decode(), "encoding": "base64"}
        sha = self._created("blobs", body)
        return sha if isinstance(sha, Failure) else Blob(sha, len(data))

    def commit(self, parent: Tip | None, changes: Mapping[str, Change], message: str) -> str | Failure:
        """A commit on top of `parent`, or the first one of a history of its own. No branch leads to it yet."""
        body: dict[str, Any] = {"tree": [_entry(path, change) for path, change in sorted(changes.items())]}
        tree = self._created("trees", body | ({"base_tree": parent.tree} if parent is not None else {}))
        if isinstance(tree, Failure):
            return tree
        parents = [parent.commit] if parent is not None else []
        return self._created("commits", {"message": message, "tree": tree, "parents": parents})

    def advance(self, branch: str, commit: str, parent: Tip | None) -> Failure | None:
        """Moves `branch` from `parent` to `commit`, or makes it. None where it is there now; what another wrote in
        between is never lost: the server refuses then."""
        if parent is None:
            body = {"ref": f"refs/heads/{branch}", "sha": commit}
            answer = self._client.send("POST", f"{self._root}/git/refs", permission=WRITE, body=body)
        else:
            path = f"{self._root}/git/refs/heads/{quote(branch)}"
            answer = self._client.send("PATCH", path, permission=WRITE, body={"sha": commit, "force": False})
        return answer if isinstance(answer, Failure) else None

    def standing(self, commit: str, to: str) -> Standing | Failure:
        """How `commit` stands to `to`: `ahead` is a descendant of it, `behind` an ancestor; `unknown` where the server
        does not know one of them, or they have nothing in common."""
        found = self._object(f"{self._root}/compare/{to}...{commit}", {"per_page": "1"})
        if isinstance(found, Failure):
            return "unknown" if found.kind == "not_found" else found
        status = found.get("status")
        if status not in ("ahead", "behind", "identical", "diverged"):
            return Failure("malformed", "the server's answer does not say how the commits stand to each other")
        return cast("Standing", status)

    def _object(self, path: str, params: Mapping[str, str] | None = None) -> dict[str, Any] | Failure:
        answer = self._client.get(path, permission=READ, params=params)
        return an_object(answer) if isinstance(answer, Answer) else answer

    def _created(self, what: str, body: Any) -> str | Failure:
        answer = self._client.send("POST", f"{self._root}/git/{what}", permission=WRITE, body=body)
        found = an_object(answer) if isinstance(answer, Answer) else answer
        if isinstance(found, Failure):
            return found
        return _sha(found) or Failure("malformed", "the server's answer has no object id")


def default_branch(client: Client, repository: str) -> str | None:
    """The default branch of `repository`; None where the server does not say."""
    answer = client.get(f"/repos/{repository}", permission="metadata: read")
    found = an_object(answer) if isinstance(answer, Answer) else answer
    name = None if isinstance(found, Failure) else found.get("default_branch")
    return name if isinstance(name, str) and name else None


def _vanished(failure: Failure) -> Failure:
    """Of what the branch was just said to have, 404 says nothing of permissions."""
    return Failure("malformed", failure.message, failure.status) if failure.kind == "not_found" else failure


def _sha(value: Any) -> str | None:
    sha = value.get("sha") if isinstance(value, dict) else None
    return sha if is_commit(sha) else None


def _inside(listing: Mapping[str, Any]) -> dict[str, Inside] | Failure:
    """What a listing holds. What it does not say in full would read as absent."""
    entries = listing.get("tree")
    if listing.get("truncated") is not False or not isinstance(entries, list):
        return Failure("malformed", "a folder of the branch has more files than the server lists")
    inside: dict[str, Inside] = {}
    for entry in entries:
        name, found = _read_entry(entry)
        if found is None or name in inside:
            return Failure("malformed", "the server lists a file of the branch without its name, object or size")
        inside[name] = found
    return inside


def _read_entry(entry: Any) -> tuple[str, Inside | None]:
    name, sha = (entry.get("path"), _sha(entry)) if isinstance(entry, dict) else (None, None)
    if not isinstance(name, str) or not name or "/" in name or sha is None:
        return "", None
    kind, mode, size = entry.get("type"), entry.get("mode"), entry.get("size")
    if kind == "tree":
        return name, Folder(sha)
    if kind == "blob" and mode in _PLAIN:
        return name, Blob(sha, size) if type(size) is int and size >= 0 else None
    return name, Elsewhere()


def _entry(path: str, change: Change) -> dict[str, Any]:
    entry: dict[str, Any] = {"path": path, "mode": _FILE, "type": "blob"}
    if isinstance(change, bytes):
        return entry | {"content": change.decode()}
    return entry | {"sha": change.sha if change is not None else None}
