"""Where we are root, as in a container of GitHub Actions: another user, Landlock, a filter of system calls.

Needs no capability beyond those that an engine gives by default (SETUID, SETGID, CHOWN, DAC_OVERRIDE).
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable
from pathlib import Path

from evaluator.isolation import paths, seccomp
from evaluator.isolation.command import Command, Finished, never
from evaluator.isolation.inside.spec import Spec
from evaluator.isolation.supervised import not_started, specification, supervise

# Above what systemd hands out to containers, below 2^31, where some programs see a negative number.
_FIRST, _LAST = 1_900_000_000, 2_100_000_000
_SMALL_FIRST = 20_000  # in a container that has but 65,536 ids


class OwnUser:
    """Each command runs as a user and group that no other process has, and that no other command gets."""

    means = ("own user", "landlock", "seccomp", "resource limits")
    protects = (
        "Each command runs as a user of its own, without groups or privileges. It opens no files but those of its "
        "folders and the system's programs, writes only in its own folders, sees no memory or environment of "
        "other processes, cannot signal them, opens no socket, and is bounded in time, memory, processes, disk "
        "and output; all its processes are killed at its end."
    )

    def __init__(self, guarded: tuple[Path, ...]) -> None:
        self._guarded = guarded
        first, last = _range()
        pairs = (last - first) // 2
        # Another run on this machine starts elsewhere in the range.
        self._users = itertools.count(first + 2 * secrets.randbelow(pairs // 2), 2)

    def run(self, command: Command, stop: Callable[[], bool] = never) -> Finished:
        """See `Isolation`. A folder that would give away a guarded path is refused before anything starts."""
        if refused := paths.exposed(command, self._guarded):
            return not_started(refused)
        return supervise(command, self.specify(command), stop=stop)

    def specify(self, command: Command) -> Spec:
        """What the supervisor is told."""
        spec = specification(command)
        spec.user = next(self._users)
        spec.killer = spec.user + 1
        spec.filters = seccomp.program(command.network)
        read = (*paths.SYSTEM, *paths.FIGURES, *paths.interpreter(), *spec.readable)
        spec.rules = [*((path, False) for path in read), *((path, True) for path in (*paths.DEVICES, *spec.writable))]
        return spec


def _range() -> tuple[int, int]:
    """Ids that exist in this user namespace and that nobody is likely to have."""
    known = 0
    for line in Path("/proc/self/uid_map").read_text("ascii").splitlines():
        first, _, count = map(int, line.split())
        known = max(known, first + count)
    return (_FIRST, _LAST) if known > _LAST else (_SMALL_FIRST, min(known, 60_000))
