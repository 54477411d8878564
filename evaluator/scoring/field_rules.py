"""How one field of a call's arguments is compared: the rules that a step may give, by their words."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from decimal import Context, Decimal
from math import isfinite
from typing import Any, NamedTuple

from msgspec import UNSET

from evaluator.results import Finding
from evaluator.scoring.bounds import bounded
from evaluator.scoring.json_call import json_type, strictly_equal
from evaluator.scoring.multisets import Known, scalar_key
from evaluator.scoring.normalizers import normalizer
from evaluator.scoring.outcome import MalformedError
from evaluator.scoring.patterns import PatternError, compile_pattern

Holds = Callable[[Any], bool]

_DIGITS = Context(prec=10_000)  # more than any number that JSON text may hold (json_text.MAX_DIGITS)


class Comparison(NamedTuple):
    """`holds`: whether a value that was sent is right; it may raise PatternTimeoutError. `wanted`, `keyword` and
    `message` say in a finding what was asked for. `equal_to`: the key (`multisets.scalar_key`) of the one scalar that
    is right, None where right is more than that."""

    holds: Holds
    wanted: Any = UNSET
    keyword: str = "value"
    message: str | None = None
    equal_to: Hashable = None

    def finding(self, path: str, got: Any, step: int) -> Finding:
        """What is wrong with the value `got`."""
        keyword, message = self.keyword, self.message
        if keyword == "value" and self.wanted is not UNSET and json_type(self.wanted) != json_type(got):
            keyword, message = "type", None
        return Finding(path=path, keyword=keyword, wanted=self.wanted, got=bounded(got), step=step, message=message)


def compare_plainly(wanted: Any) -> Comparison:
    """Where no rule is given: scalars equal, an array equal as a multiset, an empty object empty."""
    if isinstance(wanted, list | dict):
        known = Known()
        number = known.add(wanted)
        kind = type(wanted)
        return Comparison(lambda got: type(got) is kind and known.find(got) == number, bounded(wanted))
    return Comparison(_equal_scalar(wanted), bounded(wanted), equal_to=scalar_key(wanted))


def compare_by(rule: Any, wanted: Any) -> Comparison:
    """By a rule `{word: its value}`. `wanted` is unset where the step gives no value.

    Raises MalformedError for what is no such rule, or does not go with that value; of it UnknownNormalizerError.
    """
    if not isinstance(rule, dict) or len(rule) != 1:
        raise MalformedError(f"a rule is an object of one member, one of {', '.join(RULES)}; not {bounded(rule)!r}")
    ((word, value),) = rule.items()
    if word not in RULES:
        raise MalformedError(f"unknown rule {bounded(word)!r}; known are {', '.join(RULES)}")
    comparison = RULES[word](value, wanted)
    if word in NEEDS_NO_VALUE and wanted is not UNSET and not comparison.holds(wanted):
        raise MalformedError(f"the value {bounded(wanted)!r} that the step gives is refused by its own rule {word}")
    return comparison


def _equal_scalar(wanted: Any) -> Holds:
    if isinstance(wanted, str):
        return lambda got: bool(got == wanted)
    if wanted is None or isinstance(wanted, bool):
        return lambda got: got is wanted
    return lambda got: got == wanted and not isinstance(got, bool)


def _exact(value: Any, wanted: Any) -> Comparison:
    _refuse_unless_true("exact", value, wanted)
    return Comparison(lambda got: strictly_equal(got, wanted), bounded(wanted))


def _set(value: Any, wanted: Any) -> Comparison:
    _refuse_unless_true("set", value, wanted)
    if not isinstance(wanted, list):
        raise MalformedError(f"the rule set goes with an array, not with {bounded(wanted)!r}")
    known = Known()
    numbers = {known.add(item) for item in wanted}

    def holds(got: Any) -> bool:
        return isinstance(got, list) and {known.find(item) for item in got} == numbers

    return Comparison(holds, bounded(wanted), message="compared as sets")


def _any(value: Any, _: Any) -> Comparison:
    _refuse_unless_true("any", value, None)
    return Comparison(lambda _: True)


def _tolerance(most: Any, wanted: Any) -> Comparison:
    if not _is_number(most) or most < 0:
        raise MalformedError(f"tolerance is a number not below 0, not {bounded(most)!r}")
    if not _is_number(wanted):
        raise MalformedError(f"the rule tolerance goes with a number, not with {_shown(wanted)}")
    low = _DIGITS.subtract(_as_written(wanted), _as_written(most))
    high = _DIGITS.add(_as_written(wanted), _as_written(most))
    return Comparison(
        lambda got: _is_number(got) and low <= _as_written(got) <= high,
        bounded(wanted),
        message=f"more than {bounded(most)} away",
    )


def _normalizer(name: Any, wanted: Any) -> Comparison:
    normalize = normalizer(name)
    if not isinstance(wanted, str):
        raise MalformedError(f"the rule normalizer goes with a string, not with {_shown(wanted)}")
    normal = normalize(wanted)
    return Comparison(
        lambda got: isinstance(got, str) and (got == wanted or normalize(got) == normal),
        bounded(wanted),
        message=f"differs as {name}",
    )


def _regex(source: Any, _: Any) -> Comparison:
    try:
        pattern = compile_pattern(source)
    except PatternError as error:
        raise MalformedError(f"the pattern {bounded(source)!r}: {error}") from error
    return Comparison(lambda got: isinstance(got, str) and pattern.found_in(got), bounded(source), "pattern")


def _one_of(values: Any, _: Any) -> Comparison:
    if not isinstance(values, list) or not values:
        raise MalformedError(f"one_of is a list of at least one value, not {bounded(values)!r}")
    known = Known()
    numbers = {known.add(value) for value in values}
    return Comparison(lambda got: known.find(got) in numbers, bounded(values), "enum")


RULES: dict[str, Callable[[Any, Any], Comparison]] = {
    "exact": _exact,
    "set": _set,
    "any": _any,
    "ignore": _any,
    "tolerance": _tolerance,
    "normalizer": _normalizer,
    "regex": _regex,
    "one_of": _one_of,
}
# A value beside one of these is an example of what is right.
NEEDS_NO_VALUE = frozenset(("any", "ignore", "regex", "one_of"))


def _refuse_unless_true(word: str, value: Any, wanted: Any) -> None:
    if value is not True:
        raise MalformedError(f"the rule {word} takes no value but true, not {bounded(value)!r}")
    if wanted is UNSET:
        raise MalformedError(f"the rule {word} needs a value in args to compare with")


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and isfinite(value)))


def _as_written(number: int | float) -> Decimal:
    """The decimal number that was written: 24.51 is within 0.01 of 24.5, which binary fractions would deny."""
    return Decimal(number) if isinstance(number, int) else Decimal(repr(number))


def _shown(wanted: Any) -> str:
    return "no value in args" if wanted is UNSET else repr(bounded(wanted))
