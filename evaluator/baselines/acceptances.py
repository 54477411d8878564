"""Acceptances by label, between the pull request's run and that of its merge. Pure.

Each is bound to what was looked at: the head commit, the pull request, the branch that it goes into, the trap.yaml, and
what the run said (`evaluator.baselines.accepted`).
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from evaluator.baselines.accepted import Accepted
from evaluator.errors import user_error
from evaluator.results import Acceptance

VERSION = 1
MOST = 200
LARGEST = 1 << 20

_LONGEST = 300


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """`head`: the commit of pull request `pull_request` into the branch `base` that was accepted by the rules of
    `config`, a path in the repository; `accepted`: what was."""

    head: str
    pull_request: int
    base: str
    config: str
    acceptance: Acceptance
    accepted: Accepted

    @property
    def bound(self) -> tuple[str, int, str, str]:
        """What it holds for and nothing else."""
        return self.head, self.pull_request, self.base, self.config


class Acceptances(msgspec.Struct, frozen=True, kw_only=True):
    """Newest first."""

    version: int = VERSION
    accepted: Annotated[list[Kept], msgspec.Meta(max_length=MOST)] = []


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


def add(known: Acceptances, kept: Kept) -> bytes:
    """The file with one acceptance more, in the place of one that is bound to the same. The oldest go where there are
    more than `MOST`, or more than `LARGEST` bytes. Raises UserError `acceptance-too-large`."""
    by = kept.acceptance
    short = msgspec.structs.replace(by, by=by.by[:_LONGEST], why=by.why[:_LONGEST])
    others = [each for each in known.accepted if each.bound != kept.bound]
    accepted = [msgspec.structs.replace(kept, acceptance=short), *others][:MOST]
    while len(data := _encode(accepted)) > LARGEST:
        if len(accepted) == 1:
            what = f"what {short.by} accepts names so many cases that it takes more than {LARGEST:,} bytes"
            raise user_error("acceptance-too-large", what, mend="Accept the run with `trapgate baseline accept`.")
        accepted.pop()
    return data


def find(known: Acceptances, head: str) -> list[Kept]:
    """Those of the commit `head`, newest first."""
    return [each for each in known.accepted if each.head == head]


def _encode(accepted: list[Kept]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(Acceptances(accepted=accepted)), indent=1) + b"\n"
