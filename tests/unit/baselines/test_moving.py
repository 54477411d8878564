from __future__ import annotations

from typing import Any

import msgspec
import pytest

from evaluator import config as configuration
from evaluator.baselines import Found, Missing, Unreadable
from evaluator.baselines.moving import Unfit, moved, unfit, unfit_to_move
from evaluator.cases import Subject
from evaluator.errors import UserError
from evaluator.models import together
from evaluator.results import Anchor, CanaryResult, CanaryResults, Comparison, Run, TaskComparison
from evaluator.transcript import Transcript
from tests.unit import builders
from tests.unit.baselines.runs import ALICE, a_run, by_itself

CONFIG = configuration.parse("model: m/m\ntasks:\n  refunds: {source: ./evals}\n", "trap.yaml")
BROKEN = CanaryResults(version="1", cases=[CanaryResult(id="c", expected="pass", got="fail", ok=False)])


def fit() -> Run:
    """A run that may move the baseline."""
    return replace(a_run("c" * 40), subject=Subject(model="m/m"))


def replace(value: Any, **changes: Any) -> Any:
    return msgspec.structs.replace(value, **changes)


def found(run: Run, by: Any = ALICE, anchor: Anchor | None = None) -> Found:
    return Found("b.json", replace(moved(Missing(""), run, by), anchor=anchor))


def test_an_acceptance_has_no_anchor() -> None:
    assert moved(found(fit()), fit(), ALICE).anchor is None


def test_a_move_by_itself_keeps_the_accepted_baseline_as_its_anchor() -> None:
    first, second, third = (replace(fit(), started=str(number)) for number in range(3))
    after = moved(found(first), second, by_itself())
    assert after.anchor == Anchor(accepted=ALICE, run=first)
    assert moved(Found("b", after), third, by_itself()).anchor == Anchor(accepted=ALICE, run=first)


def test_a_first_baseline_that_nobody_accepted_is_the_anchor_of_those_after_it() -> None:
    first = moved(Missing("b"), fit(), by_itself())
    assert first.anchor is None
    assert moved(Found("b", first), fit(), by_itself()).anchor == Anchor(accepted=by_itself(), run=fit())


def test_a_move_by_itself_over_what_cannot_be_read_would_lose_the_anchor() -> None:
    with pytest.raises(UserError, match="the baseline that this run would replace cannot be read: HTTP 503"):
        moved(Unreadable("b", "HTTP 503"), fit(), by_itself())
    assert moved(Unreadable("b", "HTTP 503"), fit(), ALICE).run == fit()


def test_a_run_that_passed_in_full_may_move_the_baseline() -> None:
    before = replace(fit(), started="before")
    assert unfit_to_move(fit(), CONFIG, found(before)) == ""
    assert unfit_to_move(fit(), CONFIG, Missing("b")) == ""


def unscored(run: Run) -> Run:
    task = builders.task_result({"a": [builders.scored(True)], "b": [builders.failed_call()]}, name="refunds")
    return replace(run, tasks=[task])


def cached(run: Run) -> Run:
    attempt = replace(builders.scored(True), transcript=Transcript(text="x", cached=True))
    return replace(run, tasks=[builders.task_result({"a": [attempt]}, name="refunds")])


def guarding_nothing(run: Run) -> Run:
    task = builders.task_result(
        {"a": [builders.scored(False)]}, name="refunds", critical=["a"], faults={"a": "its gold fails"}
    )
    return replace(run, tasks=[task])


def losing_a_critical_case(run: Run) -> Run:
    task = builders.task_result(
        {"a": [builders.scored(False)], "b": [builders.scored(True)]}, name="refunds", critical=["a"]
    )
    return replace(run, tasks=[task])


def compared(**lists: list[str]) -> Comparison:
    return Comparison(baseline="b", tasks=[TaskComparison(task="refunds", paired=1, **lists)])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda run: replace(run, verdict="regression"), "its verdict is regression"),
        (lambda run: replace(run, verdict="inconclusive"), "its verdict is inconclusive"),
        (lambda run: replace(run, unchanged=True), "no model was asked"),
        (lambda run: replace(run, layer="provider"), "it passed with a warning that the provider moved"),
        (lambda run: replace(run, selection=["refunds"]), "it holds the tasks refunds"),
        (lambda run: replace(run, tasks=[]), "it holds the tasks"),
        (lambda run: replace(run, canaries=BROKEN), "its canaries failed (c)"),
        (lambda run: replace(run, canaries=CanaryResults(version="1", cases=[])), "none was scored"),
        (lambda run: replace(run, subject=Subject(model="m/new")), "it is of m/new, and trap.yaml has m/m"),
        (unscored, "not every planned attempt was scored (refunds 1 of 2)"),
        (cached, "some of its answers come from the cache"),
        (guarding_nothing, "critical cases that can never pass would guard nothing (refunds/a)"),
        (losing_a_critical_case, "critical cases fail in it (refunds: a), which somebody has to accept"),
        (lambda run: replace(run, beside=[unscored(run)]), "not every planned attempt was scored"),
        (
            lambda run: replace(run, comparison=compared(removed=["a", "b", "c", "d", "e", "f"])),
            "cases of the baseline were removed (refunds: a, b, c, d, e and 1 more), which somebody has to accept",
        ),
        (lambda run: replace(run, comparison=compared(not_comparable=["a"])), "were changed (refunds: a)"),
    ],
)
def test_a_run_with_anything_left_to_say_does_not_move_the_baseline_by_itself(change: Any, why: str) -> None:
    assert why in unfit_to_move(change(fit()), CONFIG, Missing("b"))


@pytest.mark.parametrize("moved_one", ["first", "second"])
def test_one_of_several_models_that_moved_keeps_the_baseline_where_it_is(moved_one: str) -> None:
    several = configuration.parse("models: [m/m, m/other]\ntasks:\n  refunds: {source: ./evals}\n", "trap.yaml")
    first = replace(fit(), layer="model" if moved_one == "first" else None)
    second = replace(fit(), subject=Subject(model="m/other"), layer="model" if moved_one == "second" else None)
    both = together([first, second], [])
    assert (both.verdict, both.layer) == ("pass", None), "the run as a whole does not say it"
    model = "m/m" if moved_one == "first" else "m/other"
    assert unfit_to_move(both, several, Missing("b")) == f"it passed with a warning that the model of {model} moved"


def test_new_cases_do_not_keep_a_baseline_from_moving() -> None:
    run = replace(fit(), comparison=compared(added=["z"]))
    assert unfit_to_move(run, CONFIG, found(replace(fit(), started="before"))) == ""


def test_a_baseline_that_cannot_be_read_is_not_replaced_by_itself() -> None:
    assert "cannot be read: HTTP 503" in unfit_to_move(fit(), CONFIG, Unreadable("b", "HTTP 503"))


def test_a_run_that_lost_one_of_several_models_does_not_move_the_baseline_by_itself() -> None:
    other = replace(fit(), subject=Subject(model="m/other"))
    both = replace(fit(), beside=[other], started="before")
    assert unfit_to_move(fit(), CONFIG, found(both)) == "the baseline has models that this run does not: m/other"


def test_the_same_run_does_not_move_the_baseline_twice() -> None:
    assert unfit_to_move(fit(), CONFIG, found(fit())) == "it is the baseline already"


def test_fewer_attempts_a_case_than_asked_for_are_unfit() -> None:
    twice = configuration.parse("model: m/m\nrepeats: 2\ntasks:\n  refunds: {source: ./evals}\n", "trap.yaml")
    fault = unfit(fit(), twice)
    assert fault is not None
    assert fault.what == "it made fewer attempts a case than trap.yaml asks for (refunds 1 of 2)"


def test_somebody_may_accept_a_run_that_did_not_pass() -> None:
    assert unfit(replace(fit(), verdict="regression", layer="change"), CONFIG) is None


@pytest.mark.parametrize("of", ["m/new", "m/m and beside it m/new"])
def test_nobody_may_accept_a_run_of_a_model_that_trap_yaml_does_not_name(of: str) -> None:
    new = replace(fit(), subject=Subject(model="m/new"))
    fault = unfit(new if of == "m/new" else replace(fit(), beside=[new]), CONFIG)
    assert fault == Unfit(
        "accept-model",
        "it is of m/new, and trap.yaml has m/m",
        "Change the model in trap.yaml first, and run again.",
    )


@pytest.mark.parametrize("model", ["", "m/m"])
def test_without_a_model_in_trap_yaml_any_may_be_accepted(model: str) -> None:
    scored = configuration.parse("tasks:\n  refunds: {source: ./evals}\n", "trap.yaml")
    assert unfit(replace(fit(), subject=Subject(model=model) if model else None), scored) is None


def test_each_of_several_models_must_be_there() -> None:
    several = configuration.parse("models: [m/m, m/other]\ntasks:\n  refunds: {source: ./evals}\n", "trap.yaml")
    fault = unfit(fit(), several)
    assert fault is not None
    assert fault.what == "it does not have every model of trap.yaml: m/other is missing"
