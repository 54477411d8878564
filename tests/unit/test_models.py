"""Several models side by side: whose baseline, and the verdict of all."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from evaluator import models
from evaluator.baselines import Found, Missing
from evaluator.cases import Subject
from evaluator.results import LayerWord, Reason, Run, VerdictWord, decode_run, encode, models_of
from tests.unit import builders


def run_of(model: str, verdict: VerdictWord = "pass", kind: str = "rule", text: str = "it fell") -> Run:
    reasons = [] if verdict == "pass" else [Reason(kind=kind, text=text)]
    whole = builders.run([builders.task_result(builders.outcomes(3, 0))])
    layer = kind if kind in get_args(LayerWord) else None
    return msgspec.structs.replace(
        whole,
        subject=Subject(model=model),
        verdict=verdict,
        reasons=reasons,
        layer=msgspec.convert(layer, LayerWord | None),
    )


def baseline(*names: str) -> Found:
    first, *others = [run_of(name) for name in names]
    found = builders.found()
    run = msgspec.structs.replace(first, beside=others)
    return Found(found.where, msgspec.structs.replace(found.baseline, run=run))


def compared_with(state: Found, model: str) -> str:
    chosen = models.baseline_of(state, model)
    assert isinstance(chosen, Found)
    assert chosen.baseline.run.beside == []
    [name] = models_of(chosen.baseline.run)
    return name


def test_each_model_is_compared_with_its_own_results() -> None:
    assert [compared_with(baseline("a", "b"), name) for name in ("a", "b")] == ["a", "b"]


def test_a_model_that_the_baseline_does_not_know_is_compared_with_its_first() -> None:
    assert compared_with(baseline("a", "b"), "c") == "a"
    [note] = models.notes(baseline("a", "b"), ["a", "c"])
    assert note.text == "The baseline does not know c: it is compared with the baseline's a."
    assert models.notes(baseline("a"), ["c"]) == []


def test_a_baseline_that_is_missing_is_missing_for_each() -> None:
    assert models.baseline_of(Missing("x"), "a") == Missing("x")


def test_a_model_of_several_that_is_no_longer_run_is_missing() -> None:
    assert [reason.text for reason in models.lost(baseline("a", "b"), ["a"])] == [
        "The baseline has the model b, and this run does not."
    ]


def test_another_model_stands_in_for_the_only_one() -> None:
    assert models.lost(baseline("a"), ["b"]) == []


def test_one_run_stays_as_it_is() -> None:
    only = run_of("a", "regression")
    assert models.together([only], []) == only


@pytest.mark.parametrize(
    ("verdicts", "together"),
    [
        (("pass", "pass"), "pass"),
        (("pass", "regression"), "regression"),
        (("regression", "inconclusive"), "inconclusive"),
        (("inconclusive", "drift:validator"), "drift"),
        (("drift:model", "regression"), "regression"),
        (("drift:model", "inconclusive"), "inconclusive"),
        (("pass", "drift:provider"), "drift"),
    ],
)
def test_the_most_severe_verdict_is_that_of_all(verdicts: tuple[str, str], together: str) -> None:
    runs = []
    for model, word in zip("ab", verdicts, strict=True):
        verdict, _, kind = word.partition(":")
        runs.append(run_of(model, msgspec.convert(verdict, VerdictWord), kind or "rule"))
    whole = models.together(runs, [])
    assert whole.verdict == together
    assert whole.alone is not None
    assert whole.alone.verdict == runs[0].verdict
    assert [each.verdict for each in whole.beside] == [runs[1].verdict]


def test_reasons_name_their_model_and_what_is_shared_is_said_once() -> None:
    whole = models.together([run_of("a", "regression"), run_of("b", "regression", text="it fell too")], [])
    assert [reason.text for reason in whole.reasons] == ["a: it fell", "b: it fell too"]
    broken = models.together([run_of("a", "drift", "canary"), run_of("b", "drift", "canary")], [])
    assert [reason.text for reason in broken.reasons] == ["it fell"]


def test_a_milder_verdict_of_another_model_is_a_warning() -> None:
    whole = models.together([run_of("a", "regression"), run_of("b", "inconclusive", "coverage", "too few")], [])
    assert [reason.text for reason in whole.reasons] == ["b: too few"]
    assert "a: it fell" in [reason.text for reason in whole.warnings]


@pytest.mark.parametrize("verdict", ["pass", "regression"])
def test_a_lost_model_makes_a_run_inconclusive(verdict: VerdictWord) -> None:
    lost = models.lost(baseline("a", "b"), ["a"])
    whole = models.together([run_of("a", verdict)], lost)
    assert whole.verdict == "inconclusive"
    assert lost[0] in whole.reasons


def test_a_run_of_several_models_is_read_back_as_it_was_written() -> None:
    whole = models.together([run_of("a"), run_of("b", "regression")], [])
    assert decode_run(encode(whole), "results.json") == whole


def test_a_model_that_the_rules_have_and_the_run_has_not_is_named_whatever_the_baseline_knows() -> None:
    for state in (baseline("a"), Missing("b"), None):
        [reason] = models.lost(state, ["a"], ["a", "b"])
        assert (reason.kind, reason.text) == ("comparison", "The base evaluates the model b, and this change does not.")
    assert models.lost(None, ["c"], ["a"]) == []  # one model may be replaced by another, which is compared with it
    assert [reason.kind for reason in models.lost(baseline("a", "b"), ["a"], ["a", "b"])] == ["coverage"]
