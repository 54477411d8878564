"""The one comment of this action on a pull request: found again by a hidden marker, edited in place."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from evaluator.github.authorship import Author
from evaluator.github.client import Answer, Client, Failure, an_object

PERMISSION = "pull-requests: write"

# Characters that GitHub takes in a comment. We count bytes, which are never fewer.
LONGEST_BODY = 65_536
_OF_COMMIT = "<!-- {} -->"
_LONGEST_COMMIT = 64  # SHA-256


@dataclass(frozen=True)
class Posted:
    """The comment stands. `url` is for people, empty where the server named none."""

    id: int
    url: str


@dataclass(frozen=True)
class Superseded:
    """The comment was left as it is: it speaks of `commit`, which is the head of the pull request by now."""

    commit: str


@dataclass(frozen=True)
class NotPosted:
    """The comment could not be written. `why` says what failed; `lacks`: the permission that would mend it, empty where
    none would."""

    why: str
    lacks: str = ""


@dataclass(frozen=True)
class _Found:
    """One's own comment. `commit`: the one that it speaks of, None where it does not say."""

    id: int
    commit: str | None


def marker(config_path: str, job: str, model: str | None = None, tasks: Collection[str] | None = None) -> str:
    """The hidden start of the comment of one configuration in one job. Hashed: no path can end the comment.

    `model`, `tasks`: the inputs, which tell the legs of a matrix apart. GitHub gives all of them the same job.
    """
    parts = [
        config_path,
        job,
        *([f"model {model}"] if model else []),
        *(f"task {task}" for task in sorted(tasks or ())),
    ]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    return f"<!-- trapgate:{key} -->"


def room(mark: str) -> int:
    """Bytes that a comment's text may have beside what is hidden in its first line."""
    return LONGEST_BODY - len(mark) - len(_OF_COMMIT.format("0" * _LONGEST_COMMIT)) - 1


class Sticky:
    """The comment marked `mark` on pull request `number`. `commit`: what this run speaks of, empty where runs of
    several commits do not share the comment."""

    def __init__(self, client: Client, repository: str, number: int, mark: str, token: str, commit: str = "") -> None:
        self._client, self._repository, self._number, self._mark = client, repository, number, mark
        self._commit = commit
        self._author = Author(client, token)

    def post(self, text: str) -> Posted | Superseded | NotPosted:
        """Writes the comment, in place of the former one where there is one.

        Jobs that run at once may each create one; every one then lists again, and the lowest id stays. A comment on the
        pull request's head is not replaced by one on an older commit, whose run may end later.
        """
        body = f"{self._mark}{_OF_COMMIT.format(self._commit) if self._commit else ''}\n{text}"
        found = self._own()
        if isinstance(found, Failure):
            return _not_posted(found)
        written = self._replace(found[0], body) if found else self._create(body)
        if isinstance(written, Failure) and found and written.kind == "not_found":
            written = self._create(body)
        if isinstance(written, Failure):
            return _not_posted(written)
        return self._settle(written, body) if isinstance(written, Posted) else written

    def _settle(self, written: Posted, body: str) -> Posted | Superseded:
        found = self._own()
        if isinstance(found, Failure):
            return written
        others = [comment for comment in found if comment.id != written.id]
        if not others:
            return written
        kept: Posted | Superseded | Failure = written
        if others[0].id < written.id:
            kept = self._replace(others.pop(0), body)
            others.append(_Found(written.id, self._commit))
        if isinstance(kept, Failure):
            return written
        for other in others:
            self._client.send("DELETE", self._path(other.id), permission=PERMISSION)
        return kept

    def _own(self) -> list[_Found] | Failure:
        """One's own comments with the marker, the oldest first."""
        comments = self._client.items(
            f"/repos/{self._repository}/issues/{self._number}/comments", permission=PERMISSION
        )
        if isinstance(comments, Failure):
            return comments
        own = [comment for comment in comments if self._author.wrote(comment, self._mark)]
        return sorted((self._read(comment) for comment in own if isinstance(comment.get("id"), int)), key=_id)

    def _read(self, comment: dict[str, Any]) -> _Found:
        said = re.match(r"<!-- ([0-9a-f]{40,64}) -->\n", comment["body"][len(self._mark) :])
        return _Found(comment["id"], said[1] if said else None)

    def _replace(self, comment: _Found, body: str) -> Posted | Superseded | Failure:
        if self._commit and comment.commit not in (None, self._commit) and comment.commit == self._head():
            return Superseded(comment.commit or "")
        return _posted(self._client.send("PATCH", self._path(comment.id), permission=PERMISSION, body={"body": body}))

    def _head(self) -> str | None:
        """The head of the pull request now; None where that cannot be told, as of a server that is down."""
        answer = self._client.get(f"/repos/{self._repository}/pulls/{self._number}", permission=PERMISSION)
        pull = an_object(answer) if isinstance(answer, Answer) else answer
        head = None if isinstance(pull, Failure) else pull.get("head")
        return head.get("sha") if isinstance(head, dict) else None

    def _create(self, body: str) -> Posted | Failure:
        path = f"/repos/{self._repository}/issues/{self._number}/comments"
        return _posted(self._client.send("POST", path, permission=PERMISSION, body={"body": body}))

    def _path(self, comment: int) -> str:
        return f"/repos/{self._repository}/issues/comments/{comment}"


def _id(comment: _Found) -> int:
    return comment.id


def _posted(answer: Answer | Failure) -> Posted | Failure:
    comment = an_object(answer) if isinstance(answer, Answer) else answer
    if isinstance(comment, Failure):
        return comment
    if not isinstance(comment.get("id"), int):
        return Failure("malformed", "the server's answer has no comment id")
    return Posted(comment["id"], str(comment.get("html_url") or ""))


def _not_posted(failure: Failure) -> NotPosted:
    why = f"The comment could not be written: {failure.message.rstrip('.')}."
    # GitHub answers 404 where a token may not even know of a private repository.
    if failure.kind in ("permission", "not_found") and failure.status != 401:
        return NotPosted(why, PERMISSION)
    return NotPosted(why)
