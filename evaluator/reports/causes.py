"""A reason of the verdict as the first line says it: short, and with what a reader looks for first."""

from __future__ import annotations

from collections.abc import Iterator

from evaluator.reports import evidence as proof
from evaluator.reports import movements
from evaluator.reports.escape import shorten
from evaluator.reports.figures import comparison_of
from evaluator.reports.models import all_runs, whose
from evaluator.reports.phrases import ended, lowered, trimmed
from evaluator.reports.verdict import layer_of, verdict_of
from evaluator.reports.words import CAUSES
from evaluator.results import CanaryResult, Reason, RuleResult, Run

_SAID_BYTES = 80
_CLAUSE_BYTES = 160
_MOST_CASES = 3
_LAYERS = ("canary", "validator", "source", "provider", "model")
_OPEN = ("coverage", "comparison")
_WORSE = ("rule", "floor", "critical")


def first_cause(run: Run) -> Reason | None:
    """The reason that the first line says: the first one that can cause such a verdict, else the first one."""
    known = [reason for reason in run.reasons if reason.kind != "note"]
    return next((reason for reason in known if is_cause(run, reason)), known[0] if known else None)


def is_cause(run: Run, reason: Reason) -> bool:
    """Whether a reason can cause the verdict."""
    return reason.kind in CAUSES[run.verdict]


def in_words(run: Run, reason: Reason) -> str:
    """Without a full stop: what a canary is judged as, the figure that fell, the cases that are missing; else the
    reason's own text."""
    if said := _canary(run, reason) or _behind_drift(run, reason):
        return said
    if run.verdict == "regression" and reason.kind == "rule":
        return _fallen_rule(run, reason) or trimmed(reason.text)
    if reason.kind in _OPEN:
        return _with_cases(run, reason)
    # Several models' reasons begin with a name.
    return lowered(trimmed(reason.text)) if reason.kind in _LAYERS and not run.beside else trimmed(reason.text)


def listed(run: Run, reason: Reason) -> str:
    """As a sentence of its own, in full but for what another place of the report has in full."""
    said = _canary(run, reason) or _behind_drift(run, reason)
    return ended(said[:1].upper() + said[1:] if reason.kind == "canary" else said) if said else ended(reason.text)


def softened(run: Run) -> list[str]:
    """What moved under a pass that only warns of it, for each model; and whether anything fell."""
    return [said for each in all_runs(run) if (said := _softened(run, each))]


def has_dropped(run: Run) -> bool:
    """Whether cases got worse under a layer that moved."""
    return any(_drop(run, each) for each in all_runs(run))


def besides(run: Run, first: Reason | None) -> str:
    """ "besides, pass_rate fell 1.00 → 0.45 (6 of 11 cases regressed, p = 0.016)": a proven drop beside what is
    missing, without the task where the first line has named it by `first`; empty where there is none."""
    if run.verdict != "inconclusive":
        return ""
    for each in all_runs(run):
        for rule in each.rules:
            if rule.evidence is None or not proof.is_proven(rule):
                continue
            said = movements.fallen(rule, rule.evidence)
            named = first.text if first is not None and not run.beside else ""
            is_named = rule.task is not None and named.startswith(f"{rule.task}: ")
            return f"besides, {whose(run, each)}{said.removeprefix(f'{rule.task} ') if is_named else said}"
    return ""


def has_held(run: Run) -> bool:
    """Whether no rule speaks against the run, and no pass rate is lower than in the baseline."""
    if any(reason.kind in _WORSE for reason in (*run.reasons, *run.warnings)):
        return False
    runs = all_runs(run)
    compared = [task for each in runs if each.comparison is not None for task in each.comparison.tasks]
    found = [one for task in compared for one in (task.pass_rate, *task.slices.values()) if one is not None]
    return (
        bool(found)
        and all(one.difference >= 0 for one in found)
        and all(rule.outcome == "ok" for each in runs for rule in each.rules)
    )


# Canaries


def _canary(run: Run, reason: Reason) -> str:
    """ "canary numeric/unit is judged passed, must fail (wrong_value)"; empty where none is meant."""
    if reason.kind != "canary":
        return ""
    failed = (canary for canary in run.canaries.cases if not canary.ok)
    known = next((canary for canary in failed if reason.text.startswith(f"Canary {canary.id}: expected ")), None)
    return _judged(known) if known is not None else ""


def _judged(canary: CanaryResult) -> str:
    must, came = _verdict(canary.expected), _verdict(canary.got)
    if must and must == came:
        return f"canary {canary.id} is judged {_said(came)}, as it must be, with other figures or findings"
    got = f" is judged {_said(came)}" if came else f": {_outline(canary.got)}"
    wanted = _must(must) if must else f"must be: {shorten(canary.expected, _SAID_BYTES)}"
    return f"canary {canary.id}{got}, {wanted}"


def _verdict(words: str) -> tuple[str, str] | None:
    """("failed", "wrong_value") of "failed wrong_value score=0"; None of what is no verdict."""
    first, _, rest = words.partition(" ")
    if first == "passed":
        return first, ""
    return (first, rest.partition(" ")[0]) if first == "failed" and rest else None


def _outline(got: str) -> str:
    """What came where that is no verdict; of long words only those before the first colon."""
    words = got.partition(": ")[0]
    is_long = len(got.encode("utf-8", "replace")) > _SAID_BYTES
    return shorten(words if is_long and words.replace(" ", "").isalnum() else got, _SAID_BYTES)


def _said(verdict: tuple[str, str] | None) -> str:
    word, mode = verdict or ("", "")
    return f"{word} ({mode})" if mode else word


def _must(verdict: tuple[str, str]) -> str:
    return f"must fail ({verdict[1]})" if verdict[1] else "must pass"


# What fell


def _behind_drift(run: Run, reason: Reason) -> str:
    """What fell, of the reason that says what the control arm found; else empty."""
    if run.verdict != "drift":
        return ""
    for each in all_runs(run):
        own = each.alone.reasons if each.alone is not None else each.reasons
        if own and reason.kind == own[0].kind and reason.text in (own[0].text, whose(run, each) + own[0].text):
            return _drop(run, each)
    return ""


def _softened(run: Run, part: Run) -> str:
    layer = layer_of(part)
    if verdict_of(part) != "pass" or layer is None:
        return ""
    moved = (reason for reason in run.warnings if reason.kind == layer and reason.text.startswith(whose(run, part)))
    return _drop(run, part) or next((in_words(run, reason) for reason in moved), "")


def _drop(run: Run, part: Run) -> str:
    """ "refunds pass_rate fell 1.00 → 0.33; the base does as badly now as the change" of a model under which a layer
    moved and cases got worse; empty where none did."""
    if layer_of(part) not in ("provider", "model"):
        return ""
    arm = next((witness for witness in part.witnesses if witness.name == "control_arm"), None)
    fell = next(_fallen(run, part), "") if arm is not None and arm.state == "moved" else ""
    if arm is None or not fell:
        return ""
    # Its figures stand in its own line, and that the change is not the cause is said by the layer.
    why = lowered(trimmed(arm.text).rpartition(": ")[2].partition(", so ")[0])
    return f"{whose(run, part)}{fell}; {shorten(why, _CLAUSE_BYTES)}"


def _fallen(run: Run, part: Run) -> Iterator[str]:
    """What got worse: the rules that fail, then what no rule's row shows."""
    yield from (movements.moved(rule) for rule in part.rules if _is_drop(rule))
    shown = {rule.text for rule in part.rules}
    mine = whose(run, part)
    for reason in run.warnings:
        text = reason.text.removeprefix(mine)
        if reason.kind in ("rule", "critical") and reason.text.startswith(mine) and text not in shown:
            yield trimmed(text)


def _is_drop(rule: RuleResult) -> bool:
    return rule.outcome == "fail" and rule.evidence is not None


def _fallen_rule(run: Run, reason: Reason) -> str:
    """The numbers of a rule that failed against a baseline; empty where the reason is about none."""
    for each in all_runs(run):
        for rule in each.rules:
            if rule.evidence is not None and _is_drop(rule) and reason.text == whose(run, each) + rule.text:
                return f"{whose(run, each)}{movements.fallen(rule, rule.evidence)}"
    return ""


# What is missing


def _with_cases(run: Run, reason: Reason) -> str:
    """With the first cases of the baseline that are no longer there, or no longer the same: "; changed: r11"."""
    text = trimmed(reason.text)
    part = next((each for each in all_runs(run) if reason.text.startswith(whose(run, each))), run)
    compared = comparison_of(part, reason.task or "")
    if compared is None:
        return text
    named = [(what, ids) for what, ids in (("removed", compared.removed), ("changed", compared.not_comparable)) if ids]
    if len(named) == 1 and text.endswith(f" {named[0][0]}"):
        return f"{text} ({_first(named[0][1])})"
    return "; ".join([text, *(f"{what}: {_first(ids)}" for what, ids in named)])


def _first(ids: list[str]) -> str:
    shown = ", ".join(shorten(each, _SAID_BYTES) for each in ids[:_MOST_CASES])
    return shown if len(ids) <= _MOST_CASES else f"{shown} and {len(ids) - _MOST_CASES} more"
