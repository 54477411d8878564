"""One failure behind every missing attempt: it is what the reports say first, and what is to be done about it."""

from __future__ import annotations

import pytest
from lxml import etree
from msgspec.structs import replace

from evaluator import keyless
from evaluator.models import together
from evaluator.reports import comment, junit, terminal, unanswered
from evaluator.reports.advice import advice
from evaluator.reports.headline import headline, reasons
from evaluator.results import Attempt, Reason, Run
from evaluator.transcript import Infrastructure
from tests.unit.reports import builders
from tests.unit.reports.builders import broken, build, failed, outcomes, passed, task_result

NO_KEY = "no key: set OPENAI_API_KEY"


def not_run(kind: str, message: str) -> Attempt:
    return Attempt(number=1, status="not_run", infrastructure=Infrastructure(kind=kind, message=message))


def missing(*attempts: Attempt, good: int = 0, critical: tuple[str, ...] = (), **more: object) -> Run:
    """A run of so many cases that pass, and one of each of these attempts, against a baseline that has them all."""
    rows = outcomes(good, 0) | {f"lost-{n:02}": [attempt] for n, attempt in enumerate(attempts, 1)}
    before = task_result("refunds", {name: [passed()] for name in rows})
    return build([task_result("refunds", rows, critical=critical)], [before], **more)  # type: ignore[arg-type]


def without_key(cases: int = 9) -> Run:
    return missing(*[not_run("authentication", NO_KEY)] * cases)


def test_a_key_that_is_not_set_is_the_headline_and_the_other_reasons_stand_below_it() -> None:
    run = without_key()

    assert headline(run) == "nothing was scored: no key: set OPENAI_API_KEY; 3 more reasons below"
    assert reasons(run)[0] == "refunds: 0 of 9 planned attempts were scored, 95% are needed."
    assert len(reasons(run)) == 3
    for render in (comment.render, terminal.render):
        assert "OPENAI_API_KEY" in render(run).splitlines()[0]
        assert "0 of 9 planned attempts were scored" in render(run)


def test_the_one_thing_to_do_about_it_is_to_set_the_key() -> None:
    assert advice(without_key()) == [
        "Set `OPENAI_API_KEY` in the step's `env:`, from a secret of the repository; in a terminal, `export` it."
    ]
    either = missing(not_run("authentication", "no key: set GEMINI_API_KEY or GOOGLE_API_KEY"))
    assert advice(either)[0].startswith("Set `GEMINI_API_KEY` or `GOOGLE_API_KEY` in the step's `env:`")


def test_without_a_baseline_the_first_run_is_told_of_the_key_first_and_of_the_baseline_after_it() -> None:
    run = build([task_result("refunds", {f"c{n}": [not_run("authentication", NO_KEY)] for n in range(9)})])

    assert headline(run).startswith("nothing was scored: no key: set OPENAI_API_KEY; ")
    assert [said.partition(" ")[0] for said in advice(run)] == ["Set", "Run"]


def test_only_the_words_change_and_neither_the_verdict_nor_a_reason() -> None:
    run = without_key()
    assert run.verdict == "inconclusive"
    assert {reason.kind for reason in run.reasons} <= {"coverage", "rule"}


def test_the_file_for_test_reports_says_it_as_well() -> None:
    verdict = etree.fromstring(junit.render(without_key()).encode())[0].find("testcase[@name='verdict']")
    assert verdict is not None
    assert verdict[0].get("message") == "inconclusive: nothing was scored: no key: set OPENAI_API_KEY"


def test_a_refused_key_is_one_failure_of_the_attempts_that_met_it_and_of_those_that_were_not_made_after_it() -> None:
    refused = broken(kind="authentication", message="HTTP 401: Incorrect API key", http=401)
    run = missing(
        refused,
        not_run("authentication", "not run after a refused key: HTTP 401: Incorrect API key"),
        not_run("authentication", "not run after a refused key: HTTP 401: Incorrect API key"),
    )

    assert headline(run).startswith("nothing was scored: authentication: HTTP 401: Incorrect API key; ")
    assert advice(run) == [
        "See that the key in the step's `env:`, from a secret of the repository, is valid and may use this model."
    ]


def test_a_server_that_is_not_there_is_one_failure_with_the_address() -> None:
    run = missing(
        broken(kind="connection", message="no connection to localhost:9: [Errno 111] Connection refused", http=0),
        not_run("connection", "not run, since nothing answers: no connection to localhost:9"),
    )

    assert headline(run).startswith("nothing was scored: connection: no connection to localhost:9; ")


def test_a_part_of_the_attempts_is_counted() -> None:
    run = missing(*[broken()] * 12, good=48)

    assert headline(run).startswith("12 of 60 attempts have no answer: rate_limit: HTTP 429 after 5 tries; ")
    assert advice(run)[0].startswith("Run again later, or with a smaller `limits.concurrency`")
    assert "See below what was not scored" not in "".join(advice(run))


def test_a_single_reason_below_such_a_headline_is_not_left_out() -> None:
    run = missing(*[broken()] * 12, good=48)
    run = replace(run, reasons=run.reasons[:1])

    assert reasons(run) == ["refunds: 48 of 60 planned attempts were scored, 95% are needed."]


def test_a_limit_and_a_signal_say_by_themselves_what_they_are() -> None:
    limit = missing(*[not_run("cost_limit", "the limit of $1.00 was reached at $1.0040")] * 5, good=5)
    assert headline(limit).startswith("5 of 10 attempts have no answer: the limit of $1.00 was reached at $1.0040; ")
    assert "`limits.max_cost_usd`" in advice(limit)[0]

    stopped = missing(
        not_run("cancelled", "the run was stopped by SIGTERM"),
        broken(kind="cancelled", message="cut off: the run was stopped by SIGTERM", http=0),
    )
    assert headline(stopped).startswith("nothing was scored: the run was stopped by SIGTERM; ")


def test_an_answer_that_could_not_be_scored_is_no_missing_answer_and_its_advice_is_the_general_one() -> None:
    attempt = replace(broken(kind="scorer_error", message="KeyError: x", http=0), transcript=passed().transcript)
    run = missing(*[attempt] * 2, good=2)

    assert headline(run).startswith("2 of 4 attempts have no verdict: scorer_error: KeyError: x; ")
    assert advice(run)[0].startswith("See below what was not scored")


@pytest.mark.parametrize(
    "others",
    [
        [broken(kind="timeout", message="no answer in 600 s", http=0)],
        [broken(message="HTTP 429, another message")],
        [builders.stale()],
        [Attempt(number=1, status="not_run")],
    ],
    ids=["another kind", "another message", "a stale recording", "no reason"],
)
def test_several_failures_leave_the_headline_as_it_is(others: list[Attempt]) -> None:
    run = missing(*[broken()] * 3, *others, good=4)

    assert headline(run).startswith("refunds: 4 of 8 planned attempts were scored, 95% are needed")
    assert any(text.startswith("See below what was not scored") for text in advice(run))


def test_attempts_of_which_nothing_is_recorded_are_explained_by_nothing() -> None:
    run = missing(*[broken()] * 3, good=4)
    [task] = run.tasks

    assert unanswered.said(replace(run, tasks=[replace(task, planned=task.planned + 1)])) == ""


def test_a_few_attempts_that_may_be_missing_do_not_stand_before_what_the_verdict_rests_on() -> None:
    run = missing(broken(), good=99)
    faulty = Reason(kind="coverage", text="refunds: the critical case call-01 can never pass.", task="refunds")

    for reason in (faulty, Reason(kind="comparison", text="refunds: the change removed the task, 9 cases.")):
        assert "have no answer" not in headline(replace(run, verdict="inconclusive", reasons=[reason]))
        assert "has no answer" not in headline(replace(run, verdict="inconclusive", reasons=[reason]))


def test_cases_that_the_change_removed_are_not_laid_to_the_provider() -> None:
    now = outcomes(10, 0) | {"call-10": [broken()]}
    run = build([task_result("t", now)], [task_result("t", outcomes(15, 0))])

    assert headline(run).startswith("t: 9 of 15 planned attempts were scored")


def test_a_critical_case_alone_without_an_answer_is_said_by_what_kept_it() -> None:
    run = missing(broken(), good=99, critical=("lost-01",))

    assert run.verdict == "inconclusive"
    assert headline(run).startswith("1 of 100 attempts has no answer: rate_limit: HTTP 429 after 5 tries")


def test_of_several_models_the_attempts_of_all_are_counted() -> None:
    lost, fine = without_key(4), missing(good=4)
    run = together(
        [
            replace(lost, subject=builders.Subject(model="openai/a")),
            replace(fine, subject=builders.Subject(model="ollama/b")),
        ],
        [],
    )

    assert headline(run).startswith("4 of 8 attempts have no answer: no key: set OPENAI_API_KEY; ")


def test_another_verdict_is_never_said_by_a_failure() -> None:
    run = missing(broken(), *[failed()] * 60, good=39)

    assert run.verdict == "regression"
    assert unanswered.said(run) == ""


def test_a_message_of_any_length_is_cut() -> None:
    assert len(headline(missing(*[broken(message="x" * 5_000)] * 3))) < 400


# Without a key that may be had


def test_the_author_of_a_change_that_may_have_no_key_has_nothing_to_do() -> None:
    run = missing(*[not_run("no_key", "no key for openai/a in OPENAI_API_KEY")] * 3)
    why = Reason(kind="coverage", text="No model was asked, and no recording could be scored in its place.")
    run = replace(run, reasons=[why, *run.reasons])

    assert headline(run).startswith("nothing was scored: no key for openai/a in OPENAI_API_KEY; ")
    said = ["Nothing to do for the author: a maintainer decides, see `docs/forks.md` of trapgate."]
    assert advice(run) == said
    command = Reason(kind="coverage", text=keyless.REPLACED)
    assert advice(replace(missing(good=3), verdict="inconclusive", reasons=[command])) == said


def test_recordings_that_decide_and_are_gone_are_for_the_author_to_bring_back() -> None:
    run = missing(*[not_run("no_key", "no key for openai/a in OPENAI_API_KEY")] * 3, good=5)

    assert headline(run).startswith("3 of 8 attempts have no answer: no key for openai/a in OPENAI_API_KEY; ")
    assert advice(run)[0].startswith("Bring back the recordings of these cases")
