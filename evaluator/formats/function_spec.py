"""The function spec inside a prompt: the JSON object after "FUNCTION SPEC (JSON):", in OpenAI's shape."""

from __future__ import annotations

from typing import Any

from evaluator.json_text import JsonFault, parse_json
from evaluator.scoring.extract_json import balanced_end
from evaluator.scoring.schema import SchemaError, translate_gorilla

MARKER = "FUNCTION SPEC (JSON):"


class FunctionSpecError(ValueError):
    """The prompt has a function spec that cannot be used. `offset`: where in the prompt."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


def function_in(prompt: str) -> dict[str, Any] | None:
    """`{"name", "description", "parameters": <JSON Schema>}` from the spec in `prompt`, None where there is none.

    Gorilla's type words become JSON Schema's. Raises FunctionSpecError.
    """
    marker = prompt.find(MARKER)
    if marker < 0:
        return None
    after = marker + len(MARKER)
    start = after + len(prompt[after:]) - len(prompt[after:].lstrip())
    end = balanced_end(prompt, start) if prompt.startswith("{", start) else None
    if end is None:
        raise FunctionSpecError(f"no JSON object follows {MARKER!r}", start)
    spec = parse_json(prompt[start:end])
    if isinstance(spec, JsonFault):
        raise FunctionSpecError(f"the function spec: {spec.message}", start + _offset(prompt[start:end], spec))
    return _openai(spec, start)


def _openai(spec: dict[str, Any], start: int) -> dict[str, Any]:
    name, description = spec.get("name"), spec.get("description")
    if not isinstance(name, str) or not name:
        raise FunctionSpecError("the function spec has no name", start)
    parameters = spec.get("parameters", {"type": "object", "properties": {}})
    if not isinstance(parameters, dict):
        raise FunctionSpecError("the function spec's parameters are not an object", start)
    try:
        translated = translate_gorilla(parameters)
    except SchemaError as error:
        raise FunctionSpecError(f"the function spec's parameters: {error}", start) from error
    described = {"description": description} if isinstance(description, str) else {}
    return {"name": name, **described, "parameters": translated}


def _offset(text: str, fault: JsonFault) -> int:
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: fault.line - 1]) + fault.column - 1
