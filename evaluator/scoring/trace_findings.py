"""What a reader is told of an attempt: every fault by step, path, keyword, wanted and got.

`Finding.step` is the place of the expected step in its path, from 1. A call that stands for no step has none: its
findings carry the call's own number, and their message says "call 3".
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from evaluator.results import Finding
from evaluator.scoring.bounds import bounded
from evaluator.scoring.trace_attempt import Attempt, Setting
from evaluator.scoring.trace_calls import Calls
from evaluator.scoring.trace_fit import Fit, Match

MAX_FINDINGS = 200


def findings(found: Fit, attempt: Attempt, calls: Calls, setting: Setting) -> list[Finding]:
    """What is wrong, and what was beside the point without being wrong, at most `MAX_FINDINGS`."""
    result = list(attempt.findings)
    of_step = {match.step.number: _of_match(match, attempt, calls) for match in found.matches}
    of_step.update({step.number: [_missing(step.number, step.tools())] for step in found.missing})
    for number in sorted(of_step):
        result += of_step[number]
    result += _of_order(found, calls)
    if found.left:
        result += _of_left(found, attempt, calls, setting)
    if len(result) > MAX_FINDINGS:
        more = f"{len(result) - MAX_FINDINGS} more findings are left out"
        result = [*result[:MAX_FINDINGS], Finding(path="$", keyword="more", message=more)]
    return result


def _of_match(match: Match, attempt: Attempt, calls: Calls) -> list[Finding]:
    step, tool, arguments = match.step.number, bounded(calls.calls[match.call].tool), calls.arguments[match.call]
    result: list[Finding] = []
    if match.right < len(match.form.fields) and arguments is not None:
        result += match.form.findings(arguments, step)
    if match.exceeded:
        result += match.form.unexpected(arguments, step)
    others = attempt.of_call.get(match.call)
    if others:
        seen = {(finding.path, finding.keyword) for finding in result}
        result += [finding for finding in others if (finding.path, finding.keyword) not in seen]
    return [msgspec.structs.replace(finding, step=step, tool=tool) for finding in result]


def _missing(step: int, tools: list[str]) -> Finding:
    instead = f", nor {' nor '.join(tools[1:4])}" if len(tools) > 1 else ""
    message = bounded(f"{tools[0]} was not called{instead}")
    return Finding(
        path="$", keyword="missing_call", wanted=bounded(tools[0]), step=step, tool=bounded(tools[0]), message=message
    )


def _of_order(found: Fit, calls: Calls) -> Iterator[Finding]:
    if found.missing or found.in_order == found.steps:
        return
    wanted = [match.form.tool for match in found.matches]
    got = [calls.calls[call].tool for call in sorted(match.call for match in found.matches)]
    message = f"{found.in_order} of {found.steps} steps were called in the expected order"
    yield Finding(path="$", keyword="order", wanted=bounded(wanted), got=bounded(got), message=message)


def _of_left(found: Fit, attempt: Attempt, calls: Calls, setting: Setting) -> Iterator[Finding]:
    blamed = set(setting.blamed(found, attempt))
    is_fault = not found.path.steps or len(blamed) > setting.max_extra_calls
    for call in found.left:
        number, tool = call + 1, bounded(calls.calls[call].tool)
        if not found.path.steps:
            reason = ", and no call was"
        elif attempt.read_only >> call & 1:
            reason = "; it changes nothing"
        elif attempt.failed >> call & 1:
            reason = "; it failed"
        else:
            reason = "" if is_fault else f"; {setting.max_extra_calls} may be"
        fault = is_fault and call in blamed
        message = f"call {number} was not expected{reason}"
        keyword = "extra_call" if fault else "excused_call"
        yield Finding(path="$", keyword=keyword, got=tool, step=number, tool=tool, message=message)
        for finding in attempt.of_call.get(call, ()):
            yield msgspec.structs.replace(finding, tool=tool)
