"""Tools that answer a model with what was recorded or written down: nothing happens, and it happens again. Pure.

A mock's arguments are those of an expected step: what it does not name does not matter, and arrays have no order.

A call that nothing was kept for gets an error that says no more than that: what would have been right is not its to
tell. Why a call got one is `Call.unanswered`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from evaluator.cases import Case, Frozen, Passage, digest_of
from evaluator.corpus import SEARCH, search
from evaluator.json_text import parse_json
from evaluator.scoring.arguments import compile_form
from evaluator.scoring.json_call import strictly_equal
from evaluator.transcript import Call

_ERRORS = {
    "unmatched": "no result is available for these arguments",
    "malformed": "the arguments are not a JSON object",
    "unknown_tool": "there is no tool of this name",
    "too_many": "no more calls are allowed",
    "invalid": "the query is not a text",
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
    again. `offered`: the tools that the model was told of; `corpus`: what `search` finds."""

    def __init__(
        self,
        recorded: Sequence[Frozen],
        mocks: Sequence[Frozen],
        offered: Collection[str],
        corpus: Sequence[Passage] = (),
    ) -> None:
        self._kept = (recorded, mocks)
        self._offered = offered
        self._corpus = corpus
        self._given: dict[int, int] = {}

    def answer(self, call: Call) -> Given:
        """The result of the mock that fits and names most arguments, else what is recorded for this tool and equal
        arguments; else an error. Mocks go first: they are part of the case, and a recording is not."""
        arguments = arguments_of(call)
        if arguments is None:
            return refusal("malformed")
        if call.tool not in self._offered:
            return refusal("unknown_tool")
        found = _matching(self._kept, call.tool, arguments)
        if found:
            return Given(self._next(found))
        return self._found(arguments) if self._corpus and call.tool == SEARCH["name"] else refusal("unmatched")

    def _found(self, arguments: dict[str, Any]) -> Given:
        query = arguments.get("query")
        return Given(search(self._corpus, query)) if isinstance(query, str) else refusal("invalid")

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
    """All that answer the call, in order: those with the arguments of the best one."""
    recorded, mocks = [[each for each in group if each.tool == tool] for group in kept]
    named = [(fields, each) for each in mocks if (fields := _fields_named(each, arguments)) is not None]
    if named:
        best = max(named, key=lambda one: one[0])[1]
        return [each for _, each in named if strictly_equal(each.args, best.args)]
    free = [each for each in mocks if each.args is UNSET]
    equal = [each for each in recorded if strictly_equal(arguments, each.args)]
    return free or equal or [each for each in recorded if each.args is UNSET]


def beyond_mocks(case: Case) -> list[Frozen]:
    """The recorded answers that no mock stands before: what a live attempt depends on besides its case."""
    mocks: tuple[Sequence[Frozen], ...] = ((), case.request.mocks)
    return [
        each
        for each in case.recorded
        if not isinstance(each.args, UnsetType) and not _matching(mocks, each.tool, each.args)
    ]


def held_to_answers(case: Case) -> Case:
    """`case` for live attempts: the recorded answers that decide what its tools say are part of its digest, so that no
    change can have others given and be compared as if nothing had happened."""
    answers = beyond_mocks(case)
    held = msgspec.structs.replace(case, recorded=answers)
    if not answers:
        return held
    mark = {"recorded_answers": digest_of(msgspec.to_builtins(answers))}
    return msgspec.structs.replace(held, options=case.options | mark)


def _fields_named(mock: Frozen, arguments: dict[str, Any]) -> int | None:
    """How many fields the mock names, None where the call has one of them otherwise."""
    if mock.args is UNSET:
        return None
    form = compile_form({"tool": mock.tool, "args": mock.args})
    return len(form.fields) if form.right(arguments) == len(form.fields) else None


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
