"""Baselines on a git branch of their own on GitHub, with a history, written without a checkout.

Each pair of a trap.yaml and a branch of the code has a folder with an index and the documents that are kept
(`evaluator.baselines.index`, `evaluator.baselines.names`; docs/baselines.md). Everything of one reading is read at one
commit. A writer that was overtaken applies its change again to what is there now, so no entry is lost; the baseline of
the later commit is the newest, however late the one of an earlier commit is written.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from evaluator.baselines import BaselineState, Found, Missing, Unreadable, acceptances, document, names
from evaluator.baselines import index as indexes
from evaluator.baselines.history import Entry, entry
from evaluator.baselines.index import Index
from evaluator.baselines.store import Place
from evaluator.errors import UserError, user_error
from evaluator.github.client import Client, Failure
from evaluator.github.environment import is_commit
from evaluator.github.git_data import READ, WRITE, Change, GitData, Tip
from evaluator.results import Acceptance, Baseline, Run

T = TypeVar("T")

# Documents of one branch of the code, in sum.
MOST_BYTES = 200 << 20

_ACCEPTANCES = "acceptances.json"
_TRIES = 10
_LONGEST_WAIT = 5.0
_MOST_COMPARED = 20

_README = b"""# Baselines of trapgate

trapgate writes this branch: it is never merged, and nothing here is edited by hand. Each folder below `baselines` is
that of one trap.yaml and one branch of the code. Deleting this branch deletes every baseline and their history.
"""


class BranchStore:
    """The branch `branch` of `repository`; `keep`: how many documents of each branch of the code stay on it."""

    older = ""

    def __init__(
        self,
        client: Client,
        repository: str,
        *,
        branch: str,
        keep: int,
        most_bytes: int = MOST_BYTES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._git = GitData(client, repository)
        self._branch, self._keep, self._most_bytes, self._sleep = branch, keep, most_bytes, sleep

    def read(self, place: Place) -> BaselineState:
        """The baseline made at exactly `place.commit` where that is kept, else the newest of `place.branch`, else the
        newest of `place.otherwise`. Raises UserError `github-permission`."""
        tip = self._git.tip(self._branch)
        if isinstance(tip, Failure):
            _refuse_without_permission(tip, READ)
            return Unreadable(self._words(place.branch), tip.message)
        found: BaselineState = Missing(self._words(place.branch))
        for branch in filter(None, (place.branch, place.otherwise)):
            found = self._newest(tip, place, branch)
            if not isinstance(found, Missing):
                return found
        return Missing(self._words(place.branch))

    def history(self, place: Place) -> list[Entry]:
        """What was the baseline of `place.branch`, newest first. Raises UserError where it cannot be read."""
        tip = self._tip(READ)
        index = self._index(tip, place.config, place.branch) if tip is not None else None
        return index.entries if index is not None else []

    def write(self, run: Run, accepted: Acceptance, place: Place) -> str:
        """Makes `run` the newest baseline of `place.branch`, or an older one where the newest is of a later commit. A
        run that does not say which commit it is of, as those of `trapgate score`, is one of `place.commit`.

        Raises UserError: `github-permission`, `baseline-unreadable` (nothing is built on what cannot be read),
        `baseline-too-large`, `baseline-no-commit`, `baseline-not-written`.
        """
        commit = run.commit or place.commit
        if commit is None or not is_commit(commit):
            raise user_error(
                "baseline-no-commit",
                "the run does not say which commit it is of",
                where=self._words(place.branch),
                mend="Run again inside the repository.",
            )
        run = msgspec.structs.replace(run, commit=commit)
        name, data = document.encode(run, accepted, commit)
        blob = self._written(self._git.add(data))
        order = _Order(self._git, commit)
        later: list[Entry] = []

        def change(tip: Tip | None) -> Mapping[str, Change]:
            folder = names.of_branch(place.config, place.branch)
            before = self._index(tip, place.config, place.branch) if tip is not None else None
            later[:] = order.later(before.entries) if before is not None else []
            after = indexes.insert(
                before,
                entry(run, accepted, file=name),
                blob.size,
                len(later),
                config=place.config,
                branch=place.branch,
                keep=self._keep,
                most_bytes=self._most_bytes,
            )
            kept: dict[str, Change] = {f"{folder}/documents/{name}": blob} if name in after.bytes else {}
            return {f"{folder}/index.json": indexes.encode(after), **kept, **_gone(tip, folder, after)}

        self._update(change, f"Baseline of {place.branch} at {commit[:12]}\n\n{accepted.by}: {accepted.why}")
        where = f"{self._words(place.branch)} at {commit[:12]}"
        if later:
            return f"{where}, in the history only: {later[0].commit[:12]} is a later commit and stays the newest"
        return f"{where}, the newest"

    def check_writable(self) -> None:
        """Raises UserError `github-permission` where the token may not write.

        A file is put on the server that no branch leads to: what the repository's description says of permissions is
        not that of a job's token. A rule that protects this one branch shows only when it is written.
        """
        self._written(self._git.add(_README))

    def remember(self, head_commit: str, acceptance: Acceptance) -> None:
        """Keeps that somebody accepted what `head_commit` does, until the run after the merge asks for it."""

        def change(tip: Tip | None) -> Mapping[str, Change]:
            return {_ACCEPTANCES: acceptances.add(self._acceptances(tip), head_commit, acceptance)}

        self._update(change, f"{acceptance.by} accepts {head_commit[:12]}\n\n{acceptance.why}")

    def remembered(self, head_commit: str) -> Acceptance | None:
        """Who accepted what `head_commit` does; None where nobody did. Raises UserError where that cannot be read."""
        return acceptances.find(self._acceptances(self._tip(READ)), head_commit)

    def _newest(self, tip: Tip | None, place: Place, branch: str) -> BaselineState:
        where = self._words(branch)
        try:
            index = self._index(tip, place.config, branch) if tip is not None else None
            if tip is None or index is None:
                return Missing(where)
            own = next((each for each in index.entries if each.file and each.commit == place.commit), None)
            chosen = own or index.entries[0]
            where += f" at {chosen.commit[:12]}, " + ("of this very commit" if own is not None else "the newest")
            return Found(where, self._baseline(tip, names.of_branch(place.config, branch), chosen))
        except UserError as error:
            if error.code == "github-permission":
                raise
            return Unreadable(where, error.problems[0].message)

    def _baseline(self, tip: Tip, folder: str, chosen: Entry) -> Baseline:
        newest = self._document(tip, folder, chosen.file)
        if newest.run.commit != chosen.commit:
            raise user_error("baseline-unreadable", f"{chosen.file} holds a run of another commit", where=folder)
        anchor = self._document(tip, folder, chosen.anchor) if chosen.anchor else None
        return document.with_anchor(newest, anchor)

    def _document(self, tip: Tip, folder: str, name: str) -> Baseline:
        path = f"{folder}/documents/{name}"
        data = self._file(tip, path, document.LARGEST)
        if data is None:
            raise user_error("baseline-unreadable", f"{name} is in the index, and there is no such file", where=path)
        return document.decode(data, path)

    def _index(self, tip: Tip | None, config: str, branch: str) -> Index | None:
        path = f"{names.of_branch(config, branch)}/index.json"
        data = self._file(tip, path, indexes.LARGEST)
        if data is None:
            return None
        index = indexes.decode(data, f"{self._branch}: {path}")
        if (index.config, index.branch) != (config, branch):
            what = f"the index is that of {index.branch} by {index.config}"
            raise user_error("baseline-unreadable", what, where=f"{self._branch}: {path}")
        return index

    def _acceptances(self, tip: Tip | None) -> acceptances.Acceptances:
        data = self._file(tip, _ACCEPTANCES, acceptances.LARGEST)
        return acceptances.decode(data, f"{self._branch}: {_ACCEPTANCES}")

    def _file(self, tip: Tip | None, path: str, most: int) -> bytes | None:
        """The bytes of a file, None where the branch has none; never more than `most`."""
        blob = tip.files.get(path) if tip is not None else None
        if blob is None:
            return None
        data: bytes | Failure = Failure("malformed", f"larger than {most:,} bytes")
        if blob.size <= most:
            data = self._git.read(blob)
        if isinstance(data, Failure):
            _refuse_without_permission(data, READ)
            raise user_error("baseline-unreadable", data.message, where=f"{self._branch}: {path}")
        return data

    def _update(self, change: Callable[[Tip | None], Mapping[str, Change]], message: str) -> None:
        """Commits what `change` makes of the tip; again on the fresh tip where somebody else was faster."""
        tip = self._tip(WRITE)
        for turn in range(_TRIES):
            first: Mapping[str, Change] = {"README.md": _README} if tip is None else {}
            commit = self._written(self._git.commit(tip, {**first, **change(tip)}, message))
            failure = self._git.advance(self._branch, commit, tip)
            if failure is None:
                return
            _refuse_without_permission(failure, WRITE)
            self._sleep(random.uniform(0.0, min(0.25 * 2.0**turn, _LONGEST_WAIT)))  # noqa: S311 - spreads writers
            now = self._tip(WRITE)
            if now is not None and now.commit == commit:
                return  # it took effect, and only the answer was lost
            if not _overtaken(failure, tip, now):
                raise self._not_written(failure.message)
            tip = now
        raise self._not_written(f"others wrote {_TRIES} times in between")

    def _tip(self, permission: str) -> Tip | None:
        tip = self._git.tip(self._branch)
        if isinstance(tip, Failure):
            _refuse_without_permission(tip, permission)
            raise user_error("baseline-unreadable", tip.message, where=self._branch)
        return tip

    def _written(self, outcome: T | Failure) -> T:
        if isinstance(outcome, Failure):
            _refuse_without_permission(outcome, WRITE)
            raise self._not_written(outcome.message)
        return outcome

    def _not_written(self, why: str) -> UserError:
        return user_error(
            "baseline-not-written",
            f"the branch of the baselines could not be written: {why}",
            where=self._branch,
            mend="Where a rule of the repository protects that branch, or one whose name it begins with exists, name "
            "another under `baseline.branch`; else run again.",
        )

    def _words(self, branch: str) -> str:
        return f"{self._branch}: {branch}"


class _Order:
    """Which baselines are of later commits than `commit`. Where GitHub cannot say that one descends from the other (a
    branch that was reset, a commit that was never pushed), the one that is written later counts as later."""

    def __init__(self, git: GitData, commit: str) -> None:
        self._git, self._commit, self._known = git, commit, {commit: False}

    def later(self, entries: list[Entry]) -> list[Entry]:
        """The first of `entries`, as long as each is of a descendant."""
        found: list[Entry] = []
        for each in entries[:_MOST_COMPARED]:
            if not self._is_later(each.commit):
                break
            found.append(each)
        return found

    def _is_later(self, other: str) -> bool:
        if other not in self._known:
            ahead = self._git.is_ahead(other, of=self._commit)
            if isinstance(ahead, Failure):
                _refuse_without_permission(ahead, WRITE)
                raise user_error("baseline-not-written", f"the commits cannot be compared: {ahead.message}")
            self._known[other] = ahead
        return self._known[other]


def _gone(tip: Tip | None, folder: str, index: Index) -> dict[str, Change]:
    """Documents of the folder that the index needs no longer. Only what is there: GitHub refuses to delete the rest."""
    inside = f"{folder}/documents/"
    files = tip.files if tip is not None else {}
    return {path: None for path in files if path.startswith(inside) and path.removeprefix(inside) not in index.bytes}


def _overtaken(failure: Failure, before: Tip | None, now: Tip | None) -> bool:
    """Whether somebody else wrote in between. GitHub's own words count too: what it shows may lag behind."""
    moved = (now.commit if now else None) != (before.commit if before else None)
    words = failure.message.lower()
    return moved or "fast forward" in words or "fast-forward" in words or "already exists" in words


def _refuse_without_permission(failure: Failure, permission: str) -> None:
    """GitHub answers 404 where a token may not even know of a private repository."""
    if failure.kind in ("permission", "not_found"):
        raise user_error(
            "github-permission",
            f"the branch of the baselines cannot be {'written' if permission == WRITE else 'read'}: {failure.message}",
            where="input github-token, or GITHUB_TOKEN",
            mend=f"Add to the job: `permissions: {{{permission}}}`; in a terminal, use a token that may do that.",
        )
