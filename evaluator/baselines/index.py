"""The index of one branch of the code: which baselines it had, newest first, and which documents are still there. Pure.

An index on the branch may have been written by anyone: what does not fit is refused, never guessed at.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import Annotated

import msgspec

from evaluator.baselines.history import Entry
from evaluator.errors import UserError, user_error

VERSION = 1
MOST_ENTRIES = 500
LARGEST = 4 << 20

_SIZE = Annotated[int, msgspec.Meta(ge=0)]


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """`config` and `branch`: whose baselines these are. `bytes`: the size of each document that is kept, by file."""

    version: int
    config: str
    branch: str
    entries: Annotated[list[Entry], msgspec.Meta(min_length=1, max_length=MOST_ENTRIES)]
    bytes: dict[str, _SIZE]


_DECODER = msgspec.json.Decoder(Index)


class _Versioned(msgspec.Struct):
    version: int


def decode(data: bytes, where: str) -> Index:
    """The index in `data`. Raises UserError `baseline-unreadable`."""
    try:
        version = msgspec.json.decode(data, type=_Versioned).version
        if version != VERSION:
            raise _unreadable(where, f"written with version {version} of the index, this trapgate reads {VERSION}")
        index = _DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise _unreadable(where, str(error)) from error
    named = {name for entry in index.entries for name in (entry.file, entry.anchor) if name and entry.file}
    if not index.entries[0].file:
        raise _unreadable(where, "its newest baseline has no document")
    if not named <= index.bytes.keys():
        raise _unreadable(where, f"the size of {min(named - index.bytes.keys())} is not in it")
    return index


def encode(index: Index) -> bytes:
    """JSON, one line per member of the outer levels."""
    return msgspec.json.format(msgspec.json.encode(index), indent=1) + b"\n"


def insert(
    index: Index | None, new: Entry, size: int, place: int, *, config: str, branch: str, keep: int, most_bytes: int
) -> Index:
    """`index` with `new` at `place` (0: it is the newest), `keep` documents and `most_bytes` of them at most.

    The oldest documents go first, never the newest one, and never one that a kept one has as its anchor; where the
    index itself grows too large, the oldest figures and then the oldest entries. A move by itself gets the anchor of
    the entry that it follows, which is that entry itself where it has none.
    """
    if index is not None and new.file in index.bytes:
        return index  # it was written before, and only the answer was lost
    entries = index.entries if index is not None else []
    sizes = {**(index.bytes if index is not None else {}), new.file: size}
    # The newest has its document, always.
    place = min(place, len(entries)) if entries and entries[0].file else 0
    if not new.explicit:
        new = msgspec.structs.replace(new, anchor=_anchor(entries[place:]))
    entries = [*entries[:place], new, *entries[place:]][:MOST_ENTRIES]

    def made(entries: list[Entry]) -> Index:
        return _whole(entries, sizes, config, branch, keep, most_bytes)

    return _small_enough(entries, made)


def _small_enough(entries: list[Entry], made: Callable[[list[Entry]], Index]) -> Index:
    """The index of `entries` that its readers take: figures of the oldest go first, then these entries."""
    n = len(entries)

    def shorter(bare: int) -> list[Entry]:
        return [
            *entries[: n - bare],
            *(msgspec.structs.replace(entry, figures=[]) for entry in entries[n - bare :]),
        ]

    def fits(entries: list[Entry]) -> bool:
        return len(encode(made(entries))) <= LARGEST * 3 // 4  # a margin for what comes to be counted otherwise

    if fits(entries):
        return made(entries)
    bare = bisect_left(range(n), True, key=lambda count: fits(shorter(count)))
    if bare < n:
        return made(shorter(bare))
    lean = [entries[0], *shorter(n)[1:]]
    return made(lean[: n - bisect_left(range(n - 1), True, key=lambda count: fits(lean[: n - count]))])


def _whole(
    entries: list[Entry], sizes: Mapping[str, int], config: str, branch: str, keep: int, most_bytes: int
) -> Index:
    kept = _kept(entries, sizes, keep, most_bytes)
    entries = [entry if entry.file in kept else msgspec.structs.replace(entry, file="", anchor="") for entry in entries]
    needed = {name for entry in entries for name in (entry.file, entry.anchor) if name}
    return Index(
        version=VERSION,
        config=config,
        branch=branch,
        entries=entries,
        bytes={name: size for name, size in sizes.items() if name in needed},
    )


def _anchor(older: list[Entry]) -> str:
    """The anchor of a move by itself that comes after `older`: documents that are kept no longer cannot be one."""
    before = next((entry for entry in older if entry.file), None)
    return (before.anchor or before.file) if before is not None else ""


def _kept(entries: list[Entry], sizes: Mapping[str, int], keep: int, most_bytes: int) -> set[str]:
    """The files of the entries that keep their document."""
    kept: set[str] = set()
    needed: set[str] = set()
    for entry in entries:
        if not entry.file:
            continue
        wanted = needed | {name for name in (entry.file, entry.anchor) if name}
        if kept and (len(kept) >= keep or sum(sizes.get(name, 0) for name in wanted) > most_bytes):
            break
        kept.add(entry.file)
        needed = wanted
    return kept


def _unreadable(where: str, why: str) -> UserError:
    return user_error(
        "baseline-unreadable",
        f"not a readable index of baselines: {why}",
        where=where,
        mend="Put back an older commit of that branch, or delete the file there and accept a run anew.",
    )
