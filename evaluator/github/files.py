"""The files that join the action to the runner: outputs, job summary, and what is left in the workspace."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from evaluator.errors import user_error
from evaluator.transcript import well_formed

# Of a step's summary nothing at all is shown above this. Source: GitHub's documentation, "Adding a job summary".
SUMMARY_BYTES = 1_048_576

_CUT = "\n\n… cut here: the job summary is full.\n"
_CUT_BYTES = len(_CUT.encode())


def write_outputs(file: Path, values: Mapping[str, str]) -> None:
    """Appends outputs of the step. A random delimiter keeps a value from adding outputs of its own."""
    with file.open("a", encoding="utf-8", newline="\n") as out:
        for name, value in values.items():
            delimiter = f"value_{secrets.token_hex(16)}"
            out.write(f"{name}<<{delimiter}\n{well_formed(value)}\n{delimiter}\n")


def summary_room(file: Path) -> int:
    """Bytes that still fit into the job summary."""
    return max(0, SUMMARY_BYTES - file.stat().st_size - _CUT_BYTES)


def append_summary(file: Path, text: str) -> None:
    """Appends Markdown to the job summary, cut at a character where it would not fit."""
    data, room = (well_formed(text).rstrip("\n") + "\n").encode(), summary_room(file)
    if len(data) > room:
        if file.stat().st_size + _CUT_BYTES > SUMMARY_BYTES:
            return
        data = data[:room].decode(errors="ignore").encode() + _CUT.encode()
    with file.open("ab") as out:
        out.write(data)


def output_folder(workspace: Path, name: str) -> Path:
    """The folder of the workspace for results, made where it is missing.

    The container runs as root on files that a pull request brings, so a symbolic link on the way there or inside
    would let it overwrite anything that is mounted. Raises UserError `output-folder`.
    """
    folder = workspace / name
    ways = [parent for parent in [folder, *folder.parents] if parent.is_relative_to(workspace) and parent != workspace]
    for way in ways:
        if way.is_symlink() or (way.exists() and not way.is_dir()):
            raise _refused(way, "is not a plain folder")
    folder.mkdir(parents=True, exist_ok=True)
    for path in _contents(folder):
        if path.is_symlink():
            raise _refused(path, "is a symbolic link")
    return folder


def give_to_owner(workspace: Path, *paths: Path) -> None:
    """Hands files and folders that root wrote to whom the workspace belongs, so that later steps can remove them."""
    if os.geteuid() != 0:
        return
    owner = workspace.stat()
    for top in paths:
        for path in [top, *_contents(top)]:
            os.lchown(path, owner.st_uid, owner.st_gid)


def _contents(folder: Path) -> list[Path]:
    return [Path(root) / name for root, folders, files in os.walk(folder) for name in [*folders, *files]]


def _refused(path: Path, what: str) -> Exception:
    return user_error(
        "output-folder",
        f"`{path}` {what}",
        where="input output",
        mend="Remove it from the repository, or name another folder.",
    )
