"""What is run, within which bounds, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

MIB = 1024 * 1024
TIMED_OUT = 124  # the exit code that trapstreet and coreutils' `timeout` give

Limit = Literal["time", "memory", "processes", "disk", "output", "stopped"]


@dataclass(frozen=True)
class Command:
    """A program and what it may touch. All paths are absolute; `environ` is exactly what it gets, PATH included.

    `cwd` lies in one of the folders. `writable` folders belong to this command while it runs: no two commands at once
    share one. `readable` are read and executed beside the system's own programs and libraries. `timeout` in seconds.
    `memory_bytes` and `disk_bytes` bound each process or file at once, and the sum of them within a tenth of a second
    (memory) or half a second (disk). `processes` counts threads too where the kernel counts them. `output_bytes` is for
    each of the two streams.
    """

    argv: tuple[str, ...]
    cwd: Path
    environ: Mapping[str, str]
    stdin: Path | None = None
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    timeout: float = 300.0
    memory_bytes: int = 2048 * MIB
    processes: int = 128
    disk_bytes: int = 512 * MIB
    output_bytes: int = 8 * MIB
    network: bool = False


@dataclass(frozen=True)
class Finished:
    """How a command ended. All its processes are gone.

    `exit_code`: 124 after the timeout, 128 + n after signal n, 127 or 126 when it could not be started, which `error`
    then explains. `limit` is the bound that ended it, None when it ended by itself; a bound that the kernel refuses at
    (memory of one process, number of processes) is for the program to report, so it is not named here. `stdout` and
    `stderr` hold at most `output_bytes`; `*_cut` bytes more were seen and thrown away. `seconds` from start to end,
    without the supervisor's own.
    """

    exit_code: int
    stdout: bytes
    stderr: bytes
    stdout_cut: int
    stderr_cut: int
    seconds: float
    limit: Limit | None
    error: str = ""


def never() -> bool:
    """For commands that nothing stops early."""
    return False


class Isolation(Protocol):
    """A way to run commands. Safe to use from several threads at once."""

    @property
    def means(self) -> tuple[str, ...]:
        """The facilities in force, for the report: "own user", "landlock", ..."""

    @property
    def protects(self) -> str:
        """In a sentence, what a command is kept from."""

    def run(self, command: Command, stop: Callable[[], bool] = never) -> Finished:
        """Waits for the command's end, which `stop` (asked ten times a second) brings about early."""


@dataclass(frozen=True)
class Refusal:
    """Why nothing that others wrote is run here: one clause for each thing that cannot be had."""

    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return "; ".join(self.reasons)
