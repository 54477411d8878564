"""The one comment of this action on a pull request: found again by a hidden marker, edited in place."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from evaluator.github import merges
from evaluator.github.authorship import Author
from evaluator.github.client import Answer, Client, Failure, an_object
from evaluator.github.environment import utc
from evaluator.github.permissions import RENEW

PERMISSION = "pull-requests: write"

# Characters that GitHub takes in a comment. We count bytes, which are never fewer.
LONGEST_BODY = 65_536
_SAID = re.compile(r"<!-- ([0-9a-f]{40,64})(?: ([0-9TZ:.-]{1,40}))?( begun)? -->\n")
_LONGEST_COMMIT = "0" * 64  # SHA-256


@dataclass(frozen=True)
class Posted:
    """The comment stands. `url` is for people, empty where the server named none."""

    id: int
    url: str


@dataclass(frozen=True)
class Superseded:
    """The comment was left as it is: it speaks of `commit`, which is the head of the pull request by now, or is that of
    a later run."""

    commit: str
    later_run: bool = False

    @property
    def why(self) -> str:
        """In words, as a sentence."""
        if self.later_run:
            return f"The comment is of a later run, on {self.commit[:12]}, and stays as it is."
        return f"The comment tells of {self.commit[:12]}, the head of the pull request by now, and stays as it is."


@dataclass(frozen=True)
class NotPosted:
    """The comment could not be written. `why` says what failed; `lacks`: the permission that would mend it, empty where
    none would."""

    why: str
    lacks: str = ""


@dataclass(frozen=True)
class _Found:
    """One's own comment. `commit`: the one that it speaks of; `began`: when the run that wrote it did. Comments of
    earlier versions do not say one of them, or both: None."""

    id: int
    commit: str | None
    began: datetime | None


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
    return LONGEST_BODY - len(mark) - len(_said(_LONGEST_COMMIT, datetime.now(UTC), begun=True)) - 1


class Sticky:
    """The comment marked `mark` on pull request `number`. `commit`: what this run speaks of, and `began`: when it did;
    empty and None where runs that share the comment have no order."""

    def __init__(
        self,
        client: Client,
        repository: str,
        number: int,
        mark: str,
        token: str,
        commit: str = "",
        began: datetime | None = None,
    ) -> None:
        self._client, self._repository, self._number, self._mark = client, repository, number, mark
        self._commit, self._began = commit, began
        self._author = Author(client, token)

    def post(self, text: str, *, begun: bool = False) -> Posted | Superseded | NotPosted:
        """Writes the comment, in place of the former one where there is one. `begun`: it says no more than that this
        run has begun, and any that has ended may say more.

        Jobs that run at once may each create one; every one then lists again, and the lowest id stays. A run may end
        after a newer one: the comment of the pull request's head is not replaced by one on another commit, nor that of
        a run that began later, and none of another commit where the head cannot be told.
        """
        body = f"{self._mark}{_said(self._commit, self._began, begun=begun) if self._commit else ''}\n{text}"
        found = self._own()
        if isinstance(found, Failure):
            return _not_posted(found)
        stays = next((why for why in map(self._stays, found) if why is not None), None)
        if stays is not None:
            return _not_posted(stays) if isinstance(stays, Failure) else stays
        written = self._replace(found[0], body) if found else self._create(body)
        if isinstance(written, Failure) and found and written.kind == "not_found":
            written = self._create(body)
        if isinstance(written, Failure):
            return _not_posted(written)
        return self._settle(written, body)

    def _settle(self, written: Posted, body: str) -> Posted | Superseded:
        found = self._own()
        if isinstance(found, Failure):
            return written
        others = [comment for comment in found if comment.id != written.id]
        if not others:
            return written
        kept: Posted | Superseded | Failure = written
        if others[0].id < written.id:
            kept = self._stays(others[0]) or self._replace(others[0], body)
            del others[0]
            others.append(_Found(written.id, self._commit, self._began))
        if isinstance(kept, Failure):
            return written
        for other in others:
            self._client.send("DELETE", self._path(other.id), permission=PERMISSION)
        return kept

    def _own(self) -> list[_Found] | Failure:
        """One's own comments with the marker, the oldest first."""
        if self._author.failure is not None:
            return self._author.failure
        comments = self._client.items(
            f"/repos/{self._repository}/issues/{self._number}/comments", permission=PERMISSION
        )
        if isinstance(comments, Failure):
            return comments
        own = [comment for comment in comments if self._author.wrote(comment, self._mark)]
        return sorted((self._read(comment) for comment in own if isinstance(comment.get("id"), int)), key=_id)

    def _read(self, comment: dict[str, Any]) -> _Found:
        said = _SAID.match(comment["body"][len(self._mark) :])
        if said is None:
            return _Found(comment["id"], None, None)
        # A run that was killed has said that it began and no more: it must not hide the verdict of another.
        return _Found(comment["id"], said[1], None if said[3] and said[1] == self._commit else utc(said[2]))

    def _replace(self, comment: _Found, body: str) -> Posted | Failure:
        return _posted(self._client.send("PATCH", self._path(comment.id), permission=PERMISSION, body={"body": body}))

    def _stays(self, comment: _Found) -> Superseded | Failure | None:
        """Why `comment` is not to be replaced by what this run says; None where it may be."""
        if not self._commit or comment.commit is None:
            return None
        if comment.commit != self._commit:
            pull = merges.pull(self._client, self._repository, self._number)
            if isinstance(pull, Failure):
                return _untold(comment.commit, pull)
            if pull.head in (self._commit, comment.commit):
                return None if pull.head == self._commit else Superseded(comment.commit)
        later = comment.began is not None and (self._began is None or comment.began > self._began)
        return Superseded(comment.commit, later_run=True) if later else None

    def _create(self, body: str) -> Posted | Failure:
        path = f"/repos/{self._repository}/issues/{self._number}/comments"
        return _posted(self._client.send("POST", path, permission=PERMISSION, body={"body": body}))

    def _path(self, comment: int) -> str:
        return f"/repos/{self._repository}/issues/comments/{comment}"


def _said(commit: str, began: datetime | None, *, begun: bool) -> str:
    """What the hidden first line says of a run."""
    time = f" {began.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z" if began else ""
    return f"<!-- {commit}{time}{' begun' if begun else ''} -->"


def _id(comment: _Found) -> int:
    return comment.id


def _posted(answer: Answer | Failure) -> Posted | Failure:
    comment = an_object(answer) if isinstance(answer, Answer) else answer
    if isinstance(comment, Failure):
        return comment
    if not isinstance(comment.get("id"), int):
        return Failure("malformed", "the server's answer has no comment id")
    return Posted(comment["id"], str(comment.get("html_url") or ""))


def _untold(commit: str, failure: Failure) -> Failure:
    """The pull request is there, since its comments were listed: 404 is that of a token that may not see it."""
    told = f"it tells of {commit[:12]}, and which commit is the head of the pull request cannot be told"
    kind = "permission" if failure.kind == "not_found" else failure.kind
    return Failure(kind, f"{told} ({failure.message})", failure.status)


def _not_posted(failure: Failure) -> NotPosted:
    why = f"The comment could not be written: {failure.message.rstrip('.')}."
    # GitHub answers 404 where a token may not even know of a private repository.
    if failure.kind in ("permission", "not_found") and failure.status != 401:
        return NotPosted(why, PERMISSION)
    return NotPosted(f"{why} {RENEW}" if failure.status == 401 else why)
