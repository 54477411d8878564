"""git's objects → plain files.

There is no working tree and no `git checkout` or `git archive`: filters, LFS, hooks, line-end conversion, `ident` and
`export-subst` have nowhere to act. What is written is what the objects hold, byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO

from evaluator.errors import user_error
from evaluator.sources import content
from evaluator.sources.git import Git, GitError
from evaluator.sources.listing import Blob

_CHUNK = 1 << 20  # bytes


def write_files(git: Git, blobs: Sequence[Blob], into: Path, where: str) -> None:
    """Write each blob under the empty folder `into`. All objects are in the repository.

    Raises UserError `source-too-large` before anything is written, else `source-unreachable`.
    """
    wanted = "".join(f"{blob.oid}\n" for blob in blobs).encode()
    try:
        answer = git.local("cat-file", "--batch-check", "--buffer", stdin=wanted)
        headers = answer.decode(errors="replace").splitlines()
        sizes = [_size(blob, header, where) for blob, header in zip(blobs, headers, strict=True)]
        content.check_limits(len(blobs), sum(sizes), where)
        with git.local_file("cat-file", "--batch", "--buffer", stdin=wanted) as objects:
            for blob, size in zip(blobs, sizes, strict=True):
                objects.readline()
                _write_file(objects, size, into / blob.name)
                if blob.executable:
                    (into / blob.name).chmod(0o755)
    except GitError as error:
        raise error.as_user_error(git.remote, git.environ, where) from error


def _size(blob: Blob, header: str, where: str) -> int:
    oid, _, rest = header.partition(" ")
    kind, _, size = rest.partition(" ")
    if oid != blob.oid or kind != "blob" or not size.isdecimal():
        raise user_error(
            "source-unreachable", f"the server did not send `{blob.name}`", where=where, mend="Run it again."
        )
    return int(size)


def _write_file(objects: IO[bytes], size: int, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        while size:
            chunk = objects.read(min(size, _CHUNK))
            if not chunk:
                raise OSError("git ended in the middle of an object")
            file.write(chunk)
            size -= len(chunk)
    objects.read(1)  # the line end after each object
