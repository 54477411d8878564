"""What a person can do about a verdict: once for each kind of cause, by the tables in `words`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evaluator.gate import acceptable
from evaluator.reports import evidence as proof
from evaluator.reports import unanswered, words
from evaluator.reports.causes import has_dropped
from evaluator.reports.escape import shorten
from evaluator.reports.models import all_runs
from evaluator.reports.verdict import is_possible
from evaluator.reports.witnesses import control_arm, decisive, is_unexplained, vouches_for_change
from evaluator.results import Candidate, RuleResult, Run, VerdictWord

_MODEL_BYTES = 120
# Accepted by a command alone, which asks no label.
_BY_COMMAND = frozenset({("drift", "validator"), ("drift", "source")})
# In the reason of a run that had no key and could therefore not decide.
_KEYLESS = ("No model was asked, and ", "this change, which has no key,")


def advice(run: Run) -> list[str]:
    """What to do next. Nothing where somebody has accepted what the verdict says."""
    if run.accepted is not None:
        return []
    return list(dict.fromkeys([*_by_evidence(run), *_by_kind(run)]))


def _by_evidence(run: Run) -> Iterator[str]:
    rules = [rule for each in all_runs(run) for rule in each.rules]
    if run.verdict == "regression":
        yield from _of_regression(run, [rule for rule in rules if rule.outcome == "fail" and rule.evidence is not None])
    if run.verdict == "pass" and any(map(is_possible, rules)):
        yield words.TELL_APART
    if run.verdict == "inconclusive" and any(map(proof.is_proven, rules)) and not _does_base_as_badly(run):
        yield _of_models(words.WORSE_MODEL, other) if (other := _candidate(run)) else words.MEND_FIRST
    if run.verdict == "inconclusive" and any(_is_stale(each) for each in all_runs(run)):
        yield words.RECORD_AGAIN


def _of_regression(run: Run, fallen: Sequence[RuleResult]) -> Iterator[str]:
    kinds = {reason.kind for reason in run.reasons} - {"note"}
    vouched = vouches_for_change(run)
    if kinds == {"rule"} and fallen and all(map(proof.is_chance, fallen)) and not vouched:
        yield words.ANY_DROP
        return
    other = _candidate(run)
    if other is not None and kinds & {"rule", "critical"}:
        yield _of_models(words.WORSE_MODEL, other)
        return
    if _only_anchored(fallen):
        yield words.NO_RATCHET if _may_be_accepted(run) else words.WIN_BACK
    elif vouched:
        yield words.CHANGE_IS_CAUSE if _may_be_accepted(run) else words.CHANGE_ALONE_IS_CAUSE
    elif not is_unexplained(run):
        yield words.ADVICE["drift", run.layer] if run.layer in ("provider", "model") else words.MEND
    if is_unexplained(run):
        yield words.ASK_AGAIN


def _by_kind(run: Run) -> Iterator[str]:
    kinds = dict.fromkeys(reason.kind for reason in run.reasons)
    if "baseline" in kinds:  # without one, no rule on a change can be decided: nothing else to mend
        kinds.pop("rule", None)
    if run.verdict == "inconclusive" and run.layer == "provider":
        kinds = {"provider": None} | kinds
        for kind in ("coverage", "rule"):  # what was not scored is what the provider refused
            kinds.pop(kind, None)
    if _is_without_key(run):
        yield words.WITHOUT_KEY
        for kind in ("coverage", "baseline", "rule"):
            kinds.pop(kind, None)
    elif "coverage" in kinds and (failure := unanswered.leading(run)) is not None:
        yield from _of_failure(failure, kinds)
    if "canary" in kinds:  # first of all the validators have to be right where it is known what is right
        kinds.pop("validator", None)
    known: list[tuple[VerdictWord, str]] = [(run.verdict, kind) for kind in kinds]
    if run.verdict == "pass" and run.layer is not None:
        known.insert(0, ("drift", run.layer))
    yield from (_of_kind(run, each) for each in known if each in words.ADVICE)


def _of_failure(failure: unanswered.Failure, kinds: dict[str, None]) -> Iterator[str]:
    """In the place of what is said where several things are missing."""
    if failure.is_total:  # what no rule has a value for is what was not scored
        kinds.pop("rule", None)
    if failure.message.startswith(unanswered.NO_KEY):
        names = shorten(failure.message.removeprefix(unanswered.NO_KEY), _MODEL_BYTES).split(" or ")
        yield words.SET_KEY.format(names=" or ".join(f"`{name}`" for name in names))
    elif failure.kind in words.UNANSWERED:
        yield words.UNANSWERED[failure.kind]
    else:
        return
    kinds.pop("coverage")


def _is_without_key(run: Run) -> bool:
    """Whether a run decides nothing for want of a key that its author cannot give it."""
    texts = [reason.text for reason in run.reasons if reason.kind == "coverage" and reason.task is None]
    return run.verdict == "inconclusive" and any(part in text for text in texts for part in _KEYLESS)


def _may_be_accepted(run: Run) -> bool:
    """Whether the label would be taken, but for who sets it. A pass may be accepted by command."""
    return run.verdict == "pass" or not acceptable(run)


def _of_kind(run: Run, kind: tuple[VerdictWord, str]) -> str:
    other = _candidate(run)
    if kind == ("drift", "model") and has_dropped(run):
        return f"{words.MODEL_FELL}; {words.LIVE_WITH_IT}." if other is None else f"{words.MODEL_FELL}."
    if kind not in words.MEANT or not (_may_be_accepted(run) or kind in _BY_COMMAND):
        return words.ADVICE[kind]
    meant = words.MEANT[kind] if other is None else _of_models(words.MEANT_MODEL, other)
    return f"{words.ADVICE[kind]} {meant}"


def _candidate(run: Run) -> Candidate | None:
    """The other model than the baseline's that the verdict is about."""
    comparison = decisive(run).comparison
    return comparison.candidate if comparison is not None else None


def _of_models(text: str, other: Candidate) -> str:
    """`text` with the names of both models, which may hold anything, braces included."""
    names = {"candidate": other.candidate, "baseline": other.baseline}
    return text.format_map({key: shorten(name, _MODEL_BYTES) for key, name in names.items()})


def _does_base_as_badly(run: Run) -> bool:
    arm = control_arm(run)
    return arm is not None and arm.state == "moved"


def _only_anchored(fallen: Sequence[RuleResult]) -> bool:
    """Whether no drop is too much by itself, only their sum since somebody accepted a baseline."""
    return bool(fallen) and all(rule.anchor for rule in fallen)


def _is_stale(run: Run) -> bool:
    return any(attempt.status == "stale" for task in run.tasks for case in task.cases for attempt in case.attempts)
