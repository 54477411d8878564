"""Branch and tag names → commit ids, as a repository has them now."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluator.errors import UserError
from evaluator.sources.environment import Remote
from evaluator.sources.git import PAUSES, Git, GitError
from evaluator.sources.location import Reference

_PEELED = "^{}"


class UnresolvedError(Exception):
    """A name that means no commit, or more than one."""

    def __init__(self, message: str, mend: str) -> None:
        super().__init__(message)
        self.message = message
        self.mend = mend


@dataclass(frozen=True)
class Refs:
    """`ids`: full ref name → object id. A peeled tag has its name with `^{}`. `failure`: why there are none."""

    ids: Mapping[str, str]
    failure: UserError | None = None

    def commit(self, reference: Reference) -> str:
        """The commit that `reference` means now. Raises UnresolvedError."""
        if self.failure is not None:
            problem = self.failure.problems[0]
            raise UnresolvedError(f"{reference.url}: {problem.message}", problem.mend)
        ref = reference.ref or "HEAD"
        names = [ref] if ref == "HEAD" or ref.startswith("refs/") else [f"refs/heads/{ref}", f"refs/tags/{ref}"]
        found = [name for name in names if name in self.ids]
        if len(found) == 1:
            return self.ids.get(found[0] + _PEELED, self.ids[found[0]])
        if found:
            raise UnresolvedError(
                f"`{ref}` is both a branch and a tag of {reference.url}", f"Write {' or '.join(found)} after `@`."
            )
        if reference.looks_short:
            raise UnresolvedError(
                f"`{ref}` is not a full commit id, and a server does not complete it",
                "Give all 40 (or 64) digits: `git rev-parse` in a clone prints them.",
            )
        raise UnresolvedError(f"{reference.url} has no branch or tag `{ref}`", "Look at the name after `@`.")


def list_refs(url: str, environ: Mapping[str, str], pauses: Sequence[float] = PAUSES) -> Refs:
    """What `url` has now. A repository that cannot be asked is a `failure`, so that others are asked all the same."""
    remote = Remote(url)
    with tempfile.TemporaryDirectory(prefix="trapgate-pin-") as folder:
        git = Git(remote, Path(folder) / "repository", Path(folder), environ, pauses)
        try:
            answer = git.network("ls-remote", "--quiet", "origin")
        except GitError as error:
            return Refs({}, error.as_user_error(remote, environ, url))
    # What the server says goes into the user's file: nothing but full ids is taken.
    lines = re.findall(r"^([0-9a-f]{40}|[0-9a-f]{64})\t(\S+)$", answer.decode(errors="replace"), re.MULTILINE)
    return Refs({name: oid for oid, name in lines})
