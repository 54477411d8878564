"""The first lines of a report: why the verdict is what it is, in one sentence; the reasons; whose rules."""

from __future__ import annotations

from evaluator.reports import causes, movements, numbers, unanswered
from evaluator.reports import evidence as proof
from evaluator.reports.cases import scored
from evaluator.reports.escape import shorten
from evaluator.reports.figures import compared_nothing, comparison_of, headline_metrics, limits
from evaluator.reports.models import all_runs, verdicts, whose
from evaluator.reports.phrases import ended, lowered, trimmed
from evaluator.reports.witnesses import control_arm, is_unexplained, vouches_for_change
from evaluator.reports.words import LAYERS, MOVED
from evaluator.results import Acceptance, Reason, RuleResult, Run, TaskResult

_PARTS = {"system": "the system prompt", "model": "the model", "structured": "how structure is asked for"}
_MOST_CHANGED = 5
_BASELINE_BYTES = 500  # where it lies, who accepted it and why: the reason may be long
_CONTROL_BYTES = 240
_WHO_BYTES = 80
_WHY_BYTES = 300
_UNCHANGED = "Nothing that matters differs from the baseline: no model was asked"


def headline(run: Run) -> str:
    """Why the verdict is what it is, without a full stop."""
    if run.verdict == "pass":
        return _passed(run)
    first = causes.first_cause(run)
    if first is None:
        return "no reason was recorded"
    failure = unanswered.said(run)
    layer, cause = _layer(run, first), failure or causes.in_words(run, first)
    if run.verdict == "drift" and cause.lower().startswith(("the provider moved", "the model moved")):
        cause = cause.partition(": ")[2] or cause  # said by the layer already
    parts = [": ".join(part for part in (layer, cause) if part)]
    if fell := causes.besides(run, None if failure else first):
        parts.append(fell)
    if run.verdict == "drift" and "model" in (run.layer, first.kind) and causes.has_held(run):
        parts.append("nothing got worse")
    if said := control_arm(run) if is_unexplained(run) else None:
        why = lowered(trimmed(shorten(said.text, _CONTROL_BYTES)))
        parts.append(f"which layer moved is not known: {why}")
    others = sum(causes.is_cause(run, reason) for reason in run.reasons) - (not failure)
    if others > 0:
        parts.append(f"{numbers.counted(others, 'more reason')} below")
    return "; ".join(parts)


def _layer(run: Run, first: Reason) -> str:
    """What moved, where that is known."""
    if run.verdict == "drift":
        named = MOVED.get(run.layer) if run.layer is not None else None
        return named or LAYERS.get(first.kind, "a layer moved")
    if run.verdict == "inconclusive" and run.layer == "provider":
        return "the provider refuses a schema" if _refuses_schema(run) else "the provider moved"
    return "the change is the cause" if vouches_for_change(run) else ""


def _refuses_schema(run: Run) -> bool:
    attempts = (a for each in all_runs(run) for task in each.tasks for case in task.cases for a in case.attempts)
    return any(a.infrastructure is not None and a.infrastructure.kind == "refused_schema" for a in attempts)


def reasons(run: Run) -> list[str]:
    """Every reason of the verdict, in words; empty where the headline has said it all."""
    texts = [causes.listed(run, reason) for reason in run.reasons if reason.kind != "note"]
    return texts if len(texts) > 1 or unanswered.leading(run) is not None else []


def notes(run: Run) -> list[str]:
    """What a reader must know before the figures: which model does not pass, whose rules, which baseline."""
    said = [_accepted(run.accepted)] if run.accepted is not None else []
    said += [verdicts(run)] if run.beside else []
    if run.unchanged:
        only = "" if run.verdict == "pass" else f"{_UNCHANGED}. "
        said.append(f"{only}The baseline's own answers were judged again by today's rules.")
    said += [ended(reason.text) for reason in (*run.reasons, *run.warnings) if reason.kind == "note"]
    if run.comparison is None:
        return [*said, "Not compared with any baseline."]
    said.append(f"Compared with {_which(run.comparison.baseline)}.")
    if run.comparison.anchor:
        said.append(f"Also held against the last accepted baseline: {_which(run.comparison.anchor)}.")
    changed = _changed(run)
    return [*said, f"Changed since the baseline: {changed}."] if changed else said


def _changed(run: Run) -> str:
    """The parts of the subject that differ from the baseline's, which are what a pull request changes."""
    names = run.comparison.subject if run.comparison is not None else []
    shown = [shorten(_PARTS.get(name, name), 60) for name in names[:_MOST_CHANGED]]
    more = f" and {len(names) - _MOST_CHANGED} more" if len(names) > _MOST_CHANGED else ""
    return ", ".join(shown) + more


def _which(baseline: str) -> str:
    return numbers.moments(trimmed(shorten(baseline, _BASELINE_BYTES)))


def _accepted(accepted: Acceptance) -> str:
    """ "Accepted by octocat, 2026-05-04 10:00 UTC: label on #12."."""
    by, why = shorten(accepted.by, _WHO_BYTES).strip(), trimmed(shorten(accepted.why, _WHY_BYTES))
    at = numbers.moments(shorten(accepted.at, _WHO_BYTES))
    said = ", ".join(part for part in (f"Accepted by {by}" if by else "Accepted", at) if part)
    return f"{said}: {why}." if why else f"{said}."


def _passed(run: Run) -> str:
    """ "2 rules hold, t pass_rate rose 0.35 → 0.45", or what speaks against being sure."""
    parts = [lowered(_UNCHANGED)] if run.unchanged else []
    parts += causes.softened(run)
    return "; ".join(parts if causes.has_dropped(run) else [*parts, _rules_held(run)])


def _rules_held(run: Run) -> str:
    rules = [(each, rule) for each in all_runs(run) for rule in each.rules]
    if not rules:
        return _unruled(run)
    warned = sorted((p for p in rules if p[1].outcome == "warn"), key=lambda pair: pair[1].evidence is None)
    held = sum(rule.outcome == "ok" and not compared_nothing(rule) for _, rule in rules)
    idle = sum(compared_nothing(rule) for _, rule in rules)
    parts = []
    if warned:
        parts += ["no rule failed", whose(run, warned[0][0]) + _possible(warned[0][1])]
        if len(warned) > 1:
            parts.append(f"{numbers.counted(len(warned) - 1, 'more warning')} below")
    elif held:
        what = numbers.counted(held, "rule holds", "rules hold")
        moved = _headline_figure(run)
        parts.append(f"{what}, {whose(run, run)}{moved}" if moved else what)
    if idle:
        which = f"{numbers.counted(idle, 'rule')} " if parts else ""
        parts.append(f"{which}compared with nothing yet (`baseline.allow_missing`)")
    return "; ".join(parts)


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
            same = (rule.task, rule.metric) == (task.name, metric)
            if same and rule.evidence is not None and not rule.anchor:
                return movements.moved(rule)
    return next((moved for task in run.tasks if (moved := _unruled_figure(run, task))), "")


def _unruled_figure(run: Run, task: TaskResult) -> str:
    compared = comparison_of(run, task.name)
    metric = headline_metrics(task)[0]
    now = task.metrics.get(metric)
    before = compared.baseline_metrics.get(metric) if compared is not None else None
    if compared is None or now is None or before is None or compared.baseline_repeats != task.repeats:
        return ""
    return movements.change(f"{task.name} {metric}", metric, before.value, now.value)


def _possible(rule: RuleResult) -> str:
    """What a warning of a rule is about: a change within noise, a limit that may not hold, or no judgement at all."""
    if rule.evidence is not None and rule.baseline is not None and rule.now is not None:
        before, after = numbers.pair(rule.metric, rule.baseline, rule.now)
        direction = "drop" if rule.now < rule.baseline else "rise"
        return (
            f"possible {direction} in {movements.name(rule)} {before} → {after}{movements.since(rule)}, within noise "
            f"({proof.cases(rule.evidence)})"
        )
    if rule.now is not None:
        value = numbers.figure(rule.metric, rule.now)
        return f"{movements.name(rule)} {value} may lie beyond its limit ({', '.join(limits(rule))})"
    return trimmed(rule.text)
