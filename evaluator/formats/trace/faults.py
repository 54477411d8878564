"""Faults of a fixture that its schema cannot say: names that are not there, rules that do not go with their value.

Runs beside the check of the shape on the plain value, so that every fault is reported at once; what has the wrong type
is skipped here because the shape already names it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from evaluator.config.wording import did_you_mean, listed
from evaluator.formats.trace.fixture import ATTEMPT_KEYS
from evaluator.formats.trace.steps import normalizer_faults, step_faults, turn_faults
from evaluator.formats.trace.values import Fault, each, list_of, mapping_of
from evaluator.scoring.checks import compile_checks
from evaluator.scoring.outcome import MalformedError
from evaluator.yaml_scalars import quoted
from evaluator.yaml_text import Path_


def faults(fixture: Any) -> Iterator[Fault]:
    """Each fault of one fixture, in no order."""
    if isinstance(fixture, list):
        yield Fault((), "a file holds one fixture", "Write one a file, or one a line in a file *.jsonl.")
    if not isinstance(fixture, dict):
        return
    yield from _task_id(fixture)
    yield from _messages(fixture)
    yield from _expected(fixture)
    yield from _checks(fixture)
    yield from _tool_names(fixture)
    yield from _recordings(fixture)


def _task_id(fixture: dict[str, Any]) -> Iterator[Fault]:
    name = fixture.get("task_id")
    if isinstance(name, str) and (not name.isprintable() or name != name.strip()):
        message = f"{quoted(name)} begins or ends with a space, or has a character that cannot be printed"
        yield Fault(("task_id",), message)


def _messages(fixture: dict[str, Any]) -> Iterator[Fault]:
    for place, message in each(fixture.get("input"), dict):
        path: Path_ = ("input", place)
        role = message.get("role")
        if message.get("content") is None and not (role == "assistant" and message.get("tool_calls")):
            yield Fault(path, "the message has no content", "Only an assistant's message with tool_calls needs none.")
        if role == "tool" and "tool_call_id" not in message:
            yield Fault(path, "a message of the role tool says which call it answers", "Add its tool_call_id.")
        for key, owner in (("tool_calls", "assistant"), ("tool_call_id", "tool")):
            if key in message and isinstance(role, str) and role != owner:
                yield Fault((*path, key), f"only a message of the role {owner} has it", key=True)


def _expected(fixture: dict[str, Any]) -> Iterator[Fault]:
    if "expected_invocations" in fixture and "expected_paths" in fixture:
        mend = "Put the one sequence into expected_paths, or keep only expected_invocations."
        yield Fault(("expected_paths",), "expected_invocations is given as well", mend, key=True)
    if fixture.get("checks") and "expected_invocations" not in fixture and "expected_paths" not in fixture:
        message = "there are checks, but no calls are expected, so the case would never be scored"
        mend = "Write expected_invocations; [] where no call is right."
        yield Fault(("checks",), message, mend, key=True)
    for path, steps in _sequences(fixture):
        for found in turn_faults(steps):
            yield found.below(path)
        for place, step in each(steps, dict):
            for found in step_faults(step):
                yield found.below((*path, place))
    steps = [step for _, sequence in _sequences(fixture) for _, step in each(sequence, dict)]
    for found in normalizer_faults(mapping_of(fixture, "normalizers"), steps):
        yield found.below(("normalizers",))


def _sequences(fixture: dict[str, Any]) -> Iterator[tuple[Path_, list[Any]]]:
    """Where each expected sequence of steps stands, and its steps."""
    if isinstance(fixture.get("expected_invocations"), list):
        yield ("expected_invocations",), fixture["expected_invocations"]
    for place, steps in each(fixture.get("expected_paths"), list):
        yield ("expected_paths", place), steps


def _checks(fixture: dict[str, Any]) -> Iterator[Fault]:
    definitions = list_of(fixture, "checks")
    try:
        compile_checks(definitions)
    except MalformedError:
        for place, definition in enumerate(definitions):
            if isinstance(definition, dict):
                yield from _check(place, definition)


def _check(place: int, definition: dict[str, Any]) -> Iterator[Fault]:
    try:
        compile_checks([definition])
    except MalformedError as error:
        message = str(error).removeprefix("checks[0]").lstrip(": ")
        yield Fault(("checks", place), message, "docs/scoring.md lists the checks and their fields.")


def _tool_names(fixture: dict[str, Any]) -> Iterator[Fault]:
    """Names of tools against the inline specs, and what is expected against what is allowed."""
    specs = [spec.get("function", spec) for _, spec in each(fixture.get("tools"), dict)]
    offered = [spec["name"] for spec in specs if isinstance(spec, dict) and isinstance(spec.get("name"), str)]
    allowed = fixture.get("allowed_tools")
    for path, name in _named(fixture):
        if offered and name not in offered:
            yield Fault(path, f"there is no tool {quoted(name)} in tools{did_you_mean(name, offered)}", _known(offered))
        elif path[0] in _OF_STEPS and isinstance(allowed, list) and name not in allowed:
            yield Fault(path, f"{quoted(name)} is expected, but allowed_tools does not have it", "Add it there.")


_OF_STEPS = ("expected_invocations", "expected_paths")


def _known(names: Collection[str]) -> str:
    return f"The inline tools are: {listed(names)}."


def _named(fixture: dict[str, Any]) -> Iterator[tuple[Path_, str]]:
    for key in ("allowed_tools", "read_only", "expected_errors"):
        yield from (((key, place), name) for place, name in each(fixture.get(key), str))
    places = [("mocks", place, mock) for place, mock in each(fixture.get("mocks"), dict)]
    yield from (((key, place, "tool"), mock["tool"]) for key, place, mock in places if _has_tool(mock))
    for path, steps in _sequences(fixture):
        for place, step in each(steps, dict):
            if _has_tool(step):
                yield (*path, place, "tool"), step["tool"]
            for number, other in each(step.get("alternatives"), dict):
                if _has_tool(other):
                    yield (*path, place, "alternatives", number, "tool"), other["tool"]


def _has_tool(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("tool"), str) and bool(value["tool"])


def _recordings(fixture: dict[str, Any]) -> Iterator[Fault]:
    own = next((key for key in ATTEMPT_KEYS if key in fixture), None)
    if own and fixture.get("recordings"):
        yield Fault((own,), "recordings are given as well", "Put this attempt into recordings too.", key=True)
    yield from _attempt((), fixture)
    first: dict[int, int] = {}
    for place, recording in each(fixture.get("recordings"), dict):
        path: Path_ = ("recordings", place)
        number = recording.get("attempt", place + 1)
        if isinstance(number, int) and first.setdefault(number, place) != place:
            mend = "Number the attempts apart; left out, the number is the place in the list."
            yield Fault((*path, "attempt"), f"attempt {number} is that of recordings[{first[number]}] too", mend)
        yield from _attempt(path, recording)


def _attempt(path: Path_, recording: Mapping[str, Any]) -> Iterator[Fault]:
    calls = recording.get("actual_invocations")
    here: Path_ = (*path, "actual_invocations")
    for found in turn_faults(calls if isinstance(calls, list) else []):
        yield found.below(here)
    for place, call in each(calls, dict):
        if call.get("tool") == "" and "fault" not in call:
            yield Fault((*here, place, "tool"), "is empty", "Only a call with a fault may have no name.")
    for place, check in each(recording.get("schema_checks"), dict):
        step, most = check.get("step"), len(calls) if isinstance(calls, list) else 0
        if isinstance(step, int) and step > most:
            message = f"there is no call {step}; actual_invocations has {most}"
            yield Fault((*path, "schema_checks", place, "step"), message)
