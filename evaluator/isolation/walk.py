"""Walking a folder whose content is hostile, perhaps while it changes: no link is followed, at any level."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False  # the supervisor walks too, and must not wait for `typing`
if TYPE_CHECKING:
    from collections.abc import Iterator

DEPTH = 64
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Entry:
    """Something in a folder: `name` in the open folder `parent` (valid until the walk goes on), its path and status."""

    def __init__(self, parent: int, name: str, path: str, status: os.stat_result, depth: int) -> None:
        self.parent = parent
        self.name = name
        self.path = path
        self.status = status
        self.depth = depth

    def open(self, flags: int) -> int:
        """A descriptor of the entry itself. Raises OSError when it is, or has become, a link."""
        return os.open(self.name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self.parent)


def walk(folder: str) -> Iterator[Entry]:
    """All entries below `folder`, each before what it contains, paths relative to it. Ends at a depth of `DEPTH`.

    What vanishes meanwhile is passed over. Raises OSError when `folder` itself is not a folder, or is a link.
    """
    top = os.open(folder, _FOLDER)
    waiting = [(top, os.scandir(top), "")]
    try:
        while waiting:
            parent, entries, prefix = waiting[-1]
            found = next(entries, None)
            if found is None:
                waiting.pop()
                entries.close()
                os.close(parent)
                continue
            try:
                status = found.stat(follow_symlinks=False)
            except OSError:
                continue
            entry = Entry(parent, found.name, prefix + found.name, status, len(waiting))
            yield entry
            if stat.S_ISDIR(status.st_mode) and len(waiting) < DEPTH:
                _enter(entry, waiting)
    finally:
        for parent, entries, _ in waiting:
            entries.close()
            os.close(parent)


def _enter(entry: Entry, waiting: list[tuple[int, os._ScandirIterator[str], str]]) -> None:
    try:
        opened = entry.open(_FOLDER)
    except OSError:
        return
    waiting.append((opened, os.scandir(opened), entry.path + "/"))
