"""What somebody accepted in one run, and whether a later run stays within that. Pure.

An acceptance speaks of what its giver saw: these rules, these cases, figures as bad as these. The run of the merge is
another one, on another base, and it may do worse. It stays within the acceptance where it is of the same models, gives
no other reason, and none of its figures and cases is worse. Models answer now and then otherwise, so a figure may be
worse by what noise allows: as far as the 95 % interval of the accepted change reaches.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from evaluator.results import Reason, RuleResult, Run, TaskResult, models_of
from evaluator.rules import higher_is_better

_SAME = 1e-9
_NAMED = 5
# In the warnings these say what the verdict did not rest on, and what somebody accepted with it all the same. Not
# `rule`: a possible drop is one as well, and a rule that fails is known by its result.
_HIDDEN = frozenset({"critical", "comparison", "provider", "model"})

Key = tuple[str, str, str | None, str | None]
"""Of a reason: the model (empty for all of them), kind, task and metric."""


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A figure that a rule on a change rests on, and the worst that would count as the same."""

    model: str
    task: str | None
    metric: str
    slice: str | None
    anchor: bool
    now: float
    worst: float


class Cases(msgspec.Struct, frozen=True, kw_only=True):
    """Cases of one task by one model: ids of critical ones that failed and of removed ones; of changed ones the digest
    of what they became."""

    model: str
    task: str
    critical: list[str] = []
    removed: list[str] = []
    changed: dict[str, str] = {}


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """What a run says that somebody has to accept."""

    models: list[str]
    reasons: list[Key] = []
    figures: list[Figure] = []
    cases: list[Cases] = []


def accepted(run: Run) -> Accepted:
    """What accepting `run` accepts."""
    keys = list(_reasons(run))
    parts = list(zip(models_of(run), (run, *run.beside), strict=True))
    return Accepted(
        models=models_of(run),
        reasons=keys,
        figures=[_figure(model, rule) for model, part in parts for rule in _behind(part, model, keys)],
        cases=[found for model, part in parts for found in _cases(part, model, keys)],
    )


def beyond(then: Accepted, run: Run) -> list[str]:
    """What `run` does beyond what was accepted, in words; empty where it stays within."""
    now = accepted(run)
    if now.models != then.models:
        return [f"it is of {_names(now.models)}, which was {_names(then.models)}"]
    return [
        *(text for key, text in _reasons(run).items() if key not in then.reasons),
        *_worse_figures(then.figures, now.figures),
        *_other_cases(then.cases, now.cases),
    ]


def _reasons(run: Run) -> dict[Key, str]:
    """What the run says that has to be accepted, with its words."""
    said = [reason for reason in run.reasons if reason.kind != "note"]
    said += [reason for reason in run.warnings if reason.kind in _HIDDEN]
    found = {(_whose(run, reason), reason.kind, reason.task, reason.metric): reason.text for reason in said}
    for model, part in zip(models_of(run), (run, *run.beside), strict=True):
        for rule in part.rules:
            if rule.outcome == "fail":
                found.setdefault((model if run.beside else "", "rule", rule.task, rule.metric), rule.text)
    return found


def _whose(run: Run, reason: Reason) -> str:
    """The model that a reason speaks of, which begins with its name where there are several."""
    return next((model for model in models_of(run) if run.beside and reason.text.startswith(f"{model}: ")), "")


def _behind(part: Run, model: str, keys: list[Key]) -> Iterator[RuleResult]:
    """The results that reasons of the kind `rule` rest on: those that failed. Where a task fell as a whole none of its
    own has to, and all of them count."""
    failed = [rule for rule in part.rules if rule.outcome == "fail"]
    for task, metric in {(key[2], key[3]): None for key in keys if key[1] == "rule" and key[0] in ("", model)}:
        of = [rule for rule in part.rules if (rule.task, rule.metric) == (task, metric) and rule.evidence is not None]
        yield from [rule for rule in of if rule in failed] or of


def _figure(model: str, rule: RuleResult) -> Figure:
    now = rule.now if rule.now is not None else 0.0
    worst = now
    if rule.evidence is not None and rule.baseline is not None:
        end = rule.evidence.low if higher_is_better(rule.metric) else rule.evidence.high
        worst = rule.baseline + end if end is not None else now
    return Figure(
        model=model,
        task=rule.task,
        metric=rule.metric,
        slice=rule.slice,
        anchor=rule.anchor,
        now=now,
        worst=worst,
    )


def _cases(part: Run, model: str, keys: list[Key]) -> Iterator[Cases]:
    tasks = {task.name: task for task in part.tasks}
    critical = {key[2] for key in keys if key[1] == "critical"}
    for compared in part.comparison.tasks if part.comparison is not None else []:
        task = tasks.get(compared.task)
        digests = {case.id: case.digest for case in task.cases} if task is not None else {}
        marked = {change.id for change in compared.regressed if change.critical}
        failed = _failed(task, marked) if task is not None and task.name in critical else []
        changed = {case_id: digests.get(case_id, "") for case_id in compared.not_comparable}
        if failed or compared.removed or changed:
            yield Cases(model=model, task=compared.task, critical=failed, removed=compared.removed, changed=changed)


def _failed(task: TaskResult, marked: set[str]) -> list[str]:
    """Critical cases that passed in no attempt. `marked`: those that the baseline calls critical."""
    return [
        case.id
        for case in task.cases
        if (case.critical or case.id in marked)
        and any(attempt.status == "scored" for attempt in case.attempts)
        and not any(attempt.passed for attempt in case.attempts)
    ]


def _worse_figures(then: list[Figure], now: list[Figure]) -> Iterator[str]:
    known = {_place(figure): figure for figure in then}
    for figure in now:
        what = f"{figure.task} {figure.metric}{f' ({figure.slice})' if figure.slice else ''}"
        if figure.anchor:
            what += ", since the accepted baseline"
        before = known.get(_place(figure))
        if before is None:
            yield f"{what}: {figure.now:.4g}, which was not among what failed then"
            continue
        sign = 1 if higher_is_better(figure.metric) else -1
        if sign * (before.worst - figure.now) > _SAME:
            yield f"{what}: {figure.now:.4g}, and {before.now:.4g} was accepted"


def _other_cases(then: list[Cases], now: list[Cases]) -> Iterator[str]:
    known = {(each.model, each.task): each for each in then}
    for each in now:
        before = known.get((each.model, each.task), Cases(model=each.model, task=each.task))
        other = [case_id for case_id, digest in each.changed.items() if before.changed.get(case_id) != digest]
        for what, ids in (
            ("critical cases fail", sorted(set(each.critical) - set(before.critical))),
            ("cases were removed", sorted(set(each.removed) - set(before.removed))),
            ("cases were changed", sorted(other)),
        ):
            if ids:
                yield f"{each.task}: other {what} ({_names(ids)})"


def _place(figure: Figure) -> tuple[str, str | None, str, str | None, bool]:
    return figure.model, figure.task, figure.metric, figure.slice, figure.anchor


def _names(names: list[str]) -> str:
    shown = ", ".join(name or "no model" for name in names[:_NAMED])
    return shown + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
