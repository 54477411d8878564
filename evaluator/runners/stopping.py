"""SIGTERM and SIGINT: stop new calls, keep what is there, report.

A cancelled job of GitHub Actions gets SIGINT, 7.5 s later SIGTERM, then SIGKILL; `docker stop` sends SIGTERM, then
SIGKILL after 10 s. So another signal of the other kind is the platform's impatience, not the user's, and changes
nothing; the same signal again means "now".
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

from evaluator.errors import EXIT_INCONCLUSIVE

SIGNALS = (signal.SIGINT, signal.SIGTERM)

_GLANCE = 0.1


class StopSignal:
    """A wish to stop, made once and never taken back. `request` may be called from a signal handler or any thread."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def request(self, reason: str) -> None:
        """Asks to stop. Only the first `reason` counts."""
        if self.reason is None:
            self.reason = reason
        for loop, event in self._waiting:
            loop.call_soon_threadsafe(event.set)

    def pause(self, seconds: float) -> None:
        """Sleeps so long, or until a stop is asked for, where it was before not at all.

        By glances: a lock that a signal handler takes too could be held by the thread that the handler interrupts.
        """
        end = time.monotonic() + seconds
        while self.reason is None and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, _GLANCE))

    async def wait(self) -> None:
        """Returns when a stop is asked for, at once if it was before."""
        entry = (asyncio.get_running_loop(), asyncio.Event())
        self._waiting.append(entry)
        try:
            if self.reason is None:
                await entry[1].wait()
        finally:
            self._waiting.remove(entry)


@contextlib.contextmanager
def stop_on_signals() -> Iterator[StopSignal]:
    """Turns the first SIGINT or SIGTERM into a request to stop while the context lasts.

    The same signal a second time ends the process at once with exit code 3: there is no verdict. Handlers set like this
    work for process 1 of a container too, which the kernel's default actions do not reach. Outside the main thread,
    where Python can't set handlers, signals stay as they are.
    """
    stop = StopSignal()
    seen: set[int] = set()

    def handle(number: int, _frame: FrameType | None) -> None:
        if number in seen:
            with contextlib.suppress(OSError):
                os.write(2, b"trapgate: stopped at once, nothing is reported\n")
            os._exit(EXIT_INCONCLUSIVE)
        seen.add(number)
        stop.request(signal.Signals(number).name)

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
