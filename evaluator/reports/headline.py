"""The first lines of a report: the verdict and why, in one sentence; the reasons; what to do."""

from __future__ import annotations

from evaluator.reports import numbers
from evaluator.reports.cases import scored
from evaluator.reports.escape import shorten
from evaluator.reports.figures import compared_nothing, comparison_of, headline_metrics, limits
from evaluator.reports.models import all_runs, model_of, verdicts
from evaluator.reports.words import ADVICE, CAUSES, LAYERS, RECORD_AGAIN
from evaluator.results import Evidence, Reason, RuleResult, Run, TaskResult

_BASELINE_DROP = "rule"
_PARTS = {"system": "the system prompt", "model": "the model", "structured": "how structure is asked for"}
_MOST_CHANGED = 5
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
    """What a reader must know before the figures: which model does not pass, whose rules, which baseline."""
    said = [verdicts(run)] if run.beside else []
    said += [reason.text for reason in (*run.reasons, *run.warnings) if reason.kind == "note"]
    if run.comparison is None:
        return [*said, "Not compared with any baseline."]
    said.append(f"Compared with {_trimmed(shorten(run.comparison.baseline, _BASELINE_BYTES))}.")
    changed = _changed(run)
    return [*said, f"Changed since the baseline: {changed}."] if changed else said


def _changed(run: Run) -> str:
    """The parts of the subject that differ from the baseline's, which are what a pull request changes."""
    lines = run.comparison.fingerprint if run.comparison is not None else []
    own = run.fingerprint.subject
    words = [line.split(" → ")[0].rsplit(" ", 1)[0] for line in lines if " → " in line]
    names = [word for word in words if word in own or word.startswith(("tools/", "params."))]
    shown = [shorten(_PARTS.get(name, name), 60) for name in names[:_MOST_CHANGED]]
    more = f" and {len(names) - _MOST_CHANGED} more" if len(names) > _MOST_CHANGED else ""
    return ", ".join(shown) + more


def advice(run: Run) -> list[str]:
    """What to do next, once for each kind of cause."""
    kinds = dict.fromkeys(reason.kind for reason in run.reasons)
    if "baseline" in kinds:  # without one, no rule on a change can be decided: nothing else to mend
        kinds.pop("rule", None)
    lines = [ADVICE[run.verdict, kind] for kind in kinds if (run.verdict, kind) in ADVICE]
    if run.verdict == "inconclusive" and any(_is_stale(each) for each in all_runs(run)):
        lines.insert(0, RECORD_AGAIN)
    return list(dict.fromkeys(lines))


def _is_stale(run: Run) -> bool:
    return any(attempt.status == "stale" for task in run.tasks for case in task.cases for attempt in case.attempts)


def _passed(run: Run) -> str:
    """ "2 rules hold, t pass_rate rose 0.35 → 0.45", or what speaks against being sure."""
    rules = [(each, rule) for each in all_runs(run) for rule in each.rules]
    if not rules:
        return _unruled(run)
    warned = sorted((p for p in rules if p[1].outcome == "warn"), key=lambda pair: pair[1].evidence is None)
    held = sum(rule.outcome == "ok" and not compared_nothing(rule) for _, rule in rules)
    idle = sum(compared_nothing(rule) for _, rule in rules)
    parts = []
    if warned:
        parts += ["no rule failed", _whose(run, warned[0][0]) + _possible(warned[0][1])]
        if len(warned) > 1:
            parts.append(f"{numbers.counted(len(warned) - 1, 'more warning')} below")
    elif held:
        what = numbers.counted(held, "rule holds", "rules hold")
        moved = _headline_figure(run)
        parts.append(f"{what}, {_whose(run, run)}{moved}" if moved else what)
    if idle:
        which = f"{numbers.counted(idle, 'rule')} " if parts else ""
        parts.append(f"{which}compared with nothing yet (`baseline.allow_missing`)")
    return "; ".join(parts)


def _whose(run: Run, part: Run) -> str:
    """ "gpt-4.1: " where there are several models."""
    return f"{model_of(part)}: " if run.beside else ""


def _unruled(run: Run) -> str:
    tasks = [task for each in all_runs(run) for task in each.tasks]
    cases = [attempts for task in tasks for case in task.cases if (attempts := scored(case))]
    failed = sum(not all(attempt.passed for attempt in attempts) for attempts in cases)
    return f"no rule to hold it to; {numbers.count(failed)} of {numbers.counted(len(cases), 'case')} failed"


def _headline_figure(run: Run) -> str:
    """How the figure that counts most has moved, of the first task that was compared; of a rule where there is one, for
    it speaks of the paired cases."""
    for task in run.tasks:
        metric = headline_metrics(task)[0]
        for rule in run.rules:
            if (rule.task, rule.metric) == (task.name, metric) and rule.evidence is not None:
                return _moved(rule)
    return next((moved for task in run.tasks if (moved := _unruled_figure(run, task))), "")


def _unruled_figure(run: Run, task: TaskResult) -> str:
    compared = comparison_of(run, task.name)
    metric = headline_metrics(task)[0]
    now = task.metrics.get(metric)
    before = compared.baseline_metrics.get(metric) if compared is not None else None
    if compared is None or now is None or before is None or compared.baseline_repeats != task.repeats:
        return ""
    return _change(f"{task.name} {metric}", metric, before.value, now.value)


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
        for each in all_runs(run):
            for rule in each.rules:
                if (
                    rule.outcome == "fail"
                    and rule.evidence is not None
                    and reason.text == _whose(run, each) + rule.text
                ):
                    return f"{_whose(run, each)}{_moved(rule)} ({_counts(rule.metric, rule.evidence)})"
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
    return _change(_name(rule), rule.metric, rule.baseline, rule.now)


def _change(name: str, metric: str, baseline: float, now: float) -> str:
    before, after = numbers.pair(metric, baseline, now)
    if baseline == now:
        return f"{name} stayed at {after}"
    return f"{name} {'fell' if now < baseline else 'rose'} {before} → {after}"


def _counts(metric: str, evidence: Evidence) -> str:
    """ "7 of 20 cases regressed, 1 fixed, p = 0.035"; of other metrics than the pass rate, "worse" and "better"."""
    worse, better = ("regressed", "fixed") if metric == "pass_rate" else ("worse", "better")
    parts = [f"{numbers.count(evidence.worse)} of {numbers.counted(evidence.n, 'case')} {worse}"]
    if evidence.better:
        parts.append(f"{numbers.count(evidence.better)} {better}")
    if evidence.p is not None:
        parts.append(numbers.probability(evidence.p))
    return ", ".join(parts)
