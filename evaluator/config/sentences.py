"""Errors of a published JSON Schema → sentences with positions, in the words of somebody who wrote the document."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evaluator.config.wording import as_number, described, did_you_mean, listed, place
from evaluator.errors import Problem
from evaluator.yaml_scalars import quoted
from evaluator.yaml_text import Document, Path_

_KINDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}

Translation = Callable[[Document, Path_, Any], Iterator[Problem]]


@dataclass(frozen=True)
class Sentences:
    """How one kind of document is spoken of.

    `name_of` names a place, empty for the document itself. `missing`: the mend for a key that is missing where the
    schema has no example of it. `own`: translations of keywords that go before the general ones.
    """

    name_of: Callable[[Path_], str] = place
    missing: str = ""
    own: Mapping[str, Translation] = field(default_factory=dict)

    def problems(self, document: Document, errors: Iterator[Any]) -> Iterator[Problem]:
        """Each error of a jsonschema validator as problems, in no order."""
        for error in errors:
            translate = self.own.get(error.validator) or self._general().get(error.validator)
            path = tuple(error.absolute_path)
            if translate is None:
                yield document.problem(path, f"{self._subject(path)}: {error.message}")
            else:
                yield from translate(document, path, error)

    def _general(self) -> dict[str, Translation]:
        return {
            "additionalProperties": self._unknown_keys,
            "type": self._type,
            "enum": self._choice,
            "minimum": self._range,
            "maximum": self._range,
            "exclusiveMinimum": self._range,
            "required": self._missing,
            "minItems": self._too_few,
            "minLength": self._too_few,
            "minProperties": self._too_few,
            "maxLength": self._too_long,
            "uniqueItems": self._repeated,
        }

    def _subject(self, path: Path_) -> str:
        return self.name_of(path) or "the file"

    def unknown_key(self, document: Document, path: Path_, known: Iterable[str]) -> Problem:
        """The problem of a key, which ends `path`, that is none of the `known`."""
        *above, key = path
        where = f" in {self.name_of(tuple(above))}" if above else ""
        hint = did_you_mean(str(key), known)
        mend = "" if hint else f"Known keys: {listed(known)}."
        return document.problem(path, f"unknown key {quoted(str(key))}{where}{hint}", mend, key=True)

    def _unknown_keys(self, document: Document, path: Path_, error: Any) -> Iterator[Problem]:
        known = error.schema.get("properties", {})
        yield from (self.unknown_key(document, (*path, key), known) for key in error.instance if key not in known)

    def _type(self, document: Document, path: Path_, error: Any) -> Iterator[Problem]:
        kinds = [error.validator_value] if isinstance(error.validator_value, str) else error.validator_value
        wanted = " or ".join(_KINDS[kind] for kind in kinds)
        mend = _type_mend(document, path, kinds)
        yield document.problem(path, f"{self._subject(path)}: wanted {wanted}, got {described(error.instance)}", mend)

    def _choice(self, document: Document, path: Path_, error: Any) -> Iterator[Problem]:
        choices = list(dict.fromkeys("null" if choice is None else str(choice) for choice in error.validator_value))
        got = error.instance
        hint = did_you_mean(got, choices) if isinstance(got, str) else ""
        message = f"{self._subject(path)}: wanted one of {', '.join(choices)}, got {described(got)}{hint}"
        yield document.problem(path, message)

    def _range(self, document: Document, path: Path_, error: Any) -> Iterator[Problem]:
        limits = error.schema
        kinds = [limits["type"]] if isinstance(limits["type"], str) else limits["type"]
        if "integer" in kinds and error.instance != int(error.instance):
            return  # the type's own error says it
        parts = []
        if "minimum" in limits:
            parts.append(f"at least {limits['minimum']}")
        if "exclusiveMinimum" in limits:
            parts.append(f"above {limits['exclusiveMinimum']}")
        if "maximum" in limits:
            parts.append(f"at most {limits['maximum']}")
        kind = _KINDS[kinds[0]]
        message = f"{self._subject(path)}: wanted {kind} {' and '.join(parts)}, got {error.instance}"
        # The schema says beside a limit that is not obvious where it comes from.
        below = "minimum" in limits and error.instance < limits["minimum"]
        yield document.problem(path, message, limits.get("$comment", "") if below else "")

    def _missing(self, document: Document, path: Path_, error: Any) -> Iterator[Problem]:
        # One error per missing key; which one is only in the message, so it is found again by what is absent.
        absent = [key for key in error.validator_value if key not in error.instance]
        key = next(key for key in absent if error.message.startswith(f"'{key}'"))
        examples = error.schema["properties"][key].get("examples")
        mend = f"Add it, e.g. `{key}: {examples[0]}`." if examples else self.missing
        yield document.problem(path, f"{self._subject(path)} has no {key}", mend, key=True)

    def _too_few(self, document: Document, path: Path_, error: Any) -> Iterator[Problem]:
        text = isinstance(error.instance, str)
        mend = "Write a value, or leave the key out." if text else "Write at least one entry."
        yield document.problem(path, f"{self._subject(path)} is empty", mend)

    def _too_long(self, document: Document, path: Path_, error: Any) -> Iterator[Problem]:
        message = f"{self._subject(path)}: wanted at most {error.validator_value} characters, got {len(error.instance)}"
        yield document.problem(path, message)

    def _repeated(self, document: Document, path: Path_, error: Any) -> Iterator[Problem]:
        twice = next(item for item in error.instance if error.instance.count(item) > 1)
        yield document.problem(path, f"{self._subject(path)} has {described(twice)} twice")


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
