"""Expected steps in the form that the scorer reads: rules by canonical path, the fixture's normalizers folded in."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from evaluator.formats.trace.fixture import Alternative, Fixture, Step
from evaluator.scoring.arguments import MISSING, value_at
from evaluator.scoring.bounds import bounded, json_path
from evaluator.scoring.field_paths import Parts, parse_field_path
from evaluator.scoring.outcome import MalformedError


def written_out(rule: Any) -> Any:
    """A rule as the scorer has it: the word `exact` is `{"exact": true}`."""
    return {rule: True} if isinstance(rule, str) else rule


def field_of(path: str) -> Parts:
    """The keys that a rule's path leads by. Raises MalformedError where it is no path that can be written again."""
    parts = parse_field_path(path)
    if parse_field_path(json_path(parts)) != parts:
        raise MalformedError(f"{bounded(path)!r} is too long for the path of a rule")
    return parts


def wanted_at(args: Any, parts: Parts) -> Any:
    """The value that arguments have there, UNSET where they have none."""
    value = value_at(args, parts) if isinstance(args, dict) else MISSING
    return UNSET if value is MISSING else value


def canonical_paths(fixture: Fixture) -> list[list[dict[str, Any]]] | None:
    """The valid sequences, None where nothing is expected. Defaults are left out."""
    paths = fixture.paths()
    if paths is None:
        return None
    return [[_step(fixture, step, place) for place, step in enumerate(path, 1)] for path in paths]


def _step(fixture: Fixture, step: Step, place: int) -> dict[str, Any]:
    canonical = {"turn": place if step.turn is UNSET else step.turn, **_call(fixture, step)}
    if step.alternatives:
        canonical["alternatives"] = [_call(fixture, each) for each in step.alternatives]
    if step.optional:
        canonical["optional"] = True
    if step.args_match == "exact":
        canonical["args_match"] = "exact"
    return canonical


def _call(fixture: Fixture, call: Step | Alternative) -> dict[str, Any]:
    canonical: dict[str, Any] = {"tool": call.tool}
    if call.args is not UNSET:
        canonical["args"] = call.args
    own = {field_of(path): written_out(msgspec.to_builtins(rule)) for path, rule in call.rules.items()}
    rules = {**dict(_normalizers(fixture.normalizers, call, own)), **own}
    if rules:
        canonical["rules"] = {json_path(parts): rule for parts, rule in rules.items()}
    return canonical


def _normalizers(
    normalizers: Mapping[str, Any], call: Step | Alternative, own: Collection[Parts]
) -> Iterator[tuple[Parts, dict[str, str]]]:
    """The normalizers of a call's texts. One for its tool goes before one for all; what a rule of its own looks at, or
    what lies inside of that, is the rule's."""
    for entries in (normalizers, normalizers.get(call.tool)):
        for path, name in entries.items() if isinstance(entries, dict) else ():
            if isinstance(name, str):
                parts = field_of(path)
                ruled = any(parts[: len(each)] == each for each in own)
                if not ruled and isinstance(wanted_at(call.args, parts), str):
                    yield parts, {"normalizer": name}
