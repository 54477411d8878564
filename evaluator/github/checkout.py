"""Whether what is checked out is what the event is about.

A verdict is about files in the workspace; base, comment, acceptance and baseline go by the event. A workflow that
checks out something else (`ref:`, another repository) would have one commit judged in the name of another.

On `pull_request_target` the commit of the run, and what is checked out when nobody says otherwise, is the tip of the
base: judged in the name of the change it would always pass. There only the head of the pull request will do, and no
merge of it: of one that GitHub did not make for this run nobody knows what else its author put in.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from evaluator.errors import user_error
from evaluator.github import base
from evaluator.github.environment import Environment, is_commit
from evaluator.github.events import Activity
from evaluator.sources.environment import search_path

_SECONDS = 30


@dataclass(frozen=True)
class Seen:
    """`other`: another commit than the event's, or nobody can say which, so nothing may be accepted or moved by it.
    `note`: a first line of the report."""

    other: bool = False
    note: str = ""


def look(settings: Environment, activity: Activity, path: Path) -> Seen:
    """What is checked out where `path`, the trap.yaml, lies.

    Raises UserError `checkout-other` where that is not the event's on a pull request or in a merge queue: what passes
    there is merged.
    """
    root = base.repository_root(settings.workspace, path)
    if activity.target:
        return _of_target(root, activity)
    if not (root / ".git").exists():
        return Seen(note="There is no repository in the workspace: nothing shows that its files are the event's.")
    head = _head(root)
    if head is not None and head in (settings.sha, activity.head_sha):
        return Seen()
    what = f"{_found(head)}, and the event is about {settings.sha[:12]}"
    if activity.rules_from_base:
        raise user_error(
            "checkout-other",
            what,
            where="actions/checkout",
            mend="Remove `ref:` and `repository:` from that step, and commit nothing before this one.",
        )
    return Seen(other=True, note=f"{what}: nothing is accepted and no baseline is moved.")


def _of_target(root: Path, activity: Activity) -> Seen:
    head = _head(root) if (root / ".git").exists() else None
    if head is not None and head == activity.head_sha:
        return Seen()
    raise user_error(
        "checkout-other",
        f"{_found(head)}, and on pull_request_target it has to be the head of the pull request, "
        f"{(activity.head_sha or '')[:12]}: else the base is judged in the name of the change",
        where="actions/checkout",
        mend="Give that step `ref: ${{ github.event.pull_request.head.sha }}` and `persist-credentials: false`.",
    )


def _found(head: str | None) -> str:
    return f"The checkout is of {head[:12]}" if head is not None else "What is checked out cannot be told"


def _head(repository: Path) -> str | None:
    """The commit that is checked out. No hook runs, and nothing of our environment says which repository is meant."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "LD_"))}
    command = ["git", "-c", f"safe.directory={repository}", "rev-parse", "--verify", "--quiet", "HEAD"]
    try:
        done = subprocess.run(
            command,
            cwd=repository,
            env=kept | {"PATH": search_path(os.environ), "GIT_CEILING_DIRECTORIES": str(repository.parent)},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    head = done.stdout.strip()
    return head if done.returncode == 0 and is_commit(head) else None
