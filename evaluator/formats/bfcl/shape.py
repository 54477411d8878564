"""What may stand in a row, and what is wrong with it, as sentences that begin with the JSON path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evaluator.formats.bfcl.wanted import wanted_calls
from evaluator.scoring.bfcl_calls import compile_calls
from evaluator.scoring.bfcl_values import TYPES, WITH_ITEMS
from evaluator.scoring.bounds import bounded, json_path
from evaluator.scoring.outcome import MalformedError
from evaluator.scoring.schema import SchemaError, translate_gorilla

MOST_CALLS = 100

_ROLES = ("system", "user", "assistant")


def question_faults(row: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a row of questions, its id apart."""
    turns = row.get("question")
    if not isinstance(turns, list) or not turns or not all(isinstance(turn, list) for turn in turns):
        yield "$.question: is a list with one turn, a list of messages"
    elif len(turns) > 1:
        yield f"$.question: has {len(turns)} turns; conversations of several turns are not supported yet"
    elif not turns[0]:
        yield "$.question[0]: has no message"
    else:
        for number, message in enumerate(turns[0]):
            yield from _message_faults(f"$.question[0][{number}]", message)
    yield from _functions_faults(row.get("function"))


def answer_faults(row: dict[str, Any], functions: list[dict[str, Any]], calls: str) -> Iterator[str]:
    """What is wrong with the answer to a row of questions whose functions are right. `calls`: how many are wanted."""
    answer = row.get("ground_truth")
    if not isinstance(answer, list) or not all(isinstance(call, dict) and len(call) == 1 for call in answer):
        yield "$.ground_truth: is a list of calls, each an object with the function's name as its one key"
        return
    if not answer or (calls == "one" and len(answer) > 1):
        yield f"$.ground_truth: holds {len(answer)} calls; the category wants {calls}"
    if len(answer) > MOST_CALLS:
        yield f"$.ground_truth: holds {len(answer)} calls, more than the {MOST_CALLS} that are compared"
        return
    known = {function["name"] for function in functions}
    for number, call in enumerate(answer):
        (name, arguments), where = next(iter(call.items())), f"$.ground_truth[{number}]"
        if name not in known:
            yield f"{where}: there is no function {bounded(name)!r}; there is {', '.join(sorted(known))}"
        elif not isinstance(arguments, dict):
            yield f"{where}: the arguments are an object of parameters and lists of accepted values"
        else:
            try:
                compile_calls(wanted_calls([call], functions))
            except MalformedError as error:
                yield f"{where}: {str(error).removeprefix('calls[0].')}"


def _message_faults(where: str, message: Any) -> Iterator[str]:
    if not isinstance(message, dict):
        yield f"{where}: is a message, an object with role and content"
        return
    if message.get("role") not in _ROLES:
        yield f"{where}.role: is {', '.join(_ROLES[:-1])} or {_ROLES[-1]}"
    if not isinstance(message.get("content"), str):
        yield f"{where}.content: is a text"


def _functions_faults(functions: Any) -> Iterator[str]:
    if not isinstance(functions, list):
        yield "$.function: is a list of function specs"
        return
    names: set[str] = set()
    for number, function in enumerate(functions):
        where = f"$.function[{number}]"
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(name, str) or not name.strip():
            yield f"{where}: is a function spec, an object with a name"
            continue
        if name in names:
            yield f"{where}.name: {bounded(name)!r} is the name of another function of this row"
        names.add(name)
        if not isinstance(function.get("description", ""), str):
            yield f"{where}.description: is a text"
        yield from _parameters_faults(f"{where}.parameters", function.get("parameters"))


def _parameters_faults(where: str, parameters: Any) -> Iterator[str]:
    properties = parameters.get("properties", {}) if isinstance(parameters, dict) else None
    required = parameters.get("required", []) if isinstance(parameters, dict) else None
    if not isinstance(properties, dict) or not isinstance(required, list):
        yield f"{where}: is an object with properties, an object, and required, a list"
        return
    if not all(isinstance(name, str) for name in required):
        yield f"{where}.required: is a list of names"
    try:
        translate_gorilla(parameters)
    except SchemaError as error:
        yield f"{where}: {error}"
    for name, declared in properties.items():
        yield from _type_faults(where + json_path(["properties", name])[1:], declared)


def _type_faults(where: str, declared: Any) -> Iterator[str]:
    word = declared.get("type") if isinstance(declared, dict) else None
    if not isinstance(word, str) or word not in TYPES:
        yield f"{where}.type: is one of {', '.join(TYPES)}"
    elif word in WITH_ITEMS:
        items = declared.get("items")
        inner = items.get("type") if isinstance(items, dict) else None
        if not isinstance(inner, str) or inner not in TYPES:
            yield f"{where}.items.type: is one of {', '.join(TYPES)}"
