"""Plain values of which nothing is known yet: what is there if it is of the wanted kind, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from evaluator.config.tools import json_path
from evaluator.errors import Problem
from evaluator.yaml_text import Document, Path_

T = TypeVar("T")


class Fault(NamedTuple):
    """What is wrong at a place of the fixture; with `key` it is the key that is meant."""

    path: Path_
    message: str
    mend: str = ""
    key: bool = False

    def below(self, path: Path_) -> Fault:
        """The same fault, of a part that stands at `path`."""
        return self._replace(path=(*path, *self.path))

    def problem(self, document: Document) -> Problem:
        """The fault with its position."""
        return document.problem(self.path, f"{json_path(self.path)}: {self.message}", self.mend, key=self.key)


def each(value: Any, kind: type[T]) -> Iterator[tuple[int, T]]:
    """Place and value of those items of a list that are of `kind`; nothing where it is no list."""
    if isinstance(value, list):
        yield from ((place, item) for place, item in enumerate(value) if isinstance(item, kind))


def list_of(value: Mapping[str, Any], key: str) -> list[Any]:
    """The list under `key`, else an empty one."""
    found = value.get(key)
    return found if isinstance(found, list) else []


def mapping_of(value: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The mapping under `key`, else an empty one."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}
