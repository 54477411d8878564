"""`trapgate run --model X` beside a baseline of another model: the command line as a process, one server for both."""

from __future__ import annotations

import json

import pytest

from tests.integration.agents import (
    accept,
    at_once,
    copy,
    order_of,
    results_of,
    right,
    run,
    trap,
    turn,
    write_repository,
)
from tests.integration.repository import trapgate

CASES = 14
# Models whose price is known, the second a quarter of the first, and one without a price.
DEAR, CHEAP, STRANGE = "openai/gpt-4.1-mini", "openai/gpt-4.1-nano", "openai/unheard-of"


def refunding(wrong: int):
    """A script by which any model but the baseline's refunds 49.00 of the orders below a number."""

    def script(request):
        order = order_of(request)
        amount = 49.0 if f"openai/{request.body['model']}" != DEAR and order < wrong else 24.5
        return turn(request, right(order, amount))

    return script


@pytest.fixture(scope="module")
def accepted(tmp_path_factory):
    text = trap("metric: pass_rate, max_drop: 0.05", model=f"model: {DEAR}")
    folder = write_repository(tmp_path_factory.mktemp("accepted"), CASES, text)
    done, found = run(folder, refunding(0))
    assert (done.returncode, found.verdict) == (0, "pass"), done.stdout + done.stderr
    assert found.comparison is None
    accept(folder)
    return folder


@pytest.fixture(scope="module")
def runs(accepted, tmp_path_factory):
    """Name → folder, process and results of a run with another model, or the same."""
    parent = tmp_path_factory.mktemp("candidates")

    def job(name, wrong, model):
        folder = copy(accepted, parent / name)
        return lambda: (folder, *run(folder, refunding(wrong), "--model", model))

    return at_once(
        {
            "worse": job("worse", 12, CHEAP),
            "as good": job("as good", 1, CHEAP),
            "strange": job("strange", 0, STRANGE),
            "same": job("same", 0, DEAR),
        }
    )


def comment_of(folder) -> str:
    return (folder / "trapgate-results" / "comment.md").read_text()


def candidate_line(folder) -> str:
    return next(line for line in comment_of(folder).splitlines() if line.startswith("**Candidate:**"))


def winners(found) -> dict[str, str]:
    """Metric → who is better, of the figures that are decided."""
    duels = found.comparison.candidate.tasks[0].duels
    return {duel.metric: duel.winner for duel in duels if duel.winner != "neither"}


def test_a_worse_candidate_blocks_and_both_models_are_credited_with_what_they_win(runs):
    folder, done, found = runs["worse"]
    assert (done.returncode, found.verdict) == (1, "regression")
    assert (found.comparison.candidate.candidate, found.comparison.candidate.baseline) == (CHEAP, DEAR)
    assert winners(found) == {"pass_rate": "baseline", "argument_score": "baseline", "cost_usd": "candidate"}
    assert candidate_line(folder) == (
        f"**Candidate:** `{CHEAP}` beside the baseline's `{DEAR}`. Enough to say that `{DEAR}` is better on refunds "
        "`pass_rate` (1.00 against 0.14, p = 0.003) and refunds `argument_score` (1.00 against 0.83, p = 0.003), and "
        f"that `{CHEAP}` is better on refunds `cost_usd` (75% less an attempt, p < 0.001)."
    )
    assert "Candidate: " in done.stdout
    assert "only the baseline passes 12 cases" in comment_of(folder)


def test_a_candidate_that_is_as_good_passes_and_the_comment_says_what_could_have_been_seen(runs):
    folder, done, found = runs["as good"]
    assert (done.returncode, found.verdict) == (0, "pass"), done.stdout
    assert winners(found) == {"cost_usd": "candidate"}
    shown = next(d for d in found.comparison.candidate.tasks[0].duels if d.metric == "pass_rate")
    assert shown.detectable is not None
    assert "on refunds 14 cases cannot tell the two apart by `pass_rate`: only a difference of 0." in candidate_line(
        folder
    )
    cheap, dear = (each.each for each in costs_of(found))
    assert cheap * 4 * (CASES - 1) / CASES == pytest.approx(dear)


def costs_of(found):
    task = found.comparison.candidate.tasks[0]
    return task.candidate_cost, task.baseline_cost


def test_a_candidate_without_a_price_has_an_unknown_cost(runs):
    folder, done, found = runs["strange"]
    assert done.returncode == 0, done.stdout + done.stderr
    strange, dear = costs_of(found)
    assert (strange.cost_state, strange.each, dear.cost_state) == ("unknown", None, "known")
    row = next(line for line in comment_of(folder).splitlines() if "cost per passed case" in line)
    assert "| unknown | not tested |" in row
    assert winners(found) == {}
    assert "Not enough to say that either model is better on any figure" in candidate_line(folder)


def test_the_baselines_own_model_is_no_candidate(runs):
    folder, done, found = runs["same"]
    assert (done.returncode, found.comparison.candidate) == (0, None)
    assert "Candidate" not in comment_of(folder) + done.stdout


def test_stored_results_of_a_candidate_say_the_same(runs):
    folder, _, found = runs["worse"]
    again = trapgate(
        *(folder, "compare", ".trap/baseline.json", "trapgate-results/results.json"),
        *("--config", "trap.yaml", "--json"),
    )
    assert again.returncode == 1, again.stderr
    assert json.loads(again.stdout)["comparison"]["candidate"]["sentence"] == found.comparison.candidate.sentence
    assert results_of(folder).comparison.candidate == found.comparison.candidate
