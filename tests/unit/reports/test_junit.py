from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from evaluator.config.types import Rule
from evaluator.gate import exit_code
from evaluator.models import together
from evaluator.reports import junit
from evaluator.results import Acceptance, Attempt, Finding, Reason, RuleResult, Run, Witness
from tests.unit.reports import builders

HERE = Path(__file__).parent
SCHEMAS = {name: etree.XMLSchema(etree.parse(HERE / name)) for name in ("junit.xsd", "junit_ant.xsd")}
ACCEPTED = Acceptance(by="octocat", at="2026-05-05T09:00:00Z", why="meant")


def parsed(run: Run) -> Any:
    """The document of `run`, found valid."""
    return valid(junit.render(run))


def valid(text: str) -> Any:
    """The document that `text` is, found valid."""
    document = etree.fromstring(text.encode())
    for name, schema in SCHEMAS.items():
        assert schema.validate(document), f"{name}: {schema.error_log}"
    return document


def outcome(document: Any, test: str, suite: str | None = None) -> tuple[str, str, str]:
    """Element, type and message of a test; empty texts for one that passed."""
    [case] = [
        each
        for each in document.iter("testcase")
        if each.get("name") == test and suite in (None, each.get("classname"))
    ]
    return (case[0].tag, case[0].get("type"), case[0].get("message")) if len(case) else ("", "", "")


def kinds(document: Any, suite: str) -> Counter[str]:
    tests = [each for each in document.iter("testcase") if each.get("classname") == suite]
    return Counter(each[0].tag if len(each) else "passed" for each in tests)


@pytest.mark.parametrize("make", builders.EVERY_VERDICT.values(), ids=builders.EVERY_VERDICT)
def test_the_document_of_every_verdict_is_valid_and_counts_what_it_holds(make: Callable[[], Run]) -> None:
    run = make()
    document = parsed(run)
    for suite in document:
        found = kinds(document, suite.get("name"))
        assert suite.get("tests") == str(found.total())
        for attribute, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert suite.get(attribute) == str(found[kind])
    assert [suite.get("id") for suite in document] == [str(number) for number in range(len(document))]
    assert document[0].get("timestamp") == "2026-05-05T08:30:00"


@pytest.mark.parametrize("text", ["trap.yaml:1:1: no\n    Mend it.", "", "\x07 <&]]>\ud800\n" * 5000])
def test_a_run_without_a_verdict_is_a_valid_document_with_one_error(text: str) -> None:
    document = valid(junit.no_verdict("config-invalid", text))
    [suite] = document
    assert (suite.get("name"), suite.get("tests"), suite.get("errors"), suite.get("failures")) == (
        *("trapgate", "1", "1", "0"),
    )
    kind, word, message = outcome(document, "verdict")
    assert (kind, word) == ("error", "config-invalid")
    assert message.startswith(text.split("\n")[0][:1].replace("\x07", "\\u0007"))


def is_red(document: Any) -> bool:
    return any(True for _ in document.iter("failure", "error"))


ATTEMPTS: list[Callable[[int], Attempt]] = [
    builders.passed,
    builders.failed,
    builders.broken,
    builders.stale,
    lambda number: Attempt(number=number, status="not_run"),
]


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """Any run, decided by the gate: with and without a baseline, canaries, rules, movers, and an acceptance."""
    repeats = draw(st.integers(1, 3))
    attempts = st.lists(st.sampled_from(ATTEMPTS[: draw(st.integers(1, 5))]), min_size=0, max_size=repeats)
    cases = st.dictionaries(st.sampled_from([f"c{n:02}" for n in range(40)]), attempts, min_size=1, max_size=40)

    def task(critical: list[str]) -> Any:
        rows = {name: [make(n) for n, make in enumerate(each, 1)] for name, each in draw(cases).items()}
        return builders.task_result(
            "t", rows, repeats=repeats, critical=critical, deterministic=draw(st.booleans()), skipped=["left-out"]
        )

    critical = draw(st.lists(st.sampled_from(["c00", "c01"]), unique=True))
    limits = st.sampled_from([{"min": 0.5}, {"max_drop": 0.0}, {"min": 0.1, "max_drop": 0.2}])
    noise = st.sampled_from(["warn", "fail"])
    rules = [Rule(metric="pass_rate", task="t", on_noise=draw(noise), **limit) for limit in draw(st.lists(limits))]

    def one(model: str) -> Run:
        return builders.build(
            [task(critical)],
            draw(st.sampled_from([None, 1])) and [task(critical)],
            canaries=draw(st.sampled_from([builders.GOOD_CANARIES, builders.BROKEN_CANARIES])),
            rules=draw(st.sampled_from([None, rules])),
            movers=draw(st.sampled_from([[], [Reason(kind="model", text="moved")]])),
            allow_missing=draw(st.booleans()),
            subject=builders.Subject(model=model),
        )

    run = together([one(f"m{n}") for n in range(draw(st.integers(1, 2)))], draw(st.sampled_from([[], [_LOST]])))
    witness = Witness(name="control_arm", state=draw(st.sampled_from(["steady", "moved", "silent"])), text="it says so")
    run = msgspec.structs.replace(run, witnesses=[witness])
    is_accepted = run.verdict != "pass" and draw(st.booleans())
    return msgspec.structs.replace(run, accepted=ACCEPTED) if is_accepted else run


_LOST = Reason(kind="coverage", text="The baseline has the model m9, and this run does not.")


@settings(deadline=None, max_examples=150)
@given(runs())
def test_a_file_has_failures_or_errors_exactly_when_the_run_ends_with_another_exit_code_than_0(run: Run) -> None:
    assert is_red(parsed(run)) == (exit_code(run) != 0)


@settings(deadline=None)
@given(runs())
def test_every_case_is_there_and_passes_only_where_each_of_its_attempts_did(run: Run) -> None:
    document = parsed(run)
    for part in (run, *run.beside):
        [task] = part.tasks
        suite = f"t ({part.subject.model})" if run.beside and part.subject else "t"
        for case in task.cases:
            element, _, _ = outcome(document, case.id, suite)
            done = [attempt.passed for attempt in case.attempts if attempt.status == "scored"]
            assert (element == "") == (done == [True] * max(task.repeats, len(case.attempts)))


@settings(deadline=None)
@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_any_text_reads_back_as_it_was_where_xml_can_hold_it(name: str, mode: str, text: str) -> None:
    case = builders.failed(1, Finding(path="$", keyword="value", message=text), mode=mode)
    run = builders.build([builders.task_result("t", {name: [case]})], rules=[Rule(metric="pass_rate", min=0.5)])
    [test] = [each for each in parsed(run).iter("testcase") if each.get("classname") == "t"]
    assert test.get("name") == held(name)
    assert test[0].get("type") == (held(mode) or "failed")
    assert test[0].get("message").startswith(held(mode) or "failed")
    assert held(text) in test[0].get("message")


def held(text: str) -> str:
    """`text` with the characters that XML 1.0 cannot hold spelt out, one by one."""
    return "".join(each if each in "\t\n\r" or is_held(ord(each)) else f"\\u{ord(each):04x}" for each in text)


def is_held(code: int) -> bool:
    return 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or code >= 0x10000


@settings(deadline=None, max_examples=50)
@given(st.text(alphabet=st.characters(codec=None), min_size=1, max_size=20))
def test_hostile_text_in_every_place_gives_a_valid_document(text: str) -> None:
    document = parsed(builders.hostile(text))
    assert {each.tag for each in document.iter()} <= {
        *("testsuites", "testsuite", "properties", "property", "testcase"),
        *("failure", "error", "skipped", "system-out", "system-err"),
    }
    assert is_red(document)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\x00b\x1b", "a\\u0000b\\u001b"), ("\ud800\udfff", "\\ud800\\udfff"), ("\ufffe\uffff", "\\ufffe\\uffff")],
)
def test_what_xml_cannot_hold_is_spelt_out(text: str, shown: str) -> None:
    run = builders.build([builders.task_result("t", {text: [builders.passed()]})], rules=[])
    assert f'name="{shown}"' in junit.render(run)


def test_a_task_without_a_name_to_read_still_has_one() -> None:
    run = builders.build([builders.task_result(" \n", {"a": [builders.passed()]})], rules=[])
    assert parsed(run)[1].get("name") == "(unnamed)"


@pytest.mark.parametrize("text", ["", "yesterday", "0001-01-01T00:00:00+14:00", "2026-13-01T00:00:00Z"])
def test_a_time_that_is_none_becomes_the_epoch(text: str) -> None:
    run = msgspec.structs.replace(builders.passing(), started=text)
    assert parsed(run)[0].get("timestamp") == "1970-01-01T00:00:00"


def test_a_time_of_another_zone_is_told_in_utc() -> None:
    run = msgspec.structs.replace(builders.passing(), started="2026-05-05T01:30:00.5+03:00")
    assert parsed(run)[0].get("timestamp") == "2026-05-04T22:30:00"


def test_a_regressed_case_is_a_failure_with_its_mode_and_what_was_wanted() -> None:
    document = parsed(builders.refunding())
    kind, mode, message = outcome(document, "refund-partial")
    assert (kind, mode) == ("failure", "wrong_arguments")
    assert message == "wrong_arguments: step 3 issue_refund $.amount (value): wanted 24.5, got 49.0"
    assert outcome(document, "two-orders")[2].startswith("wrong_arguments (1.00 → 0.60): ")


def test_a_case_that_fails_as_it_did_in_the_baseline_is_skipped_and_says_so() -> None:
    now = builders.outcomes(0, 20) | {"call-20": [builders.failed(mode="wrong_type")]}
    run = builders.build([builders.task_result("t", now)], [builders.task_result("t", builders.outcomes(12, 8))])
    document = parsed(run)
    assert run.verdict == "regression"
    assert kinds(document, "t") == {"failure": 12, "skipped": 8}
    assert outcome(document, "call-20") == ("skipped", "wrong_type", "failed, and no less often in the baseline")


def test_of_a_broken_floor_every_case_that_fails_is_a_failure() -> None:
    task = builders.task_result("t", builders.outcomes(4, 16))
    run = builders.build([task], [task], rules=[Rule(metric="pass_rate", task="t", min=0.9)])
    document = parsed(run)
    assert kinds(document, "t") == {"passed": 4, "failure": 16}
    kind, word, message = outcome(document, "rule t pass_rate, min 0.9")
    assert (kind, word) == ("failure", "floor")
    assert message.startswith("t pass_rate, min 0.9: it is 0.20")


def test_a_critical_case_that_the_verdict_names_is_a_failure_though_the_baseline_fails_it_too() -> None:
    task = builders.task_result("t", builders.outcomes(3, 1), critical=["call-04"])
    run = builders.build([task], [task])
    text = "t: the critical case call-04 passed in the accepted baseline and fails now."
    run = msgspec.structs.replace(
        run, verdict="regression", reasons=[Reason(kind="critical", task="t", text=text)], warnings=[]
    )
    assert outcome(parsed(run), "call-04")[0] == "failure"
    assert outcome(parsed(run), "verdict") == ("failure", "regression", f"regression: {text}")


def test_what_was_not_scored_is_an_error_where_the_run_does_not_pass() -> None:
    rows = builders.outcomes(1, 0) | {
        "a": [builders.broken()],
        "b": [builders.stale()],
        "c": [Attempt(number=1, status="not_run")],
        "d": [],
    }
    document = parsed(builders.build([builders.task_result("t", rows)], rules=[]))
    assert outcome(document, "verdict")[:2] == ("error", "inconclusive")
    assert outcome(document, "a") == ("error", "rate_limit", "1 of 1 attempt not scored: rate_limit")
    assert outcome(document, "b") == ("error", "stale", "1 of 1 attempt not scored: stale")
    assert outcome(document, "c") == ("error", "not_run", "1 of 1 attempt not scored: not_run")
    assert outcome(document, "d") == ("error", "not_run", "1 of 1 attempt not scored: not run")


def test_a_case_that_passes_in_some_attempts_and_was_not_scored_in_others_does_not_pass() -> None:
    rows = {"a": [builders.passed(1), builders.broken(2), builders.broken(3, kind="timeout")]}
    document = parsed(builders.build([builders.task_result("t", rows, repeats=3)], rules=[]))
    assert outcome(document, "a") == ("error", "rate_limit", "2 of 3 attempts not scored: rate_limit, timeout")


def test_what_was_not_scored_within_the_coverage_of_a_pass_is_skipped_with_the_reason_and_never_passes() -> None:
    rows = builders.outcomes(40, 0) | {"lost": [builders.broken()]}
    run = builders.build([builders.task_result("t", rows)], rules=[])
    assert run.verdict == "pass"
    said = "1 of 1 attempt not scored: rate_limit (the run passes all the same)"
    assert outcome(parsed(run), "lost") == ("skipped", "rate_limit", said)


def test_a_case_that_the_change_removed_does_not_vanish() -> None:
    now, before = builders.outcomes(3, 0), builders.outcomes(4, 0)
    document = parsed(builders.build([builders.task_result("t", now)], [builders.task_result("t", before)]))
    assert outcome(document, "call-04") == ("error", "removed", "the baseline has it, and this run has not")


def test_what_the_source_leaves_out_is_skipped() -> None:
    run = builders.build([builders.task_result("t", builders.outcomes(1, 0), skipped=["later"])], rules=[])
    assert outcome(parsed(run), "later") == ("skipped", "skip", "the task's source marks it skip")


def test_in_a_pass_a_drop_within_noise_hides_nothing_and_is_not_red() -> None:
    now, before = builders.outcomes(18, 2), builders.outcomes(19, 1)
    run = builders.build([builders.task_result("t", now)], [builders.task_result("t", before)])
    document = parsed(run)
    assert run.verdict == "pass"
    assert not is_red(document)
    assert outcome(document, "call-19")[:2] == ("skipped", "wrong_value")
    assert outcome(document, "call-19")[2].endswith("(the run passes all the same)")
    kind, word, message = outcome(document, "rule t pass_rate, max_drop 0")
    assert (kind, word) == ("skipped", "warn")
    assert "possible drop" in message


def test_what_somebody_accepted_is_skipped_and_says_who() -> None:
    run = msgspec.structs.replace(builders.refunding(), accepted=ACCEPTED)
    document = parsed(run)
    assert not is_red(document)
    assert outcome(document, "verdict")[:2] == ("skipped", "regression")
    assert outcome(document, "refund-partial")[2].endswith("(regression, accepted by octocat)")


def test_a_broken_canary_is_a_failure_and_a_missing_set_an_error() -> None:
    drifted = builders.drifting()
    said = ("failure", "canary", "expected failed unparseable score=0, got failed wrong_value score=0 | $:value")
    assert outcome(parsed(drifted), "canary json-duplicate-keys") == said
    assert outcome(parsed(drifted), "canaries (34)") == ("", "", "")
    assert not [each for each in parsed(drifted).iter("testcase") if each.get("name") == "canary json-call-0"]
    assert outcome(parsed(drifted), "verdict")[:2] == ("failure", "drift")
    none = msgspec.structs.replace(drifted, canaries=msgspec.structs.replace(drifted.canaries, cases=[]))
    assert outcome(parsed(none), "canaries")[0] == "error"


def test_each_witness_is_a_test() -> None:
    witnesses = [
        Witness(name="replay_canaries", state="steady", text="all as they must be"),
        Witness(name="live_canaries", state="moved", text="enum: valid → invalid"),
        Witness(name="control_arm", state="silent", text="nothing got worse"),
    ]
    document = parsed(msgspec.structs.replace(builders.provider_drifting(), witnesses=witnesses))
    assert outcome(document, "witness replay canaries") == ("", "", "")
    moved = ("failure", "drift", "the layer moved (provider): enum: valid → invalid")
    assert outcome(document, "witness live canaries") == moved
    assert outcome(document, "witness control arm") == ("skipped", "silent", "nothing got worse")


def test_a_rule_that_cannot_be_decided_is_an_error() -> None:
    document = parsed(builders.without_baseline())
    kind, word, message = outcome(document, "rule json-call pass_rate, max_drop 0")
    assert (kind, word) == ("error", "inconclusive")
    assert message == "json-call pass_rate, max_drop 0: there is no baseline to compare with."


def test_a_rule_since_the_accepted_baseline_is_a_test_of_its_own() -> None:
    rule = RuleResult(rule="t pass_rate, max_drop 0", metric="pass_rate", outcome="ok", text="ok", task="t")
    run = msgspec.structs.replace(builders.passing(), rules=[rule, msgspec.structs.replace(rule, anchor=True)])
    names = [each.get("name") for each in parsed(run).iter("testcase") if each.get("name").startswith("rule ")]
    assert names == ["rule t pass_rate, max_drop 0", "rule t pass_rate, max_drop 0, since the accepted baseline"]


def test_of_several_models_each_has_suites_of_its_own_and_one_that_passes_is_not_red() -> None:
    document = parsed(builders.three_models())
    names = ["trapgate", "refunds (openai/gpt-4.1)", "refunds (openai/gpt-4.1-mini)", "refunds (ollama/qwen3-0.6b)"]
    assert [suite.get("name") for suite in document] == names
    assert kinds(document, names[1]) == {"passed": 8}
    assert kinds(document, names[2]) == {"passed": 6, "failure": 2}
    assert kinds(document, names[3]) == {"failure": 8}
    assert outcome(document, "rule ollama/qwen3-0.6b: refunds all_k_pass_rate, min 0.2")[0] == "failure"


def test_long_texts_are_cut_and_many_findings_counted() -> None:
    long = "x" * 50_000
    findings = [Finding(path=f"$.f{n}", keyword="value", message=long) for n in range(100)]
    rows = {long: [builders.failed(1, *findings, mode=long)]}
    text = junit.render(builders.build([builders.task_result("t", rows)], rules=[Rule(metric="pass_rate", min=0.5)]))
    assert len(text) < 20_000
    assert "… and 80 more findings" in junit.render(
        builders.build(
            [builders.task_result("t", {"a": [builders.failed(1, *[Finding(path="$", keyword="k")] * 100)]})],
            rules=[Rule(metric="pass_rate", min=0.5)],
        )
    )


def test_the_seconds_of_a_case_are_those_of_its_answers_and_always_a_number() -> None:
    attempt = builders.passed()
    assert attempt.transcript is not None
    for seconds, shown in ((1.25, "2.500"), (1e308, "2000000000.000"), (-5.0, "0.000")):
        slow = msgspec.structs.replace(attempt, transcript=msgspec.structs.replace(attempt.transcript, seconds=seconds))
        again = msgspec.structs.replace(slow, number=2)
        document = parsed(builders.build([builders.task_result("t", {"a": [slow, again]}, repeats=2)], rules=[]))
        assert [each.get("time") for each in document.iter("testcase") if each.get("name") == "a"] == [shown]


def test_three_thousand_failing_cases_take_less_than_half_a_second() -> None:
    now, before = builders.outcomes(0, 3000), builders.outcomes(1500, 1500)
    run = builders.build([builders.task_result("t", now)], [builders.task_result("t", before)])
    junit.render(builders.passing())  # what is imported on the first call is not measured
    began = time.process_time()
    text = junit.render(run)
    assert time.process_time() - began < 0.5
    assert len(etree.fromstring(text.encode()).findall(".//failure")) >= 1500


def test_canaries_that_are_as_they_must_be_are_one_test() -> None:
    names = [each.get("name") for each in parsed(builders.passing()).iter("testcase")]
    assert [name for name in names if "canar" in name] == ["canaries (34)"]
    broken = [name for each in parsed(builders.drifting()).iter("testcase") if "canar" in (name := each.get("name"))]
    assert sorted(broken) == ["canaries (34)", "canary json-duplicate-keys", "canary numeric-invented-unit"]
