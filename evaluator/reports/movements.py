"""How a figure moved, in the words of the first lines."""

from __future__ import annotations

from evaluator.reports import evidence as proof
from evaluator.reports import numbers
from evaluator.reports.words import SINCE_ANCHOR
from evaluator.results import Evidence, RuleResult


def name(rule: RuleResult) -> str:
    """ "json-call pass_rate", with its slice in brackets."""
    whole = " ".join(part for part in (rule.task, rule.metric) if part)
    return f"{whole} ({rule.slice})" if rule.slice else whole


def moved(rule: RuleResult) -> str:
    """ "json-call pass_rate fell 0.35 → 0.00"."""
    if rule.baseline is None or rule.now is None:
        return name(rule)
    return change(name(rule), rule.metric, rule.baseline, rule.now) + since(rule)


def since(rule: RuleResult) -> str:
    """What a rule is held against where that is not the baseline, with its leading space."""
    return f" {SINCE_ANCHOR}" if rule.anchor else ""


def change(what: str, metric: str, baseline: float, now: float) -> str:
    """ "`what` rose 0.35 → 0.45"."""
    before, after = numbers.pair(metric, baseline, now)
    if baseline == now:
        return f"{what} stayed at {after}"
    return f"{what} {'fell' if now < baseline else 'rose'} {before} → {after}"


def counts(metric: str, evidence: Evidence) -> str:
    """ "7 of 20 cases regressed, 1 fixed, p = 0.035"; of other metrics than the pass rate, "worse" and "better"."""
    worse, better = ("regressed", "fixed") if metric == "pass_rate" else ("worse", "better")
    parts = [f"{numbers.count(evidence.worse)} of {proof.cases(evidence)} {worse}"]
    if evidence.better:
        parts.append(f"{numbers.count(evidence.better)} {better}")
    return ", ".join([*parts, *([proof.deciding(evidence)] if evidence.p is not None else [])])


def fallen(rule: RuleResult, evidence: Evidence) -> str:
    """ "refunds pass_rate fell 1.00 → 0.67 (1 of 3 cases regressed, p = 0.500; the rule blocks on any drop)"."""
    rose = rule.baseline is not None and rule.now is not None and rule.now > rule.baseline
    why = f"; the rule blocks on any {'rise' if rose else 'drop'}" if proof.is_chance(rule) else ""
    return f"{moved(rule)} ({counts(rule.metric, evidence)}{why})"
