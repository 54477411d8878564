"""The expected side of a trace: sequences of steps, compiled once for all attempts of a case."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any, NamedTuple

from evaluator.scoring.arguments import Form, compile_form
from evaluator.scoring.bounds import bounded
from evaluator.scoring.outcome import MalformedError


class Step(NamedTuple):
    """One expected call. `number`: its place in the path as it is written, from 1. `forms`: tool → the calls of it that
    are right, `primary` the step's own. `exact`: arguments that it does not name are a fault."""

    number: int
    turn: int
    required: bool
    exact: bool
    primary: Form
    forms: dict[str, list[Form]]

    def tools(self) -> list[str]:
        """The tools that can stand for it, its own first."""
        return list(self.forms)


class Path(NamedTuple):
    """One valid sequence. `steps` stand by turn, and within a turn by what they hold, so that no figure depends on the
    order in which parallel steps are written. `turns`: how many steps each turn has. `plain`: every step is required,
    has one form and minds no other arguments."""

    steps: list[Step]
    turns: list[int]
    plain: bool


def compile_paths(definitions: Any) -> list[Path]:
    """The valid sequences from the `paths` of `Case.expected`.

    Raises MalformedError with the place and what is wanted; PatternTimeoutError as `compile_form`.
    """
    if not isinstance(definitions, list) or not definitions:
        raise MalformedError("paths is a list of at least one list of steps")
    return [_path(definition, f"paths[{number}]") for number, definition in enumerate(definitions)]


def _path(definitions: Any, where: str) -> Path:
    if not isinstance(definitions, list):
        raise MalformedError(f"{where} is a list of steps, not {bounded(definitions)!r}")
    keyed = []
    for number, definition in enumerate(definitions, 1):
        step = _step(definition, number, f"{where}[{number - 1}]")
        content = {key: value for key, value in definition.items() if key != "turn"}
        keyed.append(((step.turn, json.dumps(content, sort_keys=True), number), step))
    steps = [step for _, step in sorted(keyed, key=lambda pair: pair[0])]
    turns = [len(list(group)) for _, group in groupby(steps, key=lambda step: step.turn)]
    plain = all(step.required and not step.exact and list(step.forms.values()) == [[step.primary]] for step in steps)
    return Path(steps, turns, plain)


def _step(definition: Any, number: int, where: str) -> Step:
    if not isinstance(definition, dict):
        raise MalformedError(f"{where} is a step, not {bounded(definition)!r}")
    turn = definition.get("turn", number)
    if not isinstance(turn, int) or isinstance(turn, bool):
        raise MalformedError(f"{where}: turn is a whole number, not {bounded(turn)!r}")
    match = definition.get("args_match", "subset")
    if match not in ("subset", "exact"):
        raise MalformedError(f"{where}: args_match is subset or exact, not {bounded(match)!r}")
    optional = definition.get("optional", False)
    if not isinstance(optional, bool):
        raise MalformedError(f"{where}: optional is true or false, not {bounded(optional)!r}")
    alternatives = definition.get("alternatives", [])
    if not isinstance(alternatives, list) or not all(isinstance(each, dict) for each in alternatives):
        raise MalformedError(f"{where}: alternatives is a list of objects, not {bounded(alternatives)!r}")
    primary = _form(definition, where)
    forms = {primary.tool: [primary]}
    for place, alternative in enumerate(alternatives):
        form = _form(alternative, f"{where}.alternatives[{place}]")
        forms.setdefault(form.tool, []).append(form)
    return Step(number, turn, not optional, match == "exact", primary, forms)


def _form(definition: dict[str, Any], where: str) -> Form:
    try:
        return compile_form(definition)
    except MalformedError as error:
        raise type(error)(f"{where}: {error}") from error
