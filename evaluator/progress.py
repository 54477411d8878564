"""How far a run is, on stderr: a bar in a terminal, plain lines in a log. Counts and dollars, never a model's text."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol, TextIO

from evaluator.printed import Cleaned, raw

if TYPE_CHECKING:
    from rich.progress import Progress as RichBar

# Seconds between two lines of a log.
INTERVAL = 10.0


class Progress(Protocol):
    """Told of a run as it goes. A display that fails must not fail the run."""

    def start(self, total: int) -> None:
        """`total` attempts are planned."""

    def attempt(self, *, failed: bool, cost_usd: float | None, resumed: bool = False) -> None:
        """One attempt has its outcome. `failed`: an infrastructure failure; `cost_usd` None: unknown; `resumed`: taken
        from an earlier run."""

    def finish(self) -> None:
        """No more attempts follow, whether or not all were made."""


def progress(stream: TextIO | None = None) -> Progress:
    """The display that suits `stream` (stderr where it is None)."""
    chosen = sys.stderr if stream is None else stream
    return TerminalProgress(chosen) if chosen.isatty() else PlainProgress(chosen)


class NoProgress:
    """Shows nothing."""

    def start(self, total: int) -> None:
        """Ignored."""

    def attempt(self, *, failed: bool, cost_usd: float | None, resumed: bool = False) -> None:
        """Ignored."""

    def finish(self) -> None:
        """Ignored."""


class Tally:
    """What has been counted so far. `str` is the line of a log: `12/60 attempts, 1 infrastructure failure, $0.0123,
    3.1/s, 20 s, about 80 s left`. An attempt of unknown cost makes the sum a lower bound; with no known cost there is
    no sum. What is left is reckoned from all attempts alike, and unknown before the first one; once `ended`, it is not
    run any more."""

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self.total = total
        self.done = 0
        self.ended = False
        self._made = 0
        self._failures = 0
        self._cost: float | None = None
        self._unpriced = 0

    def add(self, *, failed: bool, cost_usd: float | None, resumed: bool) -> None:
        """Counts one attempt. Resumed ones are no measure of speed."""
        self.done += 1
        self._made += not resumed
        self._failures += failed
        if cost_usd is not None:
            self._cost = (self._cost or 0.0) + cost_usd
        elif not failed:
            self._unpriced += 1

    def details(self) -> str:
        """All but the attempts."""
        failures = f"{self._failures} infrastructure failure{'' if self._failures == 1 else 's'}"
        if self._cost is None:
            cost = "cost unknown" if self._unpriced else "$0.0000"
        else:
            cost = f"{'at least ' if self._unpriced else ''}${self._cost:.4f}"
        seconds = self._clock() - self._began
        rate = self._made / seconds if seconds > 0 else 0.0
        left = self.total - self.done
        not_run = f"{left} not run, " if self.ended and left else ""
        return f"{not_run}{failures}, {cost}, {rate:.1f}/s"

    def __str__(self) -> str:
        seconds = self._clock() - self._began
        left = self.total - self.done
        rest = f", about {left * seconds / self._made:.0f} s left" if left and self._made and not self.ended else ""
        return f"{self.done}/{self.total} attempts, {self.details()}, {seconds:.0f} s{rest}"


class PlainProgress:
    """One line every `interval` seconds, also while nothing finishes, and one at the end."""

    def __init__(
        self, stream: TextIO, *, interval: float = INTERVAL, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._interval = interval
        self._clock = clock
        self._tally = Tally(0, clock)
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, total: int) -> None:
        """Begins the lines."""
        self._tally = Tally(total, self._clock)
        self._ended.clear()
        self._thread = threading.Thread(target=self._tick, name="progress", daemon=True)
        self._thread.start()

    def attempt(self, *, failed: bool, cost_usd: float | None, resumed: bool = False) -> None:
        """Counted; shown with the next line."""
        self._tally.add(failed=failed, cost_usd=cost_usd, resumed=resumed)

    def finish(self) -> None:
        """The last line."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            self._tally.ended = True
            self._print()

    def _tick(self) -> None:
        while not self._ended.wait(self._interval):
            self._print()

    def _print(self) -> None:
        # A log that nobody reads any more (closed pipe, closed file) is no reason to lose a paid run.
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(f"{self._tally}\n")  # in one piece: other threads print, too
            self._stream.flush()


class TerminalProgress:
    """A bar with the same figures. Lines that are written to `stream` meanwhile stand above it, where that is a cleaned
    one."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._tally = Tally(0)
        self._bar: RichBar | None = None

    def start(self, total: int) -> None:
        """Shows the bar."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._tally = Tally(total)
        self._bar = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("attempts, {task.description}"),
            TimeRemainingColumn(),
            console=Console(file=raw(self._stream), stderr=True),
            redirect_stdout=False,
            redirect_stderr=False,
        )
        if isinstance(self._stream, Cleaned):
            self._stream.above = partial(self._bar.console.out, highlight=False)
        self._bar.add_task(self._tally.details(), total=total)
        self._bar.start()

    def attempt(self, *, failed: bool, cost_usd: float | None, resumed: bool = False) -> None:
        """Moves the bar."""
        self._tally.add(failed=failed, cost_usd=cost_usd, resumed=resumed)
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._tally.done, description=self._tally.details())

    def finish(self) -> None:
        """Leaves the bar as it is."""
        if isinstance(self._stream, Cleaned):
            self._stream.above = None
        if self._bar is not None:
            self._tally.ended = True
            self._bar.update(self._bar.task_ids[0], description=self._tally.details())
            self._bar.stop()
            self._bar = None
