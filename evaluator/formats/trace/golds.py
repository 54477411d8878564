"""The right answer to a fixture, built from what it expects: a transcript that must pass (the gold self-check)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from msgspec import UNSET

from evaluator.cases import Case
from evaluator.formats.trace.rules import field_of, wanted_at
from evaluator.scoring.argument_schemas import UNKNOWN, example, members
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


def golds_of(case: Case) -> list[Transcript]:
    """One for each path of `case.expected` that says enough to be walked with the tools on offer. With checks on the
    final answer and no `case.expected_answer` there is none."""
    expected, answer = case.expected, case.expected_answer
    if expected is None:
        return []
    if answer is None and any(check.get("type") not in OF_CALLS for check in expected.get("checks", ())):
        return []
    text = NEUTRAL if answer is None else answer
    specs = {spec["name"]: spec for spec in case.offered()}
    built = (_calls(case, path, specs) for path in expected["paths"])
    return [Transcript(text=text, calls=calls, stop_reason="stop") for calls in built if calls is not None]


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
    """Arguments that satisfy the step and have all that the tool requires, None where it is not said what they are."""
    if "args" not in step and spec is None:
        return None
    args: dict[str, Any] = deepcopy(step.get("args", {}))
    for path, rule in step.get("rules", {}).items():
        keys = field_of(path)
        if "ignore" in rule or wanted_at(args, keys) is not UNSET:
            continue
        value = _example(rule, keys, spec)
        if value is UNKNOWN:
            return None
        _put(args, keys, value)
    return args if spec is None or set(_required(spec)) <= set(args) else None


def _example(rule: dict[str, Any], keys: Sequence[str], spec: dict[str, Any] | None) -> Any:
    """A value by which a rule is satisfied; where any value will do, one that the tool's schema accepts."""
    if "one_of" in rule:
        return rule["one_of"][0]
    schema = root = spec["parameters"] if spec else {}
    for key in keys if "any" in rule else ():
        known = members(root, schema)
        schema = known.of(key) if known else UNKNOWN
    return example(root, schema) if "any" in rule else UNKNOWN


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
