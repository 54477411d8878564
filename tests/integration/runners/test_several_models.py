"""Several models in one run: each is asked for its own jobs, and limits, journal and warnings are of all."""

import dataclasses
import time

import msgspec
import pytest

from evaluator.cases import Frozen, Request, Subject
from evaluator.config.types import Config, Limits
from evaluator.progress import NoProgress
from evaluator.results import Fingerprint
from evaluator.runners import calling
from evaluator.runners.schedule import Job
from evaluator.runners.stopping import StopSignal
from tests.integration.runners.conftest import ADD, KEY
from tests.servers.model_server import ModelServer, Reply

MARK = Fingerprint(packages={}, scorers={}, subject={}, sources={})
SUBJECTS = {"one": Subject(model="openai/one"), "two": Subject(model="openai/two", system="Be brief.")}
RECORDED = [Frozen(tool="math.add", args={"a": 2, "b": 3}, result=5)]
CALL = Reply(tool_calls=[("math_add", '{"a": 2, "b": 3}')])


def plan(models=("one", "two"), count=2):
    return [
        Job(
            "task",
            f"case-{case}",
            1,
            Request(messages=[{"role": "user", "content": f"case-{case}"}], max_turns=8),
            tools=[ADD],
            frozen=RECORDED,
            model=model,
        )
        for model in models
        for case in range(count)
    ]


def by_turn(request):
    """A call, then an answer that says who was asked what."""
    messages = request.body["messages"]
    if messages[-1]["role"] != "tool":
        return CALL
    asked = next(message["content"] for message in messages if message["role"] == "user")
    return Reply(text=f"{request.body['model']} {asked}")


@pytest.fixture
def make(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def run(server, jobs, *, subjects=SUBJECTS, stop=None, answers=None, **limits):
        monkeypatch.setenv("OPENAI_API_BASE", server.base_url)
        config = Config(path="trap.yaml", digest="d", limits=Limits(**{"concurrency": 4, **limits}))
        return calling.make(
            jobs,
            subjects,
            config,
            MARK,
            journal=tmp_path / "journal.jsonl",
            progress=NoProgress(),
            environ={"OPENAI_API_KEY": KEY},
            stop=stop,
            started=time.monotonic(),
            answers=answers,
        )

    return run


def texts(outcomes):
    return [getattr(outcome.result, "text", None) for outcome in outcomes]


def test_each_job_is_answered_by_the_model_that_it_names(make):
    with ModelServer(by_turn) as server:
        outcomes, warnings = make(server, plan())
        systems = {(body["model"], body["messages"][0]["content"]) for body in server.bodies if body["model"] == "two"}
    assert texts(outcomes) == ["one case-0", "one case-1", "two case-0", "two case-1"]
    assert all(outcome.result.calls[0].result == 5 for outcome in outcomes)
    assert systems == {("two", "Be brief.")}
    assert warnings == []


def test_a_run_of_one_model_needs_no_names(make):
    with ModelServer(by_turn) as server:
        outcomes, _ = make(server, plan(models=[""]), subjects={"": SUBJECTS["one"]})
    assert texts(outcomes) == ["one case-0", "one case-1"]


def test_calls_in_flight_are_counted_over_all_models(make):
    with ModelServer(lambda request: delayed(by_turn(request))) as server:
        make(server, plan(count=8), concurrency=3)
        assert 2 <= server.peak <= 3


def delayed(reply):
    return dataclasses.replace(reply, delay=0.05)


def test_a_model_without_a_key_leaves_the_others_running(make, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    subjects = {"one": SUBJECTS["one"], "two": Subject(model="anthropic/claude-sonnet-4-5")}
    with ModelServer(by_turn) as server:
        outcomes, _ = make(server, plan(), subjects=subjects)
    assert texts(outcomes) == ["one case-0", "one case-1", None, None]
    assert [outcome.result.message for outcome in outcomes[2:]] == ["no key: set ANTHROPIC_API_KEY"] * 2
    assert all(outcome.not_run for outcome in outcomes[2:])


def test_what_a_provider_does_not_take_is_said_of_each_model(make, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-scripted")
    names = ("anthropic/claude-sonnet-4-5", "anthropic/claude-haiku-4-5")
    subjects = {name: Subject(model=name, params={"seed": 1}) for name in names}
    with ModelServer(by_turn) as server:
        _, warnings = make(server, [], subjects=subjects)
    assert warnings == [f"{name} does not take the parameter 'seed': it is not sent" for name in names]


def test_an_interrupted_run_of_conversations_pays_for_no_finished_one_again(make):
    stop = StopSignal()

    def script(request):
        if request.number == 5:
            stop.request("SIGTERM")
            return Reply(text="late", delay=30)
        return by_turn(request)

    with ModelServer(script) as server:
        outcomes, _ = make(server, plan(), stop=stop, concurrency=1)
        before = len(server.requests)
        assert texts(outcomes) == ["one case-0", "one case-1", None, None]
        assert [(outcome.result.kind, outcome.not_run) for outcome in outcomes[2:]] == [
            ("cancelled", False),
            ("cancelled", True),
        ]
        assert outcomes[2].result.message == "cut off: the run was stopped by SIGTERM"
        again, notes = make(server, plan())
        after = server.bodies[before:]
    assert before == 5
    assert texts(again) == ["one case-0", "one case-1", "two case-0", "two case-1"]
    assert [outcome.resumed for outcome in again] == [True, True, False, False]
    assert again[0].result == outcomes[0].result
    assert {body["model"] for body in after} == {"two"}
    assert len(after) == 4
    assert notes[0].startswith("2 attempts were taken from ")


def test_a_conversation_that_is_cut_off_in_its_second_turn_is_not_kept(make):
    stop = StopSignal()

    def script(request):
        if request.number == 2:
            stop.request("SIGINT")
            return Reply(text="late", delay=30)
        return by_turn(request)

    with ModelServer(script) as server:
        (outcome,), _ = make(server, plan(models=["one"], count=1), stop=stop)
        assert outcome.result.kind == "cancelled"
        (again,), _ = make(server, plan(models=["one"], count=1))
        assert len(server.requests) == 4
    assert (again.result.text, again.resumed) == ("one case-0", False)


def test_a_changed_recording_is_another_plan(make):
    jobs = plan(models=["one"], count=1)
    changed = [msgspec.structs.replace(RECORDED[0], result=6)]
    stop = StopSignal()

    def script(request):
        if request.number == 3:
            stop.request("SIGTERM")
            return Reply(text="late", delay=30)
        return by_turn(request)

    with ModelServer(script) as server:
        make(server, plan(models=["one"]), stop=stop, concurrency=1)
        other = [dataclasses.replace(job, frozen=changed) for job in jobs]
        (outcome,), notes = make(server, other)
    assert (outcome.result.calls[0].result, outcome.resumed) == (6, False)
    assert "belongs to another plan" in notes[0]


def test_earlier_answers_are_kept_for_each_model_tools_and_recording(make, tmp_path):
    jobs = plan(count=1)
    with ModelServer(by_turn) as server:
        make(server, jobs, answers=tmp_path / "answers")
        asked = len(server.requests)
        outcomes, warnings = make(server, jobs, answers=tmp_path / "answers")
        assert len(server.requests) == asked
        assert [outcome.result.cached for outcome in outcomes] == [True, True]
        assert warnings == [
            f"1 answers came from the cache: they say nothing of today's openai/{name}" for name in ("one", "two")
        ]
        for changed in ({"frozen": []}, {"tools": []}, {"retry": 2}):
            asked = len(server.requests)
            make(server, [dataclasses.replace(jobs[0], **changed)], answers=tmp_path / "answers")
            assert len(server.requests) > asked
