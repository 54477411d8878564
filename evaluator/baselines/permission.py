"""A token that may not do what the branch of baselines needs."""

from __future__ import annotations

from evaluator.github.client import Failure
from evaluator.github.git_data import WRITE
from evaluator.github.permissions import Lack, refused


def refuse_without(permission: str, failure: Failure) -> None:
    """Raises UserError `github-permission` where `failure` is that of a token without `permission`, or of one that is
    not accepted. GitHub answers 404 where a token may not even know of a private repository."""
    if failure.kind in ("permission", "not_found"):
        done = "written" if permission == WRITE else "read"
        raise refused(
            failure,
            Lack(
                permission,
                f"the branch of the baselines cannot be {done}: {failure.message}",
                "input github-token, or GITHUB_TOKEN",
                "in a terminal, use a token that may do that",
            ),
        )
