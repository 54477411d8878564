"""What keeps a verdict honest beyond a single test: Holm, the anchor, the control arm's word, what can be accepted."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from evaluator import gate, scoring
from evaluator.baselines import Found
from evaluator.cases import Case, Subject
from evaluator.comparison import pair
from evaluator.config.types import GateConfig, Rule
from evaluator.drift import rescored_attempt
from evaluator.gate import Decision, decide
from evaluator.judgement import Judgement, Measured, judged
from evaluator.results import (
    Acceptance,
    Anchor,
    Attempt,
    CaseResult,
    Control,
    LiveCanaries,
    LiveCanary,
    Reason,
    Run,
    TaskResult,
    decode_baseline,
    encode,
)
from evaluator.rules import Facts
from evaluator.transcript import Transcript
from tests.unit import builders
from tests.unit.builders import (
    GOOD_CANARIES,
    failed_call,
    fingerprint,
    found,
    outcomes,
    run,
    scored,
)

EXPECTED = {"matchers": [{"kind": "numeric", "value": 24.5}]}


def task_result(attempts: Mapping[str, Sequence[Attempt]], **more: Any) -> TaskResult:
    """As the builder's, with answers that the real scorer judges as the attempts say: they can be scored again."""
    bare = builders.task_result(attempts, **more)
    return msgspec.structs.replace(bare, cases=[answered(case) for case in bare.cases])


def answered(bare: CaseResult) -> CaseResult:
    case = Case(id=bare.id, request=bare.request, expected=EXPECTED)
    score = scoring.prepare("trapstreet", case)
    assert score is not None
    found = []
    for attempt in bare.attempts:
        if attempt.status == "scored":
            transcript = Transcript(text="24.50" if attempt.passed else "49.00")
            again = rescored_attempt(attempt, score(transcript))
            found.append(msgspec.structs.replace(again, transcript=transcript))
        else:
            found.append(attempt)
    return msgspec.structs.replace(bare, expected=EXPECTED, digest=case.digest(), attempts=found)


SOMEBODY = Acceptance(by="someone", at="2026-01-01T00:00:00+00:00", why="meant")
BY_ITSELF = Acceptance(by="trapgate", at="2026-02-01T00:00:00+00:00", why="passed", explicit=False)


def decision(now: Sequence[TaskResult], before: Sequence[TaskResult], *rules: Rule, **more: Any) -> Decision:
    known = {task.name: task for task in before}
    return decide(
        GateConfig(rules=list(rules) if rules else None, **more.pop("gate", {})),
        Facts(
            canaries=GOOD_CANARIES,
            tasks=now,
            baseline=found(*before),
            pairings={task.name: pair(known.get(task.name), task) for task in now},
            **more,
        ),
    )


# Holm


def five(dropped: int, n: int = 20) -> list[TaskResult]:
    """Five tasks, the first with so many cases that fail."""
    return [task_result(outcomes(n - dropped, dropped), name="t0")] + [
        task_result(outcomes(n, 0), name=f"t{number}") for number in range(1, 5)
    ]


def test_a_drop_that_one_test_calls_significant_may_be_chance_among_five() -> None:
    alone = decision(five(6)[:1], five(0)[:1])
    among = decision(five(6), five(0))
    assert alone.verdict == "regression"
    assert among.verdict == "pass"
    [warning] = among.warnings
    assert warning.text == (
        "t0 pass_rate, max_drop 0: possible drop, 1.00 → 0.70 (6 cases worse, 0 better, p = 0.016, 0.078 "
        "after Holm over 5 tests); that is within noise at alpha 0.02. Underpowered: fewer than 8 cases changed, which "
        "can never be significant; at this rate 33 cases would tell."
    )


def test_a_drop_that_holds_among_five_tests_blocks_and_says_both_figures() -> None:
    among = decision(five(8), five(0))
    assert among.verdict == "regression"
    [rule] = [each for each in among.rules if each.outcome == "fail"]
    assert rule.evidence is not None
    assert (rule.evidence.p, rule.evidence.adjusted, rule.evidence.family) == (1 / 256, 5 / 256, 5)


def test_what_a_suite_can_show_is_worked_out_at_the_share_of_alpha_that_is_left() -> None:
    alone, among = decision(five(8)[:1], five(0)[:1]), decision(five(8), five(0))
    [one, five_] = [each.rules[0].evidence for each in (alone, among)]
    assert one is not None
    assert five_ is not None
    assert one.detectable is not None
    assert five_.detectable is not None
    assert five_.detectable > one.detectable


def test_rules_that_block_without_a_test_take_no_share_of_alpha() -> None:
    strict = [Rule(metric="pass_rate", task=f"t{n}", max_drop=0.0, on_noise="fail") for n in range(1, 5)]
    tested = Rule(metric="pass_rate", task="t0", max_drop=0.0)
    assert decision(five(6), five(0), tested, *strict).verdict == "regression"


# The anchor


def baseline(now: TaskResult, anchor: TaskResult | None) -> Found:
    state = found(now)
    if anchor is None:
        return state
    moved = msgspec.structs.replace(
        state.baseline, accepted=BY_ITSELF, anchor=Anchor(accepted=SOMEBODY, run=run([anchor]))
    )
    return Found(state.where, moved)


def measured(task: TaskResult, **more: Any) -> Measured:
    return Measured(
        name=None,
        started="2026-03-01T00:00:00+00:00",
        seconds=1.0,
        fingerprint=more.pop("mark", fingerprint()),
        canaries=GOOD_CANARIES,
        tasks=[task],
        **more,
    )


def judged_against(state: Found, task: TaskResult, *rules: Rule, **more: Any) -> Judgement:
    config = GateConfig(rules=list(rules) if rules else None, on_drift=more.pop("on_drift", "fail"))
    return judged(measured(task, **more), state, config)


def small_drops(per_step: int, steps: int, n: int = 100) -> list[TaskResult]:
    return [task_result(outcomes(n - per_step * step, per_step * step)) for step in range(steps + 1)]


def test_four_small_drops_in_a_row_are_within_noise_one_by_one_and_a_regression_together() -> None:
    steps = small_drops(3, 4)
    anchor, *drops = steps
    before = anchor
    verdicts = []
    for now in drops:
        state = baseline(before, anchor if before is not anchor else None)
        one = judged_against(state, now, Rule(metric="pass_rate", max_drop=0.0)).run
        verdicts.append((one.verdict, [rule.outcome for rule in one.rules]))
        before = now
    assert verdicts == [
        ("pass", ["warn"]),
        ("pass", ["warn", "warn"]),  # six cases since the anchor, of which two tests share alpha
        ("regression", ["warn", "fail"]),
        ("regression", ["warn", "fail"]),
    ]


def test_a_drop_since_the_anchor_says_since_when_and_is_asked_about_there() -> None:
    steps = small_drops(3, 4)
    judgement = judged_against(baseline(steps[3], steps[0]), steps[4], Rule(metric="pass_rate", max_drop=0.0))
    assert [reason.text for reason in judgement.run.reasons] == [
        "t pass_rate, max_drop 0, since the accepted baseline: 1.00 → 0.88 (12 cases worse, 0 better, p = 0.00024, "
        "0.00049 after Holm over 2 tests)."
    ]
    assert [each.anchor for each in judgement.suspicions] == [True]
    assert judgement.run.comparison is not None
    assert judgement.run.comparison.anchor == "accepted 2026-01-01T00:00:00+00:00 by someone: meant"
    assert judgement.run.comparison.baseline.endswith("moved by itself 2026-02-01T00:00:00+00:00: passed")


def test_a_critical_case_that_passed_when_it_was_accepted_is_held_against_that() -> None:
    good = task_result(outcomes(20, 0), critical=["c019"])
    bad = task_result(outcomes(19, 1), critical=["c019"])
    assert judged_against(baseline(bad, good), bad).run.verdict == "regression"
    assert judged_against(baseline(bad, None), bad).run.verdict == "pass"


def test_a_task_that_was_not_there_when_it_was_accepted_is_held_to_the_baseline_alone() -> None:
    other = task_result(outcomes(20, 0), name="other")
    one = judged_against(baseline(task_result(outcomes(20, 0)), other), task_result(outcomes(20, 0))).run
    assert [rule.anchor for rule in one.rules] == [False]


def test_an_anchor_whose_stored_verdicts_are_not_given_again_is_validator_drift() -> None:
    before = task_result(outcomes(20, 0))
    wrong = {"passed": False, "failure_mode": "wrong_value"}
    lying = msgspec.structs.replace(
        before,
        cases=[
            msgspec.structs.replace(case, attempts=[msgspec.structs.replace(a, **wrong) for a in case.attempts])
            for case in before.cases
        ],
    )
    one = judged_against(baseline(before, lying), before).run
    assert (one.verdict, one.layer) == ("drift", "validator")
    assert "in the accepted baseline, t/c000 attempt 1" in one.reasons[0].text
    assert one.witnesses[1].state == "moved"


def test_a_baseline_keeps_its_anchor_through_its_file() -> None:
    state = baseline(task_result(outcomes(3, 0)), task_result(outcomes(4, 0)))
    assert decode_baseline(encode(state.baseline), "x") == state.baseline


# The control arm's word in the verdict


def arms(cases: Mapping[str, Any], *, base: bool, change: bool, count: int = 1) -> Control:
    def arm(passes: bool) -> list[TaskResult]:
        return [task_result({case: [scored(passes, n) for n in range(1, count + 1)] for case in cases}, repeats=count)]

    return Control(base=arm(base), change=arm(change))


WORSE = {f"c{n:03}": None for n in range(12, 20)}
OTHER_PROMPT = {"mark": fingerprint(system="ffffffffffff")}


@pytest.mark.parametrize(
    ("control", "on_drift", "verdict", "layer"),
    [
        (None, "fail", "regression", None),
        (Control(silent="it is turned off"), "warn", "regression", None),
        (arms(WORSE, base=True, change=False), "warn", "regression", "change"),
        (arms(WORSE, base=False, change=False), "fail", "drift", "model"),
        (arms(WORSE, base=False, change=False), "warn", "pass", "model"),
        (arms(WORSE, base=True, change=True), "warn", "regression", None),
    ],
)
def test_a_drop_is_the_changes_until_the_control_arm_says_otherwise(
    control: Control | None, on_drift: str, verdict: str, layer: str | None
) -> None:
    state = baseline(task_result(outcomes(20, 0)), None)
    one = judged_against(state, task_result(outcomes(12, 8)), control=control, on_drift=on_drift, **OTHER_PROMPT).run
    assert (one.verdict, one.layer) == (verdict, layer)
    texts = [reason.text for reason in (*one.reasons, *one.warnings)]
    assert any("1.00 → 0.60 (8 cases worse" in text for text in texts)
    assert [witness.name for witness in one.witnesses] == [
        "replay_canaries",
        "baseline_rescored",
        "live_canaries",
        "control_arm",
    ]


def test_a_floor_is_not_excused_by_a_model_that_moved() -> None:
    state = baseline(task_result(outcomes(20, 0)), None)
    rules = [Rule(metric="pass_rate", max_drop=0.0), Rule(metric="pass_rate", min=0.9)]
    control = arms(WORSE, base=False, change=False)
    one = judged_against(
        state, task_result(outcomes(2, 18)), *rules, control=control, on_drift="warn", **OTHER_PROMPT
    ).run
    assert one.verdict == "regression"


def with_subject(state: Found, subject: Subject) -> Found:
    whole = msgspec.structs.replace(state.baseline.run, subject=subject)
    return Found(state.where, msgspec.structs.replace(state.baseline, run=whole))


def test_where_nothing_that_is_asked_differs_a_drop_is_the_models() -> None:
    subject = Subject(model="m", system="x")
    state = with_subject(baseline(task_result(outcomes(20, 0)), None), subject)
    judgement = judged_against(state, task_result(outcomes(12, 8)), subject=subject)
    assert judgement.alike
    assert (judgement.run.verdict, judgement.run.layer) == ("drift", "model")
    assert judgement.run.reasons[0].text == (
        "The model moved, or the provider behind it: nothing of what is asked differs from the baseline, so the change "
        "cannot be the cause."
    )
    other = msgspec.structs.replace(subject, system="y")
    assert judged_against(state, task_result(outcomes(12, 8)), subject=other).run.verdict == "regression"


def live(word: str) -> LiveCanaries:
    return LiveCanaries(
        canaries=[
            LiveCanary(id="plain", digest="0", attempts=["valid", "valid"]),
            LiveCanary(
                id="schema/enum", digest="1", attempts=[word, word], message="no enum" if word == "refused" else ""
            ),
        ]
    )


def test_a_live_canary_that_is_refused_now_is_provider_drift_and_explains_what_is_missing() -> None:
    state = baseline(task_result(outcomes(20, 0)), None)
    before = msgspec.structs.replace(state.baseline.run, live=live("valid"))
    state = Found(state.where, msgspec.structs.replace(state.baseline, run=before))
    moved = judged_against(state, task_result(outcomes(20, 0)), live=live("refused")).run
    assert (moved.verdict, moved.layer) == ("drift", "provider")
    missing = task_result({case: [failed_call("refused_schema", status=400)] for case in outcomes(20, 0)})
    refused = judged_against(state, missing, live=live("refused")).run
    assert (refused.verdict, refused.layer) == ("inconclusive", "provider")
    steady = judged_against(state, task_result(outcomes(20, 0)), live=live("valid")).run
    assert (steady.verdict, steady.layer) == ("pass", None)


def critical_pair() -> tuple[Found, TaskResult]:
    before = task_result(outcomes(20, 0), critical=["c019"])
    return baseline(before, None), task_result(outcomes(19, 1), critical=["c019"])


def test_a_critical_case_that_failed_once_and_passes_when_asked_again_is_said_and_blocks_nothing() -> None:
    state, now = critical_pair()
    assert judged_against(state, now, **OTHER_PROMPT).run.verdict == "regression"
    one = judged_against(state, now, control=arms({"c019": None}, base=True, change=True, count=4), **OTHER_PROMPT).run
    assert (one.verdict, one.layer) == ("pass", None)
    assert one.warnings[0] == Reason(
        kind="note",
        task="t",
        text="t: the critical case c019 failed and was asked again: in all the change passes 4 of 5 attempts, the base "
        "4 of 4 now.",
    )
    assert one.witnesses[3].text == "Asked again, what failed does no worse than the base, so no drop is suspected."


def test_a_critical_case_that_fails_again_blocks() -> None:
    state, now = critical_pair()
    one = judged_against(state, now, control=arms({"c019": None}, base=True, change=False, count=4), **OTHER_PROMPT).run
    assert (one.verdict, one.layer) == ("regression", "change")


def test_a_critical_case_that_failed_three_times_is_not_acquitted_by_one_that_passes() -> None:
    def thrice(last: bool) -> TaskResult:
        good = {f"c{n:03}": [scored(True, number) for number in (1, 2, 3)] for n in range(19)}
        return task_result(good | {"c019": [scored(last, n) for n in (1, 2, 3)]}, repeats=3, critical=["c019"])

    control = arms({"c019": None}, base=True, change=True, count=4)
    assert judged_against(baseline(thrice(True), None), thrice(False), control=control).run.verdict == "regression"


# What can be accepted


def run_with(verdict: str, kinds: Sequence[str], layer: str | None = None) -> Run:
    return msgspec.convert(
        msgspec.to_builtins(run([task_result(outcomes(3, 0))]))
        | {"verdict": verdict, "layer": layer, "reasons": [{"kind": kind, "text": f"{kind}."} for kind in kinds]},
        Run,
    )


@pytest.mark.parametrize(
    ("verdict", "kinds", "layer", "why"),
    [
        ("pass", [], None, "the run passes, and there is nothing to accept"),
        ("regression", ["rule"], "change", ""),
        ("regression", ["critical", "rule"], None, ""),
        ("regression", ["rule", "floor"], None, "this cannot be accepted: floor."),
        ("inconclusive", ["comparison", "comparison"], None, ""),
        ("inconclusive", ["comparison", "note"], None, ""),
        ("inconclusive", ["comparison", "coverage"], None, "this cannot be accepted: coverage."),
        ("inconclusive", ["baseline"], None, "this cannot be accepted: baseline."),
        ("inconclusive", ["rule"], None, "this cannot be accepted: rule."),
        ("inconclusive", ["stale"], None, "this cannot be accepted: stale."),
        ("drift", ["provider"], "provider", ""),
        ("drift", ["model"], "model", ""),
        ("drift", ["canary"], "validator", "validator drift is never accepted: a broken ruler measures nothing"),
        ("drift", ["validator"], "validator", "validator drift is never accepted: a broken ruler measures nothing"),
    ],
)
def test_what_a_person_may_accept(verdict: str, kinds: list[str], layer: str | None, why: str) -> None:
    whole = run_with(verdict, kinds, layer)
    assert gate.acceptable(whole) == why
    if why:
        with pytest.raises(ValueError, match="accept"):
            gate.accepted(whole, SOMEBODY)
    else:
        accepted = gate.accepted(whole, SOMEBODY)
        assert (accepted.verdict, accepted.accepted) == (verdict, SOMEBODY)
        assert (gate.exit_code(whole), gate.exit_code(accepted)) == (gate.EXIT_CODES[whole.verdict], 0)


@pytest.mark.parametrize("kind", ["floor", "coverage", "baseline", "stale", "canary", "validator"])
def test_what_hides_under_an_acceptable_verdict_cannot_be_accepted(kind: str) -> None:
    hidden = [Reason(kind="rule", text="possible drop."), Reason(kind=kind, text="hidden.")]
    whole = msgspec.structs.replace(run_with("inconclusive", ["comparison"]), warnings=hidden)
    assert gate.acceptable(whole) == "this cannot be accepted: hidden."


def test_a_floor_under_removed_cases_cannot_be_accepted() -> None:
    before = task_result(outcomes(100, 0))
    now = task_result(outcomes(10, 80))
    rules = [Rule(metric="pass_rate", min=0.9), Rule(metric="pass_rate", max_drop=0.0)]
    one = judged_against(baseline(before, None), now, *rules).run
    assert one.verdict == "inconclusive"
    assert "this cannot be accepted: t pass_rate, min 0.9: it is 0.1111" in gate.acceptable(one)


def test_a_change_of_many_cases_can_be_accepted_and_unscored_attempts_cannot() -> None:
    before = task_result(outcomes(20, 0))
    changed = task_result(outcomes(20, 0), changed=[f"c{n:03}" for n in range(5)])
    removed = task_result(outcomes(15, 0))
    for now in (changed, removed):
        one = judged_against(baseline(before, None), now).run
        assert (one.verdict, gate.acceptable(one)) == ("inconclusive", "")
    missing = task_result(outcomes(15, 0) | {f"c{n:03}": [failed_call()] for n in range(15, 20)})
    one = judged_against(baseline(before, None), missing).run
    assert one.verdict == "inconclusive"
    assert "this cannot be accepted: t: 15 of 20 planned attempts" in gate.acceptable(one)


def test_noise_alone_fails_no_more_often_than_alpha_among_rules_and_anchor() -> None:
    rng = random.Random(11)

    def noisy() -> TaskResult:
        return task_result({f"c{n:03}": [scored(rng.random() < 0.8)] for n in range(40)})

    failed = 0
    rounds = 150
    for _ in range(rounds):
        one = judged_against(baseline(noisy(), noisy()), noisy(), Rule(metric="pass_rate", max_drop=0.0)).run
        failed += one.verdict == "regression"
    assert failed / rounds <= 0.05


def test_reasons_of_every_layer_are_said_whatever_the_verdict_rests_on() -> None:
    movers = [Reason(kind="model", text="Another model answers.")]
    known = decision([task_result(outcomes(5, 15))], [task_result(outcomes(20, 0))], movers=movers)
    assert known.verdict == "regression"
    assert movers[0] in known.warnings


# Ways in which a change could have got a pass although cases got worse


def test_a_case_that_lacks_an_attempt_does_not_vanish_from_the_share_that_always_passes() -> None:
    def five_times(broken: int) -> TaskResult:
        def attempts(bad: bool) -> list[Attempt]:
            if bad:
                return [scored(False, n) for n in range(1, 5)] + [failed_call("timeout", 5)]
            return [scored(True, n) for n in range(1, 6)]

        return task_result({f"c{n:03}": attempts(n < broken) for n in range(100)}, repeats=5)

    for rule in (
        Rule(metric="all_k_pass_rate", max_drop=0.0),
        Rule(metric="all_k_pass_rate", max_drop=0.0, on_noise="fail"),
        Rule(metric="all_k_pass_rate", min=0.95),
    ):
        one = judged_against(baseline(five_times(0), None), five_times(25), rule).run
        assert one.verdict == "inconclusive", rule


def test_new_cases_do_not_fill_the_gaps_among_old_ones() -> None:
    old = {f"c{n:03}": [scored(True)] for n in range(100)}
    gaps = old | {f"c{n:03}": [failed_call("timeout")] for n in range(10)}
    new = {f"n{n:03}": [scored(True)] for n in range(900)}
    state = baseline(task_result(old), None)
    assert judged_against(state, task_result(gaps)).run.verdict == "inconclusive"
    one = judged_against(state, task_result(gaps | new)).run
    assert one.verdict == "inconclusive"
    assert "90 of 100 planned attempts at the baseline's cases were scored" in " ".join(r.text for r in one.reasons)


def test_cases_that_were_removed_or_edited_within_the_tolerance_are_named_in_the_first_lines() -> None:
    before = task_result(outcomes(100, 0))
    now = task_result(outcomes(98, 0), changed=["c003"])
    one = judged_against(baseline(before, None), now).run
    assert one.verdict == "pass"
    assert one.warnings[0] == Reason(
        kind="note",
        task="t",
        text="t: of the baseline's cases 2 removed (c098, c099) and 1 changed (c003): they are compared with nothing.",
    )


def test_another_retry_or_more_repeats_are_not_asking_alike() -> None:
    subject = Subject(model="m")
    state = with_subject(baseline(task_result(outcomes(20, 0)), None), subject)
    same, worse = Rule(metric="pass_rate", max_drop=0.0), task_result(outcomes(8, 12))
    assert judged_against(state, worse, same, subject=subject).alike
    for other in (msgspec.structs.replace(worse, tries=3), msgspec.structs.replace(worse, repeats=2)):
        assert not judged_against(state, other, same, subject=subject).alike


def test_noise_that_a_strict_rule_fails_is_not_called_the_models_fault() -> None:
    subject = Subject(model="m")
    state = with_subject(baseline(task_result(outcomes(12, 0)), None), subject)
    strict = Rule(metric="pass_rate", max_drop=0.0, on_noise="fail")
    one = judged_against(state, task_result(outcomes(11, 1)), strict, subject=subject).run
    assert (one.verdict, one.layer) == ("regression", None)


def test_a_critical_case_that_fails_more_often_than_not_in_all_its_attempts_is_not_acquitted() -> None:
    state, now = critical_pair()
    half = [task_result({"c019": [scored(n > 2, n) for n in range(1, 5)]}, repeats=4)]
    one = judged_against(state, now, control=Control(base=half, change=half), **OTHER_PROMPT).run
    assert one.verdict == "regression"  # two of five


def test_a_critical_case_is_not_acquitted_where_it_does_worse_than_the_base() -> None:
    state, now = critical_pair()
    base = [task_result({"c019": [scored(True, n) for n in range(1, 5)]}, repeats=4)]
    change = [task_result({"c019": [scored(n == 1, n) for n in range(1, 5)]}, repeats=4)]
    one = judged_against(state, now, control=Control(base=base, change=change), **OTHER_PROMPT).run
    assert one.verdict == "regression"


def test_a_chosen_task_that_the_baseline_does_not_know_is_compared_with_nothing() -> None:
    state = baseline(task_result(outcomes(20, 0)), None)
    other = task_result(outcomes(20, 0), name="other")
    one = judged_against(state, other, selection=["other"], unselected=["t"]).run
    assert one.verdict == "inconclusive"
    assert "the baseline has none of the tasks that were chosen" in " ".join(reason.text for reason in one.reasons)


def test_a_drop_since_the_anchor_that_is_the_drop_since_the_baseline_has_the_same_cause() -> None:
    whole, worse = task_result(outcomes(20, 0)), task_result(outcomes(8, 12))
    ids = {case: None for case in outcomes(20, 0) if case >= "c008"}
    control = arms(ids, base=False, change=False, count=3)
    one = judged_against(baseline(whole, whole), worse, control=control, **OTHER_PROMPT).run
    assert (one.verdict, one.layer) == ("drift", "model")
    older = task_result(outcomes(20, 0))
    before = task_result(outcomes(17, 3))
    ratchet = judged_against(baseline(before, older), worse, control=control, **OTHER_PROMPT).run
    assert (ratchet.verdict, ratchet.layer) == ("regression", None)


def test_where_nothing_differs_from_baseline_and_anchor_no_drop_is_the_changes() -> None:
    subject = Subject(model="m")
    state = with_subject(baseline(task_result(outcomes(17, 3)), task_result(outcomes(20, 0))), subject)
    anchor = state.baseline.anchor
    assert anchor is not None
    worse = task_result(outcomes(2, 18))
    assert judged_against(state, worse, subject=subject).run.layer is None
    same = msgspec.structs.replace(anchor, run=msgspec.structs.replace(anchor.run, subject=subject))
    state = Found(state.where, msgspec.structs.replace(state.baseline, anchor=same))
    one = judged_against(state, worse, subject=subject).run
    assert (one.verdict, one.layer) == ("drift", "model")


def test_a_baseline_of_which_nothing_was_scored_again_vouches_for_nothing() -> None:
    state = baseline(task_result(outcomes(20, 0)), None)
    other = task_result(outcomes(20, 0), name="other")
    one = judged_against(state, other, selection=["other"], unselected=["t"]).run
    assert one.witnesses[1].state == "silent"
    assert one.witnesses[1].text == "No stored attempt of the baseline was scored again."
