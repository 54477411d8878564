from __future__ import annotations

from evaluator import attempts
from evaluator.cases import SUBJECT, Case, Recorded, Request, SourceRef, Subject, Task, made_with
from evaluator.results import Attempt
from evaluator.transcript import Transcript

TOOL = {"name": "refund", "description": "", "parameters": {"type": "object"}}
CASE = Case(
    id="a",
    request=Request(messages=[]),
    expected={"matchers": [{"kind": "numeric", "value": 1}]},
    tools={SUBJECT: [TOOL]},
)
SUBJECT_THEN = Subject(model="a/b", system="Be kind.", params={"temperature": 0})


def task(case: Case = CASE) -> Task:
    return Task(name="t", format="trapstreet", source=SourceRef(location="."), scorer="trapstreet", cases=[case])


def row(subject: Subject | None, case: Case = CASE) -> Recorded:
    known = made_with(subject, case) if subject is not None else None
    return Recorded(
        case_id="a",
        number=1,
        transcript=Transcript(text="1"),
        subject_digest=known.digest() if known is not None else None,
        subject=known.entries() if known is not None else None,
    )


def attempt(recorded: Recorded, today: Subject | None, case: Case = CASE) -> Attempt:
    made, _ = attempts.recorded(task(case), [recorded], today)
    return attempts.scored(task(case), made)["a"][0]


def test_a_recording_answers_for_the_tree_that_it_was_made_with() -> None:
    assert attempt(row(SUBJECT_THEN), SUBJECT_THEN).status == "scored"


def test_a_recording_cannot_answer_for_a_changed_prompt() -> None:
    today = Subject(model="a/b", system="Be quick.", params={"temperature": 0})
    stale = attempt(row(SUBJECT_THEN), today)
    assert stale.status == "stale"
    assert stale.passed is None
    assert stale.infrastructure is not None
    assert stale.infrastructure.message == "recorded before a change of system: a recording cannot answer for it"


def test_every_part_of_the_subject_that_changed_is_named() -> None:
    today = Subject(model="a/c", system="Be kind.", params={"temperature": 1, "seed": 2})
    stale = attempt(row(SUBJECT_THEN), today)
    assert stale.infrastructure is not None
    assert "model, params.seed, params.temperature" in stale.infrastructure.message


def test_a_tool_that_changed_makes_a_recording_stale() -> None:
    changed = Case(
        id="a", request=CASE.request, expected=CASE.expected, tools={SUBJECT: [{**TOOL, "description": "new"}]}
    )
    stale = attempt(row(SUBJECT_THEN), SUBJECT_THEN, changed)
    assert stale.infrastructure is not None
    assert "tools/refund" in stale.infrastructure.message


def test_a_recording_that_does_not_say_what_it_was_made_with_is_scored() -> None:
    assert attempt(row(None), SUBJECT_THEN).status == "scored"


def test_where_recordings_have_to_be_marked_one_that_does_not_say_what_it_was_made_with_is_stale() -> None:
    made, _ = attempts.recorded(task(), [row(None)], SUBJECT_THEN, marked=True)
    assert [each.stale for each in made] == ["it does not say what it was made with"]
    made, _ = attempts.recorded(task(), [row(SUBJECT_THEN)], SUBJECT_THEN, marked=True)
    assert [each.stale for each in made] == [""]


def test_without_a_tree_nothing_is_stale() -> None:
    assert attempt(row(SUBJECT_THEN), None).status == "scored"


def test_stale_recordings_count_against_coverage() -> None:
    from evaluator.metrics import summarize

    stale = attempt(row(SUBJECT_THEN), Subject(model="x/y"))
    result = summarize(task(), {"a": [stale]}, repeats=1, planned_per_case={"a": 1}, deterministic=True, faults={})
    assert (result.planned, result.scored) == (1, 0)
    assert "pass_rate" not in result.metrics


def test_an_answer_that_the_provider_held_back_is_no_answer_of_a_recording_either() -> None:
    held = Recorded(case_id="a", number=1, transcript=Transcript(text="1", stop_reason="content_filter"))
    made = attempt(held, None)
    assert (made.status, made.passed) == ("infrastructure", None)
    assert made.infrastructure is not None
    assert made.infrastructure.kind == "content_filter"
