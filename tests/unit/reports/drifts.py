"""Runs in which some layer moved, one for each thing that a report must say of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from evaluator.config.types import Rule
from evaluator.results import (
    Acceptance,
    Attempt,
    Control,
    Evidence,
    LayerWord,
    LiveCanaries,
    LiveCanary,
    Reason,
    Run,
    VerdictWord,
    Witness,
)
from evaluator.transcript import Usage
from tests.unit.reports import builders
from tests.unit.reports.builders import broken, build, fingerprint, outcomes, task_result

MODEL = "gpt-4.1-mini-2025-04-14"
ACCEPTED = Acceptance(by="octocat", at="2026-05-05T09:12:44Z", why="label trapgate:accept on #41")

STEADY = {
    "replay_canaries": "All 412 recorded answers are judged as they must be.",
    "baseline_rescored": "Today's validators judge all 60 stored attempts of the baseline as they were judged.",
    "live_canaries": "All 7 live canaries came out as in the baseline.",
}
IDLE = "Nothing got worse, so nothing was asked again."
HOLDS = (
    "12 cases of refunds asked again, pass_rate: baseline then 1.00, base now 0.97, change now 0.06: the base still "
    "does better than the change, p = 0.00012."
)
FELL = (
    "12 cases of refunds asked again, pass_rate: baseline then 1.00, base now 0.08, change now 0.06: the base does as "
    "badly now as the change."
)
ALIKE = "nothing of what is asked differs from the baseline, so the change cannot be the cause."
NOT_ASKED = "The control arm was not asked: OPENAI_API_KEY is not set."


def witnesses(**said: tuple[str, str]) -> list[Witness]:
    """The four, steady but for those that are named: state and text."""
    usual = {name: ("steady", text) for name, text in STEADY.items()} | {"control_arm": ("silent", IDLE)}
    rows: list[Any] = [{"name": name, "state": state, "text": text} for name, (state, text) in (usual | said).items()]
    return [Witness(**row) for row in rows]


def moved(
    run: Run,
    layer: LayerWord | None,
    *,
    verdict: VerdictWord | None = None,
    reasons: Sequence[Reason] | None = None,
    **said: tuple[str, str],
) -> Run:
    """`run` with the layer and what the witnesses say."""
    return replace(
        run,
        layer=layer,
        verdict=verdict or run.verdict,
        reasons=list(reasons) if reasons is not None else run.reasons,
        witnesses=witnesses(**said),
    )


def dropped() -> Run:
    """Twelve of twenty cases of a refund agent fall by another system prompt."""
    return build(
        [task_result("refunds", outcomes(8, 12))],
        [task_result("refunds", outcomes(20, 0))],
        before=replace(fingerprint(), subject=fingerprint().subject | {"system": "1f2e3d4c5b6a"}),
        name="refund-agent",
    )


def calm() -> Run:
    return moved(builders.passing(), None)


def changed() -> Run:
    return moved(dropped(), "change", control_arm=("steady", HOLDS))


def unexplained() -> Run:
    return moved(dropped(), None, control_arm=("silent", NOT_ASKED))


def validators_moved() -> Run:
    return moved(
        builders.drifting(),
        "validator",
        replay_canaries=("moved", "2 of 412 recorded answers are judged otherwise than they must be: a, b."),
        baseline_rescored=(
            "moved",
            "1 stored verdict or figure of the baseline is not given again by today's validators.",
        ),
    )


def provider_moved() -> Run:
    said = "Strict schemas with minItems were accepted in the baseline and are refused now."
    return moved(
        dropped(),
        "provider",
        verdict="drift",
        reasons=[
            Reason(kind="provider", text=f"The provider moved: {FELL}"),
            Reason(kind="provider", text=f"A live canary came out otherwise: {said}"),
        ],
        live_canaries=("moved", f"1 of 7 came out otherwise. {said}"),
        control_arm=("moved", FELL),
    )


def model_moved() -> Run:
    return moved(
        dropped(),
        "model",
        verdict="drift",
        reasons=[Reason(kind="model", text=f"The model moved, or the provider behind it: {FELL}")],
        control_arm=("moved", FELL),
    )


def nothing_changed() -> Run:
    """A run at night: the model is worse, and nobody changed anything."""
    same = build([task_result("refunds", outcomes(8, 12))], [task_result("refunds", outcomes(20, 0))])
    return moved(
        same,
        "model",
        verdict="drift",
        reasons=[Reason(kind="model", text=f"The model moved, or the provider behind it: {ALIKE}")],
        control_arm=("moved", f"{ALIKE[:1].upper()}{ALIKE[1:]}"),
    )


def softened(run: Run) -> Run:
    """The same where `gate.on_drift` only warns: what the verdict would rest on is in the warnings."""
    assert run.comparison is not None
    fallen = [Reason(kind="rule", text=each.text, task=each.task) for each in run.rules if each.outcome == "fail"]
    return replace(run, verdict="pass", reasons=[], warnings=[*run.warnings, *fallen, *run.reasons])


def refused() -> Run:
    """The provider refuses the schemas of most cases."""
    message = "HTTP 400: Invalid schema for response_format 'refund': 'minItems' is not permitted"
    now: dict[str, list[Attempt]] = outcomes(20, 0)
    for n in range(3, 21):
        now[f"call-{n:02}"] = [broken(kind="refused_schema", message=message, http=400)]
    run = build([task_result("refunds", now)], [task_result("refunds", outcomes(20, 0))], name="refund-agent")
    said = "1 of 7 came out otherwise: array-min-items was valid and is refused now."
    return moved(run, "provider", live_canaries=("moved", said))


def accepted(run: Run | None = None) -> Run:
    return replace(run or changed(), accepted=ACCEPTED)


def unchanged() -> Run:
    task = task_result("refunds", outcomes(19, 1))
    run = moved(
        build([task], [task], name="refund-agent"),
        None,
        live_canaries=("silent", "No model was asked in this run."),
    )
    return replace(run, unchanged=True)


def anchored() -> Run:
    """Each run fell a little; since the accepted baseline it is too much."""
    run = build([task_result("refunds", outcomes(52, 8))], [task_result("refunds", outcomes(54, 6))])
    assert run.comparison is not None
    own = run.rules[0]
    evidence = Evidence(
        test="mcnemar",
        n=60,
        worse=8,
        better=0,
        difference=-0.1333,
        p=0.0039,
        adjusted=0.0078,
        family=2,
        detectable=0.13,
    )
    since = replace(
        own, outcome="fail", baseline=1.0, now=0.8667, evidence=evidence, anchor=True, worse=["call-53", "call-54"],
        text="refunds pass_rate, max_drop 0, since the accepted baseline: 1.00 → 0.8667 (8 cases worse, 0 better, "
        "p = 0.0039, 0.0078 after Holm over 2 tests).",
    )  # fmt: skip
    drop = Reason(kind="rule", text=since.text, task="refunds", metric="pass_rate")
    run = moved(run, "change", verdict="regression", reasons=[drop], control_arm=("steady", HOLDS))
    return replace(
        run,
        rules=[own, since],
        comparison=replace(
            run.comparison,
            baseline="trapgate-baselines at 3f2c1ab, moved by itself 2026-05-04T02:00:11Z: the run passed",
            anchor="accepted 2026-05-03T16:20:00Z by octocat: first level that we ship",
        ),
    )


def spending(run: Run | None = None, *, live: Usage | None, control: float | None = 0.0006) -> Run:
    """A run with live canaries and a control arm of two attempts, each at the price of `control`."""
    arm = task_result("refunds", {"call-09": [builders.passed(cost=control)]})
    canary = LiveCanary(id="enum", digest="0" * 64, attempts=["valid"])
    return replace(
        run or changed(),
        live=LiveCanaries(canaries=[canary], usage=live),
        control=Control(base=[arm], change=[arm]),
    )


def small_suite() -> Run:
    """A big drop in few cases, which no test can tell from noise."""
    return moved(
        build([task_result("t", outcomes(2, 4))], [task_result("t", outcomes(6, 0))],
              rules=[Rule(metric="pass_rate", task="t", max_drop=0.0)]),
        None,
    )  # fmt: skip


ALL = {
    "calm": calm,
    "changed": changed,
    "unexplained": unexplained,
    "validators": validators_moved,
    "provider": provider_moved,
    "model": model_moved,
    "nothing changed": nothing_changed,
    "refused": refused,
    "accepted": accepted,
    "unchanged": unchanged,
    "anchored": anchored,
    "small": small_suite,
}
