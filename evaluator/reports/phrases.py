"""Sentences and parts of sentences: where one ends, and how it begins."""

from __future__ import annotations

_ELLIPSIS = ("…", "...")
_ENDS = (".", "!", "?", *_ELLIPSIS)


def trimmed(text: str) -> str:
    """A sentence as a part of another: without its full stop, or stops where it ends in what somebody else said."""
    text = text.strip()
    return text if text.endswith(_ELLIPSIS) else text.rstrip(".")


def lowered(text: str) -> str:
    """A sentence after a colon; a name in capitals stays what it is."""
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text


def ended(text: str) -> str:
    """`text` with one full stop, where nothing else ends it."""
    text = trimmed(text)
    return text if not text or text.endswith(_ENDS) else f"{text}."


def sentence(text: str) -> str:
    """`text` as a sentence: a capital, where it begins with a word, and a full stop."""
    text = ended(text)
    first = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if first.isalpha() else text
