"""What was expected beside what came, as the page lays it side by side: call by call, or as one answer. Pure.

Which call stands for which step is the scorer's word where it found something; a call that is right has no finding, and
is put beside the first step that it fits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from evaluator import tool_calls
from evaluator.reports.escape import compact_json
from evaluator.reports.page_calls import Step, matched, side_of_call
from evaluator.reports.page_kept import kept
from evaluator.reports.page_pairs import Pair, Side, State, json_text, paths, text_side
from evaluator.reports.view_model import Listing
from evaluator.results import Attempt, CaseResult, Finding
from evaluator.scoring.answer import FunctionCall, read_call
from evaluator.transcript import Transcript

MOST_PAIRS = 60
_NO_FAULT = ("right", "excused", "plain")
_PATH = re.compile(r"path (\d+) of \d+")
_NOTE_BYTES = 2000
# What a step may say besides its arguments, in words.
_SAID = {"optional": "may be left out", "rules": "rules", "alternatives": "or", "args_match": "arguments"}

Expected = dict[str, Any]
LayOut = Callable[[Attempt, Transcript], list[Pair]]


def side_by_side(case: CaseResult) -> Callable[[Attempt], Listing[Pair]]:
    """A function from attempt to both sides of it, at most `MOST_PAIRS`, of which those that differ are kept first;
    none where there is no transcript."""
    lay_out = _layout(case.expected or {}, case.request.prefix or "")

    def pairs(attempt: Attempt) -> Listing[Pair]:
        said = judged(case, attempt)
        found = lay_out(attempt, said) if said is not None else []
        return kept(found, MOST_PAIRS, lambda pair: pair.state in _NO_FAULT)

    return pairs


def _layout(expected: Expected, prefix: str) -> LayOut:
    for fits, make in _LAYOUTS:
        if fits(expected):
            return make(expected)
    return _closed(expected, prefix) if isinstance(expected.get("format"), str) else _whole(expected)


def judged(case: CaseResult, attempt: Attempt) -> Transcript | None:
    """The try that the verdict rests on."""
    said = attempt.transcript
    last = str(case.options.get("scored_try", "")).startswith("last")
    return said.later[-1] if said is not None and said.later and last else said


def _traced(expected: Expected) -> LayOut:
    """Steps beside calls; of several paths that of the scorer or, where nothing was wrong, the one that fits best."""
    ways = [_steps(path) for path in expected["paths"] if isinstance(path, list)]
    checks = expected.get("checks")

    def lay_out(attempt: Attempt, said: Transcript) -> list[Pair]:
        named = next((_PATH.search(f.message or "") for f in attempt.findings if f.keyword == "expected_path"), None)
        number = int(named.group(1)) - 1 if named is not None else len(ways)
        laid_out = [matched(steps, said.calls, attempt.findings) for steps in ways[number : number + 1] or ways]
        best = min(laid_out, key=_unpaired, default=[])
        return [*best, *(_by_checks("checks", checks, attempt, said) if checks else _answer(None, said, "plain"))]

    return lay_out


def _unpaired(pairs: Sequence[Pair]) -> int:
    return sum(pair.wanted is None or pair.got is None for pair in pairs)


def _steps(path: Sequence[Any]) -> list[Step]:
    return [_step(number, step) for number, step in enumerate(path, start=1) if isinstance(step, dict)]


def _step(number: int, step: dict[str, Any]) -> Step:
    args, others = step.get("args"), step.get("alternatives")
    calls = [step, *(others if isinstance(others, list) else ())]
    tools = [str(call.get("tool", "")) for call in calls if isinstance(call, dict)]
    notes = [
        word if step[key] is True else f"{word}: {compact_json(step[key], _NOTE_BYTES)}"
        for key, word in _SAID.items()
        if step.get(key)
    ]
    if not isinstance(args, dict):
        notes = notes if "rules" in step else ["any arguments", *notes]
        return Step(Side(f"step {number} {tools[0]}", "", note="; ".join(notes)), tools)
    return Step(Side(f"step {number} {tools[0]}", json_text(args), is_json=True, note="; ".join(notes)), tools, args)


def _accepted(expected: Expected) -> LayOut:
    """Calls that are each held against accepted values, native ones or those in the text."""
    steps = [
        Step(_accepted_side(f"call {n} {call.get('tool')}", call.get("arguments")), [str(call.get("tool"))])
        for n, call in enumerate(expected["calls"], start=1)
        if isinstance(call, dict)
    ]
    names = expected.get("functions")

    def lay_out(attempt: Attempt, said: Transcript) -> list[Pair]:
        calls = said.calls
        if not calls and said.text and isinstance(names, list):
            calls = tool_calls.in_text(said.text, [str(name) for name in names]).calls
        return [*matched(steps, calls, attempt.findings), *_answer(None, said, "plain")]

    return lay_out


def _one_call(expected: Expected) -> LayOut:
    """The one call that is the answer, native or in the text, beside the values that are accepted."""
    matcher = expected["matchers"][0]
    wanted = _accepted_side(str(matcher.get("function_name")), matcher.get("args_accepted"))

    def lay_out(attempt: Attempt, said: Transcript) -> list[Pair]:
        call = read_call(said)
        if not isinstance(call, FunctionCall):
            return [*_answer(wanted, said, _state(attempt), attempt.findings), *_made(said)]
        name = call.name if isinstance(call.name, str) else "no name"
        got = Side(name, json_text(call.arguments), is_json=True)
        return [Pair(_state(attempt), wanted, got, paths(attempt.findings)), *_answer(None, said, "plain")]

    return lay_out


def _accepted_side(title: str, arguments: Any) -> Side:
    """`{"currency": "USD" | "EUR"}`: each argument with the values that are right."""
    if not isinstance(arguments, dict):
        return Side(title, json_text(arguments), is_json=True)
    members = [f"{json_text(name)}: {_values(argument)}" for name, argument in arguments.items()]
    return Side(title, "{" + ", ".join(members) + "}", is_json=True)


def _values(argument: Any) -> str:
    accepted = argument.get("accepted") if isinstance(argument, dict) else argument
    if not isinstance(accepted, list):
        return json_text(accepted)
    # An empty text among the values says that the argument may be left out.
    return " | ".join("(none)" if value == "" else json_text(value) for value in accepted) or "(nothing)"


def _checked(expected: Expected) -> LayOut:
    """Checks or matchers that the answer has to satisfy, those that it does not marked."""
    name = "checks" if isinstance(expected.get("checks"), list) else "matchers"
    return lambda attempt, said: [*_by_checks(name, expected[name], attempt, said), *_made(said)]


def _by_checks(name: str, checks: list[Any], attempt: Attempt, said: Transcript) -> list[Pair]:
    faults = [finding for finding in attempt.findings if not finding.note]
    places = [f"$[{n}]" for n, check in enumerate(checks) if any(_speaks_of(fault, check, checks) for fault in faults)]
    of_answer = [fault for fault in faults if fault.step is None and fault.call is None]
    wanted = Side(name, json_text(checks), is_json=True)
    return _answer(wanted, said, "differs" if places else _state(attempt), of_answer, places)


def _speaks_of(finding: Finding, check: Any, checks: Sequence[Any]) -> bool:
    """Of several checks of one kind, that with the value that the finding wanted."""
    alike = [each for each in checks if _kind(each) == finding.keyword]
    exact = [each for each in alike if "value" in each and each["value"] == finding.wanted]
    return any(each is check for each in exact or alike)


def _kind(check: Any) -> Any:
    return check.get("kind", check.get("type")) if isinstance(check, dict) else None


def _closed(expected: Expected, prefix: str) -> LayOut:
    """A continuation behind the prefix that it continues."""
    content = expected["text"] if "text" in expected else expected.get("content")
    wanted = text_side(str(expected["format"]), content if isinstance(content, str) else json_text(content))

    def lay_out(attempt: Attempt, said: Transcript) -> list[Pair]:
        got = text_side("prefix and continuation", prefix + (said.text or ""))
        return [Pair(_state(attempt), wanted, got, paths(attempt.findings))]

    return lay_out


def _whole(expected: Expected) -> LayOut:
    """All that is expected beside the answer: nothing is known of what it means."""
    wanted = Side("expected", json_text(expected), is_json=True) if expected else None
    return lambda attempt, said: [*_answer(wanted, said, _state(attempt), attempt.findings), *_made(said)]


def _answer(
    wanted: Side | None,
    said: Transcript,
    state: State,
    findings: Sequence[Finding] = (),
    places: Sequence[str] | None = None,
) -> list[Pair]:
    got = text_side("answer", said.text) if said.text else None
    return [Pair(state, wanted, got, paths(findings), places)] if wanted is not None or got is not None else []


def _made(said: Transcript) -> Iterator[Pair]:
    return (Pair("plain", None, side_of_call(number, call)) for number, call in enumerate(said.calls, start=1))


def _state(attempt: Attempt) -> State:
    return "right" if attempt.passed else "differs" if attempt.passed is False else "plain"


def _has_list(name: str) -> Callable[[Expected], bool]:
    return lambda expected: isinstance(expected.get(name), list)


def _is_one_call(expected: Expected) -> bool:
    matchers = expected.get("matchers")
    only = matchers[0] if isinstance(matchers, list) and len(matchers) == 1 else None
    return isinstance(only, dict) and only.get("kind") == "json_call"


# What `Case.expected` holds → how it is laid out; the first that fits.
_LAYOUTS: tuple[tuple[Callable[[Expected], bool], Callable[[Expected], LayOut]], ...] = (
    (_has_list("paths"), _traced),
    (_has_list("calls"), _accepted),
    (_is_one_call, _one_call),
    (_has_list("matchers"), _checked),
    (_has_list("checks"), _checked),
)
