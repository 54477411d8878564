"""Which commits of the code come after which, as GitHub says it: what is the newest, and what may move by itself."""

from __future__ import annotations

from typing import TypeVar

from evaluator.baselines.history import Entry
from evaluator.baselines.permission import refuse_without
from evaluator.errors import UserError, user_error
from evaluator.github.client import Failure
from evaluator.github.git_data import WRITE, GitData, Standing

T = TypeVar("T")

_MOST_COMPARED = 20


class Order:
    """The place of `commit` among others. Where GitHub cannot say that one descends from the other (a branch that was
    reset, a commit that was never pushed), the one that is written later counts as later."""

    def __init__(self, git: GitData, commit: str) -> None:
        self._git, self._commit = git, commit
        self._known: dict[str, Standing] = {commit: "identical"}

    def place(self, entries: list[Entry]) -> tuple[int, Entry | None]:
        """How many of `entries`, newest first, stay before `commit`: all up to the last one of a descendant; and the
        first of a descendant, None where there is none.

        One that does not descend from `commit` may stand before one that does: somebody accepted it in between.
        """
        place, first = 0, None
        for number, each in enumerate(entries[:_MOST_COMPARED]):
            standing = self._standing(each.commit) if each.commit else "unknown"
            if standing == "ahead":
                place, first = number + 1, first or each
            elif standing in ("behind", "identical"):
                break  # what descends from `commit` descends from this one too, and so stands before it
        return place, first

    def _standing(self, other: str) -> Standing:
        if other not in self._known:
            self._known[other] = _said(self._git.standing(other, to=self._commit))
        return self._known[other]


def where_it_went(entries: list[Entry], later: Entry | None) -> str:
    """In words; `later`: the first of `entries` that is of a later commit."""
    if later is None:
        return "the newest"
    newest, first = entries[0].commit[:12], later.commit[:12]
    stays = "and stays" if newest == first else f"and {newest} stays"
    return f"in the history only: {first} is a later commit {stays} the newest"


def refuse_what_is_not_on(git: GitData, commit: str, branch: str) -> None:
    """Raises UserError `baseline-not-moved` where `commit` is not on `branch` of the code as it is now: a late run of
    what a reset took off it would be the ruler of what came instead."""
    tip = _said(git.head(branch))
    if tip is None:
        raise not_moved(f"there is no branch {branch} on GitHub", branch)
    if tip != commit and _said(git.standing(commit, to=tip)) not in ("behind", "identical"):
        raise not_moved(f"its commit {commit[:12]} is not on {branch}, which is at {tip[:12]}", branch)


def not_moved(why: str, where: str) -> UserError:
    """The error of a move by itself that the branch of baselines does not allow."""
    mend = "Where that is right, accept the run: `trapgate baseline accept --why …`."
    return user_error("baseline-not-moved", why, where=where, mend=mend)


def _said(outcome: T | Failure) -> T:
    if isinstance(outcome, Failure):
        refuse_without(WRITE, outcome)
        raise user_error("baseline-not-written", f"the commits cannot be compared: {outcome.message}")
    return outcome
