"""A row → a case: what the model is asked, what is right, and an answer that must pass."""

from __future__ import annotations

import json
from typing import Any

from evaluator.cases import Case, Origin, Request
from evaluator.formats.bfcl.rows import Row
from evaluator.formats.bfcl.wanted import wanted_calls
from evaluator.scoring.schema import translate_gorilla
from evaluator.transcript import Call, Transcript

_NO_CALL = "None of the functions fits."
_IN_TEXT = """\
You may call the functions that are described below. To call them, answer with the calls alone, as a list in Python's
notation with named arguments, such as [first(number=1, text="x"), second(flag=True)]. Where none of them can do what is
asked, or a value that one requires is not to be had, make no call and say so in words.

Functions (JSON):
"""


def case_of(row: Row, options: dict[str, Any]) -> Case:
    """The case of a row without a fault. `options`: those of the task that differ from the default."""
    specs = [_spec(function) for function in row.functions]
    expected: dict[str, Any] = {"calls": wanted_calls(row.answer, row.functions)}
    if options.get("calls") == "prompt":
        request = Request(messages=_with_functions(row.messages, specs))
        expected["functions"] = [spec["name"] for spec in specs]
    else:
        request = Request(messages=row.messages, tools=specs)
    return Case(
        id=row.id,
        request=request,
        expected=expected,
        options=options,
        slices=[row.category],
        golds=[_gold(expected["calls"])],
        origin=Origin(file=row.file, line=row.line),
    )


def _spec(function: dict[str, Any]) -> dict[str, Any]:
    """The function in OpenAI's shape."""
    described = {"description": function["description"]} if "description" in function else {}
    return {"name": function["name"], **described, "parameters": translate_gorilla(function.get("parameters", {}))}


def _with_functions(messages: list[dict[str, Any]], specs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with the functions in a system message; the row's own joins it, since some providers take only
    one."""
    text = _IN_TEXT + json.dumps(specs, ensure_ascii=False)
    if messages[0]["role"] == "system":
        text, messages = f"{text}\n\n{messages[0]['content']}", messages[1:]
    return [{"role": "system", "content": text}, *messages]


def _gold(wanted: list[dict[str, Any]]) -> Transcript:
    if not wanted:
        return Transcript(text=_NO_CALL, stop_reason="stop")
    calls = [Call(tool=call["tool"], arguments=json.dumps(_arguments(call), ensure_ascii=False)) for call in wanted]
    return Transcript(calls=calls, stop_reason="tool_calls")


def _arguments(call: dict[str, Any]) -> dict[str, Any]:
    """The first accepted value of each parameter. Left out is what may be and comes first so, what may be and is none
    of the function's parameters, and what has no value."""
    arguments: dict[str, Any] = {}
    for name, argument in call["arguments"].items():
        accepted = argument["accepted"]
        needed = name in call["required"]
        if not accepted or (not needed and (accepted[0] == "" or ("" in accepted and "type" not in argument))):
            continue
        arguments[name] = _value(next((value for value in accepted if value != ""), ""), argument)
    return arguments


def _value(accepted: Any, argument: dict[str, Any]) -> Any:
    """One value from an accepted one; an accepted object has several values for each key."""
    if argument.get("type") == "dict" and isinstance(accepted, dict):
        return _object(accepted)
    if argument.get("items") == "dict" and isinstance(accepted, list):
        return [_object(item) if isinstance(item, dict) else item for item in accepted]
    return accepted


def _object(accepted: dict[str, list[Any]]) -> dict[str, Any]:
    return {key: values[0] for key, values in accepted.items() if values and values[0] != ""}
