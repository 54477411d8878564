"""Expected steps beside the calls that were made. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET

from evaluator.reports.page_pairs import Pair, Side, is_json, json_text, parsed, paths
from evaluator.results import Finding
from evaluator.transcript import Call

_LEFT_OVER = ("extra_call", "wrong_tool", "excused_call")


@dataclass(frozen=True)
class Step:
    """An expected call. `tools`: those that can stand for it; `args`: what it says of the arguments in plain values."""

    side: Side
    tools: Sequence[str]
    args: dict[str, Any] = field(default_factory=dict)


def matched(steps: Sequence[Step], calls: Sequence[Call], findings: Sequence[Finding]) -> list[Pair]:
    """In the order of the steps, each extra call where it was made."""
    stands_for = {f.step: f.call - 1 for f in findings if f.step and f.call and f.call <= len(calls)}
    missing = {finding.step for finding in findings if finding.keyword == "missing_call"}
    alone = {f.call - 1 for f in findings if f.call and not f.step and f.keyword in _LEFT_OVER}
    alone.update(stands_for.values())
    free = [number for number in range(len(calls)) if number not in alone]
    for number, step in enumerate(steps, start=1):
        if number in stands_for or number in missing:
            continue
        call = _first_fitting(step, calls, free)
        if call is not None:
            stands_for[number] = call
            free.remove(call)
    return list(_in_order(steps, calls, stands_for, findings))


def _first_fitting(step: Step, calls: Sequence[Call], free: Sequence[int]) -> int | None:
    named = [number for number in free if calls[number].tool in step.tools]
    if len(named) > 1 and step.args:
        return next((number for number in named if _holds(calls[number].arguments, step.args)), named[0])
    return named[0] if named else None


def _holds(arguments: str, wanted: dict[str, Any]) -> bool:
    got = parsed(arguments)
    return isinstance(got, dict) and all(name in got and got[name] == value for name, value in wanted.items())


def _in_order(
    steps: Sequence[Step], calls: Sequence[Call], stands_for: dict[int, int], findings: Sequence[Finding]
) -> Iterator[Pair]:
    used = set(stands_for.values())
    waiting = [number for number in range(len(calls)) if number not in used]
    for number, step in enumerate(steps, start=1):
        call = stands_for.get(number)
        if call is None:
            yield Pair("missing", step.side, None)
            continue
        while waiting and waiting[0] < call:
            yield _left_over(waiting.pop(0), calls, findings)
        faults = [finding for finding in findings if finding.call == call + 1 and not finding.note]
        yield Pair("differs" if faults else "right", step.side, side_of_call(call + 1, calls[call]), paths(faults))
    for number in waiting:
        yield _left_over(number, calls, findings)


def _left_over(number: int, calls: Sequence[Call], findings: Sequence[Finding]) -> Pair:
    faults = [finding for finding in findings if finding.call == number + 1 and not finding.note]
    return Pair("extra" if faults else "excused", None, side_of_call(number + 1, calls[number]), paths(faults))


def side_of_call(number: int, call: Call) -> Side:
    """A call that was made, with what the tool answered."""
    notes = [f"malformed: {call.fault}"] if call.fault else []
    if call.unanswered:
        notes.append(f"answered by a frozen error: {call.unanswered}")
    result = call.result
    return Side(
        title=f"call {number} {call.tool}",
        text=call.arguments,
        is_json=is_json(call.arguments),
        note="; ".join(notes),
        result="" if result is UNSET else result if isinstance(result, str) else json_text(result),
    )
