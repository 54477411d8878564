"""Who wins on what, with which evidence, and what is said where nothing can be."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy.stats import binomtest

from evaluator import candidate
from evaluator.cases import Subject
from evaluator.comparison import pair
from evaluator.results import Run, TaskResult, decode_run, encode
from evaluator.rules import higher_is_better
from evaluator.statistics import holm
from tests.unit.builders import failed_call, outcomes, run, scored, task_result

OLD, NEW = "openai/old", "openai/new"
ALPHA = 0.02


def by(model: str | None, *tasks: TaskResult) -> Run:
    return replace(run(list(tasks)), subject=Subject(model=model) if model is not None else None)


def beside(before: list[TaskResult], now: list[TaskResult], *, old: str | None = OLD, new: str = NEW):
    known = {task.name: task for task in before}
    pairings = {task.name: pair(known.get(task.name), task) for task in now}
    return candidate.of(by(old, *before), before, new, now, pairings, ALPHA)


def task(found, name: str = "t"):
    return next(each for each in found.tasks if each.task == name)


def duel(found, metric: str, name: str = "t"):
    return next(each for each in task(found, name).duels if each.metric == metric)


def priced(passes: int, fails: int, cost: float | None) -> TaskResult:
    return task_result({f"c{n:03}": [scored(n < passes, cost=cost)] for n in range(passes + fails)})


@pytest.mark.parametrize(("old", "new"), [(OLD, OLD), (None, NEW), (OLD, ""), ("", NEW)])
def test_there_is_no_candidate_where_models_are_the_same_or_unknown(old, new):
    assert beside([task_result(outcomes(5, 5))], [task_result(outcomes(9, 1))], old=old, new=new) is None


def test_the_candidate_wins_where_it_is_better_and_the_baseline_where_that_is():
    worse, better = task_result(outcomes(0, 20)), task_result(outcomes(20, 0))
    for before, now, winner in ((worse, better, "candidate"), (better, worse, "baseline")):
        found = beside([before], [now])
        assert duel(found, "pass_rate").winner == winner
        assert (found.candidate, found.baseline) == (NEW, OLD)


def test_the_two_sided_p_is_twice_the_smaller_one_and_is_corrected_over_all_figures_of_all_tasks():
    before = [task_result(outcomes(6, 14)), task_result(outcomes(10, 10), name="u")]
    now = [task_result(outcomes(16, 4)), task_result(outcomes(14, 6), name="u")]
    found = beside(before, now)
    assert duel(found, "pass_rate").p == pytest.approx(binomtest(10, 10).pvalue)
    assert duel(found, "pass_rate", "u").p == pytest.approx(binomtest(4, 4).pvalue)
    duels = [each for part in found.tasks for each in part.duels]
    assert len(duels) == 8  # pass rate, cost and tokens in and out, of two tasks
    assert [each.adjusted for each in duels] == holm([each.p for each in duels])
    assert duel(found, "pass_rate").winner == "candidate"
    assert duel(found, "pass_rate", "u").winner == "neither"


def test_an_even_split_of_better_and_worse_cases_is_no_evidence_at_all():
    before, now = outcomes(10, 10), {**outcomes(0, 10), **outcomes(10, 0, start=10)}
    assert (duel(beside([task_result(before)], [task_result(now)]), "pass_rate")).p == 1.0


def test_less_is_better_of_dollars_and_tokens():
    found = beside([priced(10, 10, 0.002)], [priced(10, 10, 0.001)])
    cost = duel(found, "cost_usd")
    assert (cost.winner, cost.baseline, cost.candidate) == (
        "candidate",
        pytest.approx(0.002),
        pytest.approx(0.001),
    )
    assert duel(found, "input_tokens").winner == "neither"
    assert f"Enough to say that {NEW} is better on t cost_usd (50% less an attempt, p < 0.001)" in found.sentence


@pytest.mark.parametrize("metric", ["pass_rate", "tool_score", "argument_score", "cost_usd", "output_tokens"])
def test_who_wins_goes_by_the_direction_of_the_gate(metric):
    def side(value: float) -> TaskResult:
        attempts = {}
        for n in range(20):
            attempt = scored(value == 1.0, tool_score=value, argument_score=value, cost=value)
            usage = replace(attempt.transcript.usage, output_tokens=int(10 * value))
            attempts[f"c{n}"] = [replace(attempt, transcript=replace(attempt.transcript, usage=usage))]
        return task_result(attempts)

    found = duel(beside([side(0.0)], [side(1.0)]), metric)
    assert found.candidate > found.baseline
    assert found.winner == ("candidate" if higher_is_better(metric) else "baseline")


def test_the_sentence_says_what_the_cases_would_have_shown():
    before = [task_result(outcomes(0, 20)), task_result(outcomes(10, 10), name="u")]
    now = [task_result(outcomes(20, 0)), task_result(outcomes(11, 9), name="u")]
    found = beside(before, now)
    open_one = duel(found, "pass_rate", "u")
    assert open_one.detectable is not None
    assert found.sentence == (
        f"Enough to say that {NEW} is better on t pass_rate (1.00 against 0.00, p < 0.001); on u 20 cases cannot tell "
        f"the two apart by pass_rate: only a difference of {-(-open_one.detectable * 100 // 1) / 100:.2f} or more "
        "would show."
    )


def test_what_would_show_is_what_the_correction_leaves_of_alpha_on_either_side():
    alone = beside([priced(10, 10, 0.001)], [priced(11, 9, 0.001)])
    more = beside(
        [priced(10, 10, 0.001), task_result(outcomes(10, 10), name="u")],
        [priced(11, 9, 0.001), task_result(outcomes(11, 9), name="u")],
    )
    assert duel(alone, "pass_rate").detectable < duel(more, "pass_rate").detectable


def test_a_few_cases_are_said_to_be_too_few():
    found = beside([task_result(outcomes(0, 5))], [task_result(outcomes(5, 0))])
    assert duel(found, "pass_rate").winner == "neither"
    assert found.sentence == (
        "Not enough to say that either model is better on any figure; on t 5 cases are too few for any difference in "
        "pass_rate to show."
    )


def test_each_model_is_credited_with_what_it_wins():
    found = beside([priced(0, 20, 0.001)], [priced(20, 0, 0.004)])
    assert found.sentence == (
        f"Enough to say that {NEW} is better on t pass_rate (1.00 against 0.00, p < 0.001), and that {OLD} is better "
        "on t cost_usd (75% less an attempt, p < 0.001)."
    )


def test_who_does_better_at_the_tasks_comes_before_who_costs_less():
    found = beside([priced(20, 0, 0.004)], [priced(0, 20, 0.001)])
    assert found.sentence.startswith(f"Enough to say that {OLD} is better on t pass_rate")
    assert f", and that {NEW} is better on t cost_usd (75% less an attempt" in found.sentence


def test_three_figures_are_named_and_the_others_counted_quality_before_amounts():
    names = ("tool_score", "order_score", "argument_score")
    worse = {f"c{n:02}": [scored(False, cost=0.002, **dict.fromkeys(names, 0.0))] for n in range(30)}
    better = {f"c{n:02}": [scored(True, cost=0.001, **dict.fromkeys(names, 1.0))] for n in range(30)}
    said = beside([task_result(worse)], [task_result(better)]).sentence
    assert "t pass_rate (" in said
    assert "cost_usd" not in said
    assert said.endswith("and 2 more figures.")


def test_a_task_that_the_baseline_does_not_know_and_one_that_is_gone_are_named():
    found = beside([task_result(outcomes(2, 2), name="old")], [task_result(outcomes(2, 2), name="fresh")])
    assert found.sentence == (
        "Nothing can be said of the two models; of fresh nothing is said: the baseline does not know it; of old "
        "nothing is said: this run does not have it."
    )
    assert [each.duels for each in found.tasks] == [[], []]


def test_without_a_paired_case_nothing_is_said():
    now = task_result({case: [failed_call()] for case in outcomes(4, 0)})
    found = beside([task_result(outcomes(2, 2))], [now])
    assert found.sentence == "Nothing can be said of the two models; of t nothing is said: no case could be paired."
    assert task(found).candidate_cost is None


def test_only_paired_cases_count():
    before = task_result(outcomes(2, 2) | {"lost": [scored(False)], "edited": [scored(True)]})
    now = task_result(
        outcomes(4, 0) | {"lost": [failed_call()], "edited": [scored(False)], "fresh": [scored(False)]},
        changed=["edited"],
    )
    found = beside([before], [now])
    assert (task(found).paired, duel(found, "pass_rate").n) == (4, 4)
    assert (duel(found, "pass_rate").baseline, duel(found, "pass_rate").candidate) == (0.5, 1.0)
    assert task(found).only_candidate == ["c002", "c003"]
    assert task(found).only_baseline == []


def test_of_a_task_that_is_not_pooled_only_amounts_are_compared():
    before, now = (replace(priced(*counts, 0.001), pooled=False) for counts in ((0, 20), (20, 0)))
    found = beside([before], [now])
    assert [each.metric for each in task(found).duels] == ["cost_usd", "input_tokens", "output_tokens"]
    assert (task(found).modes, task(found).candidate_cost) == ([], None)
    assert "of t nothing is said: no share is taken over all of its cases, see its slices" in found.sentence
    assert "pass_rate" not in found.sentence


def test_recordings_need_no_statistics_and_the_sentence_says_what_that_means():
    found = beside([task_result(outcomes(4, 2), deterministic=True)], [task_result(outcomes(5, 1), deterministic=True)])
    assert (duel(found, "pass_rate").winner, duel(found, "pass_rate").p) == ("candidate", None)
    assert found.sentence == (
        f"Enough to say that {NEW} is better on t pass_rate (0.83 against 0.67); transcripts are recorded, so this is "
        "about them and not about what a model would answer anew."
    )


def test_equal_recordings_have_no_winner():
    same = task_result(outcomes(4, 2), deterministic=True)
    found = beside([same], [same])
    assert {each.winner for each in task(found).duels} == {"neither"}
    assert "on t both have the same pass_rate" in found.sentence


@pytest.mark.parametrize(
    ("costs", "state", "each"),
    [((0.002, 0.002), "known", 0.002), ((0.002, None), "partial", 0.001), ((None, None), "unknown", None)],
)
def test_the_cost_of_a_passed_case_is_known_a_lower_bound_or_unknown(costs, state, each):
    attempts = {f"c{n:03}": [scored(True, cost=costs[n % 2])] for n in range(20)}
    found = beside([priced(20, 0, 0.001)], [task_result(attempts)])
    cost = task(found).candidate_cost
    assert (cost.cost_state, cost.passed) == (state, 20)
    assert cost.each == (pytest.approx(each) if each is not None else None)
    assert task(found).baseline_cost.each == pytest.approx(0.001)


def test_a_cost_that_one_side_does_not_know_has_no_winner_and_no_figure():
    found = beside([priced(10, 10, 0.001)], [priced(10, 10, None)])
    assert "cost_usd" not in [each.metric for each in task(found).duels]


def test_failed_attempts_are_paid_for_by_those_that_passed_and_without_one_there_is_no_price():
    found = beside([priced(5, 15, 0.001)], [priced(0, 20, 0.001)])
    assert task(found).baseline_cost.each == pytest.approx(0.004)
    assert (task(found).candidate_cost.each, task(found).candidate_cost.cost_usd) == (None, pytest.approx(0.02))


def repeated(*cases: str, cost: float = 0.001) -> TaskResult:
    """A case for each text, an attempt for each sign: "++-" passes twice and fails once."""
    attempts = {
        f"c{n}": [scored(sign == "+", number, cost=cost) for number, sign in enumerate(signs, 1)]
        for n, signs in enumerate(cases)
    }
    return task_result(attempts, repeats=max(map(len, cases)))


def test_with_several_attempts_a_passed_case_passes_all_of_as_many_as_both_sides_have():
    found = beside([repeated(*["+++"] * 4)], [repeated(*["+++--"] * 2, *["++-++"] * 2)])
    assert task(found).k == 3
    # Three attempts at each of four cases on either side; of the candidate's cases two pass all three.
    assert task(found).candidate_cost.passed == 2
    assert task(found).candidate_cost.cost_usd == pytest.approx(0.012)
    assert task(found).candidate_cost.each == pytest.approx(0.006)
    assert task(found).baseline_cost.each == pytest.approx(0.003)
    assert duel(found, "all_k_pass_rate").baseline == 1.0


def test_more_attempts_do_not_make_a_model_look_dearer():
    found = beside([repeated(*["+"] * 20)], [repeated(*["+++++"] * 20)])
    assert (duel(found, "cost_usd").winner, duel(found, "cost_usd").candidate) == ("neither", pytest.approx(0.001))
    assert task(found).candidate_cost.each == task(found).baseline_cost.each == pytest.approx(0.001)
    assert "all_k_pass_rate" not in [each.metric for each in task(found).duels]


def test_the_modes_of_both_are_shares_of_their_scored_attempts():
    before = task_result({"a": [scored(False, mode="wrong_tool")], "b": [scored(True)]})
    now = task_result({"a": [scored(False, mode="unparseable")], "b": [scored(False, mode="unparseable")]})
    found = task(beside([before], [now])).modes
    assert [(each.mode, each.baseline, each.candidate) for each in found] == [
        ("unparseable", 0.0, 1.0),
        ("wrong_tool", 0.5, 0.0),
    ]


def test_a_case_is_passed_by_one_only_where_the_other_fails_an_attempt():
    found = task(beside([repeated("++", "+-", "--")], [repeated("+-", "++", "-+")]))
    assert (found.only_candidate, found.only_baseline) == (["c1"], ["c0"])


def test_a_candidate_is_read_back_as_it_was_written():
    before = [task_result(outcomes(2, 18)), task_result(outcomes(2, 2), name="gone")]
    found = beside(before, [task_result(outcomes(18, 2))])
    assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)) == found
    whole = by(NEW, task_result(outcomes(18, 2)))
    assert decode_run(encode(whole), "results.json") == whole


sides = st.integers(1, 25).flatmap(lambda n: st.tuples(*[st.lists(
    st.tuples(st.booleans(), st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.001, 0.002, None])),
    min_size=n, max_size=n)] * 2))  # fmt: skip


def drawn(cases) -> TaskResult:
    return task_result(
        {f"c{n:02}": [scored(ok, cost=cost, argument_score=share)] for n, (ok, share, cost) in enumerate(cases)}
    )


@settings(max_examples=100)
@given(sides)
def test_swapping_the_models_swaps_the_winners_and_keeps_the_evidence(both):
    before, now = drawn(both[0]), drawn(both[1])
    there, back = beside([before], [now]), beside([now], [before], old=NEW, new=OLD)
    swapped = {"candidate": "baseline", "baseline": "candidate", "neither": "neither"}
    for one, other in zip(task(there).duels, task(back).duels, strict=True):
        assert (one.metric, one.p, one.adjusted, one.n) == (other.metric, other.p, other.adjusted, other.n)
        assert one.winner == swapped[other.winner]
        assert (one.baseline, one.candidate) == (other.candidate, other.baseline)
    assert task(there).only_candidate == task(back).only_baseline
    assert task(there).candidate_cost == task(back).baseline_cost


@settings(max_examples=100)
@given(sides)
def test_there_is_no_winner_without_evidence_and_it_is_the_better_one(both):
    found = beside([drawn(both[0])], [drawn(both[1])])
    for each in task(found).duels:
        if each.winner == "neither":
            assert each.adjusted > ALPHA
            continue
        assert each.p <= each.adjusted <= ALPHA
        gain = (each.candidate - each.baseline) * (1 if higher_is_better(each.metric) else -1)
        assert gain > 0 if each.winner == "candidate" else gain < 0
