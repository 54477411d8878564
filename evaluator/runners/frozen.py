"""Tools that answer a model with what was recorded or written down: nothing happens, and it happens again. Pure.

A call that nothing was kept for gets an error that says no more than that: what would have been right is not its to
tell. Why a call got one is `Call.unanswered`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET

from evaluator.cases import Case, Frozen
from evaluator.json_text import parse_json
from evaluator.scoring.json_call import strictly_equal
from evaluator.transcript import Call

_ERRORS = {
    "unmatched": "no result is available for these arguments",
    "malformed": "the arguments are not a JSON object",
    "unknown_tool": "there is no tool of this name",
    "too_many": "no more calls are allowed",
}


class Given(NamedTuple):
    """What a call gets. `unanswered` as in `Call`."""

    result: Any
    unanswered: str | None = None


def refusal(unanswered: str) -> Given:
    """The frozen error of a call that is left unanswered for this reason."""
    return Given({"error": _ERRORS[unanswered]}, unanswered)


class FrozenTools:
    """The tools of one conversation; several results for the same call are given in their order, the last one again and
    again. `offered`: the tools that the model was told of."""

    def __init__(self, recorded: Sequence[Frozen], mocks: Sequence[Frozen], offered: Collection[str]) -> None:
        self._kept = (recorded, mocks)
        self._offered = offered
        self._given: dict[int, int] = {}

    def answer(self, call: Call) -> Given:
        """What is recorded for this tool and equal arguments, else a mock's result for them, else what is kept for any
        arguments of the tool; else an error."""
        arguments = arguments_of(call)
        if arguments is None:
            return refusal("malformed")
        if call.tool not in self._offered:
            return refusal("unknown_tool")
        found = _matching(self._kept, call.tool, arguments)
        return Given(self._next(found)) if found else refusal("unmatched")

    def _next(self, found: list[Frozen]) -> Any:
        # All that match a call match every equal call, so the first of them stands for the group.
        group = id(found[0])
        number = self._given.get(group, 0)
        self._given[group] = number + 1
        return found[min(number, len(found) - 1)].result


def arguments_of(call: Call) -> dict[str, Any] | None:
    """The call's arguments; None where they are no JSON object, or the call is none."""
    if call.fault is not None:
        return None
    arguments = parse_json(call.arguments)
    return arguments if isinstance(arguments, dict) else None


def _matching(kept: tuple[Sequence[Frozen], ...], tool: str, arguments: dict[str, Any]) -> list[Frozen]:
    of_tool = [[each for each in group if each.tool == tool] for group in kept]
    for group in of_tool:
        equal = [each for each in group if each.args is not UNSET and strictly_equal(arguments, each.args)]
        if equal:
            return equal
    return next((free for group in of_tool if (free := [each for each in group if each.args is UNSET])), [])


def unanswerable(case: Case) -> list[str]:
    """The expected calls of a case, alternatives and optional ones included, that would get a frozen error, in words:
    a model that does what is expected must not meet one. Empty for a case whose tools are not asked to answer.

    Where a field has a rule that leaves its value open, or no arguments are given, any result of the tool will do.
    """
    if not is_conversation(case.request.max_turns, [*case.recorded, *case.request.mocks]):
        return []
    kept = (case.recorded, case.request.mocks)
    offered = {spec["name"] for spec in case.offered()}
    said: list[str] = []
    for number, path in enumerate((case.expected or {}).get("paths", []), 1):
        for place, step in enumerate(path, 1):
            said += [
                f"path {number}, step {place}: {why}"
                for form in (step, *step.get("alternatives", []))
                if (why := _why_unanswerable(form, kept, offered)) is not None
            ]
    return said


def is_conversation(max_turns: int, kept: Sequence[Frozen]) -> bool:
    """Whether calls are answered and the model is heard again, or its first answer is all that is asked for."""
    return max_turns > 1 or bool(kept)


def _why_unanswerable(form: dict[str, Any], kept: tuple[Sequence[Frozen], ...], offered: Collection[str]) -> str | None:
    tool = form["tool"]
    if tool not in offered:
        return f"{tool} is not among the tools on offer"
    if "args" not in form or any(_leaves_open(rule) for rule in form.get("rules", {}).values()):
        return None if any(each.tool == tool for group in kept for each in group) else f"no result is kept for {tool}"
    if _matching(kept, tool, form["args"]):
        return None
    return f"no result is kept for {tool} with {_shown(form['args'])}"


def _leaves_open(rule: dict[str, Any]) -> bool:
    return "exact" not in rule


def _shown(arguments: dict[str, Any]) -> str:
    text = json.dumps(arguments, ensure_ascii=False)
    return text if len(text) <= 200 else text[:200] + "…"
