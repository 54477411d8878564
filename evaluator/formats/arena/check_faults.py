"""What is wrong with the checks of an item: malformed, unable to fail, unable to pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from evaluator.config.wording import did_you_mean, listed
from evaluator.formats.arena.contradictions import contradictions
from evaluator.formats.trace.values import Fault
from evaluator.scoring.call_checks import PAUSES
from evaluator.scoring.checks import compile_checks
from evaluator.scoring.outcome import MalformedError
from evaluator.scoring.patterns import PatternTimeoutError, compile_pattern
from evaluator.yaml_scalars import quoted

Check = dict[str, Any]

# Texts so unlike each other that a pattern which finds something in each finds it in any.
_ANYTHING = ("x", "0", "{}", " \n", "Two words. And a sentence.")


def check_faults(item: dict[str, Any], tools: Sequence[str] | None) -> Iterator[Fault]:
    """Each fault of the checks of an item. `tools`: those that arena.toml names, None where that is not known."""
    checks = item.get("checks")
    if not isinstance(checks, list) or not checks:
        said = "there are no checks" if checks in (None, []) else "checks are a list"
        yield Fault(("checks",) if "checks" in item else (), f"{said}, so that nothing could fail the item")
        return
    malformed = list(_malformed(checks))
    yield from malformed
    if malformed:
        return
    if tools is not None:
        yield from _undeclared(checks, tools)
    if all(_holds_always(check) for check in checks):
        yield Fault(("checks",), "every answer satisfies these checks, so that nothing could fail the item")
    for one, other, why in contradictions(checks):
        yield Fault(("checks", other), f"cannot hold together with checks[{one}]: {why}")


def _malformed(checks: list[Any]) -> Iterator[Fault]:
    for place, check in enumerate(checks):
        try:
            compile_checks([check])
        except MalformedError as error:
            message = str(error).removeprefix("checks[0]").lstrip(": ")
            yield Fault(("checks", place), message, "docs/scoring.md lists the checks and their fields.")


def _undeclared(checks: list[Check], tools: Sequence[str]) -> Iterator[Fault]:
    mend = f"It names {listed(map(quoted, tools))}." if tools else "It names no tool."
    for place, check in enumerate(checks):
        kind = check["type"]
        named = [check[key] for key in ("name", "tool") if key in check]
        named += check["counts"] if kind == "call_counts" else ()
        for name in named:
            if name not in tools:
                message = f"arena.toml does not name the tool {quoted(name)}{did_you_mean(name, tools)}"
                yield Fault(("checks", place), message, mend)
        if kind in ("suspended", "no_tool_before_suspend") and "tool" not in check and not set(PAUSES) & set(tools):
            yield Fault(("checks", place), f"arena.toml names none of the tools that pause: {listed(PAUSES)}", mend)
        if kind == "min_tool_calls" and check["value"] and not tools:
            yield Fault(("checks", place), "calls are wanted, and arena.toml names no tool")


_ALWAYS: dict[str, Callable[[Check], bool]] = {
    "min_tool_calls": lambda check: check["value"] == 0,
    "suspended": lambda check: check.get("value") == 0,
    "sentence_count": lambda check: check.get("min") == 0 and "max" not in check,
    "iregex": lambda check: _finds_anything(check["value"]),
}


def _holds_always(check: Check) -> bool:
    """Whether any transcript with an answer satisfies the check."""
    return check["type"] in _ALWAYS and _ALWAYS[check["type"]](check)


def _finds_anything(pattern: str) -> bool:
    try:
        return all(map(compile_pattern(pattern, "i").found_in, _ANYTHING))
    except PatternTimeoutError:
        return False
