"""Live canaries over a real socket: what a provider accepts, refuses and bends, and what is not its doing."""

import dataclasses
import json
import time

import msgspec
import pytest

from evaluator.cases import Request, Subject
from evaluator.config.types import Config, Limits
from evaluator.live import canaries
from evaluator.live.canaries import ATTEMPTS, MECHANISMS, SHAPES
from evaluator.live.comparison import moved
from evaluator.live.plan import TASK, collect, prepare
from evaluator.progress import NoProgress
from evaluator.results import Fingerprint
from evaluator.runners import calling
from evaluator.runners.schedule import Job
from evaluator.runners.stopping import StopSignal
from evaluator.transcript import Usage
from tests.integration.runners.conftest import ADD, KEY
from tests.servers.model_server import ModelServer, Reply

MARK = Fingerprint(packages={}, scorers={}, subject={}, sources={})
TASK_PROMPT = "Add 2 and 3."
OWN = Request(messages=[{"role": "user", "content": TASK_PROMPT}], function=ADD)
SECOND = msgspec.structs.replace(OWN, messages=[{"role": "user", "content": "second"}])
OFFER = Request(messages=[{"role": "user", "content": TASK_PROMPT}])
NAMES = [shape.name for shape in SHAPES]


def right(shape):
    """Arguments that are valid by the shape."""
    return {"level": "low", "done": True} if shape.forbidden else shape.asked


def shape_asked(body):
    """The shape that a request is about, None for the reference and for tasks."""
    content = body["messages"][-1]["content"]
    return next((shape for shape in SHAPES if shape.function in content), None)


def obliging(request, arguments=right):
    """What a good provider answers."""
    shape = shape_asked(request.body)
    if shape is None:
        return Reply(text="ready")
    if "response_format" in request.body:
        return Reply(text=json.dumps({"name": shape.function, "arguments": arguments(shape)}))
    return Reply(tool_calls=[(shape.function, json.dumps(arguments(shape)))])


def refusing(name, message):
    """A provider that refuses one shape."""

    def script(request):
        shape = shape_asked(request.body)
        return Reply(status=400, error=message) if shape and shape.name == name else obliging(request)

    return script


def jobs_for(mechanism):
    tools = [ADD] if mechanism == "tools" else []
    return [Job("sums", "one", 1, OFFER if tools else OWN, tools=tools)]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of one task with its live canaries: (live canaries, outcomes of the task, warnings)."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def make(server, mechanism="schema", *, stop=None, answers=None, subject=None, more=(), **limits):
        monkeypatch.setenv("OPENAI_API_BASE", server.base_url)
        asked = subject or Subject(model="openai/x", structured=mechanism if mechanism != "tools" else "prompt")
        own, subjects = [*jobs_for(mechanism), *more], {"": asked}
        prepared = prepare(own, subjects)
        outcomes, said = calling.make(
            [*prepared.jobs, *own],
            {**prepared.subjects, **subjects},
            Config(path="trap.yaml", digest="d", limits=Limits(**{"concurrency": 8, "case_timeout": 5.0, **limits})),
            MARK,
            journal=tmp_path / "journal.jsonl",
            progress=NoProgress(),
            environ={"OPENAI_API_KEY": KEY},
            stop=stop,
            started=time.monotonic(),
            answers=answers,
        )
        return collect(outcomes, prepared, ""), [each for each in outcomes if each.job.task != TASK], said

    return make


def words(live):
    """Canary → its attempts, or the one word where they agree."""
    return {each.id: each.attempts[0] if len(set(each.attempts)) == 1 else each.attempts for each in live.canaries}


def all_of(mechanism, word, **others):
    return {"plain": "valid", **{f"{mechanism}/{name}": others.get(name, word) for name in NAMES}}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_provider_that_takes_and_holds_every_schema_is_valid_throughout(run, mechanism):
    with ModelServer(obliging) as server:
        live, own, said = run(server, mechanism)
        sent = [body for body in server.bodies if body["messages"][-1]["content"] != TASK_PROMPT]
    assert words(live) == all_of(mechanism, "valid")
    assert all(len(each.attempts) == ATTEMPTS for each in live.canaries)
    assert [each.message for each in live.canaries] == [""] * len(live.canaries)
    assert live.usage == Usage(input_tokens=11 * len(sent), output_tokens=7 * len(sent))
    assert len(own) == 1
    assert said == []
    for body in sent:
        assert body.keys() <= {"model", "messages", "max_tokens", "tools", "tool_choice", "response_format"}
        assert (body["model"], body["max_tokens"]) == ("x", 400)
        assert [message["role"] for message in body["messages"]] == ["user"]


def test_what_arrives_is_what_the_digest_is_of(run):
    with ModelServer(obliging) as server:
        live, _, _ = run(server, "tool")
        bodies = [{k: v for k, v in body.items() if k != "model"} for body in server.bodies]
    for each in live.canaries:
        canary = canaries.by_id(each.id)
        assert bodies.count(canaries.sent(canary).arguments()) == ATTEMPTS
        assert each.digest == canaries.digest(canary)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    "message",
    ["Invalid schema: 'anyOf' is not permitted (response_format / tools)", "Request contains an invalid argument."],
)
def test_one_refused_schema_is_told_whether_the_provider_names_it_or_not(run, mechanism, message):
    with ModelServer(obliging) as server:
        before, _, _ = run(server, mechanism)
    with ModelServer(refusing("any_of", message)) as server:
        now, own, _ = run(server, mechanism)
        asked = sum(shape_asked(body) is not None and shape_asked(body).name == "any_of" for body in server.bodies)
    assert words(now) == all_of(mechanism, "valid", any_of="refused")
    assert asked == ATTEMPTS  # a refusal is final
    assert own[0].result.text == "ready"
    witness, said = moved(before, now, same_model=True)
    feature = canaries.by_id(f"{mechanism}/any_of").feature
    assert said == [f"{feature}: accepted → refused: {message}"]
    assert witness.text == f"1 of 9 live canaries moved: {said[0]}"


def test_a_provider_that_stops_holding_the_model_to_the_schema_moves_the_canary_that_asks_for_more(run):
    with ModelServer(obliging) as server:
        before, _, _ = run(server)
    with ModelServer(lambda request: obliging(request, lambda shape: shape.asked)) as server:
        now, _, _ = run(server)
    assert words(now) == all_of("schema", "valid", held="invalid")
    _, said = moved(before, now, same_model=True)
    assert said == [f"{canaries.by_id('schema/held').feature}: valid → invalid in 3 of 3 attempts"]


def test_a_provider_that_bends_one_schema_moves_that_canary(run):
    def bent(shape):
        return {"marks": ["low"]} if shape.name == "array" else right(shape)

    with ModelServer(obliging) as server:
        before, _, _ = run(server, "tools")
    with ModelServer(lambda request: obliging(request, bent)) as server:
        now, _, _ = run(server, "tools")
    assert words(now) == all_of("tools", "valid", array="invalid")
    assert moved(before, now, same_model=True)[1] == [
        "strict tool on offer with minItems and maxItems: valid → invalid in 3 of 3 attempts"
    ]


@pytest.mark.parametrize("status", [401, 403])
def test_a_bad_key_is_no_refused_schema(run, status):
    with ModelServer(Reply(status=status, error="Invalid schema of your tool key")) as server:
        live, own, _ = run(server)
    assert set(words(live).values()) == {"authentication"}
    assert live.canaries[0].message == "Invalid schema of your tool key"
    assert own[0].result.kind == "authentication"
    assert live.usage is None


def test_a_server_that_refuses_every_request_refuses_no_schema(run):
    with ModelServer(obliging) as server:
        before, _, _ = run(server)
    with ModelServer(Reply(status=400, error="Unknown parameter in response_format or schema")) as server:
        now, _, _ = run(server)
    assert set(words(now).values()) == {"bad_request"}
    witness, said = moved(before, now, same_model=True)
    assert (witness.state, said) == ("silent", [])
    assert witness.text == (
        "the live canaries of this run got no answer: bad_request: Unknown parameter in response_format or schema"
    )


def test_a_model_that_is_not_there_is_no_refused_schema(run):
    with ModelServer(Reply(status=404, error="The model x does not exist, see tools")) as server:
        live, _, _ = run(server)
    assert set(words(live).values()) == {"bad_request"}


def test_a_provider_that_is_busy_for_a_moment_is_asked_again(run):
    def script(request):
        busy = Reply(status=429, headers={"Retry-After": "0.05"})
        return busy if request.number <= 3 else obliging(request)

    with ModelServer(script) as server:
        live, _, _ = run(server)
    assert words(live) == all_of("schema", "valid")


def test_an_answer_that_was_cut_off_is_invalid(run):
    with ModelServer(lambda request: dataclasses.replace(obliging(request), finish_reason="length")) as server:
        live, _, _ = run(server)
    assert words(live) == all_of("schema", "invalid")


def test_headers_that_let_a_call_through_go_with_it_and_nothing_else_of_the_repositorys(run):
    subject = Subject(
        model="openai/x",
        params={"temperature": 0, "seed": 7, "extra_headers": {"X-Team": "a"}},
        system="Be brief.",
        structured="schema",
    )
    with ModelServer(obliging) as server:
        live, _, _ = run(server, subject=subject)
        canary_requests = [each for each in server.requests if each.body["messages"][-1]["content"] != TASK_PROMPT]
    assert words(live) == all_of("schema", "valid")
    assert len(canary_requests) == 30
    assert {name.lower(): value for name, value in canary_requests[0].headers.items()}["x-team"] == "a"
    assert not any({"temperature", "seed"} & each.body.keys() for each in canary_requests)
    assert not any(message["role"] == "system" for each in canary_requests for message in each.body["messages"])


def test_kept_answers_do_not_answer_for_the_provider_of_today(run, tmp_path):
    with ModelServer(obliging) as server:
        run(server, answers=tmp_path / "answers")
        first = len(server.requests)
        live, own, said = run(server, answers=tmp_path / "answers")
        assert len(server.requests) - first == first - 1
    assert own[0].result.cached
    assert words(live) == all_of("schema", "valid")
    assert said == ["1 answers came from the cache: they say nothing of today's openai/x"]
    assert len(list((tmp_path / "answers").rglob("*.json"))) == 1


def test_a_resumed_run_asks_the_provider_again_and_the_task_only_for_what_is_missing(run, tmp_path):
    stop = StopSignal()

    def script(request):
        if request.body["messages"][-1]["content"] == "second":
            stop.request("SIGTERM")
            return Reply(text="late", delay=30)
        return obliging(request)

    second = dataclasses.replace(jobs_for("schema")[0], case_id="two", request=SECOND)
    with ModelServer(script) as server:
        live, own, _ = run(server, stop=stop, concurrency=1, more=[second])
        assert words(live) == all_of("schema", "valid")
        assert [getattr(each.result, "kind", "answered") for each in own] == ["answered", "cancelled"]
        assert TASK not in (tmp_path / "journal.jsonl").read_text()
    with ModelServer(obliging) as server:
        live, own, said = run(server, more=[second])
        assert len(server.requests) == 30 + 1
    assert words(live) == all_of("schema", "valid")
    assert [each.resumed for each in own] == [True, False]
    assert said[0].startswith("1 attempts were taken from ")


def test_canaries_alone_are_no_reason_to_keep_a_journal(run, tmp_path):
    """A cost limit that the canaries reach would stop every later run at the same place, on the same old answers."""
    with ModelServer(lambda request: dataclasses.replace(obliging(request), usage=None)) as server:
        live, own, _ = run(server, max_cost_usd=0.01, concurrency=1)
    assert own[0].result.kind == "cost_limit"
    assert words(live)["plain"] == ["valid", "cost_limit", "cost_limit"]
    assert not (tmp_path / "journal.jsonl").exists()


def test_a_run_of_nothing_but_text_sends_none(run, monkeypatch):
    with ModelServer(obliging) as server:
        live, _, _ = run(server, subject=Subject(model="openai/x"))
        assert len(server.requests) == 1
    assert live.silent == "the run asks for nothing but text: it sends no schema and offers no tool"
