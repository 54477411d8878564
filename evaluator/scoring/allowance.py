"""The time that scoring one attempt may take: what a task's pattern or schema and a model's answer make of each other
can take hours where each single search is bounded.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

SECONDS = 5.0


class Allowance:
    """Seconds that are left. Without an attempt there is no end: what is compiled at load has bounds of its own."""

    def __init__(self) -> None:
        self._until = inf

    @contextmanager
    def of_one_attempt(self) -> Iterator[None]:
        """While one attempt is scored."""
        outer, self._until = self._until, min(self._until, time.perf_counter() + SECONDS)
        try:
            yield
        finally:
            self._until = outer

    def left(self) -> float:
        """Seconds; negative where the time is over."""
        return self._until - time.perf_counter()


ALLOWANCE = Allowance()
