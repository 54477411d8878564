"""What a pull request may not set for itself: the base's rules hold in `pipeline.evaluate`."""

from __future__ import annotations

import msgspec
import pytest

from evaluator import config, pipeline
from evaluator.baselines import Missing
from evaluator.progress import NoProgress
from tests.integration.repository import TRAP, answering, call, order_of, write_task
from tests.servers.model_server import ModelServer, Reply

KEY = "sk-scripted-0123456789abcdef"


@pytest.fixture
def evaluate(tmp_path, monkeypatch):
    """Evaluates a trap.yaml of a change, judged by that of its base, against a script."""
    write_task(tmp_path / "task", cases=4)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def run(change, base, script=None):
        rules = config.parse(base, "trap.yaml at base")
        rules = msgspec.structs.replace(rules, baseline=msgspec.structs.replace(rules.baseline, allow_missing=True))
        with ModelServer(script or answering()) as server:
            monkeypatch.setenv("OPENAI_API_BASE", server.base_url)
            result = pipeline.evaluate(
                config.parse(change, "trap.yaml"),
                folder=tmp_path,
                output=tmp_path / "out",
                cache=tmp_path / "cache",
                baseline=Missing("b"),
                progress=NoProgress(),
                environ={"OPENAI_API_KEY": KEY},
                rules=rules,
            )
            return result, server

    return run


def test_fewer_repeats_in_the_change_do_not_make_pass_hat_k_easier(evaluate):
    base = "repeats: 3\n" + TRAP.replace("pass_rate, max_drop: 0.05", "all_k_pass_rate, min: 0.7, on_noise: fail")
    seen: dict[int, int] = {}

    def flaky(request):
        order = order_of(request)
        seen[order] = seen.get(order, 0) + 1
        return Reply(text=call(order, 49.0 if seen[order] == 2 else 24.5))

    result, server = evaluate(base.replace("repeats: 3", "repeats: 1"), base, flaky)
    assert len(server.requests) == 12
    assert (result.tasks[0].repeats, result.verdict) == (3, "regression")


def test_more_repeats_in_the_change_are_its_own_affair(evaluate):
    result, _ = evaluate("repeats: 2\n" + TRAP, TRAP)
    assert result.tasks[0].planned == 8


def test_a_price_of_zero_in_the_change_does_not_meet_a_ceiling_on_cost(evaluate):
    base = TRAP.replace("{task: refunds, metric: pass_rate, max_drop: 0.05}", "{metric: cost_usd, max: 0.00001}")
    change = base.replace("1.0, output_per_million: 2.0", "0, output_per_million: 0")
    result, _ = evaluate(change, base)
    assert result.verdict == "regression"
    assert result.totals.cost_usd == pytest.approx(4 * (11e-6 + 14e-6))


def test_a_task_that_the_change_drops_is_missing(evaluate, tmp_path):
    write_task(tmp_path / "other", cases=1)
    base = TRAP.replace("baseline: {", "  other:\n    source: ./other\nbaseline: {", 1)
    result, _ = evaluate(TRAP, base)
    assert result.verdict == "inconclusive"
    assert any("other: the change removed the task, which the rules expect." in r.text for r in result.reasons)
