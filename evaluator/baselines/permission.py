"""A token that may not do what the branch of baselines needs."""

from __future__ import annotations

from evaluator.errors import user_error
from evaluator.github.client import Failure
from evaluator.github.git_data import WRITE


def refuse_without(permission: str, failure: Failure) -> None:
    """Raises UserError `github-permission` where `failure` is that of a token without `permission`. GitHub answers 404
    where a token may not even know of a private repository."""
    if failure.kind in ("permission", "not_found"):
        raise user_error(
            "github-permission",
            f"the branch of the baselines cannot be {'written' if permission == WRITE else 'read'}: {failure.message}",
            where="input github-token, or GITHUB_TOKEN",
            mend=f"Add to the job: `permissions: {{{permission}}}`; in a terminal, use a token that may do that.",
        )
