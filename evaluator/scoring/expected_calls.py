"""Can what a trace expects be right at all? Its tools, arguments and rules against the tools on offer. Pure.

A gold that fails says only that something is wrong; this says which value of which step, and how to mend it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import UNSET

from evaluator.cases import Case
from evaluator.config.wording import described, did_you_mean, listed
from evaluator.results import Finding
from evaluator.scoring.argument_schemas import UNKNOWN, complaints, members, type_complaints
from evaluator.scoring.arguments import MISSING, value_at
from evaluator.scoring.bounds import bounded, json_path
from evaluator.scoring.field_paths import Parts, parse_field_path
from evaluator.yaml_scalars import quoted

Place = tuple[str | int, ...]

_KINDS = {
    "array": "an array",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}
_LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "above {}",
    "exclusiveMaximum": "below {}",
    "multipleOf": "a multiple of {}",
    "minLength": "{} or more characters",
    "maxLength": "{} or fewer characters",
    "minItems": "{} or more items",
    "maxItems": "{} or fewer items",
    "pattern": "text that fits the pattern {}",
}


class Doubt(NamedTuple):
    """Why something of a fixture can never be right. `place`: the keys that lead to it, in `Case.expected` or, below a
    call, in that; `message` begins with the JSON path of the argument, where it is one."""

    place: Place
    message: str

    def below(self, place: Place, subject: str) -> Doubt:
        """The same of a part that stands at `place` and is called `subject`."""
        return Doubt((*place, *self.place), f"{subject}{self.message}")


def doubts(case: Case) -> Iterator[Doubt]:
    """What of the calls that `case` expects can never be right with the tools on offer; where there are none, nothing
    is known of them."""
    specs = {spec["name"]: spec for spec in case.offered()}
    paths = (case.expected or {}).get("paths", [])
    for number, path in enumerate(paths if specs else [], 1):
        of_path = f"path {number}, " if len(paths) > 1 else ""
        for step, definition in enumerate(path, 1):
            place: Place = ("paths", number - 1, step - 1)
            yield from (each.below(place, f"{of_path}step {step}") for each in _of_call(definition, specs))
            for other, alternative in enumerate(definition.get("alternatives", ()), 1):
                subject = f"{of_path}step {step}, alternative {other}"
                found = _of_call(alternative, specs)
                yield from (each.below((*place, "alternatives", other - 1), subject) for each in found)


def argument_doubts(
    args: dict[str, Any], parameters: Any, ruled: Collection[Parts] = (), holder: str = "the fixture"
) -> Iterator[Doubt]:
    """What of `args`, of which some may be left out, the schema `parameters` of their tool refuses in any valid call.
    Places are below `args`. `ruled`: where an object is one field, and nothing of it is left out. `holder`: what `args`
    are of, for messages."""
    if isinstance(parameters, dict):
        yield from _Arguments(parameters, ruled, holder).of_value(parameters, args, ())


def unknown_tool(name: str, known: Collection[str]) -> str:
    """Says that there is no such tool, and which one may be meant."""
    nearest = did_you_mean(name, known) or f"; on offer are {listed(known)}"
    return f"there is no tool {quoted(name)} on offer{nearest}"


def _of_call(call: Mapping[str, Any], specs: dict[str, dict[str, Any]]) -> Iterator[Doubt]:
    tool = call["tool"]
    if tool not in specs:
        yield Doubt(("tool",), f": {unknown_tool(tool, specs)}")
        return
    root, args = specs[tool].get("parameters"), call.get("args", {})
    if not isinstance(root, dict):
        return
    subject = f" {bounded(tool)} "
    rules = {parse_field_path(path): (path, rule) for path, rule in call.get("rules", {}).items()}
    yield from (each.below(("args",), subject) for each in argument_doubts(args, root, rules))
    for parts, (path, rule) in rules.items():
        found = _of_rule(root, args, parts, rule)
        yield from (each.below(("rules", path), subject) for each in found)


class _Arguments(NamedTuple):
    """The walk through the arguments of one call, beside the schema `root` of its tool."""

    root: dict[str, Any]
    ruled: Collection[Parts]
    holder: str

    def of_value(self, schema: Any, value: Any, parts: Parts) -> Iterator[Doubt]:
        if isinstance(value, dict) and (value or not parts) and parts not in self.ruled:
            yield from self._of_object(schema, value, parts)
            return
        for finding in complaints(self.root, schema, value):
            yield Doubt(parts, f"{json_path(parts)}{finding.path[1:]}: {_refused(finding, value, self.holder)}")

    def _of_object(self, schema: Any, value: dict[str, Any], parts: Parts) -> Iterator[Doubt]:
        """Of an object some members may be left out, so only its type and the members that it has are looked at."""
        wrong_type = type_complaints(self.root, schema, value)
        if wrong_type:
            yield Doubt(parts, f"{json_path(parts)}: {_refused(wrong_type[0], value, self.holder)}")
            return
        known = members(self.root, schema)
        if known is None:
            return
        for name, member in value.items():
            here = (*parts, name)
            misspelt = known.listed and did_you_mean(name, known.schemas)
            if name not in known.schemas and (known.closed or misspelt):
                yield Doubt(here, f"{json_path(here)}: {_no_such_argument(name, known.schemas)}")
            elif known.of(name) is not UNKNOWN:
                yield from self.of_value(known.of(name), member, here)


def _of_rule(root: dict[str, Any], args: Any, parts: Parts, rule: dict[str, Any]) -> Iterator[Doubt]:
    schema: Any = root
    given = False
    for length, name in enumerate(parts, 1):
        known = members(root, schema)
        if known is None:
            return
        given = value_at(args, parts[:length]) is not MISSING
        if name not in known.schemas and not given and (known.closed or known.listed):
            yield Doubt((), f"{json_path(parts)}: the rule is of nothing: {_no_such_argument(name, known.schemas)}")
            return
        schema = known.of(name)
        if schema is UNKNOWN:
            return
    for number, value in enumerate(rule.get("one_of", ())):
        for finding in complaints(root, schema, value):
            message = f"{json_path(parts)}{finding.path[1:]}: {_refused(finding, value, 'one_of')}"
            yield Doubt(("one_of", number), message)
    if "regex" in rule and not given and (wrong_type := type_complaints(root, schema, "")):
        wanted = _wanted(wrong_type[0])
        yield Doubt((), f"{json_path(parts)}: the tool's schema wants {wanted}, and a regex looks at texts alone")


def _no_such_argument(name: str, known: Collection[str]) -> str:
    return f"the tool's schema has no {quoted(name)}{_nearest(name, known)}"


def _nearest(name: str, known: Collection[str]) -> str:
    return did_you_mean(name, known) or (f"; it has {listed(known)}" if known else "")


def _refused(finding: Finding, whole: Any, holder: str) -> str:
    got = finding.got if finding.got is not UNSET else whole
    if finding.keyword == "required":
        return f"the tool's schema wants it, and {holder} leaves it out"
    has = "null" if got is None else described(got)
    return f"the tool's schema wants {_wanted(finding)}, {holder} has {has}{_mend(finding, got)}"


def _wanted(finding: Finding) -> str:
    wanted = finding.wanted
    if finding.keyword == "type":
        kinds = [wanted] if isinstance(wanted, str) else wanted if isinstance(wanted, list) else []
        return " or ".join(_KINDS.get(kind, str(kind)) for kind in kinds)
    if finding.keyword in _LIMITS:
        return _LIMITS[finding.keyword].format(wanted)
    if finding.keyword == "enum":  # of very many the beginning of their text
        return f"one of {', '.join(map(_written, wanted)) if isinstance(wanted, list) else wanted}"
    if finding.keyword == "const":
        return _written(wanted)
    if finding.keyword == "additionalProperties":
        return "no other members"
    if finding.keyword == "false":
        return "no value at all"
    return finding.message or f"what its {finding.keyword} says"


def _mend(finding: Finding, got: Any) -> str:
    if finding.keyword == "enum" and isinstance(got, str):
        return did_you_mean(got, _texts(finding.wanted))
    if finding.keyword != "type":
        return ""
    kinds = _texts([finding.wanted] if isinstance(finding.wanted, str) else finding.wanted)
    if "string" in kinds and isinstance(got, bool | int | float):
        return f"; write it in quotes: {quoted(_written(got))}" if not isinstance(got, bool) else "; write it in quotes"
    if isinstance(got, str) and _is_written_as(got, kinds):
        return f"; write it without quotes: {got}"
    return ""


def _is_written_as(text: str, kinds: list[str]) -> bool:
    """Whether the text would be a number of these kinds, or true or false, if it had no quotes."""
    if text in ("true", "false"):
        return "boolean" in kinds
    try:
        number = float(text)
    except ValueError:
        return False
    return "number" in kinds or ("integer" in kinds and number.is_integer() and text.lstrip("-").isdigit())


def _texts(values: Any) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def _written(value: Any) -> str:
    return json.dumps(bounded(value), ensure_ascii=False)
