"""Many calls at once, interrupted in every way: nothing vanishes, nothing is paid for twice."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evaluator.config.types import Limits
from evaluator.progress import NoProgress
from evaluator.runners.calling import OfModel
from evaluator.runners.retry import Policy
from evaluator.runners.schedule import Job, run
from evaluator.runners.stopping import StopSignal
from evaluator.transcript import Infrastructure, Transcript
from tests.integration.runners.conftest import ASK, KEY
from tests.servers.model_server import ModelServer, Reply


@pytest.fixture
def run_all(connect):
    def make(server, count, *, limits=Limits(concurrency=16), **fields):  # noqa: B008 - frozen
        runner = connect(server, concurrency=limits.concurrency, **fields)
        plan = [Job("task", f"case-{number}", 1, ASK) for number in range(count)]

        async def main():
            try:
                return await run(plan, OfModel(runner), limits=limits, progress=NoProgress(), stop=StopSignal())
            finally:
                await runner.close()

        return asyncio.run(main())

    return make


def test_calls_are_made_at_once_but_not_more_than_allowed(run_all):
    with ModelServer(Reply(text="ok", delay=0.1)) as server:
        outcomes = run_all(server, 24, limits=Limits(concurrency=6))
        assert 4 <= server.peak <= 6
    assert all(outcome.result.text == "ok" for outcome in outcomes)


def test_a_storm_of_429_ends_with_every_attempt_answered_and_little_hammering(run_all):
    began = time.monotonic()

    def storm(request):
        if time.monotonic() - began < 3:
            return Reply(status=429, headers={"Retry-After": "1"})
        return Reply(text="ok")

    with ModelServer(Reply(text="ok")) as warm:
        run_all(warm, 1)  # the first import of litellm is no part of the storm
    began = time.monotonic()
    with ModelServer(storm) as server:
        outcomes = run_all(server, 60)
        refused = len(server.requests) - 60
        late = [request for request in server.requests if began + 1.2 <= request.at < began + 3]
    assert all(isinstance(outcome.result, Transcript) for outcome in outcomes)
    # One burst of 16, then half as many after each second of waiting.
    assert refused <= 16 + 8 + 4 + 2
    assert len(late) <= 8 + 4 + 2


def test_a_provider_that_bears_four_calls_at_once_is_found_out(run_all):
    servers = []

    def script(request):
        time.sleep(0.02)
        return Reply(status=429) if servers[0].in_flight > 4 else Reply(text="ok", delay=0.02)

    with ModelServer(script) as server:
        servers.append(server)
        outcomes = run_all(server, 80, policy=Policy(first=0.05, longest=0.5))
        refused = len(server.requests) - 80
    assert all(isinstance(outcome.result, Transcript) for outcome in outcomes)
    assert refused < 80


def test_a_mixture_of_failures_leaves_a_row_for_every_job(run_all):
    def script(request):
        return [
            Reply(text="ok"),
            Reply(status=500),
            Reply(cut_after=0),
            Reply(body=b"<html>"),
            Reply(status=400, error="no"),
            Reply(text="ok", cut_after=30),
        ][request.number % 6]

    with ModelServer(script) as server:
        outcomes = run_all(server, 60)
    assert len(outcomes) == 60
    # Which reply an attempt meets depends on the order of arrival: one may meet failures that pass eight times.
    assert {outcome.result.kind for outcome in outcomes if isinstance(outcome.result, Infrastructure)} <= {
        *("malformed_response", "refused_request"),
        *("connection", "server_error"),
    }
    assert sum(isinstance(outcome.result, Transcript) for outcome in outcomes) >= 10


def test_a_refused_key_costs_a_handful_of_calls_and_not_all(run_all):
    with ModelServer(Reply(status=401, error="bad key")) as server:
        outcomes = run_all(server, 200, limits=Limits(concurrency=4))
        assert len(server.requests) <= 8
    assert all(outcome.result.kind == "authentication" for outcome in outcomes)
    assert sum(outcome.not_run for outcome in outcomes) >= 192


def test_without_a_key_no_call_is_made_and_every_attempt_says_which_is_missing(run_all, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "")  # as a workflow has it where the secret is absent
    with ModelServer(Reply(text="ok")) as server:
        outcomes = run_all(server, 9)
        assert server.requests == []
    assert all(outcome.not_run for outcome in outcomes)
    assert {(outcome.result.kind, outcome.result.message) for outcome in outcomes} == {
        ("authentication", "no key: set OPENAI_API_KEY")
    }


def test_a_server_that_is_not_there_is_given_up_soon_and_named(run_all):
    with ModelServer(Reply(text="ok")) as gone:
        address = gone.base_url.removeprefix("http://").removesuffix("/v1")
    began = time.monotonic()
    outcomes = run_all(gone, 40, limits=Limits(concurrency=2), policy=Policy())
    assert time.monotonic() - began < 15
    assert {outcome.result.kind for outcome in outcomes} == {"connection"}
    assert sum(outcome.not_run for outcome in outcomes) >= 36
    assert outcomes[0].result.tries == 3
    assert outcomes[0].result.message.startswith(f"no connection to {address}, set by OPENAI_API_BASE: ")
    assert outcomes[-1].result.message == (
        f"not run, since nothing answers: no connection to {address}, set by OPENAI_API_BASE"
    )


def test_a_server_that_answered_and_went_away_is_waited_for_as_before(connect):
    async def main():
        with ModelServer(Reply(text="ok", headers={"Connection": "close"})) as server:
            runner = connect(server)
            first = await runner.attempt(ASK)
        try:
            return first, await runner.attempt(ASK), runner.given_up
        finally:
            await runner.close()

    first, second, given_up = asyncio.run(main())
    assert first.text == "ok"
    assert (second.kind, second.tries, given_up) == ("connection", 8, None)


def test_the_time_limit_cuts_real_calls(run_all):
    with ModelServer(Reply(text="ok")) as warm:
        run_all(warm, 1)
    with ModelServer(Reply(text="ok", delay=30)) as server:
        began = time.monotonic()
        outcomes = run_all(server, 8, limits=Limits(concurrency=4, timeout=0.5), case_timeout=60)
        assert time.monotonic() - began < 5
    assert [outcome.not_run for outcome in outcomes] == [False] * 4 + [True] * 4
    assert {outcome.result.kind for outcome in outcomes} == {"time_limit"}


RUN = """
import asyncio, json, sys, time
from pathlib import Path
from evaluator.cases import Request, Subject
from evaluator.config.types import Limits
from evaluator.progress import NoProgress
from evaluator.runners.calling import OfModel
from evaluator.runners.journal import Journal
from evaluator.runners.model import ModelRunner
from evaluator.runners.schedule import Job, run
from evaluator.runners.stopping import stop_on_signals
from evaluator.transcript import Transcript

plan = [
    Job("task", f"case-{number}", 1, Request(messages=[{"role": "user", "content": f"case-{number}"}]))
    for number in range(40)
]
limits = Limits(concurrency=4)

async def main(stop):
    runner = ModelRunner(Subject(model="openai/x"), concurrency=4)
    journal = Journal.open(Path(sys.argv[1]), plan="p", fingerprint="f", endpoint="e", now=time.time())
    print("started", flush=True)
    jobs = OfModel(runner)
    outcomes = await run(plan, jobs, limits=limits, progress=NoProgress(), stop=stop, journal=journal, grace=1.0)
    complete = all(isinstance(outcome.result, Transcript) for outcome in outcomes)
    journal.close(complete)
    await runner.close()
    for outcome in outcomes:
        result = outcome.result
        said = result.text if isinstance(result, Transcript) else result.kind
        print(json.dumps([outcome.job.case_id, said, outcome.not_run, outcome.resumed]), flush=True)

with stop_on_signals() as stop:
    asyncio.run(main(stop))
"""


@pytest.fixture
def started(tmp_path):
    processes = []

    def start(server):
        environ = {**os.environ, "OPENAI_API_KEY": KEY, "OPENAI_API_BASE": server.base_url}
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, str(tmp_path / "journal.jsonl")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environ,
            cwd=Path(__file__).parents[3],
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def echo(request):
    return Reply(text=request.body["messages"][0]["content"], delay=0.1)


def asked(server):
    return [body["messages"][0]["content"] for body in server.bodies]


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def rows(process):
    out, err = process.communicate(timeout=90)
    assert process.returncode == 0, err
    return [json.loads(line) for line in out.splitlines() if line != "started"]


def test_a_run_that_is_killed_pays_for_no_finished_attempt_again(started, tmp_path):
    with ModelServer(echo) as server:
        first = started(server)
        wait_for(lambda: len(server.requests) >= 14)
        first.kill()
        first.wait()
        before = asked(server)
        finished = [json.loads(line)["case"] for line in (tmp_path / "journal.jsonl").read_text().splitlines()[1:]]
        assert 4 <= len(finished) < 40

        outcomes = rows(started(server))
        after = asked(server)[len(before) :]
    assert [row[:3] for row in outcomes] == [[f"case-{number}", f"case-{number}", False] for number in range(40)]
    assert sorted(row[0] for row in outcomes if row[3]) == sorted(finished)
    assert set(after).isdisjoint(finished)
    assert sorted(after) == sorted({f"case-{number}" for number in range(40)} - set(finished))
    assert not (tmp_path / "journal.jsonl").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_cancelled_run_stops_calling_and_reports_every_job(started, number):
    with ModelServer(echo) as server:
        process = started(server)
        wait_for(lambda: len(server.requests) >= 8)
        process.send_signal(number)
        outcomes = rows(process)
        calls = len(server.requests)
    assert len(outcomes) == 40
    answered = [row for row in outcomes if row[1] == row[0]]
    assert 4 <= len(answered) <= calls < 40
    assert {row[1] for row in outcomes if row not in answered} == {"cancelled"}
    assert sum(row[2] for row in outcomes) == 40 - calls
