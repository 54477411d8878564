"""json_call: the answer is the JSON of one function call with the right name and accepted arguments.

Two versions. `json_call@1` (ours) does what the task's text says: types count. `json_call@upstream` does what
trapstreet's judge does: anything equal as a float is equal, and JSON is read leniently. Every answer that @1 accepts
@upstream accepts too; where they differ on an attempt, a finding says so and the chosen version decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import UNSET

from evaluator.json_text import parse_json_leniently
from evaluator.results import Finding
from evaluator.scoring.answer import FunctionCall, Unreadable, read_call
from evaluator.scoring.bounds import bounded, json_path
from evaluator.scoring.outcome import MalformedError, Outcome
from evaluator.transcript import Transcript

VERSIONS = {"1": "json_call@1", "upstream": "json_call@upstream"}

Equal = Callable[[Any, Any], bool]
Check = Callable[[Transcript, FunctionCall | Unreadable], Outcome]


class GoldArgument(NamedTuple):
    """`accepted`: the values that are right; `optional`: it may be left out, be null or an empty string."""

    name: str
    path: str
    accepted: list[Any]
    optional: bool
    types: frozenset[str]
    wanted: Any


class GoldCall(NamedTuple):
    """The function call that is wanted."""

    name: str
    arguments: list[GoldArgument]


def compile_json_call(definition: dict[str, Any], version: str) -> Check:
    """A check from a matcher's definition `{function_name, args_accepted: {argument: [values]}}`.

    The check takes the transcript and its call as the strict parser reads it. Raises MalformedError.
    """
    if version not in VERSIONS:
        raise MalformedError(f"the option json_call is {version!r}; it is one of {', '.join(map(repr, VERSIONS))}")
    gold = _gold(definition)
    upstream_decides = version == "upstream"

    def check(transcript: Transcript, strict: FunctionCall | Unreadable) -> Outcome:
        ours, wrong = _judge(gold, strict, strictly_equal)
        if ours.failure_mode is None:
            return ours
        # What the strict parser reads, a lenient one reads alike; and an argument that is right stays right.
        call = strict if isinstance(strict, FunctionCall) else read_call(transcript, parse_json_leniently)
        if not _upstream_accepts(gold, call, wrong if call is strict else gold.arguments):
            return _judge(gold, call, equal_as_floats)[0] if upstream_decides else ours
        outcome = Outcome(None, (), ours.gold, ours.gold) if upstream_decides else ours
        return outcome._replace(findings=[*outcome.findings, _DIFFERS])

    return check


_DIFFERS = Finding(
    path="$",
    keyword="upstream_differs",
    message="json_call@upstream accepts this answer, json_call@1 refuses it",
)


def strictly_equal(got: Any, wanted: Any) -> bool:
    """JSON equality: numbers across int and float, never a boolean or a string for a number; lists item by item."""
    kind = type(wanted)
    if kind is int or kind is float:
        return type(got) in (int, float) and bool(got == wanted)
    if type(got) is not kind:
        return False
    if kind is list:
        if len(got) != len(wanted):
            return False
        for one, other in zip(got, wanted, strict=True):  # noqa: SIM110 - a generator would double the stack's depth
            if not strictly_equal(one, other):
                return False
        return True
    if kind is dict:
        if got.keys() != wanted.keys():
            return False
        for key, other in wanted.items():  # noqa: SIM110 - as above
            if not strictly_equal(got[key], other):
                return False
        return True
    return bool(got == wanted)


def equal_as_floats(got: Any, wanted: Any) -> bool:
    """Whether both are the same number when read by `float`, as "5000" and 5000 or true and 1, or plainly equal; lists
    item by item."""
    if got == wanted:
        return True
    if isinstance(got, list) and isinstance(wanted, list):
        if len(got) != len(wanted):
            return False
        for one, other in zip(got, wanted, strict=True):  # noqa: SIM110 - as above
            if not equal_as_floats(one, other):
                return False
        return True
    try:
        return float(got) == float(wanted)
    except (TypeError, ValueError, OverflowError):
        return False


def _judge(gold: GoldCall, call: FunctionCall | Unreadable, equal: Equal) -> tuple[Outcome, list[GoldArgument]]:
    """The outcome, and the arguments that are wrong."""
    total = len(gold.arguments)
    if isinstance(call, Unreadable):
        return Outcome(call.failure_mode, [call.finding], 0, total), []
    name, arguments = call
    if name != gold.name:
        got = UNSET if name is None else bounded(name)
        return Outcome("wrong_tool", [Finding(path="$", keyword="name", wanted=gold.name, got=got)], 0, total), []
    wrong: list[GoldArgument] = []
    modes: set[str] = set()
    findings: list[Finding] = []
    for argument in gold.arguments:
        mode = _argument_fault(argument, arguments, equal)
        if mode is not None:
            wrong.append(argument)
            modes.add(mode)
            findings.append(_argument_finding(argument, arguments, mode))
    return Outcome(_first(modes), findings, total - len(wrong), total), wrong


def _upstream_accepts(gold: GoldCall, call: FunctionCall | Unreadable, doubtful: list[GoldArgument]) -> bool:
    """`doubtful`: the arguments to look at; the others are known to be right."""
    if isinstance(call, Unreadable) or call.name != gold.name:
        return False
    return all(_argument_fault(argument, call.arguments, equal_as_floats) is None for argument in doubtful)


_MISSING = object()


def _argument_fault(argument: GoldArgument, arguments: dict[str, Any], equal: Equal) -> str | None:
    got = arguments.get(argument.name, _MISSING)
    if got is _MISSING:
        return None if argument.optional else "missing_argument"
    for accepted in argument.accepted:
        if equal(got, accepted):
            return None
    if argument.optional and (got is None or got == ""):
        return None
    return "wrong_type" if argument.types and json_type(got) not in argument.types else "wrong_value"


_KEYWORD = {"missing_argument": "required", "wrong_type": "type", "wrong_value": "value"}


def _argument_finding(argument: GoldArgument, arguments: dict[str, Any], mode: str) -> Finding:
    got = UNSET if mode == "missing_argument" else bounded(arguments[argument.name])
    return Finding(path=argument.path, keyword=_KEYWORD[mode], wanted=argument.wanted, got=got)


def _first(modes: set[str]) -> str | None:
    for mode in _KEYWORD:  # in the order in which vocabulary.FAILURE_MODES decides
        if mode in modes:
            return mode
    return None


def json_type(value: Any) -> str:
    """The JSON type of a value; all numbers are one type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _gold(definition: dict[str, Any]) -> GoldCall:
    name = definition.get("function_name")
    if not isinstance(name, str) or not name:
        raise MalformedError("function_name is the name of a function")
    accepted = definition.get("args_accepted")
    if not isinstance(accepted, dict):
        raise MalformedError("args_accepted is an object of argument names and lists of accepted values")
    return GoldCall(name, [_gold_argument(argument, values) for argument, values in accepted.items()])


def _gold_argument(name: str, values: Any) -> GoldArgument:
    if not isinstance(values, list) or not values:
        raise MalformedError(f"args_accepted.{name} is a list of at least one accepted value")
    accepted = [value for value in values if value != ""]
    types = frozenset(json_type(value) for value in accepted)
    wanted = bounded(accepted[0] if len(accepted) == 1 else accepted) if accepted else UNSET
    return GoldArgument(name, json_path([name]), accepted, len(accepted) < len(values), types, wanted)
