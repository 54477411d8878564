from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from evaluator.baselines.accepted import Accepted, accepted, beyond
from evaluator.cases import Subject
from evaluator.comparison import pair
from evaluator.config.types import GateConfig
from evaluator.gate import decide
from evaluator.models import together
from evaluator.results import (
    CaseChange,
    Comparison,
    Evidence,
    Reason,
    RuleResult,
    Run,
    TaskComparison,
)
from evaluator.rules import Facts
from tests.unit import builders

# 20 cases, all of which passed before; 10 pass now, and by chance it might have been 6 to 15.
SURE = Evidence(test="mcnemar", n=20, worse=10, better=0, difference=-0.5, p=0.001, low=-0.7, high=-0.25)
RECORDED = Evidence(test="deterministic", n=20, worse=10, better=0, difference=-0.5)


def rule(now: float = 0.5, evidence: Evidence = SURE, **other: Any) -> RuleResult:
    settings: dict[str, Any] = {"outcome": "fail", "task": "refunds", "metric": "pass_rate", "baseline": 1.0, **other}
    return RuleResult(
        rule="r", text=f"refunds {settings['metric']}: it is {now}.", now=now, evidence=evidence, **settings
    )


def reason(kind: str, task: str | None = "refunds", metric: str | None = None, text: str = "") -> Reason:
    return Reason(kind=kind, task=task, metric=metric, text=text or f"{task}: {kind}.")


DROP = reason("rule", metric="pass_rate")
CRITICAL, COMPARISON = reason("critical"), reason("comparison")
MODEL, PROVIDER = reason("model", None), reason("provider", None)


def a_run(
    *reasons: Reason,
    rules: list[RuleResult] | None = None,
    warnings: list[Reason] | None = None,
    failing: tuple[str, ...] = (),
    cases: Mapping[str, str] | None = None,
    model: str = "m",
    **compared: Any,
) -> Run:
    """A run for these `reasons`. `failing`: ids of cases that fail; `cases`: id → digest; `compared`: fields of the
    comparison."""
    task = builders.task_result({"c0": [builders.scored("c0" not in failing)]}, name="refunds", critical=["c0"])
    [first] = task.cases
    others = [
        msgspec.structs.replace(first, id=each, digest=digest, critical=False, attempts=[builders.scored(True)])
        for each, digest in (cases or {}).items()
    ]
    marked = [
        msgspec.structs.replace(first, id=each, critical=False, attempts=[builders.scored(False)])
        for each in failing
        if each != "c0"
    ]
    task = msgspec.structs.replace(task, cases=[first, *others, *marked])
    comparison = Comparison(baseline="b", tasks=[TaskComparison(task="refunds", paired=1, **compared)])
    return msgspec.structs.replace(
        builders.run([task]),
        verdict="regression",
        reasons=list(reasons),
        warnings=warnings or [],
        rules=rules or [],
        comparison=comparison,
        subject=Subject(model=model),
    )


def critical(*ids: str) -> list[CaseChange]:
    return [CaseChange(task="refunds", id=each, baseline=1.0, now=0.0, critical=True) for each in ids]


LATENCY = {"metric": "latency", "baseline": 10.0}
SLOWER = Evidence(test="sign-flip", n=20, worse=9, better=0, difference=5.0, p=0.001, low=3.0, high=7.0)


@pytest.mark.parametrize(
    ("then", "now"),
    [
        (a_run(DROP, rules=[rule()]), a_run(DROP, rules=[rule()])),
        (a_run(DROP, rules=[rule()]), a_run(DROP, rules=[rule(0.6)])),
        (a_run(DROP, rules=[rule()]), a_run(DROP, rules=[rule(0.3)])),
        (a_run(DROP, rules=[rule(evidence=RECORDED)]), a_run(DROP, rules=[rule(evidence=RECORDED)])),
        (a_run(DROP, rules=[rule()]), a_run()),
        (a_run(DROP, rules=[rule()]), a_run(reason("note", text="said"), warnings=[DROP])),
        (a_run(DROP, CRITICAL, rules=[rule()], failing=("c0",)), a_run(CRITICAL, failing=("c0",))),
        (a_run(COMPARISON, removed=["a", "b"]), a_run(COMPARISON, removed=["a"])),
        (
            a_run(COMPARISON, not_comparable=["a"], cases={"a": "1"}),
            a_run(not_comparable=["a"], cases={"a": "1"}),
        ),
        (a_run(MODEL), a_run(MODEL)),
        (a_run(DROP, rules=[rule(15.0, SLOWER, **LATENCY)]), a_run(DROP, rules=[rule(16.9, SLOWER, **LATENCY)])),
        # A case that fails is nothing by itself: what is critical is said by a reason.
        (a_run(), a_run(failing=("c0",))),
        (a_run(CRITICAL, warnings=[PROVIDER], failing=("c0",)), a_run(PROVIDER)),
    ],
)
def test_a_run_that_does_no_more_than_what_was_accepted_stays_within(then: Run, now: Run) -> None:
    assert beyond(accepted(then), now) == []


@pytest.mark.parametrize(
    ("then", "now", "what"),
    [
        (a_run(DROP, rules=[rule()]), a_run(DROP, rules=[rule(0.29)]), "refunds pass_rate: 0.29, and 0.5 was accepted"),
        (
            a_run(DROP, rules=[rule(evidence=RECORDED)]),
            a_run(DROP, rules=[rule(0.45)]),
            "refunds pass_rate: 0.45, and 0.5 was accepted",
        ),
        (
            a_run(reason("rule", metric="latency"), rules=[rule(15.0, SLOWER, **LATENCY)]),
            a_run(reason("rule", metric="latency"), rules=[rule(17.1, SLOWER, **LATENCY)]),
            "refunds latency: 17.1, and 15 was accepted",
        ),
        (a_run(CRITICAL, failing=("c0",)), a_run(DROP, rules=[rule()]), "refunds: rule."),
        (a_run(DROP), a_run(CRITICAL, failing=("c0",)), "refunds: critical."),
        (a_run(DROP), a_run(reason("rule", "other", "pass_rate")), "other: rule."),
        (a_run(DROP), a_run(reason("rule", "refunds", "valid")), "refunds: rule."),
        (a_run(DROP), a_run(MODEL), "None: model."),
        (a_run(MODEL), a_run(PROVIDER), "None: provider."),
        (
            a_run(DROP, rules=[rule()]),
            a_run(DROP, rules=[rule(), rule(slice="hard")]),
            "refunds pass_rate (hard): 0.5, which was not among what failed then",
        ),
        (
            a_run(DROP, rules=[rule()]),
            a_run(DROP, rules=[rule(anchor=True)]),
            "refunds pass_rate, since the accepted baseline: 0.5, which was not among what failed then",
        ),
        (
            a_run(CRITICAL, failing=("c0",)),
            a_run(CRITICAL, failing=("c0", "c1"), regressed=critical("c1")),
            "refunds: other critical cases fail (c1)",
        ),
        (
            a_run(COMPARISON, removed=["a"]),
            a_run(COMPARISON, removed=["b", "a"]),
            "refunds: other cases were removed (b)",
        ),
        (a_run(DROP), a_run(removed=["b"]), "refunds: other cases were removed (b)"),
        (
            a_run(COMPARISON, not_comparable=["a"], cases={"a": "1"}),
            a_run(COMPARISON, not_comparable=["a"], cases={"a": "2"}),
            "refunds: other cases were changed (a)",
        ),
        (a_run(DROP), a_run(DROP, model="other"), "it is of other, which was m"),
        # What the verdict does not rest on was accepted with it, or not.
        (a_run(COMPARISON), a_run(COMPARISON, warnings=[CRITICAL], failing=("c0",)), "refunds: critical."),
        (a_run(COMPARISON), a_run(COMPARISON, warnings=[MODEL]), "None: model."),
        (a_run(COMPARISON), a_run(COMPARISON, rules=[rule()]), "refunds pass_rate: it is 0.5."),
    ],
)
def test_what_a_run_does_beyond_what_was_accepted_is_named(then: Run, now: Run, what: str) -> None:
    assert what in beyond(accepted(then), now)


def side_by_side(*runs: Run) -> Run:
    return together(runs, [])


def test_of_several_models_each_has_what_was_accepted_of_it() -> None:
    good, bad = a_run(), a_run(DROP, rules=[rule()])
    a, b = (msgspec.structs.replace(each, subject=Subject(model=name)) for each, name in ((bad, "a"), (good, "b")))
    then = accepted(side_by_side(a, b))
    assert beyond(then, side_by_side(a, b)) == []
    both = side_by_side(a, msgspec.structs.replace(bad, subject=Subject(model="b")))
    assert "b: refunds: rule." in beyond(then, both)
    other = side_by_side(
        msgspec.structs.replace(good, subject=Subject(model="a")),
        msgspec.structs.replace(bad, subject=Subject(model="b")),
    )
    assert "b: refunds: rule." in beyond(then, other)
    assert beyond(then, a) == ["it is of a, which was a, b"]


def test_that_one_of_several_models_moved_is_not_that_another_did() -> None:
    moved = [a_run(MODEL, model="a"), a_run(model="b")]
    other = [a_run(model="a"), a_run(MODEL, model="b")]
    assert beyond(accepted(side_by_side(*moved)), side_by_side(*moved)) == []
    assert beyond(accepted(side_by_side(*moved)), side_by_side(*other)) == ["b: None: model."]


def judged(passed: int, failed: int, **slices: Any) -> Run:
    """A run as the gate judges it against 40 cases that all passed."""
    before = builders.task_result(builders.outcomes(40, 0), name="refunds", **slices)
    now = builders.task_result(builders.outcomes(passed, failed), name="refunds", **slices)
    if slices:
        before, now = (msgspec.structs.replace(task, pooled=False) for task in (before, now))
    facts = Facts(
        canaries=builders.GOOD_CANARIES,
        tasks=[now],
        baseline=builders.found(before),
        pairings={"refunds": pair(before, now)},
    )
    found = decide(GateConfig(), facts)
    return msgspec.structs.replace(
        builders.run([now]), verdict=found.verdict, reasons=found.reasons, warnings=found.warnings, rules=found.rules
    )


def test_a_merge_that_fails_as_many_cases_within_noise_stays_within_and_one_that_fails_most_does_not() -> None:
    then = accepted(judged(25, 15))
    assert beyond(then, judged(25, 15)) == []
    assert beyond(then, judged(22, 18)) == []
    [text] = beyond(then, judged(5, 35))
    assert text == "refunds pass_rate: 0.125, and 0.625 was accepted"


def test_a_task_that_fell_as_a_whole_is_held_to_each_of_its_groups() -> None:
    groups = {f"c{number:03}": [f"group/{number % 10}"] for number in range(40)}
    then = judged(25, 15, slices=groups)
    assert [each.outcome for each in then.rules if each.outcome == "fail"] == []
    assert [each.kind for each in then.reasons] == ["rule"]
    assert beyond(accepted(then), then) == []
    assert beyond(accepted(then), judged(0, 40, slices=groups)) != []


def test_what_was_accepted_survives_being_stored() -> None:
    then = accepted(a_run(DROP, CRITICAL, rules=[rule()], failing=("c0",), removed=["a"], regressed=critical("c0")))
    assert msgspec.json.decode(msgspec.json.encode(then), type=Accepted) == then
