"""(Case, Transcript) → Score. Pure: no file, clock or network.

A scorer is one module with `VERSION` and `prepare(case)`, and one line in `SCORERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import NamedTuple

from evaluator import json_text
from evaluator.cases import Case
from evaluator.results import Score
from evaluator.scoring import tries
from evaluator.scoring.allowance import ALLOWANCE
from evaluator.transcript import Infrastructure, Transcript, well_formed

SCORERS = {
    "trapstreet": "evaluator.scoring.trapstreet",
    "trace": "evaluator.scoring.trace",
    "arena": "evaluator.scoring.arena",
    "closure": "evaluator.scoring.closure",
    "bfcl": "evaluator.scoring.bfcl",
}

Scorer = Callable[[Transcript], Score | Infrastructure]

JUDGED = "judge:task"
COMPARED = "trapstreet+judge:task"
# Figure of an attempt that both judged: 1 where they agree. Without one the task's own judge gave no verdict.
AGREES = "judge_agrees"
# Scorers whose verdicts a task's own judge gives or is compared with: `evaluator.judging` has them.
FOREIGN = (JUDGED, COMPARED)


class Ruler(NamedTuple):
    """How the cases of one task are measured. `prepare` gives None for a case that it cannot measure any more, which is
    nobody's fault: the task's source has another one under that id. `version` is what attempts record as their scorer,
    `name` what a reader is told where it judges otherwise than before."""

    prepare: Callable[[Case], Scorer | None]
    version: str
    name: str = ""


def ruler(scorer: str) -> Ruler:
    """The ruler of a key of `SCORERS`."""
    return Ruler(partial(prepare, scorer), version_of(scorer))


def prepare(scorer: str, case: Case) -> Scorer:
    """A function from transcript to score for one case; what can be compiled is compiled now, once.

    `scorer`: a key of `SCORERS`. The function never raises. It gives Infrastructure, which counts against coverage and
    is nobody's failure, where the case expects nothing (`no_expected`), is at fault itself (see the scorer), or the
    scorer has a bug (`scorer_error`).
    """
    if scorer not in SCORERS:
        known = ", ".join(SCORERS)
        return _always(Infrastructure(kind="unknown_scorer", message=f"no scorer {scorer!r}; known are {known}"))
    if case.expected is None:
        return _always(Infrastructure(kind="no_expected", message="the source expects nothing of this case"))
    try:
        score: Scorer = import_module(SCORERS[scorer]).prepare(case)
    except Exception as error:
        return _always(_scorer_error(error))

    last = str(case.options.get(tries.OPTION, "")).startswith("last")

    def guarded(transcript: Transcript) -> Score | Infrastructure:
        try:
            with ALLOWANCE.of_one_attempt():
                return tries.scored(score, transcript, last=last)
        except Exception as error:
            return _scorer_error(error)

    return guarded


def version_of(scorer: str) -> str:
    """`name@version` of a key of `SCORERS`, as attempts record it."""
    return str(import_module(SCORERS[scorer]).VERSION)


def versions() -> dict[str, str]:
    """Name → version of every scorer, matcher, check, normalizer, parser and extractor: what a verdict depends on in
    this package."""
    from evaluator import tool_calls
    from evaluator.scoring import checks, extract_json, matchers, normalizers, schema

    return {
        **{name: version_of(name) for name in SCORERS},
        **matchers.versions(),
        **checks.versions(),
        **normalizers.versions(),
        "parse_json": json_text.VERSION,
        "extract_json": extract_json.VERSION,
        "schema": schema.VERSION,
        "tool_calls": tool_calls.VERSION,
    }


def _always(infrastructure: Infrastructure) -> Scorer:
    return lambda _: infrastructure


def _scorer_error(error: Exception) -> Infrastructure:
    return Infrastructure(kind="scorer_error", message=well_formed(f"{type(error).__name__}: {error}"[:500]))
