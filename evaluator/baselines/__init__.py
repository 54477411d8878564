"""Where a baseline comes from and in which of three states it is. "Unreadable" is never "none yet"."""

from __future__ import annotations

from dataclasses import dataclass

from evaluator.results import Baseline


@dataclass(frozen=True)
class Found:
    """`where` says in words which baseline this is, e.g. `.trap/baseline.json at 3f2c1ab`."""

    where: str
    baseline: Baseline


@dataclass(frozen=True)
class Missing:
    """It is certain that there is none at `where`."""

    where: str


@dataclass(frozen=True)
class Unreadable:
    """There may be one at `where`, but it could not be read: broken, of another version, or access was refused."""

    where: str
    why: str


BaselineState = Found | Missing | Unreadable
