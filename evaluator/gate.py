"""Rules → verdict. Pure; the one place that decides, and everything that could end in a wrong pass is decided here.

Precedence: validator drift > inconclusive > regression > provider or model drift > pass, by the table of
`evaluator.decision`. (A configuration error never gets this far.)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import msgspec

from evaluator import control, coverage, critical, decision, rules
from evaluator.baselines import Missing, Unreadable
from evaluator.comparison import Difference, Pairing, difference
from evaluator.config.types import GateConfig, Rule
from evaluator.control import Answer, Suspicion
from evaluator.decision import Signs
from evaluator.errors import EXIT_DRIFT, EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_REGRESSION
from evaluator.results import Acceptance, LayerWord, Reason, RuleResult, Run, TaskResult, VerdictWord
from evaluator.rules import Facts, Judged, Tested, is_relative
from evaluator.statistics import holm

EXIT_CODES: dict[VerdictWord, int] = {
    "pass": EXIT_PASS,
    "regression": EXIT_REGRESSION,
    "inconclusive": EXIT_INCONCLUSIVE,
    "drift": EXIT_DRIFT,
}


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The one verdict that drives comment, summary, outputs and exit code. `layer`: what moved, where that is known;
    `control`: what the control arm says of the drop, None where nothing is suspected; `suspicions`: what it could be
    asked about."""

    verdict: VerdictWord
    layer: LayerWord | None
    reasons: list[Reason]
    warnings: list[Reason]
    rules: list[RuleResult]
    control: Answer | None = None
    suspicions: list[Suspicion] = []


class _Drop(msgspec.Struct, frozen=True):
    """A reason for a regression, with what may have caused it; None for a floor, which holds whatever the cause."""

    reason: Reason
    suspicion: Suspicion | None


def decide(gate: GateConfig, facts: Facts) -> Decision:
    """The verdict with every reason of its kind, and what else a reader should know as warnings."""
    judged, drops = _judged(gate, facts)
    drifted = _validator_reasons(facts)
    stale = coverage.stale(facts)
    open_questions = [*stale, *coverage.gaps(gate, facts), *_baseline_reasons(gate, facts)]
    explained = {reason.task for reason in stale}
    open_questions += [
        _rule_reason(each.kind, each.result)
        for each in judged
        if each.result.outcome == "inconclusive" and each.result.task not in explained
    ]
    warned = [_rule_reason("rule", each.result) for each in judged if each.result.outcome == "warn"]
    suspicions = [drop.suspicion for drop in drops if drop.suspicion is not None]
    answers = [_answer(_same_drop(each, suspicions), facts, gate.alpha / len(suspicions)) for each in suspicions]
    arm = _together(answers)
    row = decision.row(
        Signs(
            canaries=all(reason.kind != "canary" for reason in drifted),
            rescored=all(reason.kind != "validator" for reason in drifted),
            open=bool(open_questions),
            floor=any(drop.suspicion is None for drop in drops),
            drop=bool(suspicions),
            control=arm.word if arm is not None else "silent",
            provider=any(mover.kind == "provider" for mover in facts.movers),
            model=any(mover.kind == "model" for mover in facts.movers),
        )
    )
    fallen = [drop.reason for drop in drops]
    moved = list(facts.movers)
    if row.verdict == "drift" and row.layer in ("provider", "model") and arm is not None:
        moved.insert(0, Reason(kind=row.layer, text=_moved(row.layer, arm)))
    groups: dict[VerdictWord, list[Reason]] = {
        "drift": drifted if row.layer == "validator" else moved,
        "inconclusive": open_questions,
        "regression": fallen,
        "pass": [],
    }
    softened = row.soft and gate.on_drift == "warn"
    verdict: VerdictWord = "pass" if softened else row.verdict
    reasons = [] if softened else groups[row.verdict]
    # What the verdict does not rest on is still said: a regression under an inconclusive run, for one.
    others = [each for each in (*drifted, *open_questions, *fallen, *moved) if each not in reasons]
    return Decision(
        verdict=verdict,
        layer=row.layer,
        reasons=reasons,
        warnings=[*critical.acquittals(facts), *coverage.left_out(facts), *others, *warned],
        rules=[each.result for each in judged],
        control=arm,
        suspicions=suspicions,
    )


def _judged(gate: GateConfig, facts: Facts) -> tuple[list[Judged], list[_Drop]]:
    """Every rule's result, and the reasons for a regression. All tests of a change that can block share alpha: each
    rule alike, but by the default rules a task of many groups has one share for all of them and one for the whole."""
    measured = [each for rule in effective_rules(gate, facts) for each in rules.measure(rule, gate, facts)]
    whole = _whole_tasks(gate, facts)
    tests = [each for each in measured if isinstance(each, Tested) and each.p is not None]
    ps = [*(each.p for each in tests if each.p is not None), *(change.evidence.p or 0.0 for change in whole.values())]
    groups = Counter(side for each in tests if (side := (each.task.name, each.anchor)) in whole)
    weights = [*(1 / groups.get((each.task.name, each.anchor), 1) for each in tests), *(1.0 for _ in whole)]
    adjusted = holm(ps, weights)
    total = math.fsum(weights)
    shares = {id(each): (p, total / weight) for each, p, weight in zip(tests, adjusted, weights, strict=False)}
    judged = [
        rules.judge(each, gate, *shares.get(id(each), (None, 1.0)), tests=len(ps)) if isinstance(each, Tested) else each
        for each in measured
    ]
    drops = [
        _Drop(_rule_reason(each.kind, each.result), each.suspicion) for each in judged if each.result.outcome == "fail"
    ]
    drops += [_Drop(reason, suspicion) for reason, suspicion in critical.drops(facts)]
    fallen = {drop.reason.task for drop in drops}
    left = zip(whole.items(), adjusted[len(tests) :], strict=True)
    drops += [_whole_drop(*side, change, p) for (side, change), p in left if side[0] not in fallen and p <= gate.alpha]
    return judged, drops


def _whole_tasks(gate: GateConfig, facts: Facts) -> dict[tuple[str, bool], Difference]:
    """By the default rules, a task whose groups are judged one by one is also looked at as a whole: in groups of a few
    cases nothing can be significant, however many of them fall. It gives no figure, only that more cases fell than
    chance allows. By the task's name, and whether it is held against the anchor."""
    found = {}
    for anchor, pairings in ((False, facts.pairings), (True, facts.anchored)) if gate.rules is None else ():
        for pairing in pairings.values():
            if pairing.pooled:
                continue
            change = difference("pass_rate", pairing, alpha=gate.alpha, higher_is_better=True)
            if change is not None and change.evidence.p is not None:
                found[pairing.task, anchor] = change
    return found


def _whole_drop(task: str, anchor: bool, change: Difference, p: float) -> _Drop:
    evidence = change.evidence
    since = ", since the accepted baseline," if anchor else ""
    text = (
        f"{task}: over all its groups{since} {evidence.worse} of {evidence.n} cases do worse and {evidence.better} "
        f"better, p = {p:.2g}."
    )
    suspicion = Suspicion(task=task, metric="pass_rate", higher_is_better=True, cases=change.worse, anchor=anchor)
    return _Drop(Reason(kind="rule", task=task, metric="pass_rate", text=text), suspicion)


def _same_drop(suspicion: Suspicion, all_of_them: Sequence[Suspicion]) -> Suspicion:
    """A drop since the anchor that is the drop since the baseline, in every case of it: what explains one explains the
    other. Any other stands for itself."""
    for each in all_of_them if suspicion.anchor else ():
        alike = (each.task, each.metric, each.lone) == (suspicion.task, suspicion.metric, suspicion.lone)
        if alike and not each.anchor and set(suspicion.cases) <= set(each.cases):
            return each
    return suspicion


def _answer(suspicion: Suspicion, facts: Facts, alpha: float) -> Answer:
    """`alpha`: what one of several suspicions has of it."""
    if facts.alike_anchor if suspicion.anchor else facts.alike:
        text = "nothing of what is asked differs from the baseline, so the change cannot be the cause"
        if suspicion.proved:
            return Answer(word="fell", text=text)
        return Answer(word="unclear", text=f"{text}; but it may be noise")
    pairings = facts.anchored if suspicion.anchor else facts.pairings
    return control.answer(suspicion, facts.control, pairings[suspicion.task], alpha)


def _together(answers: Sequence[Answer]) -> Answer | None:
    """One answer of several, by the word that decides and the words that belong to it."""
    if not answers:
        return None
    word = control.overall(answers)
    texts = dict.fromkeys(answer.text for answer in answers if answer.word == word)
    return Answer(word=word, text="; ".join(texts))


def _moved(layer: LayerWord, arm: Answer) -> str:
    what = "The provider moved" if layer == "provider" else "The model moved, or the provider behind it"
    return f"{what}: {arm.text}."


def effective_rules(gate: GateConfig, facts: Facts) -> list[Rule]:
    """The rules of the file, else the default: pass_rate may not drop at all, on each task or, where a task is not
    pooled, on each of its slices, those of the baseline included."""
    if gate.rules is not None:
        return gate.rules
    return [
        Rule(metric="pass_rate", task=task.name, slice=part, max_drop=0.0)
        for task in facts.tasks
        for part in ([None] if task.pooled else _slices(task, facts.pairings.get(task.name)))
    ]


def _slices(task: TaskResult, pairing: Pairing | None) -> list[str]:
    """Those of the baseline, and of cases that it does not know: a change of labels makes no new tests, which would
    leave less of alpha for each."""
    if pairing is None:
        return sorted(task.slices)
    added = set(pairing.added)
    new = {name for case in task.cases if case.id in added for name in case.slices}
    return sorted(new.union(name for case in pairing.baseline for name in case.slices))


def _validator_reasons(facts: Facts) -> list[Reason]:
    canaries = facts.canaries.cases
    reasons = [
        Reason(kind="canary", text=f"Canary {canary.id}: expected {canary.expected}, got {canary.got}.")
        for canary in canaries
        if not canary.ok
    ]
    if not canaries:
        reasons.append(Reason(kind="canary", text="No canary was scored, so nothing vouches for the validators."))
    return reasons + [Reason(kind="validator", text=text) for text in facts.validator]


def _baseline_reasons(gate: GateConfig, facts: Facts) -> list[Reason]:
    state = facts.baseline
    if isinstance(state, Unreadable):
        return [Reason(kind="baseline", text=f"The baseline {state.where} cannot be read: {state.why}.")]
    needed = any(is_relative(rule) for rule in effective_rules(gate, facts))
    if isinstance(state, Missing) and needed and not facts.allow_missing:
        mend = "Accept one with `trapgate baseline accept`, or set `baseline.allow_missing: true` until there is one."
        return [Reason(kind="baseline", text=f"There is no baseline at {state.where} to compare with. {mend}")]
    return []


def rank(verdict: VerdictWord, layer: LayerWord | None) -> int:
    """The place of a verdict in the precedence, 0 first: of several models the most severe one counts."""
    if verdict == "drift":
        return 0 if layer == "validator" else 3
    return {"inconclusive": 1, "regression": 2, "pass": 4}[verdict]


def _rule_reason(kind: str, result: RuleResult) -> Reason:
    return Reason(kind=kind, text=result.text, task=result.task, metric=result.metric)


# What a person who may write can accept: that a change does otherwise, and that a moved layer is the new normal. Not
# what a broken ruler says, not what was never seen, and not a limit that is absolute.
_ACCEPTABLE = frozenset({"rule", "critical", "comparison", "provider", "model"})
_NEVER_ACCEPTABLE = frozenset({"floor", "coverage", "canary", "validator", "baseline", "stale"})


def acceptable(run: Run) -> str:
    """Why a run cannot be accepted as it is by a person who may write, in words; empty where it can."""
    if run.verdict == "pass":
        return "the run passes, and there is nothing to accept"
    if run.verdict == "drift" and run.layer == "validator":
        return "validator drift is never accepted: a broken ruler measures nothing"
    wanted = frozenset({"comparison"}) if run.verdict == "inconclusive" else _ACCEPTABLE
    others = [reason for reason in run.reasons if reason.kind not in wanted and reason.kind != "note"]
    # What the verdict does not rest on is in the warnings: under too few cases a floor may be broken as well.
    others += [reason for reason in run.warnings if reason.kind in _NEVER_ACCEPTABLE]
    return f"this cannot be accepted: {others[0].text}" if others else ""


def accepted(run: Run, acceptance: Acceptance) -> Run:
    """`run` as somebody accepted it: its verdict stays what it is. Raises ValueError where `acceptable` objects."""
    if why := acceptable(run):
        raise ValueError(why)
    return msgspec.structs.replace(run, accepted=acceptance)


def exit_code(run: Run) -> int:
    """The exit code that goes with a run's verdict, 0 where somebody accepted it."""
    return EXIT_PASS if run.accepted is not None else EXIT_CODES[run.verdict]
