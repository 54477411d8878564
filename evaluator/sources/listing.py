"""What a commit holds under a subdirectory, by git's trees alone, before any file is fetched or written."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from evaluator.errors import UserError, user_error
from evaluator.sources import content
from evaluator.sources.git import Fault, Git, GitError
from evaluator.sources.location import GitSource

_LINK, _SUBMODULE, _EXECUTABLE = "120000", "160000", "100755"
_MAX_LISTING = content.MAX_FILES * 400  # bytes; a bomb of trees within trees ends here


@dataclass(frozen=True)
class Blob:
    """A file: its name relative to the subdirectory, and the id of its content."""

    name: str
    oid: str
    executable: bool


def list_files(git: Git, source: GitSource) -> list[Blob]:
    """Every file under the subdirectory, in git's order.

    Raises UserError `source-subdirectory-missing`, `source-unsafe` (links, submodules, odd names, two names that are
    one on a file system that ignores case) or `source-too-large`.
    """
    where = str(source)
    try:
        answer = git.local("ls-tree", "-r", "-z", "--full-tree", _tree(source), limit=_MAX_LISTING)
    except GitError as error:
        if error.fault is Fault.TOO_LARGE:
            raise content.too_large(f"more than {content.MAX_FILES:,} files", where) from error
        raise _no_folder(git, source, error) from error
    entries = answer.split(b"\0")[:-1]
    content.check_limits(len(entries), 0, where)
    blobs = [_blob(entry, where) for entry in entries]
    _refuse_look_alikes(blobs, where)
    return blobs


def missing_objects(git: Git, source: GitSource) -> list[str]:
    """Ids of the objects under the subdirectory that the repository does not have yet."""
    answer = git.local("rev-list", "--objects", "--missing=print", _tree(source))
    return [line[1:] for line in answer.decode(errors="replace").splitlines() if line.startswith("?")]


def _tree(source: GitSource) -> str:
    return f"{source.commit}:{source.subdirectory}"


def _blob(entry: bytes, where: str) -> Blob:
    head, _, raw = entry.partition(b"\t")
    mode, _, oid = head.decode().split(" ")
    name = raw.decode(errors="surrogateescape")
    content.check_name(name, where)
    if mode == _LINK:
        raise content.unsafe(name, "is a symbolic link, which could lead out of the folder", where)
    if mode == _SUBMODULE:
        raise content.unsafe(name, "is a submodule; submodules are never fetched", where)
    return Blob(name, oid, mode == _EXECUTABLE)


def _refuse_look_alikes(blobs: list[Blob], where: str) -> None:
    seen: dict[str, str] = {}
    for blob in blobs:
        path = ""
        for part in blob.name.split("/"):
            path += f"/{part}"
            key = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
            if seen.setdefault(key, path) != path:
                raise content.unsafe(path[1:], f"and `{seen[key][1:]}` are one name where case is ignored", where)


def _no_folder(git: Git, source: GitSource, error: GitError) -> UserError:
    """Why the subdirectory cannot be listed: the first component on the way that is not a folder."""
    where = str(source)
    parts = source.subdirectory.split("/")
    for length in range(1, len(parts) + 1):
        prefix = "/".join(parts[:length])
        entry = git.local("ls-tree", "-z", "--full-tree", source.commit, "--", prefix)
        mode = entry.decode(errors="replace").partition(" ")[0]
        if mode == _LINK:
            return content.unsafe(prefix, "is a symbolic link, which could lead out of the repository", where)
        if mode == _SUBMODULE:
            return content.unsafe(prefix, "is a submodule; submodules are never fetched", where)
        if mode != "040000":
            what = f"`{prefix}` is a file" if entry else f"there is no `{prefix}`"
            mend = "Look at the path after `#subdirectory=` and at the commit."
            return user_error("source-subdirectory-missing", f"{what} at this commit", where=where, mend=mend)
    return error.as_user_error(git.remote, git.environ, where)
