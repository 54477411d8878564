"""The folders that a command may write: given to its user, measured, and taken back when it has ended."""

from __future__ import annotations

import os
import stat

from evaluator.isolation.walk import walk

_ENTRIES = 20_000  # more than this in the folders of one command counts as too large


def hand_over(folders: list[str], user: int) -> None:
    """Makes `user` the owner of all that is in `folders`."""
    for folder in folders:
        os.chown(folder, user, user, follow_symlinks=False)
        for entry in walk(folder):
            os.chown(entry.name, user, user, dir_fd=entry.parent, follow_symlinks=False)


def take_back(folders: list[str]) -> None:
    """Makes us the owner again, and lets everyone read: the next command may run as another user.

    Called when no process of the command lives. No set-user-ID bit remains.
    """
    user, group = os.geteuid(), os.getegid()
    for folder in folders:
        for entry in walk(folder):
            os.chown(entry.name, user, group, dir_fd=entry.parent, follow_symlinks=False)
            if stat.S_ISDIR(entry.status.st_mode) or stat.S_ISREG(entry.status.st_mode):
                opened = entry.open(os.O_RDONLY)
                runs = stat.S_ISDIR(entry.status.st_mode) or entry.status.st_mode & 0o111
                os.fchmod(opened, 0o755 if runs else 0o644)
                os.close(opened)
        os.chown(folder, user, group, follow_symlinks=False)
        os.chmod(folder, 0o755)  # noqa: PTH101, S103  (as above: pathlib takes longer to import than all this)


def size(folders: list[str], bound: int) -> int:
    """Bytes on the disk, or more than `bound` where there is too much to look at while the command runs."""
    total = entries = 0
    for folder in folders:
        for entry in walk(folder):
            total += entry.status.st_blocks * 512
            entries += 1
            if total > bound or entries > _ENTRIES:
                return bound + 1
    return total
