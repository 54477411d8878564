"""Tool specs of OpenAI, Anthropic and MCP → `{"name", "description", "parameters"}`, OpenAI's function spec.

`strict` is kept where it is given. `read_only` is true where the spec says that a call changes nothing: by a plain
`read_only: true`, or as MCP has it, by `annotations.readOnlyHint`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from evaluator.config.wording import MAX_SHOWN, described, did_you_mean, listed, place
from evaluator.errors import Problem
from evaluator.yaml_scalars import quoted
from evaluator.yaml_text import Document, Path_

Spec = dict[str, Any]

# The one key that holds the JSON Schema of the arguments, by which the dialect is told.
_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema")
_READ = ("name", "description", "type", "strict", "read_only", *_SCHEMA_KEYS)
# Of MCP and Anthropic; but for a hint in the annotations they say nothing about what the model may call.
_IGNORED = ("_meta", "annotations", "cache_control", "execution", "icons", "input_examples", "outputSchema", "title")
_GORILLA = {"dict": "object", "float": "number", "tuple": "array", "any": None}
_NO_ARGUMENTS: Spec = {"type": "object", "properties": {}}


class Reading:
    """The tools of several files; problems are collected, so that all are reported at once."""

    def __init__(self) -> None:
        self.tools: list[Spec] = []
        self.problems: list[Problem] = []
        self._first: dict[str, str] = {}

    def add(self, document: Document) -> None:
        """Reads a file: one spec, a list of specs, or `{"tools": [specs]}`."""
        path: Path_ = ("tools",) if isinstance(document.value, dict) and "tools" in document.value else ()
        node = document.node(path)
        specs = node.value if node else None
        if not isinstance(specs, list):
            self._add_spec(document, path)
            return
        if not specs:
            self._report(document, path, "the list of tools is empty")
        for index in range(len(specs)):
            self._add_spec(document, (*path, index))

    def _add_spec(self, document: Document, path: Path_) -> None:
        found, problems = _normalised(document, path)
        self.problems += problems
        if found is None:
            return
        name = found["name"]
        line = document.position(path)[0]
        if name in self._first:
            self._report(document, path, f"tool {quoted(name)} is already defined in {self._first[name]}")
            return
        self._first[name] = f"{document.file}:{line}"
        self.tools.append(found)

    def _report(self, document: Document, path: Path_, message: str) -> None:
        self.problems.append(_problem(document, path, message))


def json_path(path: Path_) -> str:
    """`$.tools[0].parameters`."""
    return place(("$", *path)).replace('"$"', "$", 1)


def _problem(document: Document, path: Path_, message: str, mend: str = "", *, key: bool = False) -> Problem:
    return document.problem(path, f"{json_path(path)}: {message}", mend, key=key)


def _normalised(document: Document, path: Path_) -> tuple[Spec | None, list[Problem]]:
    """The spec at `path` as a function spec, or what is wrong with it."""
    spec, path = _unwrapped(document, path)
    if not isinstance(spec, dict):
        return None, [_problem(document, path, f"wanted a tool spec, got {described(spec)}")]
    problems = [*_faults(document, path, spec)]
    if problems:
        return None, problems
    schema_key = next((key for key in _SCHEMA_KEYS if key in spec), None)
    found: Spec = {
        "name": spec["name"],
        "description": spec.get("description", ""),
        "parameters": spec[schema_key] if schema_key else dict(_NO_ARGUMENTS),
    }
    if "strict" in spec:
        found["strict"] = spec["strict"]
    if spec.get("read_only", _hint(spec)):
        found["read_only"] = True
    return found, []


def _hint(spec: Spec) -> bool:
    annotations = spec.get("annotations")
    return isinstance(annotations, dict) and annotations.get("readOnlyHint") is True


def _unwrapped(document: Document, path: Path_) -> tuple[Any, Path_]:
    node = document.node(path)
    spec = node.value if node else None
    if isinstance(spec, dict) and "function" in spec and spec.get("type", "function") == "function":
        return spec["function"], (*path, "function")
    return spec, path


def _faults(document: Document, path: Path_, spec: Spec) -> Iterator[Problem]:
    kind = spec.get("type", "function")
    if kind not in ("function", "custom"):
        message = f"tools of type {quoted(str(kind))} are run by the provider and are not supported"
        yield _problem(document, (*path, "type"), message, "Only function tools can be evaluated.")
        return
    known = (*_READ, *_IGNORED)
    for key in spec:
        if key not in known:
            hint = did_you_mean(key, known)
            mend = "" if hint else f"Known keys: {listed(_READ)}."
            yield _problem(document, (*path, key), f"unknown key{hint}", mend, key=True)
    name = spec.get("name")
    if not isinstance(name, str) or not name.strip():
        yield _problem(document, path, "the tool has no name", 'Write `"name"` as text.')
    if not isinstance(spec.get("description", ""), str):
        yield _problem(document, (*path, "description"), f"wanted text, got {described(spec['description'])}")
    for key in ("strict", "read_only"):
        if not isinstance(spec.get(key, False), bool):
            yield _problem(document, (*path, key), f"wanted true or false, got {described(spec[key])}")
    schema_keys = [key for key in _SCHEMA_KEYS if key in spec]
    if len(schema_keys) > 1:
        yield _problem(document, path, f"{' and '.join(schema_keys)} are both given", "Keep one of them.")
    for key in schema_keys:
        yield from _schema_faults(document, (*path, key), spec[key])


def _schema_faults(document: Document, path: Path_, schema: Any) -> Iterator[Problem]:
    if not isinstance(schema, dict):
        yield _problem(document, path, f"wanted a JSON Schema, got {described(schema)}")
        return
    kind = schema.get("type", "object")
    if isinstance(kind, str) and kind != "object" and kind not in _GORILLA:
        message = f"the arguments of a tool are an object, not {described(kind)}"
        yield _problem(document, (*path, "type"), message)
        return
    from evaluator.scoring.schema import SchemaError, compile_schema

    try:
        compile_schema(schema)
    except SchemaError as refusal:
        errors = _meta_errors(schema)
        yield from (_schema_fault(document, (*path, *error.absolute_path), error) for error in errors)
        if not errors:
            # Patterns that are none, references to other places, nesting without end: what no schema of schemas finds.
            yield _problem(document, path, _shortened(str(refusal)))


def _meta_errors(schema: Spec) -> list[Any]:
    from jsonschema import Draft202012Validator  # only where tools are read: it takes as long as all else here
    from jsonschema.validators import validator_for

    dialect = schema.get("$schema")
    draft = validator_for({"$schema": dialect} if isinstance(dialect, str) else {}, default=Draft202012Validator)
    try:
        return list(islice(draft(draft.META_SCHEMA).iter_errors(schema), MAX_SHOWN))
    except RecursionError:
        return []  # what refused the schema has said it


def _schema_fault(document: Document, path: Path_, error: Any) -> Problem:
    value = error.instance
    if path[-1] != "type":
        return _problem(document, path, f"not a valid JSON Schema: {_shortened(error.message)}")
    if isinstance(value, str) and value in _GORILLA:
        right = _GORILLA[value]
        mend = f'Write "{right}".' if right else "Leave the type out."
        return _problem(document, path, f"{quoted(value)} is no type of JSON Schema", mend)
    mend = "The types are array, boolean, integer, null, number, object and string."
    return _problem(document, path, f"not a type of JSON Schema: {described(value)}", mend)


def _shortened(message: str) -> str:
    return quoted(message, 200)[1:-1].replace('\\"', '"')
