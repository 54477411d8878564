"""Finding and ending every process of a command."""

from __future__ import annotations

import os
import time

_SIGKILL, _SIGSTOP = 9, 19
_PATIENCE = 10.0  # seconds; an uninterruptible sleep of the kernel is the only thing known to outlast a SIGKILL


class LeftoverError(Exception):
    """Processes of the command are still alive."""


def descendants() -> list[int]:
    """Ids of all processes below this one. With `adopt_orphans`, those that detached are among them."""
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        children = _children(waiting.pop())
        found += children
        waiting += children
    return found


def memory(pid: int) -> int:
    """Bytes of anonymous and shared memory that a process holds; 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:  # noqa: PTH123  (pathlib takes longer to import than all this)
            lines = file.read().splitlines()
    except OSError:
        return 0
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith((b"RssAnon:", b"RssShmem:")))


def reap() -> dict[int, int]:
    """The wait statuses of the children that have ended, by their id."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = status


def end_all(user: int, killer: int) -> dict[int, int]:
    """Kills every process of the command and returns their wait statuses. Raises LeftoverError if one lives on.

    With a `user` of the command's own, the kernel finds them all at once, however fast they fork. Without, they are
    stopped first, so that none forks while the others are looked for.
    """
    ended = reap()
    deadline = time.monotonic() + _PATIENCE
    while _children(os.getpid()):  # with `adopt_orphans`, no child means no descendant
        if user:
            end_user(user, killer)
        else:
            _end_tree()
        ended |= reap()
        if time.monotonic() > deadline:
            raise LeftoverError(f"processes {descendants()} do not end")
        time.sleep(0.001)
    return ended


def end_user(user: int, killer: int) -> None:
    """Kills every process whose uid is `user`, in one step of the kernel. Called as root.

    The one who kills has `user` as effective uid only, so it may signal them and none of them may signal it.
    """
    if user <= 0 or killer <= 0:
        raise ValueError("root's processes are never killed by their user")
    pid = os.fork()
    if pid == 0:
        try:
            os.setresuid(killer, user, killer)
            if os.getresuid() == (killer, user, killer):
                os.kill(-1, _SIGKILL)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def _end_tree() -> None:
    stopped: set[int] = set()
    while new := set(descendants()) - stopped:
        for pid in new:
            _signal(pid, _SIGSTOP)
        stopped |= new
    for pid in stopped:
        _signal(pid, _SIGKILL)


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:  # noqa: PTH123
                children += map(int, file.read().split())
    except (FileNotFoundError, ProcessLookupError):
        if pid == os.getpid():
            raise
    return children
