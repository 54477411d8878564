"""How a place and a value are named in a message, in the words of somebody who wrote YAML."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from itertools import islice
from typing import Any

from evaluator.errors import Problem
from evaluator.yaml_scalars import quoted

MAX_SHOWN = 50

_LONGEST_LIST = 400
_MOST_COMPARED = 50  # of names that somebody else made up there may be thousands

_NUMBER = r"([-+]?\d+(?:\.\d+)?)"
_PERCENT = re.compile(rf"{_NUMBER} ?%")
_DOLLARS = re.compile(rf"(?:US)?\$ ?{_NUMBER}|{_NUMBER} ?(?:\$|USD)", re.IGNORECASE)
_DURATION = re.compile(rf"{_NUMBER} ?(s|m|h)(?:ec(?:onds?)?|in(?:utes?)?|ours?)?", re.IGNORECASE)
_SECONDS = {"s": 1, "m": 60, "h": 3600}

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def place(path: Iterable[str | int]) -> str:
    """`tasks.refunds`, `gate.rules[2]` (lists count from 0, as JSON paths do); keys with other characters in quotes."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            key = step if _PLAIN_KEY.fullmatch(step) and len(step) <= 60 else quoted(step)
            text += f".{key}" if text else key
    return text


def described(value: Any) -> str:
    """A value as it reads in "wanted …, got …"."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the text {quoted(value)}"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return f"the number {value}"


def as_number(text: str, key: str | int) -> str:
    """How to write what somebody meant by `text` where the `key` wants a number; empty where it reads as one."""
    text = text.strip()
    try:
        float(text)
    except ValueError:
        pass
    else:
        return ""
    if percent := _PERCENT.fullmatch(text):
        return f"Rates are fractions of 1: write {float(percent[1]) / 100:g}."
    if dollars := _DOLLARS.fullmatch(text):
        return f"Money is in US dollars, without a sign: write {dollars[1] or dollars[2]}."
    if str(key).endswith("timeout"):
        duration = _DURATION.fullmatch(text)
        if duration is None:
            return "Write a plain number of seconds."
        return f"Times are in seconds: write {float(duration[1]) * _SECONDS[duration[2].lower()]:g}."
    return "Write a plain number in digits, with a decimal point where it needs one."


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean "repeats"?`, or nothing where no known word is near."""
    near = difflib.get_close_matches(word[:60], list(islice(known, _MOST_COMPARED)), n=1, cutoff=0.6)
    return f'; did you mean "{near[0]}"?' if near else ""


def listed(words: Iterable[str]) -> str:
    """`a, b, c`, sorted; of very many the first."""
    return quoted(", ".join(sorted(words)), _LONGEST_LIST)[1:-1].replace('\\"', '"')


def bounded(problems: Iterable[Problem], file: str) -> list[Problem]:
    """The problems without repetitions, sorted; of very many the first, headed by how many there are."""
    found = sorted(set(problems))
    if len(found) <= MAX_SHOWN:
        return found
    return [Problem(file, 0, 0, f"{len(found)} problems, of which these are the first {MAX_SHOWN}"), *found[:MAX_SHOWN]]
