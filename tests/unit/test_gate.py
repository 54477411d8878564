"""The verdict. Every way in which something missing could have ended in a pass is a test here."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.baselines import Missing, Unreadable
from evaluator.comparison import pair
from evaluator.config.types import GateConfig, Rule
from evaluator.gate import EXIT_CODES, decide
from evaluator.results import CanaryResult, CanaryResults, Reason
from evaluator.rules import Facts
from tests.unit.builders import GOOD_CANARIES, failed_call, found, not_run, outcomes, scored, stale, task_result

BROKEN_CANARIES = CanaryResults(
    version="1",
    cases=[
        CanaryResult(id="json_call/number-as-string", expected="fail wrong_type", got="pass", ok=False),
        CanaryResult(id="c", expected="pass", got="pass", ok=True),
    ],
)


def verdict(now, before=None, *rules, gate=None, **evidence):
    """The decision on one task against a baseline task (None: no baseline was asked for)."""
    tasks = [] if now is None else [now]
    state = found(before) if before is not None else evidence.pop("baseline", None)
    gate = gate or GateConfig(rules=list(rules) if rules else None)
    return decide(
        gate,
        Facts(
            canaries=evidence.pop("canaries", GOOD_CANARIES),
            tasks=tasks,
            baseline=state,
            pairings={task.name: pair(before, task) for task in tasks} if before is not None else {},
            **evidence,
        ),
    )


def texts(reasons):
    return " | ".join(reason.text for reason in reasons)


PASS_RATE = Rule(metric="pass_rate", task="t", max_drop=0.05)


def test_an_unchanged_run_passes():
    decision = verdict(task_result(outcomes(15, 5)), task_result(outcomes(15, 5)), PASS_RATE)
    assert (decision.verdict, decision.reasons, decision.warnings) == ("pass", [], [])


def test_a_significant_drop_is_a_regression_that_names_figures_and_p():
    decision = verdict(task_result(outcomes(5, 15)), task_result(outcomes(15, 5)), PASS_RATE)
    assert decision.verdict == "regression"
    assert texts(decision.reasons) == (
        "t pass_rate, max_drop 0.05: 0.75 → 0.25 (10 cases worse, 0 better, p = 0.00098)."
    )


def test_a_drop_within_noise_only_warns_and_says_that_it_is_underpowered():
    decision = verdict(task_result(outcomes(13, 7)), task_result(outcomes(15, 5)), PASS_RATE)
    assert decision.verdict == "pass"
    assert "possible drop" in texts(decision.warnings)
    assert "Underpowered: fewer than 6 cases changed" in texts(decision.warnings)


def test_on_noise_fail_turns_a_possible_drop_into_a_regression():
    rule = Rule(metric="pass_rate", task="t", max_drop=0.05, on_noise="fail")
    assert verdict(task_result(outcomes(13, 7)), task_result(outcomes(15, 5)), rule).verdict == "regression"


def test_a_drop_up_to_the_limit_is_allowed_whatever_its_evidence():
    rule = Rule(metric="pass_rate", task="t", max_drop=0.5)
    assert verdict(task_result(outcomes(10, 10)), task_result(outcomes(20, 0)), rule).verdict == "pass"


def test_without_rules_no_drop_of_the_pass_rate_is_allowed():
    assert verdict(task_result(outcomes(5, 15)), task_result(outcomes(15, 5))).verdict == "regression"


def test_recordings_need_no_statistics_one_case_worse_is_a_regression():
    before = task_result(outcomes(15, 5), deterministic=True)
    now = task_result(outcomes(14, 6), deterministic=True)
    assert verdict(now, before, Rule(metric="pass_rate", task="t", max_drop=0.0)).verdict == "regression"


def test_a_rise_of_a_failure_mode_is_a_regression():
    before = task_result({f"c{i}": [scored(False, mode="wrong_value")] for i in range(8)})
    now = task_result({f"c{i}": [scored(False, mode="wrong_tool")] for i in range(8)})
    rule = Rule(metric="failure_modes.wrong_tool", task="t", max_rise=0.0)
    assert verdict(now, before, rule).verdict == "regression"
    assert verdict(before, now, rule).verdict == "pass"


def test_a_fall_of_the_argument_score_alone_is_a_regression():
    rule = Rule(metric="argument_score", task="t", max_drop=0.02)
    before = task_result({f"c{i}": [scored(False, argument_score=0.75)] for i in range(8)})
    now = task_result({f"c{i}": [scored(False, argument_score=0.5)] for i in range(8)})
    assert verdict(now, before, rule).verdict == "regression"


# Coverage


def test_one_case_scored_and_nineteen_crashed_is_inconclusive_not_a_rate_of_one():
    attempts = {f"c{i:02}": [scored(True) if i == 0 else failed_call()] for i in range(20)}
    decision = verdict(task_result(attempts), None)
    assert decision.verdict == "inconclusive"
    assert "t: 1 of 20 planned attempts were scored, 95% are needed." in texts(decision.reasons)


def test_attempts_that_were_never_made_count_against_coverage():
    attempts = {"a": [scored(True)], "b": [not_run()], "c": []}
    assert verdict(task_result(attempts), None).verdict == "inconclusive"


def test_cases_that_the_change_removed_count_as_planned_and_missing():
    now = task_result(outcomes(15, 0))
    before = task_result(outcomes(20, 0))
    decision = verdict(now, before)
    assert decision.verdict == "inconclusive"
    assert "15 of 20 planned attempts were scored" in texts(decision.reasons)
    assert "5 of the missing ones are of cases of the baseline that the change removed" in texts(decision.reasons)


def test_removing_the_failing_cases_cannot_make_a_change_pass():
    before = task_result(outcomes(15, 5))
    now = task_result({case_id: attempts for case_id, attempts in outcomes(5, 15).items() if attempts[0].passed})
    assert verdict(now, before, PASS_RATE).verdict == "inconclusive"


def test_cases_whose_expectation_changed_are_not_paired_and_make_it_inconclusive():
    before, ids = task_result(outcomes(20, 0)), [f"c{i:03}" for i in range(10)]
    now = task_result(outcomes(20, 0), changed=ids)
    decision = verdict(now, before, PASS_RATE)
    assert decision.verdict == "inconclusive"
    assert "50% of the baseline's cases can be compared" in texts(decision.reasons)


def test_a_task_that_the_change_removed_is_missing():
    now = task_result(outcomes(10, 0))
    decision = verdict(now, task_result(outcomes(10, 0)), lost_tasks={"gone": "with 3 cases of the baseline"})
    assert decision.verdict == "inconclusive"
    assert "gone: the change removed the task, with 3 cases of the baseline." in texts(decision.reasons)


def test_a_task_that_is_new_warns_instead_of_blocking_for_ever():
    new = task_result(outcomes(10, 0), name="new")
    decision = decide(
        GateConfig(),
        Facts(
            canaries=GOOD_CANARIES,
            tasks=[new],
            baseline=found(task_result(outcomes(1, 0), name="old")),
            pairings={"new": pair(None, new)},
        ),
    )
    assert decision.verdict == "pass"
    assert "the baseline does not know this task yet" in texts(decision.warnings)


def test_a_run_of_no_task_and_a_task_of_no_case_are_inconclusive():
    assert verdict(None).verdict == "inconclusive"
    assert verdict(task_result({})).verdict == "inconclusive"


def test_a_critical_case_without_a_score_is_inconclusive_however_good_coverage_is():
    attempts = outcomes(99, 0) | {"vital": [failed_call()]}
    decision = verdict(task_result(attempts, critical=["vital"]), None, Rule(metric="pass_rate", task="t", min=0.1))
    assert decision.verdict == "inconclusive"
    assert "the critical case vital was not scored" in texts(decision.reasons)


def test_a_critical_case_that_now_fails_is_a_regression_by_itself():
    before = task_result(outcomes(100, 0), critical=["c099"])
    now = task_result(outcomes(99, 1), critical=["c099"])
    assert verdict(now, before, PASS_RATE).verdict == "regression"


def critical_ids(number):
    return [f"c{n:03}" for n in range(number)]


@pytest.mark.parametrize(
    ("number", "named"),
    [
        (1, "t: the critical case c000 passed in the baseline and fails now."),
        (2, "t: the critical cases c000 and c001 passed in the baseline and fail now."),
        (5, "t: the critical cases c000, c001, c002, c003 and c004 passed in the baseline and fail now."),
        (12, "t: the critical cases c000, c001, c002, c003, c004 and 7 more passed in the baseline and fail now."),
    ],
)
def test_critical_cases_that_now_fail_are_one_reason_a_task(number, named):
    ids = critical_ids(number)
    before, now = (
        task_result(outcomes(100, 0), critical=ids),
        task_result({f"c{n:03}": [scored(n >= number)] for n in range(100)}, critical=ids),
    )
    decision = verdict(now, before, Rule(metric="pass_rate", task="t", max_drop=0.5))
    assert [reason.text for reason in decision.reasons if reason.kind == "critical"] == [named]
    assert decision.verdict == "regression"


def test_critical_cases_without_a_score_are_one_reason_and_those_that_were_removed_another():
    before = task_result(outcomes(100, 0), critical=critical_ids(4))
    attempts = outcomes(100, 0) | {"c000": [failed_call()], "c001": [failed_call()]}
    now = task_result({k: v for k, v in attempts.items() if k not in ("c002", "c003")}, critical=critical_ids(4))
    assert [reason.text for reason in verdict(now, before, PASS_RATE).reasons if "critical" in reason.text] == [
        "t: the critical cases c000 and c001 were not scored.",
        "t: the critical cases c002 and c003 cannot be compared with the baseline.",
    ]


# Stale recordings

ARGUMENTS = Rule(metric="argument_score", max_drop=0.02)


def all_stale(number, **task):
    return task_result({f"c{n:03}": [stale(1), stale(2)] for n in range(number)}, repeats=2, **task)


def test_where_every_recording_is_stale_that_is_the_one_reason_and_comes_first():
    before = task_result(outcomes(20, 0), critical=critical_ids(9))
    decision = verdict(all_stale(20, critical=critical_ids(9)), before, PASS_RATE, ARGUMENTS)
    assert decision.verdict == "inconclusive"
    assert [(reason.kind, reason.text) for reason in decision.reasons] == [
        (
            "stale",
            "t: all 40 recordings are stale, recorded before a change of system: a recording cannot answer for it.",
        )
    ]
    assert [result.outcome for result in decision.rules] == ["inconclusive", "inconclusive"]


def test_a_task_of_stale_recordings_is_inconclusive_whatever_the_rules_and_the_baseline_are():
    rule = Rule(metric="cost_usd", max=1.0)
    decision = verdict(all_stale(3), None, rule, gate=GateConfig(rules=[], coverage=0.0))
    assert (decision.verdict, decision.reasons[0].kind) == ("inconclusive", "stale")


def test_recordings_that_are_stale_for_several_reasons_do_not_name_one():
    now = task_result({"a": [stale(1, "system")], "b": [stale(1, "tools")]})
    assert texts(verdict(now, None).reasons).startswith(
        "t: all 2 recordings are stale, recorded before what they depend on changed."
    )


def test_what_staleness_does_not_explain_is_still_a_reason():
    before = task_result(outcomes(20, 0), critical=["c019"])
    reasons = verdict(all_stale(19), before, PASS_RATE).reasons
    assert [reason.kind for reason in reasons] == ["stale", "comparison", "coverage"]
    assert "the critical case c019 cannot be compared with the baseline" in reasons[1].text
    assert "1 removed" in reasons[2].text


def test_a_task_that_is_stale_in_part_says_how_much_of_it_beside_what_is_needed():
    attempts = outcomes(15, 0) | {f"c{n:03}": [stale()] for n in range(15, 20)}
    decision = verdict(task_result(attempts, critical=["c016"]), None)
    assert [reason.text for reason in decision.reasons][:2] == [
        "t: 15 of 20 planned attempts were scored, 95% are needed. 5 of the missing ones are stale recordings.",
        "t: the critical case c016 was not scored.",
    ]


def test_a_stale_task_does_not_hide_what_is_open_in_another():
    other = task_result({"a": [scored(True)], "b": [failed_call()]}, name="u")
    tasks = [other, all_stale(2)]
    decision = decide(GateConfig(rules=[]), Facts(canaries=GOOD_CANARIES, tasks=tasks, baseline=None, pairings={}))
    assert [(reason.kind, reason.task) for reason in decision.reasons] == [("stale", "t"), ("coverage", "u")]


# Which cases a rule is about


def test_a_failed_rule_names_the_cases_whose_value_became_worse_most_harm_first():
    before = task_result({f"c{n}": [scored(False, argument_score=0.8)] for n in range(9)}, deterministic=True)
    values = [0.8, 0.6, 0.8 - 1e-12, 0.2, 0.9, 0.8, 0.2, 0.8, 0.8]
    now = task_result(
        {f"c{n}": [scored(False, argument_score=value)] for n, value in enumerate(values)}, deterministic=True
    )
    (result,) = verdict(now, before, Rule(metric="argument_score", task="t", max_drop=0.0)).rules
    assert (result.outcome, result.worse) == ("fail", ["c3", "c6", "c1"])
    assert result.evidence.worse == 3


def test_a_rule_on_a_count_names_the_cases_that_have_more_of_it():
    before = task_result({f"c{n}": [scored(True, extra_calls=1.0)] for n in range(3)}, deterministic=True)
    now = task_result({f"c{n}": [scored(True, extra_calls=float(n))] for n in range(3)}, deterministic=True)
    (result,) = verdict(now, before, Rule(metric="extra_calls", task="t", max_rise=0.0)).rules
    assert (result.outcome, result.worse) == ("ok", ["c2"])


def test_the_cases_of_a_rule_are_those_of_its_slice_and_at_most_fifty():
    before = task_result(outcomes(120, 0), slices={f"c{n:03}": ["s"] for n in range(60)})
    now = task_result(outcomes(0, 120), slices={f"c{n:03}": ["s"] for n in range(60)})
    (result,) = verdict(now, before, Rule(metric="pass_rate", task="t", slice="s", max_drop=0.0)).rules
    assert result.worse == critical_ids(50)
    assert result.evidence.worse == 60


def test_a_floor_names_no_cases():
    (result,) = verdict(task_result(outcomes(0, 20)), None, Rule(metric="pass_rate", task="t", min=0.5)).rules
    assert (result.outcome, result.worse) == ("fail", [])


def test_a_change_cannot_take_the_critical_mark_away():
    before, now = task_result(outcomes(100, 0), critical=["c099"]), task_result(outcomes(99, 1))
    assert verdict(now, before, PASS_RATE).verdict == "regression"


def test_a_change_cannot_move_a_failing_case_out_of_its_slice():
    easy = {f"c{i:03}": ["easy"] for i in range(20)}
    moved = {f"c{i:03}": ["easy"] for i in range(10)}
    rule = Rule(metric="pass_rate", task="t", slice="easy", max_drop=0.0)
    floor = Rule(metric="pass_rate", task="t", slice="easy", min=0.9, on_noise="fail")
    before, now = task_result(outcomes(20, 0), slices=easy), task_result(outcomes(10, 10), slices=moved)
    assert verdict(now, before, rule).verdict == "regression"
    assert verdict(now, before, floor).verdict == "regression"


# Baseline


@pytest.mark.parametrize("allow_missing", [False, True])
def test_an_unreadable_baseline_is_never_none_yet(allow_missing):
    state = Unreadable(".trap/baseline.json", "HTTP 403")
    decision = verdict(task_result(outcomes(20, 0)), baseline=state, allow_missing=allow_missing)
    assert decision.verdict == "inconclusive"
    assert "The baseline .trap/baseline.json cannot be read: HTTP 403." in texts(decision.reasons)


def test_an_unreadable_baseline_is_inconclusive_even_where_only_floors_are_asked():
    floor = Rule(metric="pass_rate", task="t", min=0.1)
    state = Unreadable("b", "broken")
    assert verdict(task_result(outcomes(20, 0)), None, floor, baseline=state).verdict == "inconclusive"


def test_a_missing_baseline_is_inconclusive_unless_it_is_allowed():
    now, state = task_result(outcomes(20, 0)), Missing(".trap/baseline.json")
    assert verdict(now, baseline=state).verdict == "inconclusive"
    assert verdict(now, baseline=state, allow_missing=True).verdict == "pass"


def test_floors_alone_need_no_baseline():
    floor = Rule(metric="pass_rate", task="t", min=0.5)
    assert verdict(task_result(outcomes(20, 0)), None, floor, baseline=Missing("b")).verdict == "pass"


# Floors


def test_a_floor_fails_when_the_whole_interval_lies_below_it():
    decision = verdict(task_result(outcomes(5, 45)), None, Rule(metric="pass_rate", task="t", min=0.8))
    assert decision.verdict == "regression"
    assert decision.reasons[0].kind == "floor"


def test_a_floor_within_the_interval_warns():
    decision = verdict(task_result(outcomes(15, 5)), None, Rule(metric="pass_rate", task="t", min=0.8))
    assert decision.verdict == "pass"
    assert "beyond the limit but within the noise of 20 cases" in texts(decision.warnings)


def test_on_noise_fail_lets_the_point_value_decide_a_floor():
    rule = Rule(metric="pass_rate", task="t", min=0.8, on_noise="fail")
    assert verdict(task_result(outcomes(15, 5)), None, rule).verdict == "regression"
    assert verdict(task_result(outcomes(16, 4)), None, rule).verdict == "pass"


def test_a_floor_on_recordings_is_exact():
    rule = Rule(metric="pass_rate", task="t", min=0.8)
    assert verdict(task_result(outcomes(15, 5), deterministic=True), None, rule).verdict == "regression"
    assert verdict(task_result(outcomes(16, 4), deterministic=True), None, rule).warnings == []


def test_a_ceiling_on_cost_counts_the_whole_run():
    rule = Rule(metric="cost_usd", max=0.01)
    assert verdict(task_result(outcomes(9, 0)), None, rule).verdict == "pass"
    assert verdict(task_result(outcomes(11, 0)), None, rule).verdict == "regression"


def test_a_cost_rule_on_an_unknown_cost_is_inconclusive():
    attempts = {"a": [scored(True, cost=None)], "b": [scored(True)]}
    decision = verdict(task_result(attempts), None, Rule(metric="cost_usd", max=100.0))
    assert decision.verdict == "inconclusive"


# Missing values


def test_a_rule_on_a_metric_without_a_value_is_inconclusive():
    rule = Rule(metric="argument_score", task="t", min=0.1)
    assert verdict(task_result(outcomes(20, 0)), None, rule).verdict == "inconclusive"


def test_a_rule_on_a_slice_without_cases_is_inconclusive():
    rule = Rule(metric="pass_rate", task="t", slice="nowhere", min=0.1)
    assert verdict(task_result(outcomes(20, 0)), None, rule).verdict == "inconclusive"


def test_a_rule_on_a_task_that_is_not_in_the_run_is_inconclusive():
    rule = Rule(metric="pass_rate", task="other", min=0.1)
    assert verdict(task_result(outcomes(20, 0)), None, rule).verdict == "inconclusive"


def test_a_rule_on_a_task_that_was_left_out_by_hand_warns():
    rule = Rule(metric="pass_rate", task="other", min=0.1)
    decision = verdict(task_result(outcomes(20, 0)), None, rule, unselected=["other"])
    assert decision.verdict == "pass"
    assert "not judged, the task was left out of this run" in texts(decision.warnings)


def test_a_metric_that_lost_its_value_in_many_cases_is_inconclusive():
    before = task_result({f"c{i}": [scored(True, argument_score=1.0)] for i in range(20)})
    now = task_result({f"c{i}": [scored(True, argument_score=1.0)] if i < 10 else [scored(True)] for i in range(20)})
    rule = Rule(metric="argument_score", task="t", max_drop=0.02)
    assert verdict(now, before, rule).verdict == "inconclusive"


# Drift and precedence


def test_a_broken_canary_is_drift_and_names_it():
    decision = verdict(task_result(outcomes(20, 0)), None, canaries=BROKEN_CANARIES)
    assert decision.verdict == "drift"
    assert texts(decision.reasons) == "Canary json_call/number-as-string: expected fail wrong_type, got pass."


def test_no_canary_at_all_is_drift():
    nothing = CanaryResults(version="1", cases=[])
    assert verdict(task_result(outcomes(20, 0)), None, canaries=nothing).verdict == "drift"


def test_precedence_is_validator_drift_then_inconclusive_then_regression_then_provider_drift():
    now, before = task_result(outcomes(5, 15)), task_result(outcomes(20, 0))
    moved = [Reason(kind="model", text="another model answered")]
    short = task_result(outcomes(5, 12) | {f"c{i:03}": [failed_call()] for i in range(17, 20)})
    assert verdict(short, before, PASS_RATE, canaries=BROKEN_CANARIES, movers=moved).verdict == "drift"
    assert verdict(short, before, PASS_RATE, movers=moved).verdict == "inconclusive"
    assert verdict(now, before, PASS_RATE, movers=moved).verdict == "regression"
    assert verdict(before, before, PASS_RATE, movers=moved).verdict == "drift"
    assert verdict(before, before, PASS_RATE).verdict == "pass"


def test_what_a_higher_verdict_hides_is_still_said():
    short = task_result(outcomes(5, 12) | {f"c{i:03}": [failed_call()] for i in range(17, 20)})
    decision = verdict(short, task_result(outcomes(20, 0)), PASS_RATE)
    assert "12 cases worse" in texts(decision.warnings)


def test_every_verdict_has_its_exit_code():
    assert EXIT_CODES == {"pass": 0, "regression": 1, "inconclusive": 3, "drift": 4}


statuses = st.sampled_from(["pass", "fail", "error", "none"])


def _attempts(status):
    return {"pass": [scored(True)], "fail": [scored(False)], "error": [failed_call()], "none": []}[status]


@given(st.lists(st.tuples(statuses, statuses), min_size=1, max_size=30), st.integers(0, 29))
def test_making_one_case_worse_never_turns_another_verdict_into_a_pass(cases, which):
    which %= len(cases)
    worse = {"pass": "fail", "fail": "error", "error": "none", "none": "none"}
    before = task_result({f"c{i}": _attempts(old) for i, (old, _) in enumerate(cases)})
    now = {f"c{i}": _attempts(new) for i, (_, new) in enumerate(cases)}
    poorer = now | {f"c{which}": _attempts(worse[cases[which][1]])}
    rules = GateConfig(rules=[Rule(metric="pass_rate", task="t", max_drop=0.0, on_noise="fail")], coverage=1.0)
    first = verdict(task_result(now), before, gate=rules)
    second = verdict(task_result(poorer), before, gate=rules)
    assert not (first.verdict != "pass" and second.verdict == "pass")
    removed = {case_id: attempts for case_id, attempts in now.items() if case_id != f"c{which}"}
    assert not (first.verdict != "pass" and verdict(task_result(removed), before, gate=rules).verdict == "pass")


@given(st.lists(statuses, min_size=1, max_size=12))
def test_every_decision_survives_json(cases):
    decision = verdict(task_result({f"c{i}": _attempts(status) for i, status in enumerate(cases)}), None)
    assert msgspec.json.decode(msgspec.json.encode(decision), type=type(decision)) == decision


# What an author might try


def labelled(cases, names):
    return {case_id: ["easy"] for case_id in cases if case_id in names}


def test_a_critical_case_that_the_change_removes_edits_or_unmarks_is_inconclusive():
    before = task_result(outcomes(40, 0), critical=["c039"])
    removed = task_result({k: v for k, v in outcomes(40, 0).items() if k != "c039"})
    edited = task_result(outcomes(39, 1), critical=["c039"], changed=["c039"])
    unmarked = task_result(outcomes(39, 0) | {"c039": [failed_call()]})
    for now in (removed, edited, unmarked):
        decision = verdict(now, before, PASS_RATE)
        assert decision.verdict == "inconclusive"
        assert "the critical case c039 cannot be compared with the baseline" in texts(decision.reasons)


EASY = {"c037": ["easy"], "c038": ["easy"], "c039": ["easy"]}
SLICE_DROP = Rule(metric="pass_rate", task="t", slice="easy", max_drop=0.0, on_noise="fail")
SLICE_FLOOR = Rule(metric="pass_rate", task="t", slice="easy", min=0.9, on_noise="fail")


@pytest.mark.parametrize("rule", [SLICE_DROP, SLICE_FLOOR])
def test_the_failing_cases_of_a_slice_cannot_be_left_out(rule):
    before = task_result(outcomes(40, 0), slices=EASY)
    failing = task_result(outcomes(38, 2), slices=EASY)
    skipped = task_result({k: v for k, v in outcomes(40, 0).items() if k not in ("c038", "c039")}, slices=EASY)
    crashed = task_result(outcomes(38, 0) | {"c038": [failed_call()], "c039": [failed_call()]}, slices=EASY)
    assert verdict(failing, before, rule).verdict == "regression"
    assert verdict(skipped, before, rule).verdict == "inconclusive"
    assert verdict(crashed, before, rule).verdict == "inconclusive"


@pytest.mark.parametrize("rule", [SLICE_DROP, SLICE_FLOOR])
def test_a_slice_cannot_be_diluted_by_labelling_more_cases(rule):
    before = task_result(outcomes(40, 0), slices=EASY)
    now = task_result(outcomes(38, 2), slices={f"c{i:03}": ["easy"] for i in range(40)})
    assert verdict(now, before, rule).verdict == "regression"


def test_a_slice_that_the_baseline_does_not_know_yet_goes_by_todays_labels():
    before, now = task_result(outcomes(40, 0)), task_result(outcomes(38, 2), slices=EASY)
    assert verdict(now, before, SLICE_DROP).verdict == "regression"
    assert verdict(before, before, PASS_RATE).verdict == "pass"


def test_a_floor_cannot_be_diluted_by_new_easy_cases():
    rule = Rule(metric="pass_rate", task="t", min=0.8, on_noise="fail")
    before = task_result(outcomes(20, 0))
    now = task_result(outcomes(12, 8) | outcomes(60, 0, start=100))
    assert now.metrics["pass_rate"].value == 0.9
    assert verdict(now, before, rule).verdict == "regression"


def test_a_task_that_the_rules_expect_is_missing_even_where_no_baseline_knows_it():
    now = task_result(outcomes(20, 0))
    floor = Rule(metric="pass_rate", min=0.5)
    decision = verdict(now, None, floor, lost_tasks={"gone": "which the rules expect"})
    assert decision.verdict == "inconclusive"
    assert "gone: the change removed the task, which the rules expect." in texts(decision.reasons)


def test_a_rise_of_cost_is_that_of_the_sum_and_more_attempts_show_in_it():
    rule = Rule(metric="cost_usd", task="t", max_rise=0.02)
    before = task_result({f"c{i}": [scored(True, cost=0.001)] for i in range(10)})
    now = task_result({f"c{i}": [scored(True, n, cost=0.001) for n in range(1, 6)] for i in range(10)}, repeats=5)
    decision = verdict(now, before, rule)
    assert decision.verdict == "regression"
    assert "0.01 → 0.05" in texts(decision.reasons)
    assert decision.rules[0].evidence.difference == pytest.approx(0.04)


def test_a_critical_case_that_can_never_pass_guards_nothing_and_is_inconclusive():
    faulty = {"c039": "its expected answer cannot pass"}
    before = task_result(outcomes(39, 1), critical=["c039"])
    for now in (
        task_result(outcomes(39, 1), critical=["c039"], faults=faulty),
        task_result(outcomes(39, 1), faults=faulty),  # the mark of the baseline counts as well
    ):
        decision = verdict(now, before, PASS_RATE)
        assert decision.verdict == "inconclusive"
        assert "the critical case c039 can never pass and guards nothing" in texts(decision.reasons)


def test_another_case_that_can_never_pass_is_a_failing_case():
    now = task_result(outcomes(39, 1), faults={"c039": "its expected answer cannot pass"})
    assert verdict(now, task_result(outcomes(39, 1)), PASS_RATE).verdict == "pass"


def test_another_judge_that_a_change_brings_leaves_the_verdict_open_whatever_it_says():
    now, before = task_result(outcomes(20, 0)), task_result(outcomes(20, 0))
    assert verdict(now, before, PASS_RATE).verdict == "pass"
    decision = verdict(now, before, PASS_RATE, other_judges={"t": "4fe6 → d275"})
    assert (decision.verdict, [(reason.kind, reason.task) for reason in decision.reasons]) == (
        "inconclusive",
        [("comparison", "t")],
    )
    assert texts(decision.reasons).startswith("t: the change brings another judge (4fe6 → d275)")
