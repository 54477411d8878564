"""Where the base is: the commit whose rules and baseline a pull request is judged by.

`pull_request.base.sha` in the event is a snapshot that GitHub seldom renews, while the checkout is a merge onto a
fresher base: by the event's, a change would be judged with code of one commit and rules of another. So the merge itself
is asked. Its id fixes its parents, and GitHub makes it: no author can choose them.
"""

from __future__ import annotations

from evaluator.github import base, merges
from evaluator.github.client import Client, Failure
from evaluator.github.events import Activity
from evaluator.github.git_data import GitData


def of_base(client: Client, repository: str, activity: Activity, commit: str) -> str | Failure:
    """The base's tip. `commit`: the one that the run is of, GITHUB_SHA.

    Its first parent where it merges the head of the pull request; else, as where the pull request is closed or the head
    itself is run, the tip of the base's branch now; a Failure where neither can be told. What a merge group is built on
    is in its event. On `pull_request_target` the run's commit is no merge for the run: where it merges the head, the
    pull request is merged already. Raises UserError `github-permission`.
    """
    if activity.before is not None:
        return activity.before
    if activity.target:
        return _of_branch(client, repository, activity.base_ref or "")
    return _of_merge(client, repository, activity, commit) or _of_branch(client, repository, activity.base_ref or "")


def _of_merge(client: Client, repository: str, activity: Activity, commit: str) -> str | None:
    found = merges.parents(client, repository, commit)
    if isinstance(found, Failure):
        if found.kind == "permission":
            raise base.no_permission(found)
        return None
    return found[0] if len(found) == 2 and found[1] == activity.head_sha else None


def _of_branch(client: Client, repository: str, branch: str) -> str | Failure:
    found = GitData(client, repository).head(branch)
    if isinstance(found, Failure) and found.kind in ("permission", "not_found"):
        raise base.no_permission(found)
    return Failure("malformed", f"there is no branch {branch}") if found is None else found
