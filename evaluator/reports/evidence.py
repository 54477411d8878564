"""How sure a difference is, in the words that every place of a report uses."""

from __future__ import annotations

from evaluator.reports import numbers
from evaluator.results import Evidence, RuleResult

# A report does not know `alpha`: that a change may be chance is what the gate says of it.
_WITHIN_NOISE = "; that is within noise at alpha "


def counted_p(evidence: Evidence) -> float | None:
    """The p that counts: after Holm's correction where there is one; None where no statistics apply."""
    return evidence.p if evidence.adjusted is None else evidence.adjusted


def is_chance(rule: RuleResult) -> bool:
    """Whether a rule blocks by `on_noise: fail` alone, on a change that chance may explain."""
    return rule.outcome == "fail" and rule.evidence is not None and _WITHIN_NOISE in rule.text


def is_proven(rule: RuleResult) -> bool:
    """Whether a rule fails on a change that is more than noise."""
    return rule.outcome == "fail" and rule.evidence is not None and not is_chance(rule)


def chance(evidence: Evidence) -> str:
    """ "p = 0.004, 0.012 after Holm over 3 tests"; empty where no statistics apply. The last one counts."""
    if evidence.p is None:
        return ""
    alone = numbers.probability(evidence.p)
    if evidence.adjusted is None:
        return alone
    adjusted = numbers.probability(evidence.adjusted)
    shown = adjusted.removeprefix("p ").removeprefix("= ") if adjusted != alone else "the same"
    return f"{alone}, {shown} after Holm over {numbers.counted(evidence.family, 'test')}"


def deciding(evidence: Evidence) -> str:
    """ "p = 0.012 after Holm": the one that counts, for where there is room for no more."""
    if evidence.p is None:
        return ""
    if evidence.adjusted is None:
        return numbers.probability(evidence.p)
    return f"{numbers.probability(evidence.adjusted)} after Holm"


def cases(evidence: Evidence) -> str:
    """ "20 cases", "60 cases in 20 clusters"."""
    return numbers.counted(evidence.n, "case") + clusters(evidence)


def clusters(evidence: Evidence) -> str:
    """ " in 20 clusters" with its leading space; empty where every case stands for itself."""
    return "" if evidence.clusters is None else f" in {numbers.counted(evidence.clusters, 'cluster')}"
