"""The verdict as a reader meets it: its words and its look, what speaks against a pass, who accepted the rest."""

from __future__ import annotations

from collections.abc import Sequence

from evaluator.reports.escape import shorten
from evaluator.reports.words import ACCEPTED, LAYER_NAMES, UNCERTAIN, VERDICTS, Look
from evaluator.results import LayerWord, RuleResult, Run, VerdictWord

_NAME_BYTES = 80


def verdict_of(run: Run) -> VerdictWord:
    """The verdict on a run's own model, whatever the others' are."""
    return run.alone.verdict if run.alone is not None else run.verdict


def layer_of(run: Run) -> LayerWord | None:
    """The layer that moved under a run's own model."""
    return run.alone.layer if run.alone is not None else run.layer


def words(run: Run) -> str:
    """ "regression, accepted by octocat"; "pass, with a possible drop"."""
    parts = [run.verdict, *_doubts(run)]
    if run.accepted is not None:
        by = shorten(run.accepted.by, _NAME_BYTES).strip()
        parts.append(f"accepted by {by}" if by else "accepted")
    return ", ".join(parts)


def look(run: Run) -> Look:
    """The look of a run's verdict. An accepted verdict keeps its own mark and gets a second one."""
    own = _look(run.verdict, certain=not _doubts(run))
    if run.accepted is None:
        return own
    return Look(f"{own.icon} {ACCEPTED.icon}", f"{own.sign} {ACCEPTED.sign}", ACCEPTED.colour)


def look_of_model(run: Run) -> Look:
    """The look of the verdict on a run's own model, whatever the others' are."""
    return _look(verdict_of(run), certain=layer_of(run) is None and not _misgivings([run]))


def is_calm(run: Run) -> bool:
    """Whether the run is a pass that nothing speaks against, so that the witnesses need not be looked at."""
    moved = any(witness.state == "moved" for each in (run, *run.beside) for witness in each.witnesses)
    return run.verdict == "pass" and run.accepted is None and not moved and not _doubts(run)


def is_possible(rule: RuleResult) -> bool:
    """Whether a rule warns of a change that may be real: beyond its limit, and not beyond noise."""
    return rule.outcome == "warn" and rule.evidence is not None


def _look(verdict: VerdictWord, *, certain: bool) -> Look:
    return VERDICTS[verdict] if certain or verdict != "pass" else UNCERTAIN


def _doubts(run: Run) -> list[str]:
    """What makes a pass no green light."""
    if run.verdict != "pass":
        return []
    layers = dict.fromkeys(layer for each in (run, *run.beside) if (layer := layer_of(each)) is not None)
    moved = [f"although {LAYER_NAMES[layer]} moved" for layer in layers]
    misgivings = _misgivings([run, *run.beside])
    return [*moved, *([f"with {misgivings}"] if misgivings else [])]


def _misgivings(runs: Sequence[Run]) -> str:
    """ "a possible drop and cases left out", empty where nothing is held against a pass."""
    possible = _possible([rule for each in runs for rule in each.rules])
    return " and ".join([*([possible] if possible else []), *(["cases left out"] if any(map(_left_out, runs)) else [])])


def _left_out(run: Run) -> bool:
    """Whether cases of the baseline are gone or changed, so that they are compared with nothing."""
    tasks = run.comparison.tasks if run.comparison is not None else []
    return any(task.removed or task.not_comparable for task in tasks)


def _possible(rules: Sequence[RuleResult]) -> str:
    """ "a possible drop", empty where no rule warns of a change."""
    fell = {
        rule.now < rule.baseline
        for rule in rules
        if is_possible(rule) and rule.now is not None and rule.baseline is not None
    }
    kinds = [name for name, seen in (("drop", True in fell), ("rise", False in fell)) if seen]
    return " and ".join(f"a possible {kind}" for kind in kinds)
