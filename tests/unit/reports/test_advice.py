"""What to do about a regression, and where no label is offered."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from evaluator.config.types import Rule
from evaluator.gate import acceptable
from evaluator.reports import words
from evaluator.reports.advice import advice
from evaluator.results import LayerWord, Reason, Run
from tests.unit.reports import drifts
from tests.unit.reports.builders import build, outcomes, task_result

FLOOR = Reason(kind="floor", text="refunds pass_rate, min 0.9: it is 0.40.", task="refunds", metric="pass_rate")


def with_floor(run: Run) -> Run:
    run = replace(run, reasons=[*run.reasons, FLOOR])
    assert acceptable(run)
    return run


def test_a_regression_of_which_nothing_else_is_known_is_to_be_mended() -> None:
    rules = [Rule(metric="pass_rate", task="t", min=0.7, max_drop=0.02)]
    now = task_result("t", outcomes(4, 6), deterministic=True, critical=["call-09"])
    before = task_result("t", outcomes(10, 0), deterministic=True, critical=["call-09"])
    run = build([now], [before], rules=rules)

    assert {reason.kind for reason in run.reasons} == {"rule", "floor", "critical"}
    assert advice(run) == ["Mend the change; the cases are below."]


def test_a_broken_floor_alone_is_to_be_mended() -> None:
    run = build([task_result("t", outcomes(4, 6))], rules=[Rule(metric="pass_rate", task="t", min=0.7)])

    assert (run.verdict, advice(run)) == ("regression", ["Mend the change; the cases are below."])


@pytest.mark.parametrize("layer", ["provider", "model"])
def test_a_change_is_not_to_be_mended_where_a_floor_is_broken_under_a_layer_that_moved(layer: LayerWord) -> None:
    run = build([task_result("t", outcomes(4, 6))], rules=[Rule(metric="pass_rate", task="t", min=0.7)])

    assert advice(replace(run, layer=layer)) == [words.ADVICE["drift", layer]]


@pytest.mark.parametrize("run", [drifts.changed(), drifts.anchored()], ids=["the change", "small drops"])
def test_no_acceptance_is_offered_where_a_floor_is_broken_as_well(run: Run) -> None:
    assert "trapgate:accept" in advice(run)[0]
    [said] = advice(with_floor(run))
    assert said in (words.CHANGE_ALONE_IS_CAUSE, words.WIN_BACK)
    assert "accept" not in said.replace("somebody accepted", "")


def test_no_label_is_offered_for_cases_that_changed_where_a_floor_is_broken_under_it() -> None:
    now = task_result("t", outcomes(20, 0), content={f"call-{n:02}": "other" for n in range(1, 6)})
    run = build([now], [task_result("t", outcomes(20, 0))])
    assert "trapgate:accept" in advice(run)[0]

    [said] = advice(replace(run, warnings=[*run.warnings, FLOOR]))
    assert said == "Cases were changed or removed, so these cannot be compared. Bring them back."
