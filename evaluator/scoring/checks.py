"""The checks that an item makes on a whole transcript: on its final answer and on the tools that were called.

`{"type": kind, …}` is a check's definition; docs/scoring.md lists the kinds with their fields. All checks of an item
must hold. The formats that have them (`trace`, `arena`) share this one list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from evaluator.results import Finding
from evaluator.scoring import answer_checks as answer
from evaluator.scoring import call_checks as call
from evaluator.scoring.bounds import bounded
from evaluator.scoring.outcome import MalformedError
from evaluator.transcript import Transcript

Judge = Callable[[Transcript], Finding | None]


class UnknownCheckError(MalformedError):
    """A check's kind is not one of `KINDS`. The message lists those."""


@dataclass(frozen=True, slots=True)
class Check:
    """A compiled check of one kind."""

    kind: str
    judge: Judge

    def __call__(self, transcript: Transcript) -> Finding | None:
        """None where the check holds, else one Finding.

        Raises PatternTimeoutError where a pattern did not end in time, MalformedError where a part of a schema that
        only this answer reached is not usable: nothing can then be said of the transcript.
        """
        return self.judge(transcript)


class _Kind(NamedTuple):
    version: str
    compile: Callable[[dict[str, Any]], Judge]
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


KINDS: dict[str, _Kind] = {
    "contains": _Kind("contains@1", answer.contains, ("value",)),
    "icontains": _Kind("icontains@1", answer.icontains, ("value",)),
    "not_contains": _Kind("not_contains@1", answer.not_contains, ("value",)),
    "iregex": _Kind("iregex@1", answer.iregex, ("value",)),
    "numeric_equals": _Kind("numeric_equals@1", answer.numeric_equals, ("value",), ("tol",)),
    "sentence_count": _Kind("sentence_count@1", answer.sentence_count, (), ("min", "max")),
    "json_valid": _Kind("json_valid@1", answer.json_valid),
    "json_schema": _Kind("json_schema@1", answer.json_schema, ("schema",)),
    "json_path_equals": _Kind("json_path_equals@1", answer.json_path_equals, ("path", "value"), ("tol",)),
    "tool_used": _Kind("tool_used@1", call.tool_used, ("name",)),
    "tool_not_used": _Kind("tool_not_used@1", call.tool_not_used, ("name",)),
    "no_tool": _Kind("no_tool@1", call.no_tool),
    "min_tool_calls": _Kind("min_tool_calls@1", call.min_tool_calls, ("value",)),
    "max_tool_calls": _Kind("max_tool_calls@1", call.max_tool_calls, ("value",)),
    "call_counts": _Kind("call_counts@1", call.call_counts, ("counts",)),
    "suspended": _Kind("suspended@1", call.suspended, (), ("value", "tool")),
    "no_tool_before_suspend": _Kind("no_tool_before_suspend@1", call.no_tool_before_suspend, ("name",), ("tool",)),
}


def versions() -> dict[str, str]:
    """kind → version. What reads JSON or schemas in them has versions of its own (`extract_json`, `schema`)."""
    return {kind: known.version for kind, known in KINDS.items()}


def compile_checks(definitions: Any) -> list[Check]:
    """The checks of an item, in their order, with patterns and schemas compiled once.

    Raises UnknownCheckError for a kind that is none, MalformedError for anything else that is not usable; the message
    names the check by its place and the field.
    """
    if not isinstance(definitions, list):
        raise MalformedError(f"checks is a list, not {bounded(definitions)!r}")
    return [_compiled(definition, f"checks[{number}]") for number, definition in enumerate(definitions)]


def _compiled(definition: Any, where: str) -> Check:
    if not isinstance(definition, dict) or not isinstance(definition.get("type"), str):
        raise MalformedError(f"{where} is an object with a type, not {bounded(definition)!r}")
    kind = definition["type"]
    if kind not in KINDS:
        raise UnknownCheckError(f"{where}: unknown type {bounded(kind)!r}; known are {', '.join(KINDS)}")
    faults = list(_field_faults(definition, KINDS[kind]))
    if faults:
        raise MalformedError(f"{where} ({kind}): {'; '.join(faults)}")
    try:
        return Check(kind, KINDS[kind].compile(definition))
    except MalformedError as error:
        raise MalformedError(f"{where} ({kind}): {error}") from error


def _field_faults(definition: dict[str, Any], kind: _Kind) -> Iterator[str]:
    yield from (f"{field} is missing" for field in kind.required if field not in definition)
    known = ("type", *kind.required, *kind.optional)
    yield from (
        f"unknown field {bounded(field)!r}; it takes {', '.join(known)}" for field in definition if field not in known
    )
