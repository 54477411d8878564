"""A branch of a repository, read and written through GitHub's git data API: no checkout, no git.

Source: GitHub's documentation, "REST API endpoints for Git database".
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from evaluator.github.client import RAW_MEDIA, Answer, Client, Failure, an_object, objects
from evaluator.github.environment import is_commit

READ = "contents: read"
WRITE = "contents: write"

_FILE = "100644"


@dataclass(frozen=True)
class Blob:
    """A file's content as git knows it; `size` in bytes."""

    sha: str
    size: int


@dataclass(frozen=True)
class Tip:
    """A branch at one commit. `files`: by path, plain files only."""

    commit: str
    tree: str
    files: Mapping[str, Blob]


Change = Blob | bytes | None
"""What a path becomes: a blob that is on the server, a UTF-8 text, or nothing."""


class GitData:
    """The git database of one repository. Every failure is a value."""

    def __init__(self, client: Client, repository: str) -> None:
        self._client, self._root = client, f"/repos/{repository}"

    def tip(self, branch: str) -> Tip | Failure | None:
        """Where `branch` is now; None where it is certain that there is none.

        The references that begin with its name are asked for, not the one: where there is none that answer is an empty
        list, while 404 may as well be said to a token that may not see the repository.
        """
        answer = self._client.get(f"{self._root}/git/matching-refs/heads/{quote(branch)}", permission=READ)
        refs = objects(answer) if isinstance(answer, Answer) else answer
        if isinstance(refs, Failure):
            return refs
        found = next((ref for ref in refs if ref.get("ref") == f"refs/heads/{branch}"), None)
        if found is None:
            return None
        commit = _sha(found.get("object"))
        return Failure("malformed", "the server's answer has no commit") if commit is None else self._at(commit)

    def _at(self, commit: str) -> Tip | Failure:
        found = self._object(f"{self._root}/git/commits/{commit}")
        tree = found if isinstance(found, Failure) else _sha(found.get("tree"))
        if not isinstance(tree, str):
            return _vanished(tree) if tree else Failure("malformed", "the server's answer has no tree")
        listing = self._object(f"{self._root}/git/trees/{tree}", {"recursive": "1"})
        if isinstance(listing, Failure):
            return _vanished(listing)
        entries = listing.get("tree")
        # What is not listed would read as absent.
        if listing.get("truncated") is not False or not isinstance(entries, list):
            return Failure("malformed", "the branch has more files than the server lists")
        files = (_file(entry) for entry in entries)
        return Tip(commit, tree, dict(file for file in files if file is not None))

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

    def is_ahead(self, commit: str, of: str) -> bool | Failure:
        """Whether `commit` is a descendant of `of`. False where the server does not know one of them."""
        found = self._object(f"{self._root}/compare/{of}...{commit}", {"per_page": "1"})
        if isinstance(found, Failure):
            return False if found.kind == "not_found" else found
        return found.get("status") == "ahead"

    def _object(self, path: str, params: Mapping[str, str] | None = None) -> dict[str, Any] | Failure:
        answer = self._client.get(path, permission=READ, params=params)
        return an_object(answer) if isinstance(answer, Answer) else answer

    def _created(self, what: str, body: Any) -> str | Failure:
        answer = self._client.send("POST", f"{self._root}/git/{what}", permission=WRITE, body=body)
        found = an_object(answer) if isinstance(answer, Answer) else answer
        if isinstance(found, Failure):
            return found
        return _sha(found) or Failure("malformed", "the server's answer has no object id")


def _vanished(failure: Failure) -> Failure:
    """Of what the branch was just said to have, 404 says nothing of permissions."""
    return Failure("malformed", failure.message, failure.status) if failure.kind == "not_found" else failure


def _sha(value: Any) -> str | None:
    sha = value.get("sha") if isinstance(value, dict) else None
    return sha if is_commit(sha) else None


def _file(entry: Any) -> tuple[str, Blob] | None:
    """A plain file of a listing. Symbolic links and submodules lead elsewhere."""
    if not isinstance(entry, dict) or entry.get("type") != "blob" or entry.get("mode") not in (_FILE, "100755"):
        return None
    path, sha, size = entry.get("path"), _sha(entry), entry.get("size")
    return (path, Blob(sha, size)) if isinstance(path, str) and sha and isinstance(size, int) else None


def _entry(path: str, change: Change) -> dict[str, Any]:
    entry: dict[str, Any] = {"path": path, "mode": _FILE, "type": "blob"}
    if isinstance(change, bytes):
        return entry | {"content": change.decode()}
    return entry | {"sha": change.sha if change is not None else None}
