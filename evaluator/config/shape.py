"""Does a document have the shape of trap.yaml? jsonschema decides; here its errors become sentences with positions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from evaluator.config.wording import as_number, described, did_you_mean, listed, place
from evaluator.errors import Problem
from evaluator.yaml_scalars import quoted
from evaluator.yaml_text import Document, Path_

SCHEMA_FILE = Path(__file__).with_name("trap.schema.json")

_KINDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
}
# A key or an endpoint in the file would let a pull request send the repository's key to somebody else.
REDIRECTING = frozenset(
    {
        "api_base",
        "api_key",
        "api_version",
        "azure_ad_token",
        "base_url",
        "custom_llm_provider",
        "default_headers",
        "extra_headers",
        "headers",
        "organization",
    }
)


@cache
def schema() -> dict[str, Any]:
    """The published JSON Schema of trap.yaml."""
    loaded: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return loaded


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator  # half of a short command's time: only where a file is checked

    return Draft202012Validator(schema())


def problems(document: Document) -> Iterator[Problem]:
    """Each way in which the document differs from the schema, in no order."""
    for error in _validator().iter_errors(document.value):
        translate = _TRANSLATIONS.get(error.validator)
        if translate is None:
            yield document.problem(tuple(error.absolute_path), error.message)
        else:
            yield from translate(document, tuple(error.absolute_path), error)


def _unknown_keys(document: Document, path: Path_, error: Any) -> Iterator[Problem]:
    known = error.schema.get("properties", {})
    where = f" in {place(path)}" if path else ""
    for key in (key for key in error.instance if key not in known):
        if path[:1] == ("params",) and key in REDIRECTING:
            yield refused_parameter(document, (*path, key))
            continue
        hint = did_you_mean(key, known)
        mend = "" if hint else f"Known keys: {listed(known)}."
        yield document.problem((*path, key), f"unknown key {quoted(key)}{where}{hint}", mend, key=True)


def refused_parameter(document: Document, path: Path_) -> Problem:
    """The Problem of a parameter that would say where a request goes or with which key."""
    return document.problem(
        path,
        f"{place(path)} is refused: a pull request could send the key to another place with it",
        "Keys and endpoints come from the environment of the workflow, e.g. OPENAI_API_KEY and OPENAI_BASE_URL.",
        key=True,
    )


def _type(document: Document, path: Path_, error: Any) -> Iterator[Problem]:
    kinds = [error.validator_value] if isinstance(error.validator_value, str) else error.validator_value
    wanted = " or ".join(_KINDS[kind] for kind in kinds)
    mend = _type_mend(document, path, kinds)
    yield document.problem(path, f"{_subject(path)}: wanted {wanted}, got {described(error.instance)}", mend)


def _type_mend(document: Document, path: Path_, kinds: list[str]) -> str:
    node = document.node(path)
    if node is None or node.text is None or node.value is None:
        return ""
    if "string" in kinds and not isinstance(node.value, str):
        read_as = json.dumps(node.value)
        shown = quoted(node.text)
        return (
            f"YAML reads {node.text} as {read_as}; write it in quotes: {shown}."
            if node.text != read_as
            else (f"Write it in quotes: {shown}.")
        )
    if {"integer", "number"} & set(kinds) and isinstance(node.value, str):
        if mend := as_number(node.value, path[-1]):
            return mend
        if node.style:
            return "Write it without quotes."
        return "YAML 1.1 reads a number with a leading zero or a bare exponent as text: write 7, 0.001 or 1.0e-3."
    return ""


def _subject(path: Path_) -> str:
    return place(path) or "the file"


def _choice(document: Document, path: Path_, error: Any) -> Iterator[Problem]:
    choices = list(dict.fromkeys(str(choice) for choice in error.validator_value))
    got = error.instance
    hint = did_you_mean(got, choices) if isinstance(got, str) else ""
    message = f"{_subject(path)}: wanted one of {', '.join(choices)}, got {described(got)}{hint}"
    yield document.problem(path, message)


def _range(document: Document, path: Path_, error: Any) -> Iterator[Problem]:
    limits = error.schema
    if limits["type"] == "integer" and error.instance != int(error.instance):
        return  # the type's own error says it
    parts = []
    if "minimum" in limits:
        parts.append(f"at least {limits['minimum']}")
    if "exclusiveMinimum" in limits:
        parts.append(f"above {limits['exclusiveMinimum']}")
    if "maximum" in limits:
        parts.append(f"at most {limits['maximum']}")
    kind = _KINDS[limits["type"]]
    message = f"{_subject(path)}: wanted {kind} {' and '.join(parts)}, got {error.instance}"
    # The schema says beside a limit that is not obvious where it comes from.
    below = "minimum" in limits and error.instance < limits["minimum"]
    yield document.problem(path, message, limits.get("$comment", "") if below else "")


def _missing(document: Document, path: Path_, error: Any) -> Iterator[Problem]:
    # One error per missing key; which one is only in the message, so it is found again by what is absent.
    absent = [key for key in error.validator_value if key not in error.instance]
    key = next(key for key in absent if error.message.startswith(f"'{key}'"))
    examples = error.schema["properties"][key].get("examples")
    mend = f"Add it, e.g. `{key}: {examples[0]}`." if examples else "`trapgate init` writes an example."
    yield document.problem(path, f"{_subject(path)} has no {key}", mend, key=True)


def _too_few(document: Document, path: Path_, error: Any) -> Iterator[Problem]:
    text = isinstance(error.instance, str)
    mend = "Write a value, or leave the key out." if text else "Write at least one entry."
    yield document.problem(path, f"{_subject(path)} is empty", mend)


def _too_long(document: Document, path: Path_, error: Any) -> Iterator[Problem]:
    message = f"{_subject(path)}: wanted at most {error.validator_value} characters, got {len(error.instance)}"
    yield document.problem(path, message)


def _repeated(document: Document, path: Path_, error: Any) -> Iterator[Problem]:
    twice = next(item for item in error.instance if error.instance.count(item) > 1)
    yield document.problem(path, f"{_subject(path)} has {described(twice)} twice")


def _task_name(document: Document, path: Path_, error: Any) -> Iterator[Problem]:
    # The only pattern of the schema is that of task names, and its error stands at the mapping, not at the name.
    yield document.problem(
        (*path, error.instance),
        f"{quoted(error.instance)} cannot be the name of a task",
        "A name has no slash or control character, does not begin with a dot or space, and has 1 to 100 characters.",
        key=True,
    )


_TRANSLATIONS: dict[str, Callable[[Document, Path_, Any], Iterator[Problem]]] = {
    "additionalProperties": _unknown_keys,
    "type": _type,
    "enum": _choice,
    "minimum": _range,
    "maximum": _range,
    "exclusiveMinimum": _range,
    "required": _missing,
    "minItems": _too_few,
    "minLength": _too_few,
    "minProperties": _too_few,
    "maxLength": _too_long,
    "uniqueItems": _repeated,
    "pattern": _task_name,
}
