"""The matchers that read the answer as text. Rules: docs/scoring.md; all but the time limit are trapstreet's behaviour.

Each `compile_…` takes a matcher's definition, raises MalformedError where it is not usable, and gives a check that
returns None where the answer's text satisfies it, else one Finding.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from math import isfinite
from typing import Any

from evaluator.results import Finding
from evaluator.scoring.bounds import bounded
from evaluator.scoring.outcome import MalformedError
from evaluator.scoring.patterns import PatternError, compile_pattern

Definition = dict[str, Any]
TextCheck = Callable[[str], Finding | None]

HEDGES = (
    "i cannot",
    "i can't",
    "i am unable",
    "i'm unable",
    "i don't have access",
    "i do not have access",
    "as an ai",
    "as a language model",
    "cannot determine",
    "unable to determine",
    "unclear from the document",
    "not clear from the document",
    "i don't know",
    "i do not know",
    "insufficient information",
    "not enough information",
    "i'm not sure",
    "i am not sure",
)

# A minus that follows a digit is a dash ("10-20"), not a sign.
_NUMBER = re.compile(r"(?:(?<![0-9])-)?(?:[0-9]++(?:\.[0-9]++)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
_NOT_IN_NUMBERS = str.maketrans("", "", "£$,")
_NOISE = r"[\s*_#>`~\"'()\[\]-]*+"
_LABEL = re.compile(_NOISE + r"(?:(?:answer|response|reply|a)[*_`\s]*+:" + _NOISE + ")?", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")


def compile_numeric(definition: Definition) -> TextCheck:
    """`{value, tolerance 0.01}`: some number in the answer is within `tolerance` of `value`."""
    return _numeric(definition, "numeric", only_first=False)


def compile_leading_numeric(definition: Definition) -> TextCheck:
    """`{value, tolerance 0.01}`: the first number in the answer is within `tolerance` of `value`."""
    return _numeric(definition, "leading_numeric", only_first=True)


def _numeric(definition: Definition, kind: str, *, only_first: bool) -> TextCheck:
    value = _number(definition, "value")
    tolerance = _number(definition, "tolerance", 0.01)
    if tolerance < 0:
        raise MalformedError("tolerance is a number not below 0")

    def check(text: str) -> Finding | None:
        seen: list[float] = []
        for number in numbers_in(text):
            if isfinite(number) and abs(number - value) <= tolerance:
                return None
            if len(seen) < 10:
                seen.append(number)
            if only_first:
                break
        return Finding(path="$", keyword=kind, wanted=value, got=bounded(seen[0] if only_first and seen else seen))

    return check


def compile_regex_required(definition: Definition) -> TextCheck:
    """`{pattern, flags "i"}`: the pattern matches somewhere in the answer. The check raises PatternTimeoutError."""
    try:
        pattern = compile_pattern(definition.get("pattern"), definition.get("flags", "i"))
    except PatternError as error:
        raise MalformedError(f"pattern: {error}") from error
    wanted = bounded(pattern.source)

    def check(text: str) -> Finding | None:
        if pattern.found_in(text):
            return None
        return Finding(path="$", keyword="regex_required", wanted=wanted, got=bounded(text))

    return check


def compile_leading_word(definition: Definition) -> TextCheck:
    """`{value}`: the answer's first alphabetic token, after Markdown noise and a label as "Answer:", case ignored."""
    value = _text(definition.get("value"), "value")

    def check(text: str) -> Finding | None:
        label = _LABEL.match(text)
        word = _WORD.search(text, label.end() if label else 0)
        found = word.group() if word else ""
        if found.casefold() == value.casefold():
            return None
        return Finding(path="$", keyword="leading_word", wanted=bounded(value), got=bounded(found))

    return check


def compile_keywords_all(definition: Definition) -> TextCheck:
    """`{values}`: each stands in the answer; case ignored, white space folded."""
    values = _texts(definition)

    def check(text: str) -> Finding | None:
        folded = fold(text)
        missing = [value for value in values if fold(value) not in folded]
        if not missing:
            return None
        return Finding(path="$", keyword="keywords_all", wanted=bounded(missing), got=bounded(text))

    return check


def compile_keywords_any(definition: Definition) -> TextCheck:
    """`{values}`: at least one stands in the answer; case ignored, white space folded."""
    values = _texts(definition)

    def check(text: str) -> Finding | None:
        folded = fold(text)
        if any(fold(value) in folded for value in values):
            return None
        return Finding(path="$", keyword="keywords_any", wanted=bounded(values), got=bounded(text))

    return check


def compile_keywords_any_word(definition: Definition) -> TextCheck:
    """`{values}`: at least one stands in the answer as a whole word; case ignored, white space folded."""
    values = _texts(definition)
    words = re.compile(r"(?<!\w)(?:" + "|".join(re.escape(fold(value)) for value in values) + r")(?!\w)")

    def check(text: str) -> Finding | None:
        if words.search(fold(text)):
            return None
        return Finding(path="$", keyword="keywords_any_word", wanted=bounded(values), got=bounded(text))

    return check


def compile_min_words(definition: Definition) -> TextCheck:
    """`{value}`: the answer has at least so many words, separated by white space."""
    value = definition.get("value")
    if type(value) is not int or value < 1:
        raise MalformedError("value is a whole number of at least 1")

    def check(text: str) -> Finding | None:
        count = len(text.split())
        return None if count >= value else Finding(path="$", keyword="min_words", wanted=value, got=count)

    return check


def compile_no_hedge(_: Definition) -> TextCheck:
    """No phrase of `HEDGES` stands in the answer; case ignored, white space folded."""

    def check(text: str) -> Finding | None:
        folded = fold(text)
        for phrase in HEDGES:
            if phrase in folded:
                return Finding(path="$", keyword="no_hedge", got=phrase)
        return None

    return check


def numbers_in(text: str) -> Iterator[float]:
    """Each number in `text`, after `£ $ ,` are taken out; infinite where it is too large for a double."""
    return (float(match.group()) for match in _NUMBER.finditer(text.translate(_NOT_IN_NUMBERS)))


def fold(text: str) -> str:
    """`text` in one case, each run of white space as one space."""
    return " ".join(text.casefold().split())


def _number(definition: Definition, key: str, default: float | None = None) -> float:
    value = definition.get(key, default)
    if isinstance(value, int | float) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):
            if isfinite(value):
                return float(value)
    raise MalformedError(f"{key} is a finite number")


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise MalformedError(f"{key} is a text that is not empty")
    return value.strip()


def _texts(definition: Definition) -> list[str]:
    values = definition.get("values")
    if not isinstance(values, list) or not values:
        raise MalformedError("values is a list of at least one text")
    return [_text(value, "values") for value in values]
