"""A pinned commit → plain files in a folder: the cheapest way that the server allows, verified to be that commit."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evaluator.errors import UserError, user_error
from evaluator.sources import listing
from evaluator.sources.environment import Remote
from evaluator.sources.git import Fault, Git, GitError
from evaluator.sources.listing import Blob
from evaluator.sources.location import GitSource
from evaluator.sources.objects import write_files

_FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head")
_PARTIAL = ("--filter=blob:none",)

_WHOLE_COMMIT = "the server sends no single files: the whole commit was downloaded, not the subdirectory alone"
_EVERYTHING = "the server sends no single commits: all branches and tags were downloaded to find the pinned one"


@dataclass(frozen=True)
class _Way:
    """One way of getting the commit. `partial`: its trees first, then only the files of the subdirectory. The first
    way is the cheapest; a server that refuses it is asked by the next. `note`: what a reader should know."""

    partial: bool
    arguments: tuple[str, ...]
    note: str = ""


def _ways(commit: str) -> tuple[_Way, ...]:
    every_ref = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
    return (
        _Way(True, ("--depth=1", *_PARTIAL, "origin", commit)),
        _Way(False, ("--depth=1", "origin", commit), _WHOLE_COMMIT),
        _Way(False, ("origin", *every_ref), _EVERYTHING),
    )


def checkout(
    source: GitSource, into: Path, work: Path, environ: Mapping[str, str], pauses: Sequence[float]
) -> list[str]:
    """Write the files of `source` into the empty folder `into`; `work` is for temporary files. Returns notes.

    Raises UserError: `source-commit-missing`, `source-not-pinned`, `source-subdirectory-missing`, `source-unsafe`,
    `source-too-large`, `source-access-denied`, `source-unreachable`, `git-missing`, `git-too-old`.
    """
    remote = Remote(source.url)
    for way in _ways(source.commit):
        with tempfile.TemporaryDirectory(dir=work, prefix="git-") as folder:
            try:
                git = _empty_repository(Path(folder), replace(remote, partial=way.partial), source, environ, pauses)
                blobs, note = _obtain(git, source, way)
            except GitError as error:
                failure = error
                if error.fault not in (Fault.OTHER, Fault.MISSING):
                    break
            else:
                write_files(git, blobs, into, str(source))
                return [f"{source}: {note}"] if note else []
    if failure.fault is Fault.MISSING:
        raise _commit_missing(source) from failure
    raise failure.as_user_error(remote, environ, str(source)) from failure


def _empty_repository(
    folder: Path, remote: Remote, source: GitSource, environ: Mapping[str, str], pauses: Sequence[float]
) -> Git:
    home = folder / "home"
    home.mkdir()
    git = Git(remote, folder / "repository", home, environ, pauses)
    object_format = "sha256" if len(source.commit) == 64 else "sha1"
    git.local("init", "--quiet", "--bare", "--template=", f"--object-format={object_format}", str(git.repository))
    return git


def _obtain(git: Git, source: GitSource, way: _Way) -> tuple[list[Blob], str]:
    """The files of the subdirectory, all of whose objects are then in the repository, and a note or nothing."""
    try:
        git.network(*_FETCH, *way.arguments)
    except GitError as error:
        if error.fault is Fault.MISSING:
            raise _commit_missing(source) from error
        raise
    _verify(git, source)
    blobs = listing.list_files(git, source)
    if not way.partial:
        return blobs, way.note
    missing = listing.missing_objects(git, source)
    if missing:
        git.network(*_FETCH, *_PARTIAL, "--stdin", "origin", stdin="".join(f"{oid}\n" for oid in missing).encode())
        return blobs, ""
    # A server that does not know the filter ignores it and sends everything. On the same machine that costs nothing.
    return blobs, _WHOLE_COMMIT if blobs and git.remote.scheme != "file" else ""


def _verify(git: Git, source: GitSource) -> None:
    # git has hashed what it received: an object that is there under this id has the content that the id stands for.
    try:
        kind = git.local("cat-file", "-t", source.commit).decode().strip()
    except GitError as error:
        raise GitError(Fault.MISSING, error.said) from error
    if kind != "commit":
        raise user_error(
            "source-not-pinned",
            f"{source.commit} is the id of a {kind}, not of a commit",
            where=str(source),
            mend="Write the tag's name and let `trapgate pin trap.yaml` find the commit.",
        )


def _commit_missing(source: GitSource) -> UserError:
    return user_error(
        "source-commit-missing",
        f"the repository has no commit {source.commit}, or does not give it out",
        where=str(source),
        mend="Look at the id; a commit that was only ever on a deleted branch or a fork may be gone. To pin a branch "
        "or tag as it is now, write its name after `@` and run `trapgate pin trap.yaml`.",
    )
