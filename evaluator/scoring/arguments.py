"""The arguments of a call against those that a step expects, field by field.

A field is a leaf or an array: the members of an object are fields of their own, an array is one field, and so is an
empty object, and whatever a rule stands at. Missing is not null.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import UNSET

from evaluator.results import Finding
from evaluator.scoring.bounds import bounded, json_path
from evaluator.scoring.field_paths import Parts, parse_field_path
from evaluator.scoring.field_rules import Comparison, Holds, compare_by, compare_plainly
from evaluator.scoring.outcome import MalformedError

MISSING: Any = object()
MAX_UNEXPECTED = 20

Arguments = dict[str, Any]
# The keys that are expected, each with those below it; None where a field or an ignored value ends the way.
_Tree = dict[str, Any]


class Field(NamedTuple):
    """`parts` lead to it, `path` is how findings write that."""

    parts: Parts
    path: str
    comparison: Comparison


class Form:
    """One call that is right: a tool and what its arguments are. `fields` is empty where any arguments are accepted."""

    __slots__ = ("_deep", "_flat", "_tree", "fields", "tool")

    def __init__(self, tool: str, fields: list[Field], tree: _Tree | None) -> None:
        self.tool = tool
        self.fields = fields
        self._tree = tree
        self._flat: list[tuple[str, Holds]] = []
        self._deep: list[tuple[Parts, Holds]] = []
        for field in fields:
            if len(field.parts) == 1:
                self._flat.append((field.parts[0], field.comparison.holds))
            else:
                self._deep.append((field.parts, field.comparison.holds))

    def right(self, arguments: Arguments | None) -> int:
        """How many fields are right. None: the arguments could not be read, and no field is."""
        count = 0
        if arguments is None:
            return count
        for name, holds in self._flat:
            if name in arguments and holds(arguments[name]):
                count += 1
        for parts, holds in self._deep:
            got = value_at(arguments, parts)
            if got is not MISSING and holds(got):
                count += 1
        return count

    def findings(self, arguments: Arguments | None, step: int) -> Iterator[Finding]:
        """One for each field that is not right."""
        for parts, path, comparison in self.fields:
            got = value_at(arguments, parts)
            if got is MISSING:
                yield Finding(path=path, keyword="required", wanted=comparison.wanted, step=step)
            elif not comparison.holds(got):
                yield comparison.finding(path, got, step)

    def is_exceeded(self, arguments: Arguments | None) -> bool:
        """Whether there are arguments that the form does not have."""
        return next(self._unexpected(arguments), None) is not None

    def unexpected(self, arguments: Arguments | None, step: int) -> Iterator[Finding]:
        """One for each argument that the form does not have, at most `MAX_UNEXPECTED`."""
        for (parts, got), _ in zip(self._unexpected(arguments), range(MAX_UNEXPECTED), strict=False):
            yield Finding(path=json_path(parts), keyword="unexpected_argument", got=bounded(got), step=step)

    def _unexpected(self, arguments: Arguments | None) -> Iterator[tuple[Parts, Any]]:
        if arguments is None or self._tree is None:
            return
        pending: list[tuple[Parts, Arguments, _Tree]] = [((), arguments, self._tree)]
        while pending:
            parts, values, tree = pending.pop()
            for name, value in values.items():
                if name not in tree:
                    yield (*parts, name), value
                elif tree[name] is not None and isinstance(value, dict):
                    pending.append(((*parts, name), value, tree[name]))


def value_at(arguments: Arguments | None, parts: Parts) -> Any:
    """The value to which the keys lead, or MISSING."""
    node: Any = arguments
    for part in parts:
        if not isinstance(node, dict) or part not in node:
            return MISSING
        node = node[part]
    return node


def compile_form(definition: dict[str, Any]) -> Form:
    """A form from `{"tool", "args"?, "rules"?}`, with everything of it compiled.

    Raises MalformedError; PatternTimeoutError where an example runs a pattern of its own for too long.
    """
    tool, args, rules = definition.get("tool"), definition.get("args", UNSET), definition.get("rules", {})
    if not isinstance(tool, str) or not tool:
        raise MalformedError(f"tool is the name of a tool, not {bounded(tool)!r}")
    if args is not UNSET and not isinstance(args, dict):
        raise MalformedError(f"args is an object, not {bounded(args)!r}")
    if not isinstance(rules, dict):
        raise MalformedError(f"rules is an object of paths and rules, not {bounded(rules)!r}")
    ruled = {parse_field_path(path): path for path in rules}
    if len(ruled) < len(rules):
        raise MalformedError("two rules are of one field, with its path written in two ways")
    values = dict(_values({} if args is UNSET else args, ruled))
    values.update({parts: UNSET for parts in ruled if parts not in values})
    fields: list[Field] = []
    tree: _Tree = {}
    for parts, wanted in values.items():
        path = json_path(parts)
        _plant(tree, parts, path)
        comparison = _comparison(rules[ruled[parts]], wanted, path) if parts in ruled else compare_plainly(wanted)
        if comparison is not None:
            fields.append(Field(parts, path, comparison))
    return Form(tool, fields, None if args is UNSET else tree)


def _values(args: Arguments, ruled: dict[Parts, str]) -> Iterator[tuple[Parts, Any]]:
    """Where fields stand in `args`, in their order, with their values."""
    pending: list[tuple[Parts, Any]] = [((), args)]
    while pending:
        parts, value = pending.pop()
        if isinstance(value, dict) and parts not in ruled and (value or not parts):
            pending.extend(((*parts, name), value[name]) for name in reversed(value))
        else:
            yield parts, value


def _comparison(rule: Any, wanted: Any, path: str) -> Comparison | None:
    """None where the value is not to be looked at."""
    try:
        comparison = compare_by(rule, wanted)
    except MalformedError as error:
        raise type(error)(f"{path}: {error}") from error
    return None if "ignore" in rule else comparison


def _plant(tree: _Tree, parts: Parts, path: str) -> None:
    """Enter a field. Two of which one stands inside the other would count what is inside twice."""
    for part in parts[:-1]:
        tree = tree.setdefault(part, {})
        if tree is None:
            raise MalformedError(f"{path} lies inside another field of the step")
    if parts[-1] in tree:
        raise MalformedError(f"{path} holds another field of the step")
    tree[parts[-1]] = None
