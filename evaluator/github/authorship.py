"""Whose a comment or an issue is. Anyone can copy a marker, so the author is looked at too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluator.github.client import Answer, Client, Failure, an_object


class Author:
    """Whoever `token` belongs to. A job's own token is that of an installation: it has no user, and writes as a bot."""

    def __init__(self, client: Client, token: str) -> None:
        self._login = None if token.startswith("ghs_") else _login(client)

    def wrote(self, item: Mapping[str, Any], mark: str) -> bool:
        """Whether `item`, a comment or an issue as the API has it, is by this author and begins with `mark`."""
        user, body = item.get("user"), item.get("body")
        if not isinstance(user, dict) or not isinstance(body, str):
            return False
        own = user.get("login") == self._login if self._login else user.get("type") == "Bot"
        return own and body.startswith(mark)


def _login(client: Client) -> str | None:
    """The login of a personal token's user. None for a token of an installation."""
    answer = client.get("/user", permission="none")
    user = an_object(answer) if isinstance(answer, Answer) else answer
    return None if isinstance(user, Failure) else user.get("login")
