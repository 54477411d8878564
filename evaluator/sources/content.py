"""The files of a source on disk: which are allowed, and the digest over their names and contents.

One rule for local folders, fetched trees and the cache, so that a task that works locally works when it is pinned.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from evaluator.errors import UserError, user_error

MAX_FILES = 100_000
MAX_BYTES = 1 << 30
MAX_NAME = 1024  # bytes of a relative path; each component is further bound by the file system


def digest_of(files: Mapping[str, str]) -> str:
    """SHA-256 over `files` (relative name → SHA-256 of the content), hex.

    What is hashed is the listing that `sha256sum` prints, sorted by the bytes of the names, so anyone can redo it.
    """
    lines = (f"{files[name]}  {name}\n" for name in sorted(files, key=str.encode))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def hash_files(root: Path, where: str) -> dict[str, str]:
    """Relative name → SHA-256 of the content, for every file under `root`. `.git` is left out.

    Raises UserError `source-unsafe` for a link, a special file or an odd name, `source-too-large` beyond the limits,
    `source-unreadable` where the system refuses.
    """
    files: dict[str, str] = {}
    total = 0
    try:
        for name, path in _walk(root, where):
            files[name], size = _hash_file(path, name, where)
            total += size
            check_limits(len(files), total, where)
    except OSError as error:
        message = f"the files of the source cannot be read: {error.strerror}"
        raise user_error("source-unreadable", message, where=where, mend="Look at the permissions.") from error
    return files


def check_limits(count: int, size: int, where: str) -> None:
    """Raises UserError `source-too-large` beyond `MAX_FILES` files or `MAX_BYTES` bytes."""
    if count > MAX_FILES:
        raise too_large(f"more than {MAX_FILES:,} files", where)
    if size > MAX_BYTES:
        raise too_large(f"more than {MAX_BYTES >> 20:,} MiB", where)


def check_name(name: str, where: str) -> None:
    """Raises UserError `source-unsafe` for a relative name that must not be written, hashed or printed."""
    if not name.isprintable():
        raise unsafe(name, "has a character that cannot be printed, or is not UTF-8", where)
    if len(name.encode()) > MAX_NAME:
        raise unsafe(name, f"is longer than {MAX_NAME} bytes", where)
    parts = name.split("/")
    if any(part in ("", ".", "..") or _is_git(part) for part in parts) or "\\" in name:
        raise unsafe(name, "has a component that could lead out of the folder or into git's own files", where)


def unsafe(name: str, why: str, where: str) -> UserError:
    """`source-unsafe`, naming the path in a form that is safe to print."""
    shown = name.encode("unicode_escape").decode() if not name.isprintable() else name
    if len(shown) > 200:
        shown = shown[:200] + "…"
    mend = "Replace a link by the file it points to, and rename or remove what else is named here."
    return user_error("source-unsafe", f"`{shown}` {why}", where=where, mend=mend)


def too_large(what: str, where: str) -> UserError:
    """`source-too-large`: the source holds `what`."""
    mend = "Point the source at the folder of the task alone (`#subdirectory=…`)."
    return user_error("source-too-large", f"the source holds {what}, which is the limit", where=where, mend=mend)


def _is_git(part: str) -> bool:
    return part.casefold() in (".git", "git~1")


def _walk(root: Path, where: str) -> Iterator[tuple[str, str]]:
    folders = [("", str(root))]
    while folders:
        prefix, folder = folders.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                if _is_git(entry.name):
                    continue
                name = prefix + entry.name
                check_name(name, where)
                if entry.is_symlink():
                    raise unsafe(name, "is a symbolic link, which could lead out of the folder", where)
                if entry.is_dir(follow_symlinks=False):
                    folders.append((f"{name}/", entry.path))
                else:
                    yield name, entry.path


def _hash_file(path: str, name: str, where: str) -> tuple[str, int]:
    # The kind is checked on the open file: between listing and opening, a file can become a link or a pipe.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise unsafe(name, "is not a regular file", where)
        check_limits(0, status.st_size, where)
        return hashlib.file_digest(file, "sha256").hexdigest(), status.st_size
