"""Fetched sources on disk: one folder for each (URL, commit, subdirectory), checked again whenever it is used.

    <cache>/sources/<key>/files/…         the files of the subdirectory
    <cache>/sources/<key>/manifest.json   what was fetched, and the SHA-256 of each file

A folder appears whole, by one rename, or not at all. The manifest finds damage and edited, added or missing files; it
does not protect from somebody who may write to the cache and rewrites both.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import msgspec

from evaluator.errors import UserError
from evaluator.sources import content
from evaluator.sources.location import GitSource

_LEFTOVER = 24 * 3600.0  # seconds after which a temporary folder belongs to a process that was killed
_MAX_MANIFEST = 256 << 20
_ATTEMPTS = 5


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """`files`: relative name → SHA-256 of the content, hex."""

    version: int
    url: str
    commit: str
    subdirectory: str
    files: dict[str, str]


@dataclass(frozen=True)
class Entry:
    """The place of one source in the cache. It need not exist yet."""

    cache: Path
    source: GitSource

    @property
    def folder(self) -> Path:
        """Named by a hash: nothing of the URL can act as a path."""
        parts = (self.source.url, self.source.commit, self.source.subdirectory)
        return self.cache / "sources" / sha256("\n".join(parts).encode()).hexdigest()

    @property
    def files(self) -> Path:
        """The folder of the files themselves."""
        return self.folder / "files"

    def load(self) -> dict[str, str] | str | None:
        """The files with their hashes when the entry is whole; None when there is none; else what is wrong with it."""
        if not self.folder.is_dir():
            return None
        manifest = self._manifest()
        if manifest is None or self.folder.is_symlink() or self.files.is_symlink():
            return "its manifest is missing or not readable"
        try:
            found = content.hash_files(self.files, str(self.source))
        except UserError as error:
            return error.problems[0].message
        differing = sorted(manifest.files.items() ^ found.items())
        return f"`{differing[0][0]}` was changed, added or removed" if differing else found

    @contextlib.contextmanager
    def work_folder(self) -> Iterator[Path]:
        """An empty folder on the cache's file system, gone afterwards."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        self._sweep()
        with tempfile.TemporaryDirectory(dir=self.folder.parent, prefix=".new-", ignore_cleanup_errors=True) as work:
            yield Path(work)

    def store(self, files: Path, work: Path) -> dict[str, str]:
        """Move the folder `files`, made inside `work`, into the cache. Returns its files with their hashes.

        Another process may store the same entry at the same time: the first whole one stays.
        """
        hashes = content.hash_files(files, str(self.source))
        staged = work / "entry"
        staged.mkdir()
        files.rename(staged / "files")
        url, commit, subdirectory = self.source.url, self.source.commit, self.source.subdirectory
        manifest = Manifest(version=1, url=url, commit=commit, subdirectory=subdirectory, files=hashes)
        (staged / "manifest.json").write_bytes(msgspec.json.encode(manifest))
        for attempt in range(_ATTEMPTS):
            with contextlib.suppress(OSError):
                staged.rename(self.folder)
                return hashes
            if self.load() == hashes:
                return hashes
            with contextlib.suppress(FileNotFoundError):
                self.folder.rename(work / f"broken-{attempt}")
        staged.rename(self.folder)
        return hashes

    def _manifest(self) -> Manifest | None:
        path = self.folder / "manifest.json"
        try:
            if path.is_symlink() or path.stat().st_size > _MAX_MANIFEST:
                return None
            manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        identity = (manifest.version, manifest.url, manifest.commit, manifest.subdirectory)
        expected = (1, self.source.url, self.source.commit, self.source.subdirectory)
        return manifest if identity == expected else None

    def _sweep(self) -> None:
        for leftover in self.folder.parent.glob(".new-*"):
            with contextlib.suppress(OSError):
                if time.time() - leftover.stat().st_mtime > _LEFTOVER:
                    shutil.rmtree(leftover)
