"""Sets of calls as bit masks (bit j = call j), so that one operation looks at all calls at once."""

from __future__ import annotations

from collections.abc import Iterator


def members(mask: int) -> Iterator[int]:
    """The calls of a set, in order."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
