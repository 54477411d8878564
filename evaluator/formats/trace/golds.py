"""The right answer to a fixture, built from what it expects: a transcript that must pass (the gold self-check)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Any

from msgspec import UNSET, UnsetType

from evaluator.cases import Case
from evaluator.formats.trace.rules import field_of, wanted_at
from evaluator.scoring.json_call import strictly_equal
from evaluator.transcript import Call, Transcript, failed

NEUTRAL = "Done."
# Checks that look at the calls alone; every other one reads the final answer.
OF_CALLS = frozenset(
    (
        *("tool_used", "tool_not_used", "no_tool", "min_tool_calls", "max_tool_calls", "call_counts"),
        *("suspended", "no_tool_before_suspend"),
    )
)


def golds_of(case: Case, answer: str | UnsetType) -> list[Transcript]:
    """One for each path of `case.expected` that says enough to be walked. `answer`: the final answer that the fixture
    expects; without it and with checks on the final answer there is none."""
    expected = case.expected
    if expected is None:
        return []
    if answer is UNSET and any(check.get("type") not in OF_CALLS for check in expected.get("checks", ())):
        return []
    text = NEUTRAL if answer is UNSET else answer
    specs = {spec["name"]: spec for spec in case.offered()}
    built = (_calls(case, path, specs) for path in expected["paths"])
    golds = [Transcript(text=text, calls=calls, stop_reason="stop") for calls in built if calls is not None]
    return complete(golds, list(specs.values()))


def complete(golds: Iterable[Transcript], specs: Collection[dict[str, Any]]) -> list[Transcript]:
    """Those golds whose calls have every argument that the tools on offer require: a step need not name them all, and
    what it does not name is not known here."""
    needed = {spec["name"]: set(_required(spec)) for spec in specs}
    return [
        gold
        for gold in golds
        if all(needed.get(call.tool, set()) <= set(_names(call.arguments)) for call in gold.calls)
    ]


def _names(arguments: str) -> dict[str, Any]:
    names: dict[str, Any] = json.loads(arguments)
    return names


def _calls(case: Case, path: list[dict[str, Any]], specs: dict[str, Any]) -> list[Call] | None:
    calls = []
    for step in path:
        args = _arguments(step, specs.get(step["tool"]))
        if args is None:
            return None
        result = _result(case, step["tool"], args)
        arguments = json.dumps(args, ensure_ascii=False)
        calls.append(Call(tool=step["tool"], arguments=arguments, turn=step["turn"], result=result))
    return calls


def _arguments(step: dict[str, Any], spec: dict[str, Any] | None) -> dict[str, Any] | None:
    """Arguments that satisfy the step, None where it does not say what they would be."""
    if "args" not in step and spec is None:
        return None
    args: dict[str, Any] = deepcopy(step.get("args", {}))
    for path, rule in step.get("rules", {}).items():
        keys = field_of(path)
        if "ignore" in rule or wanted_at(args, keys) is not UNSET:
            continue
        if "one_of" not in rule:
            return None
        _put(args, keys, rule["one_of"][0])
    return args


def _required(spec: dict[str, Any]) -> Iterator[str]:
    required = spec["parameters"].get("required", [])
    return (name for name in required if isinstance(name, str)) if isinstance(required, list) else iter(())


def _put(args: dict[str, Any], keys: Sequence[str], value: Any) -> None:
    for key in keys[:-1]:
        args = args.setdefault(key, {})
    args[keys[-1]] = deepcopy(value)


def _result(case: Case, tool: str, args: dict[str, Any]) -> Any:
    """What the tool answers to such a call; of several answers the first success, unset where nothing is frozen.

    As in a live run a recording goes before a mock, and what is meant for these arguments before what is for any.
    """
    of_tool = [[each for each in kept if each.tool == tool] for kept in (case.recorded, case.request.mocks)]
    equal = [[each for each in kept if each.args is not UNSET and strictly_equal(each.args, args)] for kept in of_tool]
    free = [[each for each in kept if each.args is UNSET] for kept in of_tool]
    results = [each.result for each in next(filter(None, [*equal, *free]), [])]
    return next((result for result in results if not failed(result)), results[0] if results else UNSET)
