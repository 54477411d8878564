"""The baseline as a file of the repository."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from evaluator.baselines import BaselineState, Found, Missing, Unreadable
from evaluator.baselines.history import Entry, entry
from evaluator.baselines.moving import moved
from evaluator.baselines.store import Place
from evaluator.errors import UserError, user_error
from evaluator.results import Acceptance, Baseline, Run, decode_baseline, encode


class FileStore:
    """The file at `path`; `shown`: as trap.yaml names it. Its history is that of the repository that it lies in."""

    def __init__(self, path: Path, shown: str) -> None:
        self._path, self._shown = path, shown

    @property
    def older(self) -> str:
        """Where more history is, in words."""
        return f"git log -p -- {self._path}"

    def read(self, place: Place) -> BaselineState:  # noqa: ARG002 - the checkout decides
        """The baseline of the checkout."""
        return read(self._path, self._shown)

    def write(self, run: Run, accepted: Acceptance, place: Place) -> str:
        """Replaces the file. Raises UserError `not-writable`, or `baseline-unreadable` for a move by itself over what
        cannot be read."""
        write(self._path, moved(self.read(place), run, accepted))
        return str(self._path)

    def history(self, place: Place) -> list[Entry]:
        """The baseline of the checkout, and its anchor. Raises UserError `baseline-unreadable`."""
        state = self.read(place)
        if isinstance(state, Unreadable):
            raise user_error("baseline-unreadable", state.why, where=state.where)
        if isinstance(state, Missing):
            return []
        now, anchor = state.baseline, state.baseline.anchor
        return [entry(each.run, each.accepted) for each in (now, anchor) if each is not None]

    def check_writable(self) -> None:
        """Raises UserError `not-writable`."""
        ensure_writable(self._path.parent)


def decode(data: bytes | None, where: str) -> BaselineState:
    """The state of a baseline from its bytes; None: it is certain that there is none at `where`."""
    if data is None:
        return Missing(where)
    try:
        return Found(where, decode_baseline(data, where))
    except UserError as error:
        return Unreadable(where, error.problems[0].message)


def read(path: Path, where: str) -> BaselineState:
    """The state of the baseline at `path`. Only "no such file" is missing; any other failure is unreadable."""
    data = read_bytes(path, where)
    return decode(data, where) if isinstance(data, bytes) else data


def read_bytes(path: Path, where: str | None = None) -> bytes | Missing | Unreadable:
    """The file's bytes, or why they cannot be had; `where` names it in a report."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return Missing(where or str(path))
    except OSError as error:
        return Unreadable(where or str(path), error.strerror or str(error))


def write(path: Path, baseline: Baseline) -> None:
    """Writes the baseline whole or not at all. Raises UserError `not-writable`."""
    write_atomically(path, encode(baseline))


def write_atomically(path: Path, data: bytes) -> None:
    """Replaces the file at `path` by `data` in one step, making its folder. Raises UserError `not-writable`."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise not_writable(path, error) from error


def ensure_writable(folder: Path) -> None:
    """Makes the folder where it is missing. Raises UserError `not-writable` where no file can be written into it."""
    probe = folder / f".writable.{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise not_writable(folder, error) from error


def not_writable(path: Path, error: OSError) -> UserError:
    """The UserError for a file or folder that cannot be written."""
    return user_error(
        "not-writable",
        f"cannot write: {error.strerror or error}",
        where=str(path),
        mend="Choose a folder that this user may write to.",
    )
