"""Which items of a list too long for the page are kept. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from evaluator.reports.view_model import Listing

T = TypeVar("T")


def kept(items: Sequence[T], most: int, rank: Callable[[T], int]) -> Listing[T]:
    """At most `most` of the items, those of the lowest rank, the first among their like; in the order they came in."""
    if len(items) <= most:
        return Listing(items)
    best = sorted(range(len(items)), key=lambda place: rank(items[place]))[:most]
    return Listing([items[place] for place in sorted(best)], len(items) - most)
