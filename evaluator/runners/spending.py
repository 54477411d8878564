"""What several answers cost together. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from evaluator.transcript import Infrastructure, Transcript, Usage


def total(answers: Iterable[Transcript]) -> Usage | None:
    """The sum of their usage; a figure that is unknown for one of them is unknown for all. None where nothing is
    known."""
    usages = [answer.usage or Usage() for answer in answers]
    read = [usage.input_tokens for usage in usages]
    written = [usage.output_tokens for usage in usages]
    costs = [usage.cost_usd for usage in usages]
    summed = Usage(
        input_tokens=_sum(read),
        output_tokens=_sum(written),
        cost_usd=None if None in costs else math.fsum(c for c in costs if c is not None),
    )
    return summed if summed != Usage() else None


def spent_before(failure: Infrastructure, answers: Sequence[Transcript]) -> Infrastructure:
    """`failure` of an attempt that had `answers` by then, which are paid for although there is no verdict."""
    own = [Transcript(usage=failure.usage)] if failure.usage is not None else []
    return msgspec.structs.replace(failure, usage=total([*answers, *own])) if answers or own else failure


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
