"""Validator, provider and model drift, told from the change by witnesses that cost no call."""

from __future__ import annotations

import msgspec
import pytest

from evaluator.baselines import Found
from evaluator.cases import Case, Request, SourceRef, Task
from evaluator.config.types import GateConfig
from evaluator.drift import rescore
from evaluator.judgement import Measured, judge
from evaluator.metrics import summarize
from evaluator.results import SCHEMA_VERSION, Acceptance, Attempt, Baseline, TaskResult
from evaluator.scoring import prepare, self_check
from evaluator.transcript import Infrastructure, Transcript
from tests.unit.builders import GOOD_CANARIES, fingerprint
from tests.unit.builders import run as build_run

EXPECTED = {"matchers": [{"kind": "numeric", "value": 24.5}]}


def case(case_id: str) -> Case:
    return Case(id=case_id, request=Request(messages=[{"role": "user", "content": case_id}]), expected=EXPECTED)


def evaluated(texts: dict[str, str | Infrastructure], faults: dict[str, str] | None = None) -> TaskResult:
    """A task result scored by the real scorer."""
    cases = [case(case_id) for case_id in texts]
    attempts = {}
    for each in cases:
        text = texts[each.id]
        if isinstance(text, Infrastructure):
            attempts[each.id] = [Attempt(number=1, status="infrastructure", infrastructure=text)]
            continue
        transcript = Transcript(text=text)
        score = prepare("trapstreet", each)(transcript)
        attempts[each.id] = [
            Attempt(
                number=1,
                status="scored",
                passed=score.passed,
                failure_mode=score.failure_mode,
                values=score.values,
                scorer="trapstreet@1",
                transcript=transcript,
            )
        ]
    task = Task(
        name="t", format="trapstreet", source=SourceRef(location="./t", digest="0"), scorer="trapstreet", cases=cases
    )
    planned = dict.fromkeys(texts, 1)
    return summarize(task, attempts, repeats=1, planned_per_case=planned, deterministic=False, faults=faults or {})


def verdict(now: TaskResult, before: TaskResult, mark=None, baseline_mark=None):
    accepted = Acceptance(by="someone", at="2026-01-01T00:00:00+00:00", why="first")
    stored = build_run([before], baseline_mark)
    baseline = Found("b", Baseline(schema_version=SCHEMA_VERSION, accepted=accepted, run=stored))
    measured = Measured(
        name=None,
        started="2026-01-02T00:00:00+00:00",
        seconds=1.0,
        fingerprint=mark or fingerprint(),
        canaries=GOOD_CANARIES,
        tasks=[now],
    )
    return judge(measured, baseline, GateConfig())


RIGHT = {f"c{i}": "24.50" for i in range(10)}


def test_the_same_ruler_gives_no_change():
    assert rescore([evaluated(RIGHT)]).changes == []


def test_nothing_moved_is_a_pass():
    run = verdict(evaluated(RIGHT), evaluated(RIGHT))
    assert (run.verdict, run.comparison.validator_drift) == ("pass", [])


def test_a_scorer_that_changed_under_the_same_version_is_drift_not_a_regression(monkeypatch):
    before = evaluated(RIGHT)
    from evaluator.scoring import trapstreet

    monkeypatch.setattr(trapstreet, "answer_text", lambda transcript: "0")
    now = evaluated(RIGHT)
    assert [attempt.passed for each in now.cases for attempt in each.attempts] == [False] * 10
    run = verdict(now, before)
    assert run.verdict == "drift"
    assert "t/c0 attempt 1: passed → failed (wrong_value)" in run.reasons[0].text
    assert run.reasons[0].text.endswith("and 5 more.")
    assert len(run.comparison.validator_drift) == 10


def test_a_figure_that_moved_alone_is_drift():
    before = evaluated(RIGHT)
    attempt = before.cases[0].attempts[0]
    doctored = msgspec.structs.replace(attempt, values={**attempt.values, "score": 0.5})
    cases = [msgspec.structs.replace(before.cases[0], attempts=[doctored]), *before.cases[1:]]
    before = msgspec.structs.replace(before, cases=cases)
    assert rescore([before]).changes == ["t/c0 attempt 1: score 0.5 → 1"]


def test_a_stored_score_that_can_no_longer_be_had_is_drift():
    before = msgspec.structs.replace(evaluated(RIGHT), scorer="gone")
    run = verdict(evaluated(RIGHT), before)
    assert run.verdict == "drift"
    assert "was scored, now unknown_scorer" in run.reasons[0].text


def with_gold(task, text, faults=None):
    """`task` with `text` as every case's expected answer."""
    cases = [msgspec.structs.replace(each, golds=[Transcript(text=text)]) for each in task.cases]
    return msgspec.structs.replace(task, cases=cases, faults=faults or {})


def test_an_expected_answer_of_the_baseline_that_its_scorer_now_refuses_is_drift():
    before = with_gold(evaluated(RIGHT), "25")
    run = verdict(evaluated(RIGHT), before)
    assert run.verdict == "drift"
    assert "t/c0: its expected answer passed, now it fails as wrong_value" in run.reasons[0].text


def test_an_expected_answer_that_was_a_fault_of_the_task_in_the_baseline_is_no_drift():
    faults = dict.fromkeys(RIGHT, "the expected answer fails its own scorer")
    assert verdict(evaluated(RIGHT), with_gold(evaluated(RIGHT), "25", faults)).verdict == "pass"


def test_a_change_that_breaks_an_expected_answer_is_a_fault_of_the_task_and_no_drift():
    now = with_gold(evaluated(RIGHT), "25", {"c1": "the expected answer fails its own scorer"})
    run = verdict(now, with_gold(evaluated(RIGHT), "24.5"))
    assert run.verdict == "pass"
    assert any(reason.kind == "task" and "t/c1" in reason.text for reason in run.warnings)


REFUSED = Infrastructure(kind="refused_schema", message="no", http_status=400)


def test_a_schema_that_the_provider_now_refuses_is_named_as_provider_drift():
    run = verdict(evaluated(dict.fromkeys(RIGHT, REFUSED)), evaluated(RIGHT))
    assert run.verdict == "inconclusive"
    assert any(r.kind == "provider" and "now refuses a schema" in r.text for r in run.warnings)


def test_a_schema_of_the_change_that_is_refused_is_not_blamed_on_the_provider():
    run = verdict(evaluated(dict.fromkeys(RIGHT, REFUSED)), evaluated(RIGHT), mark=fingerprint(system="changed"))
    assert run.verdict == "inconclusive"
    assert not any(reason.kind == "provider" for reason in run.warnings)


def test_another_model_behind_the_same_name_is_model_drift():
    moved = msgspec.structs.replace(fingerprint(), answered={"models": ["m-2027"], "system_fingerprints": []})
    run = verdict(evaluated(RIGHT), evaluated(RIGHT), mark=moved)
    assert run.verdict == "drift"
    assert run.reasons[0].text == "Another model answers under the same name: m-2026 → m-2027."


def test_another_model_because_another_was_asked_for_is_the_change():
    asked = msgspec.structs.replace(
        fingerprint(), subject={"model": "other"}, answered={"models": ["other-1"], "system_fingerprints": []}
    )
    assert verdict(evaluated(RIGHT), evaluated(RIGHT), mark=asked).verdict == "pass"


def test_a_regression_with_another_model_behind_the_name_says_both():
    moved = msgspec.structs.replace(fingerprint(), answered={"models": ["m-2027"], "system_fingerprints": []})
    run = verdict(evaluated(dict.fromkeys(RIGHT, "49")), evaluated(RIGHT), mark=moved)
    assert run.verdict == "regression"
    assert any("Another model answers" in reason.text for reason in run.warnings)


@pytest.mark.parametrize("text", ["24.50", "24.5 dollars"])
def test_the_self_check_has_nothing_to_say_of_a_sound_gold(text):
    sound = msgspec.structs.replace(case("c"), golds=[Transcript(text=text)])
    task = Task(name="t", format="trapstreet", source=SourceRef(location="."), scorer="trapstreet", cases=[sound])
    assert self_check.self_check(task) == {}
