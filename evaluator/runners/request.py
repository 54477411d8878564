"""(Subject, Request) → what goes on the wire: messages, tools and how the answer's shape is asked for. Pure.

The mechanism that is in fact used is part of the answer: a request that wants neither a call nor JSON has no shape to
ask for, so `schema` and `tool` fall to `prompt` there; and so does `tool` where the JSON need be no object, which the
arguments of a call always are.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import Any

from evaluator.cases import BY_PREFILL, Request, Subject
from evaluator.runners import completion
from evaluator.scoring.answer_checks import asks_for_object

_ALLOWED_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_FORBIDDEN = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64
# What an answer that is JSON is called, as the name of its schema and as a tool.
_ANSWER = "answer"
# Members of a spec that are for scorers: no provider knows them.
_OURS = frozenset({"read_only"})

# Keywords of JSON Schema whose value is data, and those whose value maps names to schemas.
_DATA = frozenset({"const", "enum", "default", "examples", "example"})
_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_ROOT_ONLY = ("$schema", "$defs", "definitions")


@dataclass(frozen=True)
class Wire:
    """One call's content. `structured`: the mechanism in use (`schema`, `tool` or `prompt`). `names`: the tool's name
    on the wire → its real name. `params`: the repository's parameters; what the mechanism sets wins over them.
    `offered`: the specs of the tools on offer, by real name. `function`: the spec whose call is the wanted answer.
    `answer_tool`: the real name of the tool whose arguments are the final answer, which ends a conversation.
    `prompt`: what a completion endpoint gets in place of messages; `structured` is then the condition."""

    messages: list[dict[str, Any]]
    params: dict[str, Any]
    structured: str
    names: Mapping[str, str]
    tools: list[dict[str, Any]] | None = None
    tool_choice: dict[str, Any] | None = None
    response_format: dict[str, Any] | None = None
    offered: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    function: dict[str, Any] | None = None
    answer_tool: str | None = None
    prompt: str | list[int] | None = None

    def wire_name(self, real: str) -> str:
        """What the model calls a tool; a name that is not on offer stands for itself."""
        return next((wire for wire, name in self.names.items() if name == real), real)

    def arguments(self) -> dict[str, Any]:
        """The keyword arguments of a chat or text completion, without the model."""
        if self.prompt is not None:
            return {**self.params, "prompt": self.prompt}
        sent = {**self.params, "messages": self.messages}
        for name in ("tools", "tool_choice", "response_format"):
            value = getattr(self, name)
            if value is not None:
                sent[name] = value
        return sent


def build(subject: Subject, request: Request, tools: Sequence[dict[str, Any]] = ()) -> Wire:
    """What is sent for `request`.

    `tools`: what the case offers, the repository's own included; where there are none, the repository's are offered. A
    tool that has the name of the request's function replaces the function's spec: that is what a pull request changes.
    """
    if request.condition is not None:
        return _continuation(subject, request, request.condition)
    specs = list(tools or subject.tools)
    function = _function(specs, request)
    if function is None and request.answer_schema is not None:
        return _answer_wire(subject, request, specs, request.answer_schema)
    structured = subject.structured if function is not None else "prompt"
    if function is not None and structured == "tool" and function not in specs:
        specs.append(function)
    offered = [*specs, function] if function is not None else specs
    wire = _wire(subject, request, structured, specs, named=offered)
    if function is None:
        return wire
    wire_name = wire.wire_name(function["name"])
    return replace(
        wire,
        function=function,
        tool_choice=_choice(wire_name) if structured == "tool" else None,
        response_format=_response_format(function, wire_name) if structured == "schema" else None,
    )


def _answer_wire(subject: Subject, request: Request, specs: list[dict[str, Any]], schema: dict[str, Any]) -> Wire:
    """The same for a request whose answer is JSON by a schema of its own."""
    structured = subject.structured
    if structured == "tool" and not asks_for_object(schema):
        structured = "prompt"
    if structured != "tool":
        wire = _wire(subject, request, structured, specs)
        described = {"type": "json_schema", "json_schema": {"name": _ANSWER, "schema": schema}}
        return replace(wire, response_format=described) if structured == "schema" else wire
    answer: dict[str, Any] = {"name": _free_name(specs), "description": "Give the final answer.", "parameters": schema}
    wire = _wire(subject, request, structured, [*specs, answer])
    # Beside other tools it is the model's to say when it has the answer.
    choice = None if specs else _choice(wire.wire_name(answer["name"]))
    return replace(wire, answer_tool=answer["name"], tool_choice=choice)


def _wire(
    subject: Subject,
    request: Request,
    structured: str,
    specs: list[dict[str, Any]],
    *,
    named: Sequence[dict[str, Any]] = (),
) -> Wire:
    """With the tools of `specs`; `named`: all specs that have a name on the wire, where that is more."""
    wire_names = wire_names_of(spec["name"] for spec in named or specs)
    return Wire(
        messages=_messages(subject, request),
        params=dict(subject.params),
        structured=structured,
        names={wire: real for real, wire in wire_names.items()},
        tools=[_tool(spec, wire_names[spec["name"]]) for spec in specs] or None,
        offered={spec["name"]: spec for spec in specs},
    )


def _free_name(specs: Sequence[dict[str, Any]]) -> str:
    """`answer`, or where a tool on offer has that name, the first of `answer_2`, `answer_3`, … that none has."""
    taken = {spec["name"] for spec in specs}
    numbered = (f"{_ANSWER}_{number}" for number in count(2))
    return next(name for name in chain([_ANSWER], numbered) if name not in taken)


def _continuation(subject: Subject, request: Request, condition: str) -> Wire:
    """A begun answer to go on with: nothing is on offer, and no shape is asked for."""
    prefill = condition == BY_PREFILL
    return Wire(
        messages=completion.prefilled(subject, request) if prefill else [],
        prompt=None if prefill else completion.prompt(subject, request),
        params=completion.params(subject.params),
        structured=completion.described(condition, subject.params),
        names={},
    )


def wire_names_of(names: Iterable[str]) -> dict[str, str]:
    """Real name → a name that providers allow (1 to 64 letters, digits, `_`, `-`), different for different names.

    An allowed name stands for itself. Any other keeps its allowed characters, with a digest of the real name where two
    would collide, so that the mapping does not depend on the order of the tools.
    """
    unique = list(dict.fromkeys(names))
    simple = {name: name if _ALLOWED_NAME.fullmatch(name) else _simplified(name) for name in unique}
    uses: dict[str, int] = {}
    for wire in simple.values():
        uses[wire] = uses.get(wire, 0) + 1
    return {
        name: wire if wire == name or uses[wire] == 1 else _distinguished(name, wire) for name, wire in simple.items()
    }


def _simplified(name: str) -> str:
    return _FORBIDDEN.sub("_", name)[:_LONGEST_NAME] or "_"


def _distinguished(name: str, wire: str) -> str:
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:16]
    return f"{wire[: _LONGEST_NAME - 17]}_{digest}"


def _function(specs: Sequence[dict[str, Any]], request: Request) -> dict[str, Any] | None:
    if request.function is None:
        return None
    name = request.function["name"]
    return next((spec for spec in specs if spec["name"] == name), request.function)


def _messages(subject: Subject, request: Request) -> list[dict[str, Any]]:
    system = [{"role": "system", "content": subject.system}] if subject.system else []
    return [*system, *request.messages]


def _tool(spec: dict[str, Any], wire_name: str) -> dict[str, Any]:
    sent = {key: value for key, value in spec.items() if key not in _OURS}
    return {"type": "function", "function": {**sent, "name": wire_name}}


def _choice(wire_name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": wire_name}}


def _response_format(function: dict[str, Any], wire_name: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    arguments = function.get("parameters") or {"type": "object", "properties": {}}
    if "$id" not in arguments:
        # References that start at `#` mean the function's own schema, which is no longer the root.
        schema |= {key: _moved(arguments[key], key in _MAPS) for key in _ROOT_ONLY if key in arguments}
        arguments = {key: _moved(value, key in _MAPS) for key, value in arguments.items() if key not in _ROOT_ONLY}
    # Strict modes want a type beside the constant, though it says nothing more.
    schema["properties"] = {"name": {"type": "string", "const": function["name"]}, "arguments": arguments}
    schema["required"] = ["name", "arguments"]
    schema["additionalProperties"] = False
    described: dict[str, Any] = {"name": wire_name, "schema": schema}
    if "strict" in function:
        described["strict"] = function["strict"]
    return {"type": "json_schema", "json_schema": described}


def _moved(value: Any, is_map: bool = False) -> Any:
    """A part of a schema as it reads where the schema's former root is `#/properties/arguments`."""
    if isinstance(value, list):
        return [_moved(item) for item in value]
    if not isinstance(value, dict) or (not is_map and "$id" in value):
        return value
    moved: dict[str, Any] = {}
    for key, item in value.items():
        if is_map:
            moved[key] = _moved(item)
        elif key == "$ref" and isinstance(item, str) and item.startswith("#"):
            moved[key] = _moved_reference(item)
        else:
            moved[key] = item if key in _DATA else _moved(item, key in _MAPS)
    return moved


def _moved_reference(reference: str) -> str:
    if reference == "#":
        return "#/properties/arguments"
    if reference.startswith(("#/$defs/", "#/definitions/")) or not reference.startswith("#/"):
        return reference  # hoisted along with the definitions, or an anchor, which has no path
    return "#/properties/arguments" + reference[1:]
