"""trace@1: scores what an agent did: which tools it called, in which order, with which arguments.

`Case.expected`: `paths` (valid sequences of steps, of which the best counts) and, where they are not the default,
`allowed_tools`, `read_only`, `max_extra_calls`, `expected_errors` and `checks`. Rules and figures: docs/scoring.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evaluator.cases import Case
from evaluator.results import Finding, Score
from evaluator.scoring.checks import Check, UnknownCheckError, compile_checks
from evaluator.scoring.normalizers import UnknownNormalizerError
from evaluator.scoring.outcome import MalformedError
from evaluator.scoring.patterns import PatternTimeoutError
from evaluator.scoring.schema import SchemaError
from evaluator.scoring.trace_attempt import Attempt, Setting, compile_setting
from evaluator.scoring.trace_calls import Calls
from evaluator.scoring.trace_findings import findings
from evaluator.scoring.trace_fit import Fit, fit
from evaluator.scoring.trace_steps import Path, compile_paths
from evaluator.transcript import Infrastructure, Transcript
from evaluator.vocabulary import FAILURE_MODES

VERSION = "trace@1"

Scorer = Callable[[Transcript], Score | Infrastructure]


def prepare(case: Case) -> Scorer:
    """A function from transcript to score, with everything of the case compiled once.

    Where the case itself is at fault, a function that gives Infrastructure: `malformed_expected`, `unknown_normalizer`,
    `unknown_check`, `malformed_schema` or `pattern_timeout`.
    """
    expected = case.expected or {}
    try:
        paths = compile_paths(expected.get("paths"))
        setting = compile_setting(expected, case.offered())
        checks = compile_checks(expected.get("checks", []))
    except (MalformedError, SchemaError, PatternTimeoutError) as error:
        fault = _infrastructure(error)
        return lambda _: fault

    def score(transcript: Transcript) -> Score | Infrastructure:
        try:
            return _score(paths, setting, checks, transcript)
        except (MalformedError, PatternTimeoutError) as error:  # of a part that only this answer reached
            return _infrastructure(error)

    return score


_KINDS: tuple[tuple[type[Exception], str], ...] = (
    (UnknownNormalizerError, "unknown_normalizer"),
    (UnknownCheckError, "unknown_check"),
    (SchemaError, "malformed_schema"),
    (PatternTimeoutError, "pattern_timeout"),
    (MalformedError, "malformed_expected"),
)


def _infrastructure(error: Exception) -> Infrastructure:
    kind = next(kind for error_type, kind in _KINDS if isinstance(error, error_type))
    return Infrastructure(kind=kind, message=str(error))


def _score(paths: list[Path], setting: Setting, checks: list[Check], transcript: Transcript) -> Score | Infrastructure:
    calls = Calls(transcript.calls)
    attempt = setting.look_at(transcript, calls)
    if isinstance(attempt, Infrastructure):
        return attempt
    for check in checks:
        failed = check(transcript)
        if failed is not None:
            attempt.add("wrong_answer", failed)
    excused = calls.failed | attempt.read_only
    judged = [_Judged(setting, attempt, fit(path, calls, excused)) for path in paths]
    best = judged[0] if len(judged) == 1 else max(judged, key=_Judged.rank)
    values = best.values
    if attempt.schema_valid is not None:
        values["schema_valid"] = attempt.schema_valid
    values["score"] = 0.0 if best.mode else 1.0
    which = [_which_path(paths, best.fit)] if best.mode and len(paths) > 1 else []
    found = findings(best.fit, attempt, calls, setting, which)
    return Score(passed=best.mode is None, failure_mode=best.mode, values=values, findings=found)


def _which_path(paths: list[Path], found: Fit) -> Finding:
    message = f"steps are those of path {paths.index(found.path) + 1} of {len(paths)}, which fits best"
    return Finding(path="$", keyword="expected_path", message=message)


class _Judged:
    """One path's verdict on an attempt."""

    __slots__ = ("fit", "mode", "values")

    def __init__(self, setting: Setting, attempt: Attempt, found: Fit) -> None:
        self.fit = found
        modes = _modes(setting, attempt, found)
        self.mode = next((mode for mode in FAILURE_MODES if mode in modes), None) if modes else None
        self.values = {
            **found.figures(),
            "missing_calls": float(len(found.missing)),
            "extra_calls": float(len(found.left)),
            "extra_read_only_calls": float(sum([attempt.read_only >> call & 1 for call in found.left])),
            "calls": float(attempt.calls),
            "unanswered_calls": float(attempt.unanswered),
        }

    def rank(self) -> tuple[Any, ...]:
        """Greater is better; a figure is better than none. All that could differ decides, so that no figure depends on
        the order in which paths are written."""
        shares = (self.values.get(name, -1.0) for name in _SHARES)
        counts = (-self.values[name] for name in ("missing_calls", "extra_calls", "extra_read_only_calls"))
        mode = len(FAILURE_MODES) if self.mode is None else FAILURE_MODES.index(self.mode)
        return (self.mode is None, *shares, *counts, mode)


_SHARES = ("tool_score", "argument_score", "order_score", "argument_score_matched")


def _modes(setting: Setting, attempt: Attempt, found: Fit) -> set[str]:
    """Every failure mode that applies."""
    modes = set(attempt.modes)
    if not found.path.steps:
        if found.left:
            modes.add("extra_call")
        return modes
    if found.missing:
        modes.add("missing_call")
        if found.left:
            modes.add("wrong_tool")
    elif found.in_order < found.steps:
        modes.add("wrong_order")
    if found.left and len(setting.blamed(found, attempt)) > setting.max_extra_calls:
        modes.add("extra_call")
    if any(match.is_wrong() for match in found.matches):
        modes.add("wrong_arguments")
    return modes
