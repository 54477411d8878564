"""Retry with feedback from trap.yaml to a verdict: its figures, the gate on them, and which try is scored."""

from __future__ import annotations

import json

import pytest

from tests.integration.agents import (
    EMAIL,
    LOOKUP,
    REFUND,
    accept,
    at_once,
    attempts,
    order_of,
    right,
    run,
    trap,
    turn,
    write,
    write_repository,
)
from tests.integration.repository import trapgate

CASES = 8
FLOORS = (
    "metric: first_try_pass_rate, min: 0.25, on_noise: fail",
    "metric: recovered_pass_rate, min: 0.75, on_noise: fail",
    "metric: retry_tokens, max: 13.5, on_noise: fail",
)


def with_retry(score, *rules):
    return trap(*rules, more=f"retry: {{max_attempts: 2, score: {score}}}")


def agent(request):
    """Sends the amount as text in six cases of eight, and mends that in four of them once it is told."""
    order = order_of(request)
    if order >= 6:
        return turn(request, right(order))
    look, (_, email) = right(order)
    worded = (REFUND, {"order_id": order, "amount": "24.5"})
    again = (REFUND, {"order_id": order, "amount": 24.5}) if order < 4 else worded
    return turn(request, [look, [worded, email], [again]])


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Which try is scored → a repository, the process of a run there, and its results."""

    def job(name, *rules):
        folder = write_repository(tmp_path_factory.mktemp(name), CASES, with_retry(name, *rules))
        return lambda: (folder, *run(folder, agent))

    return at_once({"first": job("first", *FLOORS), "last": job("last", "metric: pass_rate, max_drop: 0.05")})


@pytest.fixture(scope="module")
def first(runs):
    """A repository with the baseline of the first tries, and the results that became it."""
    folder, done, found = runs["first"]
    assert done.returncode == 0, done.stdout + done.stderr
    accept(folder)
    return folder, found


def test_the_first_try_is_scored_and_what_feedback_gains_and_costs_are_figures_of_their_own(first):
    _, found = first
    metrics = found.tasks[0].metrics
    assert metrics["pass_rate"].value == pytest.approx(2 / CASES)
    assert metrics["first_try_pass_rate"].value == pytest.approx(2 / CASES)
    assert metrics["recovered_pass_rate"].value == pytest.approx(6 / CASES)
    # The answer after the feedback has 11 tokens in and 7 out; two cases needed none.
    assert metrics["retry_tokens"].value == pytest.approx(6 * 18 / CASES)
    assert [(rule.metric, rule.outcome) for rule in found.rules] == [
        ("first_try_pass_rate", "ok"),
        ("recovered_pass_rate", "ok"),
        ("retry_tokens", "ok"),
    ]


def test_the_fault_goes_back_in_words_as_the_result_of_its_call(first):
    attempt = attempts(first[1])["r00", 1]
    assert (attempt.passed, attempt.failure_mode) == (False, "wrong_arguments")
    calls = attempt.transcript.calls
    assert [(call.tool, call.unanswered) for call in calls] == [
        (LOOKUP, None),
        (REFUND, "invalid"),
        (EMAIL, None),
        (REFUND, None),
    ]
    assert calls[1].result == {"error": "field $.amount failed type: expected number, got string"}
    later = attempt.transcript.later[0]
    assert [json.loads(call.arguments).get("amount") for call in later.calls if call.tool == REFUND] == [24.5]


@pytest.mark.parametrize(
    "rule",
    [
        "metric: first_try_pass_rate, min: 0.26, on_noise: fail",
        "metric: recovered_pass_rate, min: 0.76, on_noise: fail",
        "metric: retry_tokens, max: 13.4, on_noise: fail",
    ],
)
def test_a_gate_on_a_figure_of_retries_blocks_by_it(first, rule):
    folder, _ = first
    write(folder / "gate.yaml", with_retry("first", rule))
    done = trapgate(
        folder, "compare", ".trap/baseline.json", "trapgate-results/results.json", "--config", "gate.yaml", "--json"
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert [each["outcome"] for each in json.loads(done.stdout)["rules"]] == ["fail"]


def test_to_score_the_last_try_is_another_question_that_no_old_baseline_answers(first, runs):
    folder, done, found = runs["last"]
    assert done.returncode == 0, done.stdout + done.stderr
    metrics = found.tasks[0].metrics
    assert metrics["pass_rate"].value == metrics["recovered_pass_rate"].value == pytest.approx(6 / CASES)
    assert metrics["first_try_pass_rate"].value == pytest.approx(2 / CASES)
    baseline = str(first[0] / ".trap" / "baseline.json")
    done = trapgate(folder, "compare", baseline, "trapgate-results/results.json", "--config", "trap.yaml", "--json")
    compared = json.loads(done.stdout)
    assert (done.returncode, compared["verdict"]) == (3, "inconclusive")
    assert len(compared["comparison"]["tasks"][0]["not_comparable"]) == CASES
    why = f"0% of the baseline's cases can be compared, 95% are needed ({CASES} changed)"
    assert any(why in reason["text"] for reason in compared["reasons"])
