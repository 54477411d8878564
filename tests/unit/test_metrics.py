"""Attempts → figures."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics import case_value, metric_of, pass_hat_k, totals
from evaluator.results import Attempt
from evaluator.transcript import Infrastructure, Usage
from tests.unit.builders import failed_call, not_run, outcomes, scored, task_result


def test_every_case_weighs_the_same_however_many_attempts_it_had():
    task = task_result({"a": [scored(True, n) for n in (1, 2, 3)], "b": [scored(False)]})
    assert task.metrics["pass_rate"].value == 0.5
    assert task.metrics["pass_rate"].n == 2


def test_an_infrastructure_failure_is_in_coverage_and_not_in_the_rate():
    task = task_result({"a": [scored(True)], "b": [failed_call()]})
    assert task.metrics["pass_rate"].value == 1.0
    assert (task.planned, task.scored) == (2, 1)


def test_a_task_without_scores_has_no_rate_at_all():
    assert "pass_rate" not in task_result({"a": [failed_call()]}).metrics


@given(st.integers(1, 7), st.data())
def test_pass_hat_k_is_the_share_of_k_subsets_that_all_passed(n, data):
    passed, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    subsets = list(itertools.combinations([True] * passed + [False] * (n - passed), k))
    assert pass_hat_k(n, passed, k) == pytest.approx(sum(all(s) for s in subsets) / len(subsets))


@pytest.mark.parametrize(("n", "k"), [(2, 3), (0, 1), (3, 0)])
def test_with_fewer_than_k_attempts_there_is_no_number(n, k):
    assert pass_hat_k(n, n, k) is None


def test_all_k_pass_rate_needs_every_attempt_to_pass():
    attempts = {"a": [scored(True, n) for n in (1, 2, 3)], "b": [scored(True, 1), scored(True, 2), scored(False, 3)]}
    task = task_result(attempts, repeats=3)
    assert task.metrics["all_k_pass_rate"].value == 0.5
    assert task.metrics["pass_rate"].value == pytest.approx(5 / 6)


def test_failure_modes_are_counted_by_attempt():
    task = task_result({"a": [scored(False, mode="wrong_type")], "b": [scored(False)], "c": [scored(True)]})
    assert task.failure_modes == {"wrong_type": 1, "wrong_value": 1}
    assert metric_of("failure_modes.wrong_type", task.cases, 1).value == pytest.approx(1 / 3)


def test_a_figure_that_an_attempt_does_not_have_is_no_zero_and_no_one():
    task = task_result({"a": [scored(True, argument_score=0.5)], "b": [scored(True)]})
    assert task.metrics["argument_score"].value == 0.5
    assert task.metrics["argument_score"].n == 1


def test_cost_is_a_sum_without_interval_and_unknown_as_soon_as_one_attempt_is():
    known = task_result({"a": [scored(True, cost=0.25)], "b": [scored(False, cost=0.5)]})
    assert known.metrics["cost_usd"].value == 0.75
    assert known.metrics["cost_usd"].low is None
    assert "cost_usd" not in task_result({"a": [scored(True, cost=0.25)], "b": [scored(True, cost=None)]}).metrics


def test_totals_tell_a_known_cost_from_a_lower_bound_and_from_an_unknown_one():
    def state(*attempts):
        whole = totals([task_result({f"c{i}": [a] for i, a in enumerate(attempts)})], 2.0)
        return whole.cost_state, whole.cost_usd

    assert state(scored(True, cost=0.5), scored(True, cost=0.0)) == ("known", 0.5)
    assert state(scored(True, cost=0.5), scored(True, cost=None)) == ("partial", 0.5)
    assert state(scored(True, cost=None)) == ("unknown", None)
    assert state(scored(True, cost=0.0)) == ("known", 0.0)


def test_an_http_error_and_a_call_never_made_cost_nothing_a_timeout_may_have_been_billed():
    assert case_value("cost_usd", task_result({"a": [failed_call(status=429)]}).cases[0], 1) == 0.0
    assert case_value("cost_usd", task_result({"a": [not_run()]}).cases[0], 1) == 0.0
    assert case_value("cost_usd", task_result({"a": [failed_call("timeout", status=None)]}).cases[0], 1) is None


def test_a_conversation_that_failed_has_cost_what_its_answers_had_and_perhaps_more_where_its_last_call_may_be_billed():
    def state(status):
        failure = Infrastructure(kind="server_error", message="no", http_status=status, usage=Usage(cost_usd=0.25))
        failed = Attempt(number=1, status="infrastructure", infrastructure=failure)
        whole = totals([task_result({"a": [failed], "b": [scored(True, cost=0.5)]})], 0.0)
        return whole.cost_state, whole.cost_usd

    assert state(500) == ("known", 0.75)
    assert state(None) == ("partial", 0.75)


def test_slices_have_figures_of_their_own():
    task = task_result(outcomes(3, 1), slices={"c000": ["easy"], "c003": ["easy"], "c001": ["hard"]})
    assert task.slices["easy"].metrics["pass_rate"].value == 0.5
    assert task.slices["hard"].planned == 1
    assert set(task.slices) == {"easy", "hard"}


def test_infrastructure_failures_are_counted_by_kind():
    task = task_result({"a": [failed_call()], "b": [failed_call("timeout", status=None)], "c": [not_run()]})
    assert totals([task], 0.0).infrastructure == {"cost_limit": 1, "server_error": 1, "timeout": 1}


def test_tokens_of_calls_that_were_never_made_are_not_zero_but_unknown():
    whole = totals([task_result({"a": [not_run()], "b": [scored(True, cost=None)]})], 0.0)
    assert whole.cost_state == "unknown"
    nothing = totals([task_result({"a": [not_run()]})], 0.0)
    assert (nothing.input_tokens, nothing.cost_usd, nothing.cost_state) == (None, 0.0, "known")
