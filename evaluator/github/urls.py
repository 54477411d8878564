"""Addresses that a server names. Only those are followed that every reader takes for the same: `http://a\\@b/` is on
server `b` for one parser and on `a` for another, so that a token meant for the one would go to the other.

Source: RFC 3986, which allows none of these characters, and section 7.6 on the user in an address.
"""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit

import requests

_ODD = re.compile(r"[\x00-\x20\x7f-\x9f\\]")


class Session(requests.Session):
    """Leaves every redirect to whoever sends the request: told not to follow one, requests still reads all of its body,
    however long, and breaks on an address that it cannot read."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        """None: there is nothing to follow."""


def resolved(base: str, reference: str) -> str | None:
    """What `reference` means at `base`; None where it is no plain address: with a space, a control character, a
    backslash or a user in it, or one that cannot be read at all."""
    if _ODD.search(reference):
        return None
    try:
        url = urljoin(base, reference)
        return None if "@" in urlsplit(url).netloc or origin(url) is None else url
    except ValueError:
        return None


def origin(url: str) -> tuple[str, str | None, int | None] | None:
    """Scheme, host and port of the server; None where they cannot be read."""
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return None
