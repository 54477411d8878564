"""A source → a verified local directory, and what identifies it in results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluator.cases import SourceRef
from evaluator.errors import user_error
from evaluator.sources.cache import Entry
from evaluator.sources.checkout import checkout
from evaluator.sources.content import digest_of, hash_files
from evaluator.sources.git import PAUSES
from evaluator.sources.location import GitSource, LocalSource


@dataclass(frozen=True)
class Fetched:
    """`directory` holds plain files and folders only, no link. It belongs to the user or to the cache: read it, never
    write to it. `notes`: what a reader of the report should know."""

    directory: Path
    ref: SourceRef
    notes: tuple[str, ...] = ()


def fetch(
    source: LocalSource | GitSource,
    *,
    base: Path,
    cache: Path,
    environ: Mapping[str, str],
    pauses: Sequence[float] = PAUSES,
) -> Fetched:
    """The files of `source`.

    `base`: the folder that local paths are relative to. `cache`: a folder of ours, made when needed. `environ`: the
    user's environment, for TRAPGATE_GIT_TOKEN and proxies. A cached source starts no process.

    Raises UserError; the codes are in docs/sources.md.
    """
    if isinstance(source, LocalSource):
        return _local(source, base)
    return _git(source, Entry(cache.absolute(), source), environ, pauses)


def _local(source: LocalSource, base: Path) -> Fetched:
    directory = base / source.path
    if not directory.is_dir():
        what = "is a file, not a folder" if directory.exists() else "does not exist"
        mend = f"A local source is a folder, relative to {base.absolute()}."
        raise user_error("source-missing", f"the folder of the source {what}", where=source.path, mend=mend)
    directory = directory.resolve()
    return Fetched(directory, SourceRef(location=source.path, digest=digest_of(hash_files(directory, source.path))))


def _git(source: GitSource, entry: Entry, environ: Mapping[str, str], pauses: Sequence[float]) -> Fetched:
    files = entry.load()
    if isinstance(files, dict):
        return _fetched(source, entry, files)
    notes = [] if files is None else [f"{source}: the cached copy was not used, {files}; it was fetched anew"]
    try:
        with entry.work_folder() as work:
            into = work / "files"
            into.mkdir()
            notes += checkout(source, into, work, environ, pauses)
            return _fetched(source, entry, entry.store(into, work), notes)
    except OSError as error:
        message = f"the source cannot be written to the cache: {error.strerror or error}"
        mend = f"Look at the room and the permissions of {entry.cache}, and at very long file names in the source."
        raise user_error("source-unwritable", message, where=str(source), mend=mend) from error


def _fetched(source: GitSource, entry: Entry, files: Mapping[str, str], notes: Sequence[str] = ()) -> Fetched:
    ref = SourceRef(
        location=source.url,
        commit=source.commit,
        subdirectory=source.subdirectory or None,
        digest=digest_of(files),
    )
    return Fetched(entry.files, ref, tuple(notes))
