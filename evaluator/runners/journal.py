"""What an interrupted run has paid for: every finished attempt, on disk as soon as it is there.

JSON Lines: a header that says of which plan, fingerprint and endpoint, and when it was begun; then a row for each
attempt. A run that is killed and started again takes the transcripts from here; infrastructure failures are kept for
the reader and tried again.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from pathlib import Path
from typing import BinaryIO

import msgspec

from evaluator.errors import UserError, user_error
from evaluator.transcript import Infrastructure, Transcript

VERSION = 1
_LONGEST_HEADER = 4096
# Seconds for which a journal is believed: by then the model behind a name may be another.
_BELIEVED = 24 * 3600.0
# Model (empty for the only one), task, case id, number of the attempt.
Key = tuple[str, str, str, int]


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    journal: int
    plan: str
    fingerprint: str
    endpoint: str
    started: float


class _Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    model: str = ""
    task: str
    case: str
    number: int
    transcript: Transcript | None = None
    infrastructure: Infrastructure | None = None


_HEADER = msgspec.json.Decoder(_Header)
_ROW = msgspec.json.Decoder(_Row)
_ENCODER = msgspec.json.Encoder()


class Journal:
    """Open with `Journal.open`. `finished`: the transcripts of the run before.

    `notes`: sentences for the report. One process at a time holds a journal.
    """

    def __init__(self, path: Path, file: BinaryIO, finished: dict[Key, Transcript], notes: list[str]) -> None:
        self.finished = finished
        self.notes = notes
        self._path = path
        self._file: BinaryIO | None = file

    @classmethod
    def open(cls, path: Path, *, plan: str, fingerprint: str, endpoint: str, now: float) -> Journal:
        """The journal at `path`, continued where it is of the same `plan`, `fingerprint` and `endpoint` and not older
        than a day, else new. `now`: seconds since the epoch.

        One of another plan, or that is no journal, is renamed, never deleted. Raises UserError `journal-unwritable`
        where nothing can be written, `journal-in-use` where another run holds it: both before anything is paid for.
        """
        header = _Header(journal=VERSION, plan=plan, fingerprint=fingerprint, endpoint=endpoint, started=now)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = _locked(path)
            notes: list[str] = []
            try:
                foreign = _foreign(file, header)
                if foreign:
                    notes.append(f"{path} {foreign} and was set aside as {_set_aside(path).name}")
                    file.close()
                    file = _locked(path)
                rows = _rows(file)
                if file.tell() == 0:
                    file.write(_ENCODER.encode(header) + b"\n")
                    file.flush()
            except BaseException:
                file.close()
                raise
        except OSError as error:
            raise _unwritable(path, error) from error
        finished = {
            (row.model, row.task, row.case, row.number): row.transcript for row in rows if row.transcript is not None
        }
        if finished:
            notes.append(f"{len(finished)} attempts were taken from {path}, which an interrupted run left")
        return cls(path, file, finished, notes)

    def append(self, key: Key, result: Transcript | Infrastructure) -> None:
        """Writes one finished attempt. A disk that is full by now costs the resume, not the run: it becomes a note."""
        if self._file is None:
            return
        model, task, case_id, number = key
        row = _Row(
            model=model,
            task=task,
            case=case_id,
            number=number,
            transcript=result if isinstance(result, Transcript) else None,
            infrastructure=result if isinstance(result, Infrastructure) else None,
        )
        try:
            self._file.write(_ENCODER.encode(row) + b"\n")
            self._file.flush()
        except OSError as error:
            self.notes.append(f"{self._path} could not be written any more ({error.strerror}): a restart pays again")
            self._release()

    def close(self, complete: bool) -> None:
        """Ends the journal. A `complete` run, one that came to its end, needs none: the file is removed."""
        if complete:
            self._path.unlink(missing_ok=True)
        self._release()

    def _release(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError:  # what could not be flushed was noted when it was written
                return


def _locked(path: Path) -> BinaryIO:
    # A link in the place of the journal is not followed: the folder may come from somebody's repository.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise user_error(
            "journal-in-use",
            "another run is writing this journal",
            where=str(path),
            mend="Wait for it to end, or give this run an output folder of its own.",
        ) from error
    return os.fdopen(descriptor, "r+b")


def _foreign(file: BinaryIO, header: _Header) -> str:
    """Why nothing can be taken from a journal, in words; empty where it can. The file stands behind its header then."""
    first = file.readline(_LONGEST_HEADER)
    if not first:
        return ""
    found = _decoded_header(first) if first.endswith(b"\n") else None
    if found is None or msgspec.structs.replace(found, started=header.started) != header:
        return "belongs to another plan, fingerprint or endpoint"
    if abs(header.started - found.started) > _BELIEVED:
        return "is more than 24 hours old"
    return ""


def _rows(file: BinaryIO) -> list[_Row]:
    """The rows from where the file stands. It stands at its end afterwards."""
    rows: list[_Row] = []
    end = file.tell()
    for line in file:
        if not line.endswith(b"\n"):
            break
        end += len(line)
        try:
            rows.append(_ROW.decode(line))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            continue  # an unreadable row is an attempt to be made again
    # A torn last line would swallow the next row.
    file.truncate(end)
    file.seek(end)
    return rows


def _decoded_header(line: bytes) -> _Header | None:
    try:
        return _HEADER.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def _set_aside(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.name}.{number}")).exists():
        number += 1
    return path.rename(aside)


def _unwritable(path: Path, error: OSError) -> UserError:
    return user_error(
        "journal-unwritable",
        f"the journal of paid attempts can't be written: {error.strerror or error}",
        where=str(path),
        mend="Free the disk or mend the permissions, or choose another folder with --output.",
    )
