"""Equality of JSON values in which the order of an array does not count, however deep: in linear time.

Every different value gets a number, and so an array is its items' numbers, sorted; an object its keys with their
members' numbers. Two values are equal where their numbers are: nothing is compared with each of many others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

# Keys that no string, number, array or object has. Python takes True for 1.
_CONSTANTS: dict[Any, Hashable] = {True: ("true",), False: ("false",), None: ("null",)}

_Lookup = Callable[[Hashable], int | None]


class Known:
    """Values that others are looked for among. Numbers are equal across int and float and never to a boolean."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def add(self, value: Any) -> int | None:
        """The number of `value`, a new one where it is new."""
        return _number(value, lambda key: self._numbers.setdefault(key, len(self._numbers)))

    def find(self, value: Any) -> int | None:
        """The number of a value that was added, by itself or as a part, else None."""
        return _number(value, self._numbers.get)


def scalar_key(value: Any) -> Hashable:
    """For a scalar, what is equal exactly where two scalars are equal as JSON values."""
    return _CONSTANTS[value] if value is None or isinstance(value, bool) else value


def _number(value: Any, lookup: _Lookup) -> int | None:
    if isinstance(value, list):
        numbers = []
        for item in value:
            number = _number(item, lookup)
            if number is None:
                return None
            numbers.append(number)
        numbers.sort()
        return lookup(("array", *numbers))
    if isinstance(value, dict):
        members = []
        for name, item in value.items():
            number = _number(item, lookup)
            if number is None:
                return None
            members.append((name, number))
        return lookup(frozenset(members))
    return lookup(scalar_key(value))
