"""GitHub's rate limits: whether an answer is one, and how long it asks to wait.

Source: GitHub's documentation, "Rate limits for the REST API" ("Exceeding the rate limit") and "Best practices for
using the REST API".
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

# GitHub asks for at least a minute where a secondary limit names no time, and for longer waits after it.
_SECONDARY_WAIT = 60.0


def limited(status: int, headers: Mapping[str, str], reason: str) -> bool:
    """Whether the answer is a primary or a secondary limit. A 403 may be either, or a missing permission: `reason`, the
    server's words, tells where no header does."""
    if status == 429:
        return True
    if status != 403:
        return False
    words = reason.lower()
    return (
        "Retry-After" in headers
        or headers.get("X-RateLimit-Remaining") == "0"
        or "rate limit" in words
        or "abuse detection" in words
    )


def wait(headers: Mapping[str, str], tries: int, now: float) -> float:
    """Seconds until the next try after `tries` failed ones. `now`: seconds since 1970."""
    after = _after(headers.get("Retry-After"), now)
    if after is not None:
        return max(after, 1.0)
    reset = _number(headers.get("X-RateLimit-Reset"))
    if headers.get("X-RateLimit-Remaining") == "0" and reset is not None:
        return max(reset - now, 0.0) + 1.0
    return _SECONDARY_WAIT * 2.0**tries


def _after(text: str | None, now: float) -> float | None:
    """Seconds that a `Retry-After` names. GitHub sends a number; a proxy before it may send a date."""
    seconds = _number(text)
    if seconds is not None or text is None:
        return seconds
    try:
        date = parsedate_to_datetime(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now
    except (ValueError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    """A header's seconds. Only digits: `nan` would wait for ever."""
    return float(text) if text is not None and text.isascii() and text.isdigit() else None
