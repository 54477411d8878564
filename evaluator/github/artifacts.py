"""Artifacts of another workflow's run: which ones are read, and the one file that is taken out of each.

Whoever opened the pull request has written them, names and archives included. Nothing is unpacked to a disk.
"""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any

FILE = "results.json"
MOST_ARTIFACTS = 20
MOST_ARCHIVE_BYTES = 32 << 20
MOST_FILE_BYTES = 24 << 20  # 3,000 cases with three attempts of three calls each take 15 MB
MOST_ENTRIES = 1000

_LONGEST_NAME = 200
_ENTRY = b"PK\x01\x02"  # begins an entry of the directory. Source: APPNOTE.TXT 6.3.10, section 4.3.12
_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BROKEN = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError, RuntimeError)


class UnusableError(Exception):
    """Why something that a stranger's run has left is not used, in words that may hold its own."""


@dataclass(frozen=True)
class Artifact:
    """`size`: bytes of the archive, as the server says."""

    id: int
    name: str
    size: int
    expired: bool


def chosen(listed: Iterable[Mapping[str, Any]], wanted: str, run_id: int) -> list[Artifact]:
    """The artifacts of the run `run_id` whose name is `wanted`, which may end in `*`; by name, the newest of each.

    `listed`: as the API gives them. A run that was started again has the artifacts of every attempt, by equal names.
    """
    newest: dict[str, Artifact] = {}
    for item in listed:
        artifact = _artifact(item, run_id)
        if artifact is None or not matches(artifact.name, wanted):
            continue
        known = newest.get(artifact.name)
        if known is None or artifact.id > known.id:
            newest[artifact.name] = artifact
    return [newest[name] for name in sorted(newest)]


def matches(name: str, wanted: str) -> bool:
    """Whether `name` is meant by the input `artifact`."""
    return name.startswith(wanted[:-1]) if wanted.endswith("*") else name == wanted


def _artifact(item: Mapping[str, Any], run_id: int) -> Artifact | None:
    found = (item.get("id"), item.get("name"), item.get("size_in_bytes"), item.get("expired"))
    run = item.get("workflow_run")
    of = run.get("id", run_id) if isinstance(run, Mapping) else run_id
    match found:
        case (int() as id, str() as name, int() as size, bool() as expired) if of == run_id:
            return Artifact(id, name, size, expired) if len(name) <= _LONGEST_NAME else None
    return None


def results(archive: bytes) -> bytes:
    """The bytes of results.json out of a zip archive: of the one at the top, else of the one in a single folder.

    Raises UnusableError for an archive that holds anything an upload does not.
    """
    if archive.count(_ENTRY) > MOST_ENTRIES:  # before a list of millions of entries is made
        raise UnusableError(f"the archive has more than {MOST_ENTRIES:,} entries")
    try:
        with zipfile.ZipFile(BytesIO(archive)) as opened:
            return _read(opened, _entry(opened.infolist()))
    except _BROKEN as error:
        raise UnusableError(f"the archive cannot be read ({type(error).__name__})") from error


def _entry(entries: list[zipfile.ZipInfo]) -> zipfile.ZipInfo:
    for entry in entries:
        if not _is_inside(entry):
            raise UnusableError("an entry of the archive leaves its folder")
    found = [entry for entry in entries if entry.filename == FILE]
    found = found or [entry for entry in entries if entry.filename.count("/") == 1 and _is_named(entry)]
    if not found:
        raise UnusableError(f"there is no {FILE} in the archive")
    if len(found) > 1:
        raise UnusableError(f"the archive has {len(found)} entries {FILE}")
    return found[0]


def _is_named(entry: zipfile.ZipInfo) -> bool:
    return entry.filename.rpartition("/")[2] == FILE


def _is_inside(entry: zipfile.ZipInfo) -> bool:
    """Whether the name is a plain path, and the one that the archive has: zipfile cuts it at a NUL."""
    name = entry.filename
    return name == entry.orig_filename and "\\" not in name and not {"", ".", ".."} & set(name.rstrip("/").split("/"))


def _read(opened: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise UnusableError(f"{FILE} is no plain file in the archive")
    if entry.flag_bits & _ENCRYPTED or entry.compress_type not in _METHODS:
        raise UnusableError(f"{FILE} is encrypted, or compressed in an unusual way")
    with opened.open(entry) as file:  # what is said of its size is not believed
        data = file.read(MOST_FILE_BYTES + 1)
    if len(data) > MOST_FILE_BYTES:
        raise UnusableError(f"{FILE} is larger than {MOST_FILE_BYTES:,} bytes")
    return data
