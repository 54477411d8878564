"""Acceptances by label, by head commit, between the pull request's run and that of its merge. Pure."""

from __future__ import annotations

from typing import Annotated

import msgspec

from evaluator.errors import user_error
from evaluator.results import Acceptance

VERSION = 1
MOST = 200
LARGEST = 1 << 20

_LONGEST = 300


class _Accepted(msgspec.Struct, frozen=True, kw_only=True):
    head: str
    acceptance: Acceptance


class Acceptances(msgspec.Struct, frozen=True, kw_only=True):
    """Newest first."""

    version: int = VERSION
    accepted: Annotated[list[_Accepted], msgspec.Meta(max_length=MOST)] = []


_DECODER = msgspec.json.Decoder(Acceptances)


def decode(data: bytes | None, where: str) -> Acceptances:
    """What is in the file; None: there is no file. Raises UserError `baseline-unreadable`."""
    if data is None:
        return Acceptances()
    try:
        read = _DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise user_error("baseline-unreadable", f"not readable acceptances: {error}", where=where) from error
    if read.version != VERSION:
        what = f"acceptances of version {read.version}, this trapgate reads {VERSION}"
        raise user_error("baseline-unreadable", what, where=where)
    return read


def add(known: Acceptances, head: str, acceptance: Acceptance) -> bytes:
    """The file with one acceptance more; a commit has one, its last."""
    short = msgspec.structs.replace(acceptance, by=acceptance.by[:_LONGEST], why=acceptance.why[:_LONGEST])
    others = [each for each in known.accepted if each.head != head]
    return _encode([_Accepted(head=head, acceptance=short), *others][:MOST])


def find(known: Acceptances, head: str) -> Acceptance | None:
    """That of the commit `head`."""
    return next((each.acceptance for each in known.accepted if each.head == head), None)


def _encode(accepted: list[_Accepted]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(Acceptances(accepted=accepted)), indent=1) + b"\n"
