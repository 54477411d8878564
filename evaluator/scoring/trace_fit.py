"""How well the calls of an attempt fit one path: which call stands for which step, and the figures of that."""

from __future__ import annotations

from dataclasses import dataclass

from evaluator.scoring.alignment import Candidates, best
from evaluator.scoring.arguments import Arguments, Form
from evaluator.scoring.order import longest
from evaluator.scoring.trace_calls import Calls
from evaluator.scoring.trace_steps import Path, Step

# From here on, calls of one tool are looked up by their values instead of compared one by one.
_MANY = 8
# Longest weight by which fewer wrong fields break ties; with more steps the ties stay.
_MOST_UNITS = 256


class Match:
    """A step and the call that stands for it, with the form of the step that fits the call best."""

    __slots__ = ("call", "exceeded", "form", "right", "step")

    def __init__(self, step: Step, call: int, calls: Calls) -> None:
        self.step = step
        self.call = call
        arguments = calls.arguments[call]
        self.form, self.right, _ = _closest(step, calls.calls[call].tool, arguments)
        self.exceeded = self.form.is_exceeded(arguments)

    def is_wrong(self) -> bool:
        """Whether a field differs, or there is an argument too many where none may be."""
        return self.right < len(self.form.fields) or (self.exceeded and self.step.exact)


@dataclass(frozen=True, slots=True)
class Fit:
    """`matches` in the order of the path's steps; `missing`: required steps without a call; `left`: calls without a
    step. `steps` is what scores are shares of: required steps and matched optional ones; `in_order` how many of these
    were called in the expected order."""

    path: Path
    matches: list[Match]
    missing: list[Step]
    left: list[int]
    steps: int
    in_order: int

    def figures(self) -> dict[str, float]:
        """Those that have a meaning: without a step there is no share of steps, without a field none of fields."""
        values: dict[str, float] = {}
        if self.steps:
            values["tool_score"] = len(self.matches) / self.steps
            values["order_score"] = self.in_order / self.steps
        right = sum([match.right for match in self.matches])
        matched = sum([len(match.form.fields) for match in self.matches])
        expected = matched + sum([len(step.primary.fields) for step in self.missing])
        if expected:
            values["argument_score"] = right / expected
        if matched:
            values["argument_score_matched"] = right / matched
        return values


def fit(path: Path, calls: Calls, excused: int) -> Fit:
    """The best assignment of calls to the steps of a path. `excused`: mask of calls that may be left over without
    blame; among equals the others are used first."""
    if not path.steps:
        return Fit(path, [], [], list(range(len(calls.calls))), 0, 0)
    every = (1 << len(calls.calls)) - 1
    found = _assigned(path, calls, every & ~excused)
    matches: list[Match] = []
    missing: list[Step] = []
    used = 0
    for step, call in zip(path.steps, found, strict=True):
        if call is not None:
            matches.append(Match(step, call, calls))
            used |= 1 << call
        elif step.required:
            missing.append(step)
    left = [] if used == every else [call for call in range(len(calls.calls)) if not used >> call & 1]
    groups: list[list[int]] = []
    start = 0
    for size in path.turns:
        groups.append([_compatible(step, calls) for step in path.steps[start : start + size]])
        start += size
    return Fit(path, matches, missing, left, len(matches) + len(missing), longest(groups, len(calls.calls)))


def _closest(step: Step, tool: str, arguments: Arguments | None) -> tuple[Form, int, bool]:
    """Of the step's forms of a tool the one that is satisfied, else that of most right fields, else that of fewest;
    with its right fields, and whether it is satisfied."""
    grades = []
    for form in step.forms[tool]:
        right = form.right(arguments)
        satisfied = right == len(form.fields) and not (step.exact and form.is_exceeded(arguments))
        grades.append((form, right, satisfied))
    return grades[0] if len(grades) == 1 else max(grades, key=lambda each: (each[2], each[1], -len(each[0].fields)))


def _compatible(step: Step, calls: Calls) -> int:
    compatible = 0
    for tool in step.forms:
        compatible |= calls.mask_of.get(tool, 0)
    return compatible


def _assigned(path: Path, calls: Calls, preferred: int) -> list[int | None]:
    """For each step its call. Where every step has one form, most right fields are fewest wrong ones too. Where forms
    differ, an assignment with nothing wrong goes before all others, and of equally many right fields the one with
    fewest expected."""
    if path.plain:
        return best([_by_right_fields(step, calls) for step in path.steps], preferred)
    graded = [_Graded(step, calls) for step in path.steps]
    found = best([each.satisfying() for each in graded], preferred)
    if all(each.is_content_with(call) for each, call in zip(graded, found, strict=True)):
        return found
    # A call with something wrong may have to stand for a step: as many are to be matched as can be.
    most_matched = best(
        [Candidates(each.step.required, each.compatible, [each.satisfied]) for each in graded], preferred
    )
    if all(each.is_satisfied_by(call) for each, call in zip(graded, most_matched, strict=True)):
        return found
    most = max([each.most_fields for each in graded])
    unit = 1 + len(graded) * 2 * most
    if unit > _MOST_UNITS:
        unit = 1
    return best([each.candidates(unit, most) for each in graded], preferred)


def _by_right_fields(step: Step, calls: Calls) -> Candidates:
    form = step.primary
    indices = calls.of_tool.get(form.tool)
    if indices is None:
        return Candidates(step.required, 0, ())
    if len(form.fields) < len(indices) > _MANY:
        levels = _by_value(form, calls)
    else:
        masks: dict[int, int] = {}
        for index in indices:
            right = form.right(calls.arguments[index])
            masks[right] = masks.get(right, 0) | 1 << index
        levels = _levels(masks)
    return Candidates(step.required, calls.mask_of[form.tool], levels)


def _by_value(form: Form, calls: Calls) -> list[int]:
    levels = [0] * len(form.fields)
    for count, field in enumerate(form.fields):
        right = calls.right(form.tool, field)
        for level in range(count, 0, -1):
            levels[level] |= levels[level - 1] & right
        levels[0] |= right
    return levels


def _levels(masks: dict[int, int]) -> list[int]:
    """From the calls of each weight those of at least each weight, from 1."""
    levels = [0] * max(masks, default=0)
    reached = 0
    for weight in range(len(levels), 0, -1):
        reached |= masks.get(weight, 0)
        levels[weight - 1] = reached
    return levels


class _Graded:
    """How well each call would stand for a step: `satisfied` is the mask of those with nothing wrong."""

    __slots__ = ("_grades", "compatible", "most_fields", "satisfied", "step")

    def __init__(self, step: Step, calls: Calls) -> None:
        self.step = step
        self.compatible = _compatible(step, calls)
        self.most_fields = max([len(form.fields) for forms in step.forms.values() for form in forms])
        self.satisfied = 0
        self._grades: dict[tuple[int, int], int] = {}
        for tool in step.forms:
            for index in calls.of_tool.get(tool, ()):
                form, right, satisfied = _closest(step, tool, calls.arguments[index])
                grade = (right, len(form.fields))
                self._grades[grade] = self._grades.get(grade, 0) | 1 << index
                if satisfied:
                    self.satisfied |= 1 << index

    def is_content_with(self, call: int | None) -> bool:
        """Whether the step has a call with nothing wrong, or is optional and could have none at all."""
        return call is not None or not (self.step.required or self.compatible)

    def is_satisfied_by(self, call: int | None) -> bool:
        """Whether nothing is wrong with that call, or no call with the step being optional."""
        return not self.step.required if call is None else bool(self.satisfied >> call & 1)

    def satisfying(self) -> Candidates:
        """The calls with nothing wrong alone, by their fields."""
        masks: dict[int, int] = {}
        for (right, _), mask in self._grades.items():
            masks[right] = masks.get(right, 0) | mask & self.satisfied
        return Candidates(self.step.required, self.satisfied, _levels(masks))

    def candidates(self, unit: int, most: int) -> Candidates:
        """By right fields, each of which weighs `unit`, and with `unit` above 1 by the fields that scores are shares
        of: what a pair adds to these (a required step that is not called adds its own) is at most `most`."""
        if unit == 1:
            masks: dict[int, int] = {}
            for (right, _), mask in self._grades.items():
                masks[right] = masks.get(right, 0) | mask
            return Candidates(self.step.required, self.compatible, _levels(masks))
        uncalled = len(self.step.primary.fields) if self.step.required else 0
        weights = {right * unit + most - (fields - uncalled): mask for (right, fields), mask in self._grades.items()}
        return Candidates(self.step.required, self.compatible, _levels(weights))
