"""Secrets out of text, by value: whatever a sink prints, no key of the environment is in it."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote, quote_plus

MASK = "***"
# Shorter values ("1", "none", "dummy") are no secrets, and masking them would garble every sentence.
SHORTEST = 6

_SECRET_NAME = re.compile(r"(?:^|[_-])(?:KEY|TOKEN|SECRET|CREDENTIALS?)$|(?:PASSWORD|PASSWD|APIKEY)$", re.IGNORECASE)


def secrets(environ: Mapping[str, str]) -> set[str]:
    """The values of the variables of `environ` whose names say that they are secret."""
    return {value for name, value in environ.items() if _SECRET_NAME.search(name) and len(value) >= SHORTEST}


class Redactor:
    """Masks the values of the variables of `environ` whose names say that they are secret.

    A value is masked as it is and as a JSON string, percent-encoded, or in base64 at any offset (`Basic` headers carry
    `user:secret`) would carry it; each line of a value of several lines is masked by itself.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        forms = {form for secret in secrets(environ) for form in _forms(secret) if len(form) >= SHORTEST}
        # The longest first, so that no secret leaves its tail behind where it begins with another.
        ordered = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def clean(self, text: str) -> str:
        """`text` with each form of each secret replaced by `MASK`."""
        return self._pattern.sub(MASK, text) if self._pattern else text


def _forms(secret: str) -> Iterator[str]:
    for value in {secret, secret.strip(), *(line.strip() for line in secret.splitlines())}:
        if len(value) < SHORTEST:
            continue
        yield value
        yield json.dumps(value)[1:-1]
        yield quote(value)
        yield quote(value, safe="")
        yield quote_plus(value)
        yield from _base64_forms(value.encode(errors="replace"))


def _base64_forms(value: bytes) -> Iterator[str]:
    """What of the base64 of any longer text that holds `value` depends on `value` alone, for each of three offsets."""
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + value).rstrip(b"=").decode()
        # A base64 character holds six bits: the first ones share theirs with what stands before, the last with what
        # follows.
        first = -(-offset * 8 // 6)
        last = (offset + len(value)) * 8 // 6
        middle = encoded[first:last]
        yield middle
        yield middle.replace("+", "-").replace("/", "_")
