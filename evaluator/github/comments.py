"""The one comment of this action on a pull request: found again by a hidden marker, edited in place."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from evaluator.github.client import Answer, Client, Failure, an_object

PERMISSION = "pull-requests: write"

# Characters that GitHub takes in a comment. We count bytes, which are never fewer.
_LONGEST_BODY = 65_536


@dataclass(frozen=True)
class Posted:
    """The comment stands. `url` is for people, empty where the server named none."""

    id: int
    url: str


@dataclass(frozen=True)
class NotPosted:
    """The comment could not be written. `why` says what failed; `needs`: the permissions of the job that would mend it,
    empty where they would not."""

    why: str
    needs: tuple[str, ...] = ()


def marker(config_path: str, job: str) -> str:
    """The hidden first line of the comment of one configuration in one job. Hashed: no path can end the comment."""
    key = hashlib.sha256(f"{config_path}\0{job}".encode()).hexdigest()[:16]
    return f"<!-- trapgate:{key} -->"


def room(mark: str) -> int:
    """Bytes that a comment's text may have beside its marker."""
    return _LONGEST_BODY - len(mark) - 1


class Sticky:
    """The comment marked `mark` on pull request `number`."""

    def __init__(self, client: Client, repository: str, number: int, mark: str, token: str) -> None:
        self._client, self._repository, self._number, self._mark = client, repository, number, mark
        self._login = None if token.startswith("ghs_") else self._own_login()

    def post(self, text: str) -> Posted | NotPosted:
        """Writes the comment, in place of the former one where there is one.

        Jobs that run at once may each create one; every one then lists again, and the lowest id stays.
        """
        body = f"{self._mark}\n{text}"
        found = self._own()
        if isinstance(found, Failure):
            return _not_posted(found)
        written = self._edit(found[0], body) if found else self._create(body)
        if isinstance(written, Failure) and found and written.kind == "not_found":
            written = self._create(body)
        if isinstance(written, Failure):
            return _not_posted(written)
        return self._settle(written, body)

    def _settle(self, written: Posted, body: str) -> Posted | NotPosted:
        found = self._own()
        if isinstance(found, Failure):
            return written
        first, *others = sorted({written.id, *found})
        kept: Posted | Failure = written
        if first != written.id:
            kept = self._edit(first, body)
        if isinstance(kept, Failure):
            return written
        for other in others:
            self._client.send("DELETE", self._path(other), permission=PERMISSION)
        return kept

    def _own(self) -> list[int] | Failure:
        comments = self._client.items(
            f"/repos/{self._repository}/issues/{self._number}/comments", permission=PERMISSION
        )
        if isinstance(comments, Failure):
            return comments
        return sorted(comment["id"] for comment in comments if self._is_own(comment))

    def _is_own(self, comment: dict[str, Any]) -> bool:
        """Whether this action wrote it: anyone can copy a marker, so the author is looked at too."""
        user, body = comment.get("user"), comment.get("body")
        if not isinstance(user, dict) or not isinstance(body, str) or not isinstance(comment.get("id"), int):
            return False
        own = user.get("login") == self._login if self._login else user.get("type") == "Bot"
        return own and body.startswith(self._mark)

    def _own_login(self) -> str | None:
        """The login of a personal token's user. None for a token of an installation, which has no user."""
        answer = self._client.get("/user", permission="none")
        user = an_object(answer) if isinstance(answer, Answer) else answer
        return None if isinstance(user, Failure) else user.get("login")

    def _create(self, body: str) -> Posted | Failure:
        path = f"/repos/{self._repository}/issues/{self._number}/comments"
        return _posted(self._client.send("POST", path, permission=PERMISSION, body={"body": body}))

    def _edit(self, comment: int, body: str) -> Posted | Failure:
        return _posted(self._client.send("PATCH", self._path(comment), permission=PERMISSION, body={"body": body}))

    def _path(self, comment: int) -> str:
        return f"/repos/{self._repository}/issues/comments/{comment}"


def _posted(answer: Answer | Failure) -> Posted | Failure:
    comment = an_object(answer) if isinstance(answer, Answer) else answer
    if isinstance(comment, Failure):
        return comment
    if not isinstance(comment.get("id"), int):
        return Failure("malformed", "the server's answer has no comment id")
    return Posted(comment["id"], str(comment.get("html_url") or ""))


def _not_posted(failure: Failure) -> NotPosted:
    why = f"The comment could not be written: {failure.message}."
    # GitHub answers 404 where a token may not even know of a private repository.
    if failure.kind in ("permission", "not_found") and failure.status != 401:
        return NotPosted(why, ("contents: read", PERMISSION))
    return NotPosted(why)
