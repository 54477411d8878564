"""What every store of baselines can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from evaluator.baselines import BaselineState
from evaluator.baselines.history import Entry
from evaluator.results import Acceptance, Run


@dataclass(frozen=True)
class Place:
    """Whose baseline is meant. `commit`: of the code, whose own baseline is preferred, None where unknown; `branch`: of
    the code; `config`: trap.yaml, relative to the repository; `otherwise`: the branch whose baseline does where
    `branch` has none, empty for none, None where it is not known which. The store `file` needs none of it: the checkout
    decides."""

    commit: str | None
    branch: str
    config: str
    otherwise: str | None = ""


class Store(Protocol):
    """`older`: where the history goes on that this store does not have, in words, empty where it has all of it."""

    @property
    def older(self) -> str:
        """Where more history is, in words."""

    def read(self, place: Place) -> BaselineState:
        """The baseline. Raises UserError `github-permission` where the token may not read."""

    def write(self, run: Run, accepted: Acceptance, place: Place) -> str:
        """Makes `run` the baseline of `place` and says in words where it went. The store finds the anchor: an explicit
        acceptance has none, a move by itself keeps that of what it replaces. Raises UserError where nothing was
        written."""

    def history(self, place: Place) -> list[Entry]:
        """What was the baseline, newest first. Raises UserError where it cannot be read."""

    def check_writable(self) -> None:
        """Raises UserError where a later `write` would be refused, before money is spent on a run."""
