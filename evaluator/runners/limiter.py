"""How many calls may be in flight: one limiter for a provider, which finds the number that the provider bears.

Additive increase, multiplicative decrease (Chiu and Jain, "Analysis of the increase and decrease algorithms for
congestion avoidance in computer networks", 1989): one call more for each round that succeeded, half as many when the
provider says that it is too much. A wait that the provider asked for holds back every call, not only the refused one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class Limiter:
    """At most `ceiling` calls in flight, at least one."""

    def __init__(self, ceiling: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._ceiling = max(1, ceiling)
        self._limit = float(self._ceiling)
        self._in_flight = 0
        self._decreases = 0
        self._open_at = 0.0
        self._clock = clock
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def limit(self) -> int:
        """How many calls may be in flight now."""
        return int(self._limit)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[int]:
        """Holds one of the places. Yields a token that says when the call began, for `congested`."""
        await self._enter()
        try:
            yield self._decreases
        finally:
            self._in_flight -= 1
            self._wake()

    def succeeded(self) -> None:
        """A call was answered."""
        self._limit = min(self._limit + 1 / self._limit, float(self._ceiling))
        self._wake()

    def congested(self, token: int) -> None:
        """A call with this token met a sign of congestion.

        Calls that were in flight together are one sign, not many: only the first of them counts.
        """
        if token == self._decreases:
            self._decreases += 1
            self._limit = max(1.0, self._limit / 2)

    def pause(self, seconds: float) -> None:
        """No call begins within `seconds` from now."""
        self._open_at = max(self._open_at, self._clock() + seconds)

    async def _enter(self) -> None:
        while True:
            closed_for = self._open_at - self._clock()
            if closed_for > 0:
                await asyncio.sleep(closed_for)
            elif self._in_flight < self.limit:
                self._in_flight += 1
                return
            else:
                waiter = asyncio.get_running_loop().create_future()
                self._waiting.append(waiter)
                await waiter

    def _wake(self) -> None:
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        self._waiting.clear()
