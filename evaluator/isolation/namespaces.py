"""Where we are not root: namespaces, made by bubblewrap, and the same filter of system calls."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from evaluator.isolation import paths, seccomp
from evaluator.isolation.command import Command, Finished, never
from evaluator.isolation.inside.spec import Spec
from evaluator.isolation.supervised import ROOT, not_started, specification, supervise


class Namespaces:
    """Each command sees a file system made of what it is given, and only its own processes."""

    means = ("user, mount, process, network and IPC namespaces (bubblewrap)", "seccomp", "resource limits")
    protects = (
        "Each command has a file system that holds its folders and the system's programs only, sees no process but its "
        "own, has no network and opens no socket, and is bounded in time, memory, processes, disk and output; the "
        "kernel ends all its processes with it. It keeps our user id."
    )

    def __init__(self, guarded: tuple[Path, ...]) -> None:
        self._guarded = guarded

    def run(self, command: Command, stop: Callable[[], bool] = never) -> Finished:
        """See `Isolation`. A folder that would give away a guarded path is refused before anything starts."""
        if refused := paths.exposed(command, self._guarded):
            return not_started(refused)
        return supervise(command, self.specify(command), prefix=self.prefix(command), stop=stop)

    def specify(self, command: Command) -> Spec:
        """What the supervisor is told."""
        spec = specification(command)
        spec.filters = seccomp.program(command.network)
        return spec

    def prefix(self, command: Command) -> list[str]:
        """bubblewrap and its arguments. Raises FileNotFoundError where it is not installed."""
        program = shutil.which("bwrap")
        if program is None:
            raise FileNotFoundError("bubblewrap (the program bwrap) is not installed")
        return [program, *_arguments(command)]


def _arguments(command: Command) -> Iterator[str]:
    yield from ("--unshare-all", "--die-with-parent", "--new-session", "--clearenv")
    if command.network:
        yield "--share-net"
    yield from ("--proc", "/proc", "--dev", "/dev")
    own = (*paths.interpreter(), str(Path(sys.executable).parent), str(ROOT / "evaluator"))
    for path in (*paths.SYSTEM, *own):
        yield from ("--ro-bind-try", path, path)
    for folder in command.readable:
        yield from ("--ro-bind", str(folder), str(folder))
    for folder in command.writable:
        yield from ("--bind", str(folder), str(folder))
    # What lies beneath the folders is memory, which nothing would bound if it could be written.
    yield from ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/", "--")
