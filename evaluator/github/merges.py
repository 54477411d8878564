"""What GitHub says of a merge: the parents of its commit, and the pull request that it is of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evaluator.github.client import Answer, Client, Failure, an_object
from evaluator.github.environment import is_commit

_CONTENTS = "contents: read"
_PULLS = "pull-requests: read"


@dataclass(frozen=True)
class Pull:
    """A pull request at its head commit."""

    number: int
    head: str


def parents(client: Client, repository: str, commit: str) -> tuple[str, ...] | Failure:
    """The parents of `commit`; of a merge the first one is what was merged onto."""
    answer = client.get(f"/repos/{repository}/git/commits/{commit}", permission=_CONTENTS)
    found = an_object(answer) if isinstance(answer, Answer) else answer
    if isinstance(found, Failure):
        return found
    listed = found.get("parents")
    shas = [_text(each, "sha") for each in listed] if isinstance(listed, list) else [None]
    known = tuple(sha for sha in shas if is_commit(sha))
    return known if len(known) == len(shas) else Failure("malformed", "the server's answer does not say its parents")


def merged(client: Client, repository: str, commit: str, branch: str) -> Pull | Failure | None:
    """The pull request whose merge into `branch` made `commit`; None where none did."""
    pulls = client.items(f"/repos/{repository}/commits/{commit}/pulls", permission=_PULLS)
    if isinstance(pulls, Failure):
        return pulls
    found = [_pull(pull) for pull in pulls if _made(pull, commit, branch)]
    return next((each for each in found if isinstance(each, Pull)), found[0] if found else None)


def pull(client: Client, repository: str, number: int) -> Pull | Failure:
    """Pull request `number` as it is now."""
    answer = client.get(f"/repos/{repository}/pulls/{number}", permission=_PULLS)
    found = an_object(answer) if isinstance(answer, Answer) else answer
    return found if isinstance(found, Failure) else _pull(found)


def _pull(value: dict[str, Any]) -> Pull | Failure:
    number, head = value.get("number"), _text(value, "head", "sha")
    if type(number) is not int or not is_commit(head):
        return Failure("malformed", "the server's answer has no head commit")
    return Pull(number, head)


def _made(value: dict[str, Any], commit: str, branch: str) -> bool:
    done = value.get("merged_at") is not None and value.get("merge_commit_sha") == commit
    return done and _text(value, "base", "ref") == branch


def _text(value: Any, *keys: str) -> str | None:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None
