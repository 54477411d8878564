"""Secrets out of text, by value: whatever a sink prints, no key of the environment is in it.

A secret is looked for as any usual encoder would write it. Encoders of characters (percent, JSON, HTML, XML, Markdown,
Python's `repr`) leave ASCII letters and digits as they are, so a run of those inside the secret, a *needle*, is in
the text wherever the secret is. Only where a needle is found, which takes next to no time, is a pattern tried that
takes each other character in all of its spellings, also mixed.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from evaluator.secret_values import SHORTEST, owners, secrets

__all__ = ["MASK", "SHORTEST", "Redactor", "free", "secrets"]

MASK = "***"

_ELLIPSES = ("…", "...", "\\u2026", "\\\\u2026", "&hellip;")
_RUN = re.compile("[A-Za-z0-9]+")
_SHORTEST_NEEDLE = 2
# Issuers' prefixes are no secret: people write `sk-proj-…` into prompts.
_SHORTEST_CUT = 12
# Encoders break lines after no fewer characters. The longer a needle, the faster it is looked for.
_WINDOW = 60
# A line may be broken in the middle of a secret: by a wrapped report, in base64 each 76 characters, and inside a JSON
# string. U+2060 is what our tables put after a backslash.
_BROKEN = r"(?:(?:(?:\\{1,7}r)?\\{1,7}n|=?\r?\n|(?:%0[Dd])?%0[Aa]|(?:&#13;)?&#10;)[ \t]{0,16}|\u2060)?"
# JSON in JSON in JSON. Everything that may repeat is bounded, so that no text makes the patterns slow.
_MOST = 7


class Redactor:
    """Masks the secret values of `environ` (see `secret_values`).

    A value is masked as it is and as a usual encoder writes it, in base64 at any offset (`Basic` headers carry
    `user:secret`), in hexadecimal, broken over lines, and cut before an ellipsis; each line of a value of several lines
    also by itself.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._owners = {part: name for value, name in owners(environ).items() for part in _parts(value)}
        self._values = sorted(self._owners)
        self._forms = {value: list(_forms(value)) for value in self._values}

    def clean(self, text: str) -> str:
        """`text` with each form of each secret replaced by `MASK`."""
        spans = self._spans(text)
        if not spans:
            return text
        parts, end = [], 0
        for start, stop in sorted(spans):
            if start >= end:
                parts += [text[end:start], MASK]
            end = max(end, stop)
        return "".join([*parts, text[end:]])

    def finds(self, text: str) -> bool:
        """Whether `text` holds a secret."""
        return bool(self._spans(text))

    def holders(self, text: str) -> list[str]:
        """The variables whose values `text` holds, sorted."""
        return sorted({self._owners[value] for value in self._values if self._spans(text, [value])})

    def _spans(self, text: str, values: Sequence[str] | None = None) -> list[tuple[int, int]]:
        data = text.encode("utf-8", "surrogatepass")  # searched at the same speed whatever else is in it
        wanted = self._values if values is None else values
        forms = (form for value in wanted for form in self._forms[value] if form.may_be_in(data))
        return [*(match.span() for form in forms for match in form.pattern.finditer(text)), *_cut(text, wanted)]

    def clean_value(self, value: Any, keep: frozenset[str] = frozenset()) -> Any:
        """A JSON value, or bytes in the place of text, with every string of it cleaned, keys too, except for those in
        `keep`; two keys that become equal are numbered apart."""
        if isinstance(value, str):
            return value if value in keep else self.clean(value)
        if isinstance(value, bytes):
            return self.clean(value.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if isinstance(value, list):
            items = []
            for item in value:  # loops, not comprehensions: a level of nesting costs one frame of the stack
                items.append(self.clean_value(item, keep))
            return items
        if isinstance(value, dict):
            members: dict[str, Any] = {}
            for key, item in value.items():
                name = key if key in keep else self.clean(key)
                members[free(name, members)] = self.clean_value(item, keep)
            return members
        return value


class _Form:
    """One way to write a secret down. `letters`: patterns of characters that are not written as themselves."""

    def __init__(self, text: str, letters: Mapping[str, str] | None = None) -> None:
        self._text = text
        self._letters = letters or {}
        self._needles = _needles(text)

    def may_be_in(self, data: bytes) -> bool:
        """Whether the text, in UTF-8, holds what it would hold in this form."""
        return any(needle in data for needle in self._needles)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The form in all of its spellings."""
        return re.compile(_BROKEN.join(self._letters.get(each) or _spellings(each) for each in self._text))


def _needles(text: str) -> list[bytes]:
    """One of them is in any spelling of `text`: the longest run in each half of its middle, of which a line break can
    part one only. Where there is none that is long enough, what is in any text: the pattern is then always tried."""
    start = max(0, (len(text) - _WINDOW) // 2)
    window = text[start : start + _WINDOW]
    half = len(window) // 2
    runs = [max(_RUN.findall(part), key=len, default="") for part in (window[:half], window[half:])]
    return [b""] if min(map(len, runs)) < _SHORTEST_NEEDLE else [run.encode() for run in runs]


def _parts(secret: str) -> set[str]:
    """The secret, and each of its lines."""
    # A key of several lines is mostly kept in one, with `\\n` in it, and used with real ends of lines.
    spelt = secret.replace("\\r", "").replace("\\n", "\n")
    parts = {text for each in (secret, spelt) for text in (each.strip(), *(line.strip() for line in each.splitlines()))}
    return {part for part in parts if len(part) >= SHORTEST}


def _forms(value: str) -> Iterator[_Form]:
    yield _Form(value)
    data = value.encode(errors="replace")
    for text in _base64_forms(data):
        if len(text) >= SHORTEST:
            yield _Form(text, _BASE64)
    yield _Form(data.hex())
    yield _Form(data.hex().upper())


def _base64_forms(value: bytes) -> Iterator[str]:
    """What of the base64 of any longer text that holds `value` depends on `value` alone, for each of three offsets."""
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + value).rstrip(b"=").decode()
        # A base64 character holds six bits: the first ones share theirs with what stands before, the last with what
        # follows.
        yield encoded[-(-offset * 8 // 6) : (offset + len(value)) * 8 // 6]


def _spellings(character: str) -> str:
    """A pattern of all ways in which encoders write `character`."""
    if character.isascii() and character.isalnum():
        return character
    code = ord(character)
    plain = re.escape(character)
    ways = {
        plain,
        _percent(character),
        rf"&#(?:0{{0,7}}{code}|[xX]0{{0,7}}(?i:{code:x}));",
        rf"{_BACKSLASHES}[uU]\{{?0{{0,7}}(?i:{code:x})\}}?",
        *_NAMED.get(character, ()),
    }
    if code <= 0xFF:
        ways.add(rf"{_BACKSLASHES}x(?i:{code:02x})")
    else:
        units = character.encode("utf-16-be", "surrogatepass").hex()
        ways.add("".join(rf"{_BACKSLASHES}u(?i:{units[at : at + 4]})" for at in range(0, len(units), 4)))
    if code > 0x7F:
        ways.add("".join(rf"{_BACKSLASHES}x(?i:{byte:02x})" for byte in character.encode(errors="replace")))
    if character in _SHORT:
        ways.add(rf"{_BACKSLASHES}{_SHORT[character]}")
    if character == " ":
        ways.add(r"\+")
    if character == "\\":
        ways = (ways - {plain}) | {rf"\\{{1,{_MOST + 1}}}"}
        return f"(?:{'|'.join(sorted(ways, key=len))})"
    # JSON, Markdown and shells put backslashes before it.
    bare, others = rf"\\{{0,{_MOST}}}{plain}", "|".join(sorted(ways - {plain}, key=len))
    # These two begin their own longer spellings, `&amp;` and `%25`, whose rest would stay behind.
    return f"(?:{others}|{bare})" if character in "&%" else f"(?:{bare}|{others})"


_BACKSLASHES = rf"\\{{1,{_MOST}}}"
# Base64 for URLs has two characters of its own, and the others are not safe there.
_BASE64 = {"+": "(?:[-+]|%2[Bb])", "/": r"(?:\\?/|_|%2[Ff])"}
_SHORT = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f", "\v": "v"}
_NAMED = {
    "&": ("&amp;",),
    "<": ("&lt;",),
    ">": ("&gt;",),
    '"': ("&quot;",),
    "'": ("&apos;",),
    "\u00a0": ("&nbsp;",),
}


def _percent(character: str) -> str:
    """Percent-encoded, once or again."""
    return "".join(f"%(?:25){{0,3}}(?i:{byte:02x})" for byte in character.encode(errors="replace"))


def _cut(text: str, values: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Where a secret begins and is cut by an ellipsis, or ends after one."""
    for value in values:
        if len(value) < _SHORTEST_CUT:
            continue
        for at in _places(text, value[:_SHORTEST_CUT]):
            length = _shared(value, text[at : at + len(value)])
            if text.startswith(_ELLIPSES, at + length):
                yield at, at + length
        for at in _places(text, value[-_SHORTEST_CUT:]):
            end = at + _SHORTEST_CUT
            before = text[max(0, end - len(value)) : end]
            length = _shared(value[::-1], before[::-1])
            if text.endswith(_ELLIPSES, 0, end - length):
                yield end - length, end


def _shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _places(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + len(part))


def free(key: str, taken: Mapping[str, Any]) -> str:
    """`key`, numbered where it is taken."""
    number, free = 1, key
    while free in taken:
        number += 1
        free = f"{key} ({number})"
    return free
