"""Secrets out of what is written into a repository: by the values of this environment, and by well-known shape.

Values catch the keys of whoever records; shapes catch those of whoever wrote the log. Every pattern is linear: what may
repeat without a bound is taken at once (possessively), what may fail after it is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evaluator.redaction import MASK, Redactor, free

# Keys as their issuers write them. Several may stand in a row: one that is masked makes a boundary for the next.
_KEY = (
    r"(?<![A-Za-z0-9])(?:"
    r"sk-[A-Za-z0-9_-]{20,}+"  # OpenAI, Anthropic and many that follow them
    r"|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}+"  # Stripe
    r"|gh[oprsu]_[A-Za-z0-9]{30,}+|github_pat_[A-Za-z0-9_]{22,}+"
    r"|glpat-[A-Za-z0-9_-]{20,}+"
    r"|A(?:KI|SI)A[0-9A-Z]{16}(?![0-9A-Za-z])"  # AWS
    r"|AIza[0-9A-Za-z_-]{35}"  # Google
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}+|xapp-[A-Za-z0-9-]{10,}+"  # Slack
    r"|hf_[A-Za-z0-9]{30,}+|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,}+"
    r"|eyJ[A-Za-z0-9_-]{8,512}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+"  # JSON web tokens
    r")++"
)
_PEM = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-\"']|-(?!----))*+"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"
)
# What is kept stands before the secret.
_HEADER = (
    r"(?P<scheme>(?i:bearer|authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:basic|bearer|token))\s{1,3})"
    r"[A-Za-z0-9._~+/=-]{12,}+"
)
_LOGIN = r"(?P<login>://)[^\s/@:\"'<>{}\\,]{0,256}:[^\s/@\"'<>{}\\,]{1,512}@"

_SHAPES = re.compile("|".join((_PEM, _LOGIN, _HEADER, _KEY)))
# Letters alone name a thing ("sk-learn-based-classifiers", "bearer authentication") and are no key.
_NAME = re.compile(r"(?:sk-|(?i:bearer)\s{1,3})[A-Za-z_-]*+")


class Scrubber:
    """Masks secrets in JSON values. `masked`: how many were found so far."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._redactor = Redactor(environ)
        self.masked = 0

    def text(self, text: str) -> str:
        """`text` with each secret replaced by `MASK`."""
        cleaned = self._redactor.clean(text)
        if cleaned != text:
            self.masked += max(1, cleaned.count(MASK) - text.count(MASK))
        return _SHAPES.sub(self._replacement, cleaned)

    def value(self, value: Any) -> Any:
        """A JSON value with every string of it cleaned, keys too; two keys that become equal are numbered apart."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            items = []
            for item in value:  # loops, not comprehensions: a level of nesting costs one frame of the stack
                items.append(self.value(item))
            return items
        if isinstance(value, dict):
            members: dict[str, Any] = {}
            for key, item in value.items():
                members[free(self.text(key), members)] = self.value(item)
            return members
        return value

    def _replacement(self, match: re.Match[str]) -> str:
        if _NAME.fullmatch(match.group()):
            return match.group()
        self.masked += 1
        if match["login"]:
            return f"://{MASK}@"
        return (match["scheme"] or "") + MASK


def scrub(value: Any, environ: Mapping[str, str]) -> tuple[Any, int]:
    """A JSON value without its secrets, and how many were masked."""
    scrubber = Scrubber(environ)
    return scrubber.value(value), scrubber.masked
