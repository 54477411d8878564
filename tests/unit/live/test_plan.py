"""Which canaries a run sends: those of the mechanisms that it uses, to each of its models."""

import re

import pytest

from evaluator.cases import Request, Subject
from evaluator.config.shape import schema
from evaluator.live.canaries import ATTEMPTS, SHAPES
from evaluator.live.plan import ONLY_TEXT, TASK, collect, prepare
from evaluator.results import LiveCanaries
from evaluator.runners.schedule import Job, Outcome, key_of
from evaluator.transcript import Infrastructure, Transcript

FUNCTION = {"name": "f", "parameters": {"type": "object", "properties": {}}}
ASK = [{"role": "user", "content": "go"}]
TEXT = Request(messages=ASK)
CALL = Request(messages=ASK, function=FUNCTION)
OBJECT = Request(messages=ASK, answer_schema={"type": "object"})
LIST = Request(messages=ASK, answer_schema={"type": "array"})
BEGUN = Request(messages=ASK, function=FUNCTION, prefix="{", condition="completion:text")


def job(request, *, tools=(), model="", number=1):
    return Job("task", "case", number, request, tools=list(tools), model=model)


def mechanisms(prepared):
    return list(dict.fromkeys(each.case_id.partition("/")[0] for each in prepared.jobs))


@pytest.mark.parametrize(
    ("structured", "jobs", "used"),
    [
        ("prompt", [job(TEXT)], []),
        ("prompt", [job(CALL), job(OBJECT)], []),
        ("prompt", [], []),
        ("schema", [job(TEXT)], []),
        ("schema", [job(CALL)], ["plain", "schema"]),
        ("schema", [job(OBJECT)], ["plain", "schema"]),
        ("schema", [job(BEGUN)], []),
        ("schema", [job(BEGUN), job(LIST)], ["plain", "schema"]),
        ("schema", [job(TEXT), job(CALL, number=2)], []),
        ("tool", [job(CALL)], ["plain", "tool"]),
        ("tool", [job(OBJECT)], ["plain", "tool"]),
        ("tool", [job(LIST)], []),
        ("tool", [job(OBJECT, tools=[FUNCTION])], ["plain", "tools"]),
        ("prompt", [job(TEXT, tools=[FUNCTION])], ["plain", "tools"]),
        ("prompt", [job(BEGUN, tools=[FUNCTION])], []),
        ("schema", [job(CALL), job(TEXT, tools=[FUNCTION])], ["plain", "schema", "tools"]),
    ],
)
def test_a_run_sends_the_canaries_of_what_it_sends(structured, jobs, used):
    prepared = prepare(jobs, {"": Subject(model="openai/x", structured=structured)})
    assert mechanisms(prepared) == used
    assert prepared.silent == ({} if used else {"": ONLY_TEXT})
    shapes = len(SHAPES) * (len(used) - 1) + 1 if used else 0
    assert len(prepared.jobs) == shapes * ATTEMPTS


def test_tools_of_the_repository_are_tools_on_offer():
    prepared = prepare([job(TEXT)], {"": Subject(model="openai/x", tools=[FUNCTION])})
    assert mechanisms(prepared) == ["plain", "tools"]


def test_a_request_that_is_too_deep_to_be_sent_needs_none():
    deep = {"type": "object"}
    for _ in range(5000):
        deep = {"type": "object", "properties": {"a": deep}}
    request = Request(messages=ASK, function={"name": "f", "parameters": deep})
    assert mechanisms(prepare([job(request)], {"": Subject(model="m", structured="schema")})) == []


def test_each_attempt_is_fresh_and_told_from_every_other():
    prepared = prepare([job(CALL)], {"": Subject(model="openai/x", structured="schema")})
    assert all(each.fresh and each.task == TASK for each in prepared.jobs)
    assert len({key_of(each) for each in prepared.jobs}) == len(prepared.jobs)
    assert {each.model for each in prepared.jobs} == prepared.subjects.keys()


def test_no_task_of_a_users_can_have_its_name():
    pattern = schema()["properties"]["tasks"]["propertyNames"]["pattern"]
    assert re.search(pattern, "live canaries")
    assert not re.search(pattern, TASK)


def test_each_model_has_canaries_of_its_own():
    subjects = {"a": Subject(model="a", structured="schema"), "b": Subject(model="b", structured="tool")}
    prepared = prepare([job(CALL, model="a"), job(TEXT, model="b")], subjects)
    assert {subject.model for subject in prepared.subjects.values()} == {"a"}
    assert prepared.silent == {"b": ONLY_TEXT}
    assert prepared.subjects.keys().isdisjoint(subjects)


def test_what_came_back_is_told_model_by_model_and_apart_from_tasks():
    subjects = {name: Subject(model=name, structured="schema") for name in ("a", "b", "a/b")}
    own = [job(CALL, model=name) for name in subjects]
    prepared = prepare(own, subjects)
    outcomes = [
        Outcome(each, Transcript(text="x") if prepared.subjects[each.model].model == "a" else FAILED)
        for each in prepared.jobs
    ] + [Outcome(each, Transcript(text="x")) for each in own]
    for name, word in (("a", "invalid"), ("b", "timeout"), ("a/b", "timeout")):
        found = collect(outcomes, prepared, name)
        assert [each.id for each in found.canaries] == ["plain", *(f"schema/{shape.name}" for shape in SHAPES)]
        assert found.canaries[1].attempts == [word] * ATTEMPTS


FAILED = Infrastructure(kind="timeout", message="late")


def test_a_model_that_is_sent_none_says_why():
    prepared = prepare([job(TEXT)], {"": Subject(model="m")})
    assert collect([], prepared, "") == LiveCanaries(silent=ONLY_TEXT)
