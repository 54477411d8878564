"""The check kinds that look at the final answer: its text, or the JSON in it. Each function compiles the definition of
one kind. An answer that is empty, or not there, satisfies none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from sys import float_info
from typing import Any

import msgspec
from msgspec import UNSET

from evaluator.json_text import JsonFault
from evaluator.results import Finding
from evaluator.scoring.bounds import bounded, json_path
from evaluator.scoring.call_checks import count
from evaluator.scoring.extract_json import extract_json
from evaluator.scoring.field_rules import compare_by
from evaluator.scoring.json_call import strictly_equal
from evaluator.scoring.outcome import MalformedError
from evaluator.scoring.patterns import PatternError, PatternTimeoutError, compile_pattern
from evaluator.scoring.schema import SchemaError, compile_schema
from evaluator.scoring.text_matchers import numbers_in
from evaluator.transcript import Infrastructure, Transcript

Definition = dict[str, Any]
Judge = Callable[[Transcript], Finding | None]
TextCheck = Callable[[str], Finding | None]

MOST_SHOWN = 10
MOST_FLOAT = float_info.max

# A run of marks that may end a sentence, with the quotes, brackets and Markdown that close behind it.
_MARKS = re.compile(r"(?P<western>[.!?…]++)[\"'”’»)\]}*_`]*+|[。！？]++[」』）]*+|\n[^\S\n]*+\n\s*+")
_NO_END = re.compile(r"(?:^|[\s(\[\"'“‘*_])(?:dr|mr|mrs|ms|prof|st|mt|ft|vs|cf|ca|approx|e\.g|i\.e)$", re.IGNORECASE)


def contains(definition: Definition) -> Judge:
    """`{value}`: the text stands in the answer, case and white space as given."""
    value = _text(definition, "value")
    return _on_text("contains", lambda text: value in text, wanted=value)


def icontains(definition: Definition) -> Judge:
    """`{value}`: as `contains`, case ignored."""
    value = _text(definition, "value")
    folded = value.casefold()
    return _on_text("icontains", lambda text: folded in text.casefold(), wanted=value)


def not_contains(definition: Definition) -> Judge:
    """`{value}`: the text does not stand in the answer, case and white space as given."""
    value = _text(definition, "value")
    return _on_text("not_contains", lambda text: value not in text, wanted=value)


def iregex(definition: Definition) -> Judge:
    """`{value}`: the pattern matches somewhere in the answer, case ignored. The check raises PatternTimeoutError."""
    try:
        pattern = compile_pattern(definition["value"], "i")
    except PatternError as error:
        raise MalformedError(f"value: {error}") from error
    return _on_text("iregex", pattern.found_in, wanted=pattern.source)


def numeric_equals(definition: Definition) -> Judge:
    """`{value, tol 0}`: some number in the answer, read as by trapstreet's `numeric`, is within `tol` of `value`."""
    value = _number(definition, "value")
    tolerance = _tolerance(definition) if "tol" in definition else 0
    within = _within(value, tolerance)
    # Doubles rule out nearly all numbers of a long text, and decimals decide at the border.
    middle, reach = float(value), tolerance * (1 + 1e-9) + abs(value) * 1e-12

    def check(text: str) -> Finding | None:
        seen: list[float] = []
        for number in numbers_in(text):
            if abs(number - middle) <= reach and within(number):
                return None
            if len(seen) < MOST_SHOWN:
                seen.append(number)
        return Finding(path="$", keyword="numeric_equals", wanted=bounded(value), got=bounded(seen))

    return _unless_empty(check)


def sentence_count(definition: Definition) -> Judge:
    """`{min 1, max?}`: the answer has so many sentences (`sentences`)."""
    least = count(definition, "min") if "min" in definition else 1
    most = count(definition, "max") if "max" in definition else None
    if most is not None and most < least:
        raise MalformedError(f"max is {most}, less than min, {least}")
    wanted = {"min": least} | ({"max": most} if most is not None else {})

    def check(text: str) -> Finding | None:
        number = sentences(text)
        if least <= number and (most is None or number <= most):
            return None
        return Finding(path="$", keyword="sentence_count", wanted=wanted, got=number)

    return _unless_empty(check)


def sentences(text: str) -> int:
    """How many sentences `text` has.

    One ends at a run of `. ! ? …` that white space or the end of the text follows (closing quotes, brackets and
    Markdown may stand between), at `。！？`, at a blank line, and at the end of the text; not at the stop of a common
    abbreviation ("Dr.", "St.", "e.g."). What has no letter in it ("1.", "—") is no sentence.
    """
    number = start = 0
    for mark in _MARKS.finditer(text):
        if _ends_sentence(text, mark):
            number += _has_letter(text[start : mark.start()])
            start = mark.end()
    return number + _has_letter(text[start:])


def json_valid(_: Definition) -> Judge:
    """There is a JSON value in the answer, as `extract_json@1` finds it."""

    def check(text: str) -> Finding | None:
        value = extract_json(text)
        return _no_json(value) if isinstance(value, JsonFault) else None

    return _unless_empty(check)


def json_schema(definition: Definition) -> Judge:
    """`{schema}`: the JSON in the answer is valid. Of several faults the first is given, and their number."""
    try:
        schema = compile_schema(definition["schema"])
    except SchemaError as error:
        raise MalformedError(f"schema: {error}") from error
    wants_object = asks_for_object(definition["schema"])

    def check(text: str) -> Finding | None:
        value = extract_json(text, wants_object=wants_object)
        if isinstance(value, JsonFault):
            return _no_json(value)
        found = schema.findings(value)
        if isinstance(found, Infrastructure):
            raise (PatternTimeoutError if found.kind == "pattern_timeout" else MalformedError)(found.message)
        if not found:
            return None
        return found[0] if len(found) == 1 else msgspec.structs.replace(found[0], message=f"the first of {len(found)}")

    return _unless_empty(check)


def json_path_equals(definition: Definition) -> Judge:
    """`{path, value, tol?}`: what stands at the dotted path (`items.0.name`) of the JSON in the answer is the value.

    Texts are equal after trim and case-fold, numbers across int and float, with `tol` within it; booleans are no
    numbers. A path that begins with a name asks for an object.
    """
    parts = _path(definition)
    value = definition["value"]
    right = _equal_to(value)
    if "tol" in definition:
        right = _within(_number(definition, "value"), _tolerance(definition))

    def check(text: str) -> Finding | None:
        document = extract_json(text, wants_object=not is_index(parts[0]))
        if isinstance(document, JsonFault):
            return _no_json(document)
        path, got = _dig(document, parts)
        if got is UNSET:
            return Finding(path=path, keyword="json_path_equals", wanted=bounded(value), message="not there")
        if right(got):
            return None
        return Finding(path=path, keyword="json_path_equals", wanted=bounded(value), got=bounded(got))

    return _unless_empty(check)


def _on_text(keyword: str, holds: Callable[[str], bool], *, wanted: str) -> Judge:
    shown = bounded(wanted)

    def check(text: str) -> Finding | None:
        return None if holds(text) else Finding(path="$", keyword=keyword, wanted=shown, got=bounded(text))

    return _unless_empty(check)


def _unless_empty(check: TextCheck) -> Judge:
    def judge(transcript: Transcript) -> Finding | None:
        if transcript.text is None or not transcript.text.strip():
            return Finding(path="$", keyword="empty", message="the answer is empty")
        return check(transcript.text)

    return judge


def _ends_sentence(text: str, mark: re.Match[str]) -> bool:
    if mark["western"] is None:
        return True
    if mark.end() < len(text) and not text[mark.end()].isspace():
        return False
    return mark["western"] != "." or not _NO_END.search(text, max(mark.start() - 10, 0), mark.start())


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))


def _no_json(fault: JsonFault) -> Finding:
    return Finding(path="$", keyword=fault.keyword, message=str(fault))


def asks_for_object(schema: Any) -> bool:
    """Whether only an object can be valid: by the schema's own type, or by that of the definition it refers to."""
    part = schema
    for _ in range(8):  # references that refer on; more than so many is nobody's schema
        if not isinstance(part, dict):
            return False
        if "$ref" not in part:
            return part.get("type") in ("object", ["object"])
        part = _definition(schema, part["$ref"])
    return False


def _definition(schema: dict[str, Any], reference: Any) -> Any:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    part: Any = schema
    for key in reference[2:].split("/"):
        part = part.get(key) if isinstance(part, dict) else None
    return part


def _path(definition: Definition) -> list[str]:
    path = definition["path"]
    if not isinstance(path, str) or not path or path.startswith("$") or "" in path.split("."):
        raise MalformedError(
            f"path is names and list indexes with dots between, as items.0.name, not {bounded(path)!r}"
        )
    return path.split(".")


def is_index(part: str) -> bool:
    """Whether a part of a dotted path is a place in a list."""
    return part.isascii() and part.isdigit() and len(part) < 10


def _dig(document: Any, parts: list[str]) -> tuple[str, Any]:
    """The JSON path that is meant, and what stands there; UNSET where nothing does."""
    keys: list[str | int] = []
    for part in parts:
        key: str | int = int(part) if is_index(part) and not isinstance(document, dict) else part
        keys.append(key)
        if isinstance(document, dict):
            document = document.get(part, UNSET)
        elif isinstance(document, list) and isinstance(key, int) and key < len(document):
            document = document[key]
        else:
            document = UNSET
    return json_path(keys), document


def _equal_to(wanted: Any) -> Callable[[Any], bool]:
    if not isinstance(wanted, str):
        return lambda got: strictly_equal(got, wanted)
    folded = wanted.strip().casefold()
    return lambda got: isinstance(got, str) and got.strip().casefold() == folded


def _within(wanted: float, tolerance: float) -> Callable[[Any], bool]:
    """Whether a value is a number at most `tolerance` away, by the decimal numbers that were written."""
    return compare_by({"tolerance": tolerance}, wanted).holds


def _text(definition: Definition, key: str) -> str:
    value = definition[key]
    if not isinstance(value, str) or not value:
        raise MalformedError(f"{key} is a text that is not empty, not {bounded(value)!r}")
    return value


def _number(definition: Definition, key: str) -> float:
    value = definition[key]
    if type(value) in (int, float) and -MOST_FLOAT <= value <= MOST_FLOAT:
        return value  # type: ignore[no-any-return]
    raise MalformedError(f"{key} is a number that a double can hold, not {bounded(value)!r}")


def _tolerance(definition: Definition) -> float:
    tolerance = _number(definition, "tol")
    if tolerance < 0:
        raise MalformedError(f"tol is a number not below 0, not {bounded(tolerance)!r}")
    return tolerance
