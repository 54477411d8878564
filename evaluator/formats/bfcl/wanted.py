"""Accepted values and declared types → the wanted calls as the scorer reads them."""

from __future__ import annotations

from typing import Any

from evaluator.scoring.bfcl_values import WITH_ITEMS


def wanted_calls(answer: list[dict[str, Any]], functions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`Case.expected["calls"]` from the rows' `ground_truth` and `function`. What the scorer needs of a function is
    kept with the call, since the spec on offer belongs to whoever changes it."""
    by_name = {function["name"]: function.get("parameters", {}) for function in functions}
    return [_wanted(name, arguments, by_name[name]) for call in answer for name, arguments in call.items()]


def _wanted(name: str, arguments: dict[str, Any], parameters: dict[str, Any]) -> dict[str, Any]:
    declared = parameters.get("properties", {})
    return {
        "tool": name,
        "required": parameters.get("required", []),
        "arguments": {key: {"accepted": values} | _type(declared.get(key)) for key, values in arguments.items()},
    }


def _type(declared: dict[str, Any] | None) -> dict[str, Any]:
    if declared is None:
        return {}
    word = declared["type"]
    return {"type": word} | ({"items": declared["items"]["type"]} if word in WITH_ITEMS else {})
