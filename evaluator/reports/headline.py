"""The first lines of a report: the verdict and why, in one sentence; the reasons; what to do."""

from __future__ import annotations

from evaluator.reports import numbers
from evaluator.reports.escape import shorten
from evaluator.reports.figures import compared_nothing, limits
from evaluator.reports.sections import scored
from evaluator.reports.words import ADVICE, CAUSES, LAYERS
from evaluator.results import Evidence, Reason, RuleResult, Run

_BASELINE_DROP = "rule"
_BASELINE_BYTES = 500  # where it lies, who accepted it and why: the reason may be long


def headline(run: Run) -> str:
    """Why the verdict is what it is, without a full stop."""
    if run.verdict == "pass":
        return _passed(run)
    first = _first_cause(run)
    if first is None:
        return "no reason was recorded"
    text = _sentence(run, first)
    if run.verdict == "drift":
        text = f"{LAYERS.get(first.kind, 'a layer moved')}: {text}"
    others = sum(_is_cause(run, reason) for reason in run.reasons) - 1
    return f"{text}; {numbers.counted(others, 'more reason')} below" if others > 0 else text


def reasons(run: Run) -> list[str]:
    """Every reason of the verdict, in words; empty where the headline has said it all."""
    texts = [reason.text for reason in run.reasons if reason.kind != "note"]
    return texts if len(texts) > 1 else []


def notes(run: Run) -> list[str]:
    """What a reader must know before the figures: whose rules, which baseline."""
    said = [reason.text for reason in (*run.reasons, *run.warnings) if reason.kind == "note"]
    if run.comparison is None:
        return [*said, "Not compared with any baseline."]
    return [*said, f"Compared with {_trimmed(shorten(run.comparison.baseline, _BASELINE_BYTES))}."]


def advice(run: Run) -> list[str]:
    """What to do next, once for each kind of cause."""
    kinds = dict.fromkeys(reason.kind for reason in run.reasons)
    if "baseline" in kinds:  # without one, no rule on a change can be decided: nothing else to mend
        kinds.pop("rule", None)
    return list(dict.fromkeys(ADVICE[run.verdict, kind] for kind in kinds if (run.verdict, kind) in ADVICE))


def _passed(run: Run) -> str:
    """ "2 rules hold, t pass_rate rose 0.35 → 0.45", or what speaks against being sure."""
    if not run.rules:
        return _unruled(run)
    warned = sorted((rule for rule in run.rules if rule.outcome == "warn"), key=lambda rule: rule.evidence is None)
    held = [rule for rule in run.rules if rule.outcome == "ok" and not compared_nothing(rule)]
    idle = sum(compared_nothing(rule) for rule in run.rules)
    parts = []
    if warned:
        parts += ["no rule failed", _possible(warned[0])]
        if len(warned) > 1:
            parts.append(f"{numbers.counted(len(warned) - 1, 'more warning')} below")
    elif held:
        rates = [_moved(rule) for rule in run.rules if rule.metric == "pass_rate" and rule.evidence is not None]
        parts.append(", ".join([numbers.counted(len(held), "rule holds", "rules hold"), *rates[:1]]))
    if idle:
        which = f"{numbers.counted(idle, 'rule')} " if parts else ""
        parts.append(f"{which}compared with nothing yet (`baseline.allow_missing`)")
    return "; ".join(parts)


def _unruled(run: Run) -> str:
    cases = [attempts for task in run.tasks for case in task.cases if (attempts := scored(case))]
    failed = sum(not all(attempt.passed for attempt in attempts) for attempts in cases)
    return f"no rule to hold it to; {numbers.count(failed)} of {numbers.counted(len(cases), 'case')} failed"


def _possible(rule: RuleResult) -> str:
    """What a warning of a rule is about: a change within noise, a limit that may not hold, or no judgement at all."""
    if rule.evidence is not None and rule.baseline is not None and rule.now is not None:
        before, after = numbers.pair(rule.metric, rule.baseline, rule.now)
        direction = "drop" if rule.now < rule.baseline else "rise"
        cases = numbers.counted(rule.evidence.n, "case")
        return f"possible {direction} in {_name(rule)} {before} → {after}, within noise ({cases})"
    if rule.now is not None:
        value = numbers.figure(rule.metric, rule.now)
        return f"{_name(rule)} {value} may lie beyond its limit ({', '.join(limits(rule))})"
    return _trimmed(rule.text)


def _first_cause(run: Run) -> Reason | None:
    known = [reason for reason in run.reasons if reason.kind != "note"]
    return next((reason for reason in known if _is_cause(run, reason)), known[0] if known else None)


def _is_cause(run: Run, reason: Reason) -> bool:
    return reason.kind in CAUSES[run.verdict]


def _sentence(run: Run, reason: Reason) -> str:
    """The numbers of the rule that failed against the baseline, else the reason's own text."""
    if run.verdict == "regression" and reason.kind == _BASELINE_DROP:
        for rule in run.rules:
            if rule.outcome == "fail" and rule.text == reason.text and rule.evidence is not None:
                return f"{_moved(rule)} ({_counts(rule.evidence)})"
    return _trimmed(reason.text)


def _trimmed(text: str) -> str:
    return text.strip().removesuffix(".")


def _name(rule: RuleResult) -> str:
    name = " ".join(part for part in (rule.task, rule.metric) if part)
    return f"{name} ({rule.slice})" if rule.slice else name


def _moved(rule: RuleResult) -> str:
    """ "json-call pass_rate fell 0.35 → 0.00"."""
    if rule.baseline is None or rule.now is None:
        return _name(rule)
    before, after = numbers.pair(rule.metric, rule.baseline, rule.now)
    if rule.baseline == rule.now:
        return f"{_name(rule)} stayed at {after}"
    return f"{_name(rule)} {'fell' if rule.now < rule.baseline else 'rose'} {before} → {after}"


def _counts(evidence: Evidence) -> str:
    """ "7 of 20 cases regressed, 1 fixed, p = 0.035"."""
    parts = [f"{numbers.count(evidence.worse)} of {numbers.counted(evidence.n, 'case')} regressed"]
    if evidence.better:
        parts.append(f"{numbers.count(evidence.better)} fixed")
    if evidence.p is not None:
        parts.append(numbers.probability(evidence.p))
    return ", ".join(parts)
