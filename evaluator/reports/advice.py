"""What a person can do about a verdict: once for each kind of cause, by the tables in `words`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evaluator.reports.models import all_runs
from evaluator.reports.verdict import is_possible
from evaluator.reports.witnesses import is_unexplained, vouches_for_change
from evaluator.reports.words import ADVICE, ASK_AGAIN, CHANGE_IS_CAUSE, NO_RATCHET, RECORD_AGAIN, TELL_APART
from evaluator.results import RuleResult, Run


def advice(run: Run) -> list[str]:
    """What to do next. Nothing where somebody has accepted what the verdict says."""
    if run.accepted is not None:
        return []
    return list(dict.fromkeys([*_by_witness(run), *_by_kind(run)]))


def _by_witness(run: Run) -> Iterator[str]:
    rules = [rule for each in all_runs(run) for rule in each.rules]
    fallen = [rule for rule in rules if rule.outcome == "fail" and rule.evidence is not None]
    if run.verdict == "regression" and _only_anchored(fallen):
        yield NO_RATCHET
    elif vouches_for_change(run):
        yield CHANGE_IS_CAUSE
    if is_unexplained(run):
        yield ASK_AGAIN
    if run.verdict == "pass" and any(map(is_possible, rules)):
        yield TELL_APART
    if run.verdict == "inconclusive" and any(_is_stale(each) for each in all_runs(run)):
        yield RECORD_AGAIN


def _by_kind(run: Run) -> Iterator[str]:
    kinds = dict.fromkeys(reason.kind for reason in run.reasons)
    if "baseline" in kinds:  # without one, no rule on a change can be decided: nothing else to mend
        kinds.pop("rule", None)
    if run.verdict == "inconclusive" and run.layer == "provider":
        kinds = {"provider": None} | kinds
        for kind in ("coverage", "rule"):  # what was not scored is what the provider refused
            kinds.pop(kind, None)
    if "canary" in kinds:  # first of all the validators have to be right where it is known what is right
        kinds.pop("validator", None)
    if run.verdict == "pass" and run.layer is not None and ("drift", run.layer) in ADVICE:
        yield ADVICE["drift", run.layer]
    yield from (ADVICE[run.verdict, kind] for kind in kinds if (run.verdict, kind) in ADVICE)


def _only_anchored(fallen: Sequence[RuleResult]) -> bool:
    """Whether no drop is too much by itself, only their sum since somebody accepted a baseline."""
    return bool(fallen) and all(rule.anchor for rule in fallen)


def _is_stale(run: Run) -> bool:
    return any(attempt.status == "stale" for task in run.tasks for case in task.cases for attempt in case.attempts)
