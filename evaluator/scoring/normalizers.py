"""Normalizers of free text, by name and version: what is left of a text is what is compared.

A new rule is a new version: a fixture that names `text@1` is compared by it for good.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unicodedata import category

from evaluator.scoring.bounds import bounded
from evaluator.scoring.outcome import MalformedError

Normalizer = Callable[[str], str]


class UnknownNormalizerError(MalformedError):
    """No normalizer has this name and version. The message lists those there are."""


def text(value: str) -> str:
    """text@1: lower case, punctuation off, white space folded and trimmed.

    Punctuation is what Unicode calls so (categories P…): `$`, `+` and `=` are symbols and stay.
    """
    kept = "".join([character for character in value.lower() if category(character)[0] != "P"])
    return " ".join(kept.split())


def text_with_numbers(value: str) -> str:
    """text@2: as text@1, but punctuation that belongs to a number stays: `. , - / :` before a digit, as in 24.50, -5
    and 2/3, and `%` after one. A sentence's stop after a number goes."""
    lowered = value.lower()
    kept = [
        character
        for place, character in enumerate(lowered)
        if category(character)[0] != "P"
        or (character in ".,-/:" and lowered[place + 1 : place + 2].isdigit())
        or (character == "%" and place and lowered[place - 1].isdigit())
    ]
    return " ".join("".join(kept).split())


NORMALIZERS: dict[str, Normalizer] = {"text@1": text, "text@2": text_with_numbers}


def normalizer(name: Any) -> Normalizer:
    """The normalizer of a `name@version`. Raises UnknownNormalizerError."""
    known = NORMALIZERS.get(name) if isinstance(name, str) else None
    if known is None:
        raise UnknownNormalizerError(f"unknown normalizer {bounded(name)!r}; known are {', '.join(NORMALIZERS)}")
    return known


def versions() -> dict[str, str]:
    """Each normalizer by its name and version. An old version stays, so each has an entry of its own."""
    return {f"normalizer_{name.replace('@', '_')}": name for name in NORMALIZERS}
