"""Folders for commands: made, filled, and read back without trusting what lies in them."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from evaluator.isolation.command import MIB
from evaluator.isolation.walk import DEPTH, Entry, walk

MAX_FILES = 1000
MAX_BYTES = 64 * MIB


class OutputError(Exception):
    """What a command left in its folder cannot be taken: which entry, and why."""


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A new folder for commands, removed afterwards with whatever is in it.

    Other users may pass through it, for commands run as such, but cannot list it.
    """
    folder = Path(tempfile.mkdtemp(prefix="trapgate-")).resolve()
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        remove(folder)


def remove(folder: Path) -> None:
    """Removes a folder that commands wrote, however deep and whatever its modes. Raises OSError if some of it stays."""
    # The system's rm neither follows links nor recurses on a stack that a deep folder can exhaust.
    removed = _system("rm", "-rf", "--", str(folder))
    if removed.returncode:
        _system("chmod", "-R", "u+rwX", "--", str(folder))
        removed = _system("rm", "-rf", "--", str(folder))
    if removed.returncode:
        raise OSError(f"{folder} cannot be removed: {removed.stderr.decode('utf-8', 'replace').strip()[-300:]}")


def _system(*command: str) -> subprocess.CompletedProcess[bytes]:
    """A tool of the system, whatever PATH earlier steps left behind."""
    return subprocess.run(command, env={"PATH": os.defpath}, capture_output=True, check=False)


def copy(source: Path, destination: Path) -> None:
    """Copies a folder to a new one that every user may read, without `.git` folders; links stay links.

    Raises OSError, also for what is neither file, folder nor link.
    """
    try:
        shutil.copytree(source, destination, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    except shutil.Error as error:
        raise OSError(f"{source} cannot be copied: {error.args[0][0][-1]}") from error
    destination.chmod(0o755)
    for entry in walk(str(destination)):
        if not stat.S_ISLNK(entry.status.st_mode):
            runs = stat.S_ISDIR(entry.status.st_mode) or entry.status.st_mode & 0o111
            (destination / entry.path).chmod(0o755 if runs else 0o644)


def collect(folder: Path, max_files: int = MAX_FILES, max_bytes: int = MAX_BYTES) -> dict[str, bytes]:
    """The files that a command left, by their path relative to `folder`, sorted.

    Raises OutputError for a link, device, pipe or socket, a name that is not text, and when there are more than
    `max_files` entries or `max_bytes` bytes in all, or folders nested deeper than 64. Nothing is followed or awaited.
    """
    found: dict[str, bytes] = {}
    left = max_bytes
    try:
        for count, entry in enumerate(walk(str(folder)), 1):
            if count > max_files:
                raise OutputError(f"more than {max_files} files and folders")
            _check(entry)
            if stat.S_ISREG(entry.status.st_mode):
                content = _read(entry, left)
                left -= len(content)
                if left < 0:
                    raise OutputError(f"more than {max_bytes} bytes")
                found[entry.path] = content
    except OSError as error:
        raise OutputError(f"cannot be read: {error.strerror}") from error
    return dict(sorted(found.items()))


def _check(entry: Entry) -> None:
    try:
        entry.path.encode("utf-8")
    except UnicodeEncodeError:
        raise OutputError(f"{entry.path!r} is not a name in UTF-8") from None
    mode = entry.status.st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OutputError(f"{entry.path} is {_kind(mode)}, which is not taken as an output")
    if stat.S_ISDIR(mode) and entry.depth >= DEPTH:
        raise OutputError(f"folders nested deeper than {DEPTH}")


def _read(entry: Entry, bound: int) -> bytes:
    """At most one byte more than `bound`."""
    opened = entry.open(os.O_RDONLY)
    with os.fdopen(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise OutputError(f"{entry.path} changed while it was read")
        return file.read(bound + 1)


def _kind(mode: int) -> str:
    kinds = {stat.S_IFLNK: "a symbolic link", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")
