"""Several models side by side: which baseline each is compared with, and the one run that they make. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from evaluator.baselines import BaselineState, Found
from evaluator.gate import rank
from evaluator.results import Alone, Reason, Run, VerdictWord, models_of

# Reasons that speak of what all models share.
_SHARED = frozenset({"canary", "config", "note", "baseline", "task"})


def baseline_of(state: BaselineState | None, model: str) -> BaselineState | None:
    """The baseline as `model` is compared with it: its own results there, else those of the baseline's first model,
    which it then stands in for."""
    if not isinstance(state, Found):
        return state
    anchor = state.baseline.anchor
    if anchor is not None:
        anchor = msgspec.structs.replace(anchor, run=_run_of(anchor.run, model))
    chosen = msgspec.structs.replace(state.baseline, run=_run_of(state.baseline.run, model), anchor=anchor)
    return Found(state.where, chosen)


def _run_of(run: Run, model: str) -> Run:
    runs = dict(zip(models_of(run), (run, *run.beside), strict=True))
    return msgspec.structs.replace(runs.get(model, run), beside=[], alone=None)


def notes(state: BaselineState | None, models: Sequence[str]) -> list[Reason]:
    """First lines: which models are compared with another one's results. A single model needs none: that it is another
    than the baseline's is among the differences."""
    if not isinstance(state, Found) or len(models) < 2:
        return []
    known = models_of(state.baseline.run)
    first = known[0] or "recordings"
    return [
        Reason(kind="note", text=f"The baseline does not know {model}: it is compared with the baseline's {first}.")
        for model in models
        if model and model not in known
    ]


def lost(state: BaselineState | None, models: Sequence[str], of_rules: Sequence[str] = ()) -> list[Reason]:
    """Reasons, one for each of several models of the baseline that the run does not have: what was evaluated then is
    not now. A baseline of one model loses none: another stands in for it. The same of `of_rules`, several models of the
    configuration that the run is judged by."""
    known = models_of(state.baseline.run) if isinstance(state, Found) and state.baseline.run.beside else []
    gone = [
        Reason(kind="coverage", text=f"The baseline has the model {model}, and this run does not.")
        for model in known
        if model not in models
    ]
    return gone + [
        Reason(kind="comparison", text=f"The base evaluates the model {model}, and this change does not.")
        for model in (of_rules if len(of_rules) > 1 else ())
        if model not in models and model not in known
    ]


def not_these(state: BaselineState | None, model: str) -> list[Reason]:
    """A first line where recordings are of one of several models of the baseline: nothing is said of the others."""
    known = models_of(state.baseline.run) if isinstance(state, Found) else []
    others = [name for name in known if name != model]
    if len(known) < 2:
        return []
    text = f"Of the baseline's models these recordings are held to {model} alone; not judged: {', '.join(others)}."
    return [Reason(kind="note", text=text)]


def together(runs: Sequence[Run], missing: Sequence[Reason], warnings: Sequence[Reason] = ()) -> Run:
    """One run of one or more: the first, with the others beside it and the verdict of all. `missing`: of `lost`;
    `warnings`: what there is to say of the run as a whole."""
    first, *others = runs
    if not others and not missing:
        return msgspec.structs.replace(first, warnings=[*warnings, *first.warnings])
    worst = min(runs, key=lambda each: rank(each.verdict, each.layer))
    verdict: VerdictWord = worst.verdict
    if missing and rank("inconclusive", None) < rank(worst.verdict, worst.layer):
        verdict = "inconclusive"
    decisive = [each for each in runs if each.verdict == verdict]
    layers = {each.layer for each in decisive}
    rest = [each for each in runs if each.verdict not in (verdict, "pass")]
    reasons = [reason for each in decisive for reason in _named(each, each.reasons)]
    open_questions = list(missing)
    milder = [reason for each in rest for reason in _named(each, each.reasons)]
    noted = [reason for each in runs for reason in _named(each, each.warnings)]
    return msgspec.structs.replace(
        first,
        verdict=verdict,
        reasons=_once([*(open_questions if verdict == "inconclusive" else []), *reasons]),
        warnings=_once([*warnings, *([] if verdict == "inconclusive" else open_questions), *milder, *noted]),
        layer=worst.layer if verdict == "drift" else layers.pop() if len(layers) == 1 else None,
        beside=others,
        alone=Alone(verdict=first.verdict, reasons=first.reasons, layer=first.layer),
    )


def _named(run: Run, reasons: Sequence[Reason]) -> list[Reason]:
    model = models_of(run)[0]
    return [
        reason if _is_shared(reason) else msgspec.structs.replace(reason, text=f"{model}: {reason.text}")
        for reason in reasons
    ]


def _is_shared(reason: Reason) -> bool:
    """Whether it speaks of all models, as a rule on the cost of the whole run does."""
    return reason.kind in _SHARED or (reason.metric == "cost_usd" and reason.task is None)


def _once(reasons: Sequence[Reason]) -> list[Reason]:
    """Each reason once; a struct with only plain fields is equal by its text and kind."""
    return list({(reason.kind, reason.text): reason for reason in reasons}.values())
