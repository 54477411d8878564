"""Faults of expected steps: their turns, rules, alternatives, and the normalizers of the fixture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from evaluator.config.wording import did_you_mean
from evaluator.formats.trace.fixture import AnyRule
from evaluator.formats.trace.rules import field_of, wanted_at, written_out
from evaluator.formats.trace.values import Fault, each, mapping_of
from evaluator.scoring.arguments import compile_form
from evaluator.scoring.field_paths import Parts
from evaluator.scoring.field_rules import compare_by
from evaluator.scoring.normalizers import normalizer
from evaluator.scoring.outcome import MalformedError
from evaluator.scoring.patterns import PatternTimeoutError
from evaluator.yaml_scalars import quoted


def turn_faults(steps: Sequence[Any]) -> Iterator[Fault]:
    """Turns count upwards: a list is read in the order of what happens."""
    before = 0
    for place, step in each(steps, dict):
        turn = step.get("turn", place + 1)
        if not isinstance(turn, int) or isinstance(turn, bool):
            continue
        if turn < before:
            mend = "List calls in the order of their turns; left out, a turn is the place in the list, from 1."
            yield Fault((place, "turn"), f"turn {turn} stands after turn {before}", mend)
        before = max(before, turn)


def step_faults(step: Mapping[str, Any]) -> Iterator[Fault]:
    """What is wrong with one expected step."""
    yield from _call_faults(step)
    others = list(each(step.get("alternatives"), dict))
    if step.get("args_match") == "exact" and not any("args" in call for call in (step, *(o for _, o in others))):
        yield Fault(("args_match",), "exact, but there are no args to match", "Write args; {} where there are none.")
    forms = [{key: step.get(key) for key in ("tool", "args", "rules")}]
    for place, other in others:
        yield from (found.below(("alternatives", place)) for found in _call_faults(other))
        form = {key: other.get(key) for key in ("tool", "args", "rules")}
        if form in forms:
            yield Fault(("alternatives", place), "says the same as the step, or as an alternative before it")
        forms.append(form)


def _call_faults(call: Mapping[str, Any]) -> Iterator[Fault]:
    rules = mapping_of(call, "rules")
    args = call.get("args", UNSET)
    if not (args is UNSET or isinstance(args, dict)) or not all(map(_has_shape, rules.values())):
        return
    refused = {path: message for path, rule in rules.items() if (message := _rule_fault(path, rule, args))}
    yield from (Fault(("rules", path), message) for path, message in refused.items())
    if rules and not refused:
        yield from _overlaps(rules, args)


def _has_shape(rule: Any) -> bool:
    try:
        msgspec.convert(rule, AnyRule)
    except msgspec.ValidationError:
        return False
    return True


def _rule_fault(path: str, rule: Any, args: Any) -> str | None:
    """Why a rule cannot be applied."""
    try:
        compare_by(written_out(rule), wanted_at(args, field_of(path)))
    except (MalformedError, PatternTimeoutError) as error:
        return str(error)
    return None


def _overlaps(rules: Mapping[str, Any], args: Any) -> Iterator[Fault]:
    """Rules that are right each by itself, but not side by side."""
    first: dict[Parts, str] = {}
    twice = [(path, first[field_of(path)]) for path in rules if first.setdefault(field_of(path), path) != path]
    yield from (Fault(("rules", path), f"is the same field as {other}", key=True) for path, other in twice)
    form = {"tool": "-", "rules": {path: written_out(rule) for path, rule in rules.items()}}
    try:
        compile_form(form if args is UNSET else {**form, "args": args})
    except (MalformedError, PatternTimeoutError) as error:
        if not twice:
            yield Fault(("rules",), str(error))


def normalizer_faults(normalizers: Mapping[str, Any], steps: Sequence[Mapping[str, Any]]) -> Iterator[Fault]:
    """What is wrong with the fixture's normalizers, given all its expected steps."""
    calls = [call for step in steps for call in (step, *(other for _, other in each(step.get("alternatives"), dict)))]
    tools = {call["tool"] for call in calls if isinstance(call.get("tool"), str)}
    for key, value in normalizers.items():
        if isinstance(value, str):
            yield from _normalizer_fault((key,), key, value, calls)
        elif isinstance(value, dict) and key not in tools:
            hint = did_you_mean(key, tools)
            yield Fault((key,), f"no expected step calls {quoted(key)}{hint}", key=True)
        elif isinstance(value, dict):
            own = [call for call in calls if call.get("tool") == key]
            for path, name in value.items():
                if isinstance(name, str):
                    yield from _normalizer_fault((key, path), path, name, own)


def _normalizer_fault(
    place: tuple[str, ...], path: str, name: str, calls: Sequence[Mapping[str, Any]]
) -> Iterator[Fault]:
    try:
        parts = field_of(path)
        normalizer(name)
    except MalformedError as error:
        yield Fault(place, str(error))
        return
    values = [value for call in calls if (value := wanted_at(call.get("args"), parts)) is not UNSET]
    if not values:
        yield Fault(place, f"no expected step has an argument at {path}", "Check the path against args.", key=True)
    elif not any(isinstance(value, str) for value in values):
        yield Fault(place, f"the arguments at {path} are no text, and a normalizer compares text", key=True)
