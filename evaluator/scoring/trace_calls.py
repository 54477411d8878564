"""The actual side of a trace: its calls, each read once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from evaluator.json_text import JsonFault, parse_json
from evaluator.results import Finding
from evaluator.scoring.arguments import MISSING, Arguments, Field, value_at
from evaluator.scoring.bounds import bounded
from evaluator.scoring.multisets import scalar_key
from evaluator.transcript import Call, failed

# The frozen tools had no answer. A real one might have had: this is no failure of the tool.
_NOT_THE_TOOLS = frozenset(("unmatched", "too_many"))


class Calls:
    """`arguments`: of each call, None where they cannot be read, and `malformed` says why, by the call's index.
    `of_tool`: tool → indices; `mask_of`: tool → the same as a bit mask. `failed`: mask of calls whose tool failed."""

    __slots__ = ("_columns", "arguments", "calls", "failed", "malformed", "mask_of", "of_tool")

    def __init__(self, calls: list[Call]) -> None:
        self.calls = calls
        self.arguments: list[Arguments | None] = []
        self.malformed: dict[int, Finding] = {}
        self.of_tool: dict[str, list[int]] = {}
        self.mask_of: dict[str, int] = {}
        self.failed = 0
        self._columns: dict[tuple[str, tuple[str, ...]], _Column] = {}
        for index, call in enumerate(calls):
            self.of_tool.setdefault(call.tool, []).append(index)
            self.mask_of[call.tool] = self.mask_of.get(call.tool, 0) | 1 << index
            if failed(call.result) and call.unanswered not in _NOT_THE_TOOLS:
                self.failed |= 1 << index
            read = _read(call, index)
            if isinstance(read, Finding):
                self.malformed[index] = read
            self.arguments.append(None if isinstance(read, Finding) else read)

    def right(self, tool: str, field: Field) -> int:
        """Mask of the calls of `tool` in which a field is right."""
        column = self._columns.get((tool, field.parts))
        if column is None:
            pairs = [(index, value_at(self.arguments[index], field.parts)) for index in self.of_tool[tool]]
            column = self._columns[tool, field.parts] = _Column(pairs)
        return column.right(field)


class _Column:
    """The values of one field in many calls; where many steps ask for a scalar, each finds its calls at once."""

    __slots__ = ("_by_key", "_values")

    def __init__(self, values: Iterable[tuple[int, Any]]) -> None:
        self._values = [(index, value) for index, value in values if value is not MISSING]
        self._by_key: dict[Hashable, int] | None = None

    def right(self, field: Field) -> int:
        comparison = field.comparison
        if comparison.equal_to is None:
            return sum(1 << index for index, value in self._values if comparison.holds(value))
        if self._by_key is None:
            self._by_key = {}
            for index, value in self._values:
                if not isinstance(value, list | dict):
                    key = scalar_key(value)
                    self._by_key[key] = self._by_key.get(key, 0) | 1 << index
        return self._by_key.get(comparison.equal_to, 0)


def _read(call: Call, index: int) -> Arguments | Finding:
    number = index + 1
    if call.fault is not None:
        message = f"call {number} is malformed: {call.fault[:300]}"
        return Finding(path="$", keyword="call", got=bounded(call.arguments), call=number, message=message)
    value = parse_json(call.arguments)
    if isinstance(value, JsonFault):
        message = f"the arguments of call {number} cannot be read: {value}"
        return Finding(path="$", keyword=value.keyword, got=bounded(call.arguments), call=number, message=message)
    if not isinstance(value, dict):
        message = f"the arguments of call {number} are not an object"
        return Finding(path="$", keyword="type", wanted="object", got=bounded(value), call=number, message=message)
    return value
