"""Whose a comment or an issue is. Anyone can copy a marker, so the author is looked at too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluator.github.client import Answer, Client, Failure, an_object

_OF_AN_INSTALLATION = "Resource not accessible by integration"


class Author:
    """Whoever `token` belongs to. A job's own token is that of an installation: it has no user, and writes as a bot.

    `failure`: why nobody knows whose the token is, and so what is its own; None where that is known.
    """

    def __init__(self, client: Client, token: str) -> None:
        login = None if token.startswith("ghs_") else _login(client)
        self.failure = login if isinstance(login, Failure) else None
        self._login = login if isinstance(login, str) else None

    def wrote(self, item: Mapping[str, Any], mark: str) -> bool:
        """Whether `item`, a comment or an issue as the API has it, is by this author and begins with `mark`."""
        user, body = item.get("user"), item.get("body")
        if not isinstance(user, dict) or not isinstance(body, str):
            return False
        own = user.get("login") == self._login if self._login else user.get("type") == "Bot"
        return own and body.startswith(mark)


def _login(client: Client) -> str | Failure | None:
    """The login of a personal token's user. None for a token of an installation, of which GitHub says that it is."""
    answer = client.get("/user", permission="read:user")
    user = an_object(answer) if isinstance(answer, Answer) else answer
    if isinstance(user, Failure):
        return None if _OF_AN_INSTALLATION in user.message else _untold(user)
    login = user.get("login")
    return (
        login if isinstance(login, str) and login else _untold(Failure("malformed", "the server's answer has no login"))
    )


def _untold(failure: Failure) -> Failure:
    """Of kind `refused`: no permission of a job would mend it."""
    return Failure("refused", f"whose the token of `github-token` is cannot be told: {failure.message}", failure.status)
