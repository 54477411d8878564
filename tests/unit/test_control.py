"""The control arm: which cases are asked again, and what their answers say."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator import control
from evaluator.comparison import pair
from evaluator.control import Answer, Chosen, Suspicion
from evaluator.results import Attempt, Control, TaskResult
from tests.unit.builders import failed_call, scored, task_result

ALPHA = 0.02
Outcomes = Mapping[str, Sequence[bool]]


def attempts(of: Outcomes) -> dict[str, list[Attempt]]:
    return {case: [scored(passed, number) for number, passed in enumerate(row, 1)] for case, row in of.items()}


def task(of: Outcomes, **more: Any) -> TaskResult:
    return task_result(attempts(of), repeats=max(len(row) for row in of.values()), **more)


def suspicion(cases: Sequence[str], metric: str = "pass_rate", **more: Any) -> Suspicion:
    return Suspicion(task="t", metric=metric, higher_is_better=True, cases=list(cases), **more)


def said(stored: Outcomes, then: Outcomes, base: Outcomes, change: Outcomes) -> Answer:
    """What the arms `base` and `change` say of all cases of `stored`."""
    arms = Control(base=[task(base)], change=[task(change)])
    return control.answer(suspicion(list(stored)), arms, pair(task(stored), task(then)), ALPHA)


def every(passed: Sequence[bool], count: int = 6) -> dict[str, list[bool]]:
    return {f"c{number}": list(passed) for number in range(count)}


def each(ids: Sequence[str], passed: list[bool]) -> dict[str, list[bool]]:
    return {case: passed for case in ids}  # noqa: C420 - the rule against a shared list says so


PASS, FAIL = every([True]), every([False])


def test_the_base_that_still_passes_where_the_change_fails_holds() -> None:
    answer = said(PASS, FAIL, base=PASS, change=FAIL)
    assert answer == Answer(
        word="holds",
        text="6 cases of t asked again, pass_rate: baseline then 1.00, base now 1.00, change now 0.00: the base still "
        "does better than the change, p = 0.016",
    )


def test_the_base_that_fails_as_the_change_does_fell() -> None:
    answer = said(PASS, FAIL, base=FAIL, change=FAIL)
    assert answer.word == "fell"
    assert answer.text.endswith("base now 0.00, change now 0.00: the base does as badly now as the change")


def test_a_single_case_can_tell_with_enough_attempts_and_not_with_one() -> None:
    one, none = {"c0": [True]}, {"c0": [False]}
    assert said(one, none, base={"c0": [True]}, change={"c0": [False]}).word == "unclear"
    assert said(one, none, base={"c0": [True] * 4}, change={"c0": [False] * 4}).word == "holds"
    assert said(one, none, base={"c0": [False] * 4}, change={"c0": [False] * 4}).word == "fell"


def test_cases_that_pass_again_for_both_are_no_fault_of_the_model() -> None:
    assert said(PASS, FAIL, base=PASS, change=PASS).word == "unclear"


def test_cases_that_only_flip_are_not_blamed_on_the_model() -> None:
    rng = random.Random(3)
    words = []
    for _ in range(200):
        coin = [{f"c{n}": [rng.random() < 0.5] for n in range(8)} for _ in range(2)]
        words.append(said(every([True], 8), every([False], 8), base=coin[0], change=coin[1]).word)
    assert words.count("fell") / len(words) < 0.2
    assert words.count("holds") / len(words) <= 0.05


def test_a_base_that_lost_some_of_it_while_the_change_lost_all_is_not_an_excuse() -> None:
    half = {f"c{n}": [n % 2 == 0] * 3 for n in range(6)}
    answer = said(every([True] * 3), every([False] * 3), base=half, change=every([False] * 3))
    assert answer.word == "holds"


def test_a_metric_of_another_kind_is_compared_by_its_own_values() -> None:
    def arm(value: float) -> list[TaskResult]:
        cases = {f"c{n}": [scored(False, number, argument_score=value) for number in (1, 2)] for n in range(4)}
        return [task_result(cases, repeats=2)]

    [old], [new] = arm(1.0), arm(0.5)
    suspect = suspicion([f"c{n}" for n in range(4)], "argument_score")
    holds = control.answer(suspect, Control(base=arm(1.0), change=arm(0.5)), pair(old, new), ALPHA)
    assert holds.word == "holds"
    fell = control.answer(suspect, Control(base=arm(0.5), change=arm(0.5)), pair(old, new), ALPHA)
    assert fell.word == "fell"


def test_a_metric_that_is_better_when_lower_is_read_the_other_way_round() -> None:
    suspect = msgspec.structs.replace(suspicion(list(PASS), "failure_modes.wrong_value"), higher_is_better=False)
    arms = Control(base=[task(PASS)], change=[task(FAIL)])
    assert control.answer(suspect, arms, pair(task(PASS), task(FAIL)), ALPHA).word == "holds"


@pytest.mark.parametrize(
    ("arms", "text"),
    [
        (None, "the control arm was not asked"),
        (Control(silent="it is turned off"), "it is turned off"),
        (Control(base=[task({"x": [True]})], change=[task({"x": [True]})]), "none of the cases of t was asked again"),
        (
            Control(
                base=[task_result({case: [failed_call("authentication")] for case in PASS})],
                change=[task(FAIL)],
            ),
            "only 0 of 6 cases were answered again on both sides; the base: no",
        ),
    ],
)
def test_where_nothing_was_answered_it_is_silent_and_says_why(arms: Control | None, text: str) -> None:
    answer = control.answer(suspicion(list(PASS)), arms, pair(task(PASS), task(FAIL)), ALPHA)
    assert answer == Answer(word="silent", text=text)


outcomes = st.lists(st.lists(st.booleans(), min_size=1, max_size=4), min_size=1, max_size=8)


@given(outcomes, st.randoms())
def test_a_base_that_answers_like_the_change_never_holds(rows: list[list[bool]], rng: random.Random) -> None:
    arm = {f"c{n}": row for n, row in enumerate(rows)}
    stored = {case: [True] for case in arm}
    then = {case: [False] for case in arm}
    assert said(stored, then, base=arm, change=arm).word != "holds"


@given(outcomes)
def test_a_base_that_passes_everything_is_never_said_to_have_fallen(rows: list[list[bool]]) -> None:
    arm = {f"c{n}": row for n, row in enumerate(rows)}
    stored, then = {case: [True] for case in arm}, {case: [False] for case in arm}
    base = {case: [True] * len(row) for case, row in arm.items()}
    assert said(stored, then, base=base, change=arm).word != "fell"


@pytest.mark.parametrize(
    ("words", "together"),
    [
        (["fell", "holds"], "holds"),
        (["fell", "unclear"], "unclear"),
        (["fell", "silent"], "silent"),
        (["unclear", "silent", "holds"], "holds"),
        (["fell", "fell"], "fell"),
        ([], "silent"),
    ],
)
def test_one_drop_that_the_change_has_to_answer_for_is_enough(words: list[Any], together: str) -> None:
    assert control.overall([Answer(word=word, text="") for word in words]) == together


def picked(suspicions: Sequence[Suspicion], most: int = 20, seed: str = "s") -> Chosen:
    chosen = control.chosen(suspicions, most=most, alpha=ALPHA, seed=seed)
    assert chosen is not None
    return chosen


def test_suspicions_take_turns_within_the_budget_and_a_lone_case_is_not_crowded_out() -> None:
    many = suspicion([f"c{n:02}" for n in range(30)])
    lone = msgspec.structs.replace(suspicion(["x"]), task="u")
    chosen = picked([many, lone], most=4)
    assert sorted(task for task, _ in chosen.attempts) == ["t", "t", "t", "u"]
    assert chosen.left == 27
    assert chosen.attempts["u", "x"] == 5  # C(10, 5) = 252 arrangements, at half of alpha
    assert not chosen.anchor


def test_which_cases_are_asked_cannot_be_known_beforehand_and_is_a_fair_draw() -> None:
    many = suspicion([f"c{n:02}" for n in range(40)])
    draws = [set(picked([many], most=10, seed=str(seed)).attempts) for seed in range(200)]
    assert len({frozenset(draw) for draw in draws}) > 190
    often = [sum(("t", case) in draw for draw in draws) for case in many.cases]
    assert 20 < min(often) <= max(often) < 85


@pytest.mark.parametrize(("cases", "attempts"), [(1, 4), (2, 3), (3, 3), (20, 3)])
def test_few_cases_are_asked_more_often(cases: int, attempts: int) -> None:
    assert set(picked([suspicion([f"c{n}" for n in range(cases)])]).attempts.values()) == {attempts}


def test_each_critical_case_can_tell_by_itself() -> None:
    chosen = picked([suspicion(["a", "b", "c"], lone=True)])
    assert set(chosen.attempts.values()) == {4}


def test_the_anchor_is_asked_only_where_nothing_is_suspected_against_the_baseline() -> None:
    near, far = suspicion(["a"]), suspicion(["b"], anchor=True)
    both, alone = picked([near, far]), picked([far])
    assert (both.anchor, list(both.attempts)) == (False, [("t", "a")])
    assert (alone.anchor, list(alone.attempts)) == (True, [("t", "b")])


def test_nothing_is_chosen_without_a_case_or_a_budget() -> None:
    assert control.chosen([suspicion([])], most=20, alpha=ALPHA, seed="") is None
    assert control.chosen([suspicion(["a"])], most=0, alpha=ALPHA, seed="") is None


# What would let a change hide behind a model that moved


def test_one_case_that_the_base_always_passes_and_the_change_never_does_is_no_models_fault() -> None:
    ids = [f"c{n:02}" for n in range(20)]
    stored, then, change = each(ids, [True]), each(ids, [False]), each(ids, [False] * 3)
    base = {case: [case == "c07"] * 3 for case in ids}
    assert said(stored, then, base=base, change=change).word == "unclear"
    assert said(stored, then, base=change, change=change).word == "fell"


def test_cases_that_were_lucky_then_do_not_make_the_base_fall_by_themselves() -> None:
    """A hard suite: the suspected cases passed by chance, and fail again with the base as it always was."""
    ids = [f"c{n:03}" for n in range(60)]
    lucky = ids[:8]
    stored = task({case: [case in lucky] for case in ids})
    then = task({case: [False] for case in ids})
    arm = [task({case: [False] * 3 for case in lucky})]
    answer = control.answer(suspicion(lucky), Control(base=arm, change=arm), pair(stored, then), ALPHA)
    assert answer.word == "fell"  # nothing at all is left of what the task did
    half = [task({case: [case < "c004", False, case < "c002"] for case in lucky})]
    answer = control.answer(suspicion(lucky), Control(base=half, change=arm), pair(stored, then), ALPHA)
    assert answer.word != "fell"


def test_a_few_asked_cases_do_not_excuse_the_many_that_were_not() -> None:
    ids = [f"c{n:02}" for n in range(40)]
    stored, then = task(each(ids, [True])), task(each(ids, [False]))

    def word(asked: int) -> str:
        arm = [task(each(ids[:asked], [False] * 3))]
        return control.answer(suspicion(ids), Control(base=arm, change=arm), pair(stored, then), ALPHA).word

    assert [word(asked) for asked in (1, 9, 19, 20, 40)] == ["unclear", "unclear", "unclear", "fell", "fell"]


def test_the_answers_of_the_baselines_arm_say_nothing_of_a_drop_since_the_anchor() -> None:
    arms = Control(base=[task(FAIL)], change=[task(FAIL)])
    suspect = suspicion(list(PASS), anchor=True)
    assert control.answer(suspect, arms, pair(task(PASS), task(FAIL)), ALPHA).word == "silent"


def test_answers_to_another_case_of_the_same_name_are_none() -> None:
    other = task(FAIL, changed=list(FAIL))
    answer = control.answer(
        suspicion(list(PASS)), Control(base=[other], change=[other]), pair(task(PASS), task(FAIL)), ALPHA
    )
    assert answer.word == "silent"


def test_a_lone_case_fell_only_where_the_base_never_passes_it() -> None:
    one, none = task({"c0": [True]}), task({"c0": [False]})
    lone = suspicion(["c0"], lone=True)

    def word(base: Sequence[bool]) -> str:
        arms = Control(base=[task({"c0": base})], change=[task({"c0": [False] * 4})])
        return control.answer(lone, arms, pair(one, none), ALPHA).word

    assert [word(base) for base in ([False] * 4, [True, False, False, False], [True] * 4)] == [
        "fell",
        "unclear",
        "holds",
    ]


def test_a_case_that_was_not_answered_again_excuses_no_drop() -> None:
    ids = [f"c{n:02}" for n in range(20)]
    stored, then = task(each(ids, [True])), task(each(ids, [False]))

    def word(unanswered: int) -> str:
        base = [task(each(ids, [False] * 3))]
        silent = {case: [failed_call("timeout", n) for n in (1, 2, 3)] for case in ids[:unanswered]}
        change = [task_result(attempts(each(ids[unanswered:], [False] * 3)) | silent, repeats=3)]
        return control.answer(suspicion(ids), Control(base=base, change=change), pair(stored, then), ALPHA).word

    assert [word(unanswered) for unanswered in (0, 1, 4, 6)] == ["fell", "unclear", "unclear", "silent"]
