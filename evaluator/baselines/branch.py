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
from evaluator.baselines.acceptances import Kept
from evaluator.baselines.contents import ACCEPTANCES, Contents
from evaluator.baselines.history import Entry, entry
from evaluator.baselines.order import Order, not_moved, refuse_what_is_not_on, where_it_went
from evaluator.baselines.permission import refuse_without
from evaluator.baselines.store import Place
from evaluator.errors import UserError, user_error
from evaluator.github.client import Client, Failure
from evaluator.github.environment import is_commit
from evaluator.github.git_data import READ, WRITE, Change, GitData, Tip
from evaluator.results import Acceptance, Run

T = TypeVar("T")

# Documents of one branch of the code, in sum.
MOST_BYTES = 200 << 20

_TRIES = 10
_LONGEST_WAIT = 5.0

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
        self._contents = Contents(self._git, branch)
        self._branch, self._keep, self._most_bytes, self._sleep = branch, keep, most_bytes, sleep

    def read(self, place: Place) -> BaselineState:
        """The baseline made at exactly `place.commit` where that is kept, else the newest of `place.branch`, else the
        newest of `place.otherwise`. Missing where the branch of baselines holds none at all, and only then: where it
        holds others, the one that is looked for may have been renamed or taken away. Raises UserError
        `github-permission`."""
        tip = self._git.tip(self._branch)
        if isinstance(tip, Failure):
            refuse_without(READ, tip)
            return Unreadable(self._words(place.branch), tip.message)
        for branch in filter(None, (place.branch, place.otherwise)):
            found = self._newest(tip, place, branch)
            if not isinstance(found, Missing):
                return found
        where = self._words(place.branch)
        try:
            others = self._contents.others(tip, place.config)
        except UserError as error:
            return _unreadable(where, error)
        return Unreadable(where, _none_among(others, place)) if others else Missing(where)

    def history(self, place: Place) -> list[Entry]:
        """What was the baseline of `place.branch`, newest first. Raises UserError where it cannot be read."""
        tip = self._tip(READ)
        index = self._contents.kept_index(tip, place.config, place.branch)
        return index.entries if index is not None else []

    def write(self, run: Run, accepted: Acceptance, place: Place) -> str:
        """Makes `run` the newest baseline of `place.branch`, or an older one where the newest is of a later commit. A
        run that does not say which commit it is of, as those of `trapgate score`, is one of `place.commit`.

        Raises UserError: `github-permission`, `baseline-unreadable` (nothing is built on what cannot be read),
        `baseline-too-large`, `baseline-no-commit`, `baseline-not-written`; for a move by itself `baseline-not-moved`
        where the commit is not on `place.branch` now, or others have a baseline and that branch has none.
        """
        commit = run.commit or place.commit
        if commit is None or not is_commit(commit):
            raise user_error(
                "baseline-no-commit",
                "the run does not say which commit it is of",
                where=self._words(place.branch),
                mend="Run again inside the repository.",
            )
        if not accepted.explicit:
            refuse_what_is_not_on(self._git, commit, place.branch)
        run = msgspec.structs.replace(run, commit=commit)
        name, data = document.encode(run, accepted, commit)
        blob = self._written(self._git.add(data))
        order = Order(self._git, commit)
        said = ""

        def change(tip: Tip | None) -> Mapping[str, Change]:
            nonlocal said
            folder = names.of_branch(place.config, place.branch)
            before = self._contents.index(tip, place.config, place.branch)
            if before is None and not accepted.explicit:
                self._refuse_a_first_among_others(tip, place)
            entries = before.entries if before is not None else []
            later, first = order.place(entries)
            said = where_it_went(entries, first)
            after = indexes.insert(
                before,
                entry(run, accepted, file=name),
                blob.size,
                later,
                config=place.config,
                branch=place.branch,
                keep=self._keep,
                most_bytes=self._most_bytes,
            )
            kept: dict[str, Change] = {f"{folder}/documents/{name}": blob} if name in after.bytes else {}
            return {f"{folder}/index.json": indexes.encode(after), **kept, **self._contents.gone(tip, folder, after)}

        self._update(change, f"Baseline of {place.branch} at {commit[:12]}\n\n{accepted.by}: {accepted.why}")
        return f"{self._words(place.branch)} at {commit[:12]}, {said}"

    def check_writable(self) -> None:
        """Raises UserError `github-permission` where the token may not write.

        A file is put on the server that no branch leads to: what the repository's description says of permissions is
        not that of a job's token. A rule that protects this one branch shows only when it is written.
        """
        self._written(self._git.add(_README))

    def remember(self, kept: Kept) -> None:
        """Keeps what somebody accepted, until the run of the merge asks for it."""

        def change(tip: Tip | None) -> Mapping[str, Change]:
            return {ACCEPTANCES: acceptances.add(self._contents.acceptances(tip), kept)}

        by = kept.acceptance
        self._update(change, f"{by.by} accepts {kept.head[:12]}\n\n{by.why}")

    def remembered(self, head_commit: str) -> list[Kept]:
        """What was accepted of `head_commit`, newest first. Raises UserError where that cannot be read."""
        return acceptances.find(self._contents.acceptances(self._tip(READ)), head_commit)

    def _newest(self, tip: Tip | None, place: Place, branch: str) -> BaselineState:
        where = self._words(branch)
        try:
            index = self._contents.kept_index(tip, place.config, branch)
            if tip is None or index is None:
                return Missing(where)
            own = next((each for each in index.entries if each.file and each.commit == place.commit), None)
            chosen = own or index.entries[0]
            where += f" at {chosen.commit[:12]}, " + ("of this very commit" if own is not None else "the newest")
            return Found(where, self._contents.baseline(tip, names.of_branch(place.config, branch), chosen))
        except UserError as error:
            return _unreadable(where, error)

    def _refuse_a_first_among_others(self, tip: Tip | None, place: Place) -> None:
        """The first one of its line is what small drops add up from: a run that was compared with another line's, or
        with none though there was one, must not begin it unseen."""
        if others := self._contents.others(tip, place.config):
            raise not_moved(_none_among(others, place), self._words(place.branch))

    def _update(self, change: Callable[[Tip | None], Mapping[str, Change]], message: str) -> None:
        """Commits what `change` makes of the tip; again on the fresh tip where somebody else was faster."""
        tip = self._tip(WRITE)
        for turn in range(_TRIES):
            first: Mapping[str, Change] = {"README.md": _README} if tip is None else {}
            commit = self._written(self._git.commit(tip, {**first, **change(tip)}, message))
            failure = self._git.advance(self._branch, commit, tip)
            if failure is None:
                return
            refuse_without(WRITE, failure)
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
            refuse_without(permission, tip)
            raise user_error("baseline-unreadable", tip.message, where=self._branch)
        return tip

    def _written(self, outcome: T | Failure) -> T:
        if isinstance(outcome, Failure):
            refuse_without(WRITE, outcome)
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


def _none_among(others: list[str], place: Place) -> str:
    unknown = "" if place.otherwise is not None else "; which branch is the default one could not be told either"
    shown = ", ".join(others[:5]) + (f" and {len(others) - 5} more" if len(others) > 5 else "")
    return (
        f"there is none for {place.branch} by {place.config} while there are others ({shown}); where nothing was "
        f"renamed or taken away, somebody has to accept the first one{unknown}"
    )


def _unreadable(where: str, error: UserError) -> Unreadable:
    if error.code == "github-permission":
        raise error
    return Unreadable(where, error.problems[0].message)


def _overtaken(failure: Failure, before: Tip | None, now: Tip | None) -> bool:
    """Whether somebody else wrote in between. GitHub's own words count too: what it shows may lag behind."""
    moved = (now.commit if now else None) != (before.commit if before else None)
    words = failure.message.lower()
    return moved or "fast forward" in words or "fast-forward" in words or "already exists" in words
