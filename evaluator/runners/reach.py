"""Whether anything answers where the model should be: a server that is not there is not waited for again and again."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from evaluator.transcript import Infrastructure

# Attempts in vain after which nobody is asked any more.
ENOUGH = 3
# How the variables end that say where providers' clients send their calls.
ADDRESSES = ("_API_BASE", "_BASE_URL", "_URL", "_ENDPOINT", "_HOST", "_REGION", "_REGION_NAME", "_LOCATION")
_PORTS = {"http": 80, "https": 443}


class Reach:
    """What one run has seen of the server so far. Once `answered`, it is there, and its bad moments are waited for."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.answered = False
        self._environ = environ
        self._in_vain = 0

    def in_vain(self, address: str) -> Infrastructure | None:
        """Counts an attempt that ended without a connection to `address`; why none is worth making any more, None while
        one is."""
        self._in_vain += 1
        if self.answered or self._in_vain < ENOUGH:
            return None
        return Infrastructure(kind="connection", message=f"not run, since nothing answers: {self.told(address)}")

    def told(self, address: str) -> str:
        """`address` ("host:port", empty where it is not known) in words, with the variables that name it."""
        if not address:
            return "no connection to the provider"
        names = ", ".join(sorted(name for name, value in self._environ.items() if _leads_to(name, value, address)))
        return f"no connection to {address}" + (f", set by {names}" if names else "")


def _leads_to(name: str, value: str, address: str) -> bool:
    if not name.upper().endswith(ADDRESSES):
        return False
    try:
        url = urlsplit(value)
        return f"{url.hostname}:{url.port or _PORTS.get(url.scheme)}" == address
    except ValueError:
        return False
