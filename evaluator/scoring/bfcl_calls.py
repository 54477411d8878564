"""Calls against the calls that are wanted: is one right, and which stands for which?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET

from evaluator.results import Finding
from evaluator.scoring.alignment import Candidates, best
from evaluator.scoring.bfcl_values import Parameter, compile_parameter
from evaluator.scoring.bounds import bounded, json_path
from evaluator.scoring.outcome import MalformedError


class Decoded(NamedTuple):
    """A call that was made."""

    tool: str
    arguments: dict[str, Any]


class Look(NamedTuple):
    """What is wrong with a call in place of a wanted one: the failure mode, how many arguments are right, findings."""

    mode: str | None
    right: int
    findings: list[Finding]


class WantedCall(NamedTuple):
    """A call that is wanted. `required`: parameters that its function requires; `parameters`: those that it declares
    and for which values are accepted. Of all `total` for which values are, `needed` may not be left out by these
    values, and `optional` may be left out."""

    tool: str
    required: tuple[str, ...]
    parameters: dict[str, Parameter]
    total: int
    needed: tuple[str, ...]
    optional: tuple[str, ...]

    def fault(self, call: Decoded) -> str | None:
        """The failure mode of `call` in place of this one, the first in the order of upstream's checks; None where it
        is right."""
        tool, arguments = call
        if tool != self.tool:
            return "wrong_tool"
        for name in self.required:
            if name not in arguments:
                return "missing_argument"
        parameters = self.parameters
        for name, value in arguments.items():
            parameter = parameters.get(name)
            if parameter is None:
                return "unexpected_argument"
            fault = parameter.fault(value)
            if fault is not None:
                return fault
        for name in self.needed:
            if name not in arguments:
                return "missing_argument"
        return None

    def right(self, call: Decoded) -> int:
        """How many of the wanted arguments `call`, of the same tool, has right; one that may be left out and is, is."""
        arguments, parameters = call.arguments, self.parameters
        right = sum([name not in arguments for name in self.optional])
        for name, value in arguments.items():
            parameter = parameters.get(name)
            if parameter is not None and parameter.fault(value) is None:
                right += 1
        return right

    def look(self, call: Decoded, place: dict[str, Any]) -> Look:
        """All that `fault` and `right` say of a call, with findings in the order of `fault`. `place`: fields that each
        finding gets."""
        tool, arguments = call
        if tool != self.tool:
            found = Finding(path="$", keyword="name", wanted=bounded(self.tool), got=bounded(tool), **place)
            return Look("wrong_tool", 0, [found])
        missing = [name for name in self.required if name not in arguments]
        mode = "missing_argument" if missing else None
        findings = [self._missing(name, place) for name in missing]
        right = sum([name not in arguments for name in self.optional])
        for name, value in arguments.items():
            parameter = self.parameters.get(name)
            fault = "unexpected_argument" if parameter is None else parameter.fault(value)
            if fault is None:
                right += 1
                continue
            mode = mode or fault
            if parameter is None:
                findings.append(Finding(path=json_path([name]), keyword=fault, got=bounded(value), **place))
            else:
                findings += parameter.findings(value, fault, place)
        for name in self.needed:
            if name not in arguments and name not in missing:
                mode = mode or "missing_argument"
                findings.append(self._missing(name, place))
        return Look(mode, right, findings)

    def _missing(self, name: str, place: dict[str, Any]) -> Finding:
        known = self.parameters.get(name)
        wanted = UNSET if known is None else known.wanted
        return Finding(path=json_path([name]), keyword="required", wanted=wanted, **place)


class Pair(NamedTuple):
    """The indices of a wanted call and of the call that stands for it, None where there is none."""

    wanted: int
    call: int | None


def accepts(wanted: Sequence[WantedCall], calls: Sequence[Decoded], *, greedy: bool) -> bool:
    """Whether the calls are as many as are wanted, and each wanted one has a right one of its own.

    `greedy`: each wanted call in turn takes the first right call that is left, as upstream does, so that the order of
    the calls can decide; else any assignment will do.
    """
    if len(wanted) != len(calls):
        return False
    if len(wanted) == 1:
        return wanted[0].fault(calls[0]) is None
    taken: set[int] = set()
    for each in wanted:
        call = _first_right(each, calls, taken)
        if call is None:
            # Another assignment is only worth a search where a call that another took would do.
            fits = not greedy and any(each.fault(calls[index]) is None for index in taken)
            return fits and _has_assignment(wanted, calls)
        taken.add(call)
    return True


def _first_right(wanted: WantedCall, calls: Sequence[Decoded], taken: Collection[int]) -> int | None:
    for index, call in enumerate(calls):
        if index not in taken and wanted.fault(call) is None:
            return index
    return None


def _has_assignment(wanted: Sequence[WantedCall], calls: Sequence[Decoded]) -> bool:
    masks = [_mask([each.fault(call) is None for call in calls]) for each in wanted]
    return None not in best([Candidates(True, mask, ()) for mask in masks], 0)


def paired(wanted: Sequence[WantedCall], calls: Sequence[Decoded], *, greedy: bool) -> list[Pair]:
    """Each wanted call with the call that stands for it: of the assignments with most pairs of one tool, that in which
    most arguments are right. `greedy`: after those that upstream's order assigns. Wanted calls that are left without
    one of their tool get those that are left over, in order."""
    found: dict[int, int] = {}
    if greedy:
        for number, each in enumerate(wanted):
            call = _first_right(each, calls, found.values())
            if call is not None:
                found[number] = call
    taken = set(found.values())
    rest: dict[str, tuple[list[int], list[int]]] = {}
    for number, each in enumerate(wanted):
        if number not in found:
            rest.setdefault(each.tool, ([], []))[0].append(number)
    for index, made in enumerate(calls):
        if index not in taken and made.tool in rest:
            rest[made.tool][1].append(index)
    for numbers, indices in rest.values():
        found |= _of_one_tool(wanted, numbers, calls, indices)
    taken = set(found.values())
    left = iter([index for index in range(len(calls)) if index not in taken])
    return [Pair(number, found[number] if number in found else next(left, None)) for number in range(len(wanted))]


def _of_one_tool(
    wanted: Sequence[WantedCall], numbers: list[int], calls: Sequence[Decoded], indices: list[int]
) -> dict[int, int]:
    if len(numbers) == len(indices) == 1:
        return {numbers[0]: indices[0]}
    steps = [_candidates(wanted[number], [calls[index] for index in indices]) for number in numbers]
    assigned = zip(numbers, best(steps, 0), strict=True)
    return {number: indices[place] for number, place in assigned if place is not None}


def _candidates(wanted: WantedCall, calls: Sequence[Decoded]) -> Candidates:
    """A call that is right as a whole weighs more than one whose arguments are, beside others."""
    grades = [wanted.total + 1 if wanted.fault(call) is None else wanted.right(call) for call in calls]
    levels = [_mask([grade > level for grade in grades]) for level in range(max(grades, default=0))]
    return Candidates(True, (1 << len(calls)) - 1, levels)


def _mask(bits: list[bool]) -> int:
    return sum([1 << index for index, bit in enumerate(bits) if bit])


def compile_calls(definitions: Any) -> list[WantedCall]:
    """The wanted calls of a case, from `[{"tool", "required": [names], "arguments": {name: {"accepted", "type",
    "items"}}}]`. An argument without a type is one that the function does not declare. Raises MalformedError."""
    if not isinstance(definitions, list):
        raise MalformedError(f"the wanted calls are a list, not {bounded(definitions)!r}")
    return [_compiled(definition, f"calls[{number}]") for number, definition in enumerate(definitions)]


def _compiled(definition: Any, where: str) -> WantedCall:
    if not isinstance(definition, dict):
        raise MalformedError(f"{where} is an object with tool, required and arguments")
    tool, required, arguments = definition.get("tool"), definition.get("required", []), definition.get("arguments")
    if not isinstance(tool, str) or not isinstance(required, list) or not isinstance(arguments, dict):
        raise MalformedError(f"{where} is an object with tool, required and arguments")
    parameters, needed = {}, []
    for name, argument in arguments.items():
        try:
            accepted = _accepted(argument)
            if "type" in argument:
                parameters[name] = compile_parameter(name, accepted, argument["type"], argument.get("items"))
        except MalformedError as error:
            raise MalformedError(f"{where}.arguments.{bounded(name)}: {error}") from error
        if "" not in accepted:
            needed.append(name)
    optional = [name for name in arguments if name not in needed and name not in required]
    return WantedCall(tool, tuple(required), parameters, len(arguments), tuple(needed), tuple(optional))


def _accepted(argument: Any) -> list[Any]:
    accepted = argument.get("accepted") if isinstance(argument, dict) else argument
    if not isinstance(accepted, list):
        raise MalformedError(f"the accepted values are a list, not {bounded(accepted)!r}")
    return accepted
