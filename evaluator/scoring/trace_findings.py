"""What a reader is told of an attempt: every fault by step, call, path, keyword, wanted and got.

The order is that in which failure modes are decided, so what decided the attempt's own mode stands first; what is no
fault stands last, marked as a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from evaluator.results import Finding
from evaluator.scoring.bounds import bounded
from evaluator.scoring.trace_attempt import Attempt, Setting, Told
from evaluator.scoring.trace_calls import Calls
from evaluator.scoring.trace_fit import Fit, Match
from evaluator.vocabulary import FAILURE_MODES

MAX_FINDINGS = 200

_PLACES = {mode: place for place, mode in enumerate(FAILURE_MODES)}


def findings(
    found: Fit, attempt: Attempt, calls: Calls, setting: Setting, remarks: Sequence[Finding] = ()
) -> list[Finding]:
    """What is wrong, then `remarks` on it, then what was beside the point without being wrong; at most `MAX_FINDINGS`
    besides the remarks."""
    told = list(attempt.told)
    of_step = {match.step.number: _of_match(match, attempt, calls) for match in found.matches}
    of_step.update({step.number: [_missing(step.number, step.tools(), found)] for step in found.missing})
    for number in sorted(of_step):
        told += of_step[number]
    told += _of_order(found, calls)
    if found.left:
        told += _of_left(found, attempt, calls, setting)
    if not told:
        return list(remarks)
    told.sort(key=_precedence)
    faults = [finding for mode, finding in told if mode is not None][:MAX_FINDINGS]
    notes = [msgspec.structs.replace(finding, note=True) for mode, finding in told if mode is None]
    result = [*faults, *remarks, *notes[: MAX_FINDINGS - len(faults)]]
    if len(told) > MAX_FINDINGS:
        more = f"{len(told) - MAX_FINDINGS} more findings are left out"
        result.append(Finding(path="$", keyword="more", message=more, note=True))
    return result


def _precedence(told: Told) -> tuple[int, bool]:
    """Where a call was made instead of a missing one, the call that was made goes first."""
    mode, finding = told
    return (len(_PLACES) if mode is None else _PLACES[mode], finding.keyword == "missing_call")


def _of_match(match: Match, attempt: Attempt, calls: Calls) -> list[Told]:
    step, tool, arguments = match.step.number, bounded(calls.calls[match.call].tool), calls.arguments[match.call]
    told: list[Told] = []
    if match.right < len(match.form.fields) and arguments is not None:
        told += [("wrong_arguments", finding) for finding in match.form.findings(arguments, step)]
    if match.exceeded:
        mode = "wrong_arguments" if match.step.exact else None
        told += [(mode, finding) for finding in match.form.unexpected(arguments, step)]
    others = attempt.of_call.get(match.call)
    if others:
        told = _merged(told, others)
    return [
        (mode, msgspec.structs.replace(finding, step=step, call=match.call + 1, tool=tool)) for mode, finding in told
    ]


def _merged(told: list[Told], others: list[Told]) -> list[Told]:
    """What both speak of is told once, and is a fault where either says so: an argument that the step does not mind may
    be one that the tool's schema forbids."""
    merged = list(told)
    places = {(finding.path, finding.keyword): place for place, (_, finding) in enumerate(told)}
    for mode, finding in others:
        place = places.get((finding.path, finding.keyword))
        if place is None:
            merged.append((mode, finding))
        elif merged[place][0] is None:
            merged[place] = (mode, merged[place][1])
    return merged


def _missing(step: int, tools: list[str], found: Fit) -> Told:
    instead = f", nor {' nor '.join(tools[1:4])}" if len(tools) > 1 else ""
    message = bounded(f"{tools[0]} was not called{instead}")
    finding = Finding(
        path="$", keyword="missing_call", wanted=bounded(tools[0]), step=step, tool=bounded(tools[0]), message=message
    )
    return ("wrong_tool" if found.left else "missing_call", finding)


def _of_order(found: Fit, calls: Calls) -> Iterator[Told]:
    if found.missing or found.in_order == found.steps:
        return
    wanted = [match.form.tool for match in found.matches]
    got = [calls.calls[call].tool for call in sorted(match.call for match in found.matches)]
    message = f"{found.in_order} of {found.steps} steps were called in the expected order"
    finding = Finding(path="$", keyword="order", wanted=bounded(wanted), got=bounded(got), message=message)
    yield "wrong_order", finding


def _of_left(found: Fit, attempt: Attempt, calls: Calls, setting: Setting) -> Iterator[Told]:
    blamed = set(setting.blamed(found, attempt))
    are_too_many = not found.path.steps or len(blamed) > setting.max_extra_calls
    # With a step left over as well, the tool is wrong: that of a blamed call or, where none is, of any.
    instead = (blamed or set(found.left)) if found.missing else set()
    for call in found.left:
        tool = bounded(calls.calls[call].tool)
        if are_too_many and call in blamed:
            reason = "" if found.path.steps else ", and no call was"
            yield "wrong_tool" if found.missing else "extra_call", _left(call, tool, "extra_call", reason)
        elif attempt.is_wrong_tool(call):
            pass  # that is told below
        elif call in instead:
            yield "wrong_tool", _left(call, tool, "wrong_tool", ", and a step was not called")
        else:
            yield None, _left(call, tool, "excused_call", _excuse(call, attempt, setting))
        for mode, finding in attempt.of_call.get(call, ()):
            yield mode, msgspec.structs.replace(finding, tool=tool)


def _left(call: int, tool: str, keyword: str, reason: str) -> Finding:
    message = f"call {call + 1} was not expected{reason}"
    return Finding(path="$", keyword=keyword, got=tool, call=call + 1, tool=tool, message=message)


def _excuse(call: int, attempt: Attempt, setting: Setting) -> str:
    if attempt.read_only >> call & 1:
        return "; it changes nothing"
    return "; it failed" if attempt.failed >> call & 1 else f"; {setting.max_extra_calls} may be"
