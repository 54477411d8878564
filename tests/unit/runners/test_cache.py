"""Answers of earlier runs: what the cache cannot look up is asked, and never ends a run."""

from __future__ import annotations

import asyncio
import dataclasses

from evaluator.cases import Request, Subject
from evaluator.runners.cache import Cached
from evaluator.runners.schedule import Job
from evaluator.transcript import Infrastructure, Transcript


class Runner:
    """Counts what it is asked and always gives the same result."""

    def given_up(self, model):
        return None

    def __init__(self, result):
        self.result, self.asked = result, 0

    def warnings(self):
        return []

    async def close(self):
        pass

    async def attempt(self, job):
        self.asked += 1
        return self.result


def job(function=None, number=1):
    return Job("t", "c", number, Request(messages=[{"role": "user", "content": "x"}], function=function))


def ask(runner, folder, *jobs, endpoint="e", structured="prompt"):
    cached = Cached(runner, Subject(model="openai/x", structured=structured), endpoint, folder)
    return [asyncio.run(cached.attempt(each)) for each in jobs]


def test_a_hit_is_marked_and_each_attempt_and_endpoint_has_its_own(tmp_path):
    runner = Runner(Transcript(text="a", seconds=1.0))
    first, again = ask(runner, tmp_path, job(), job())
    assert (first.cached, again.cached, again.seconds, runner.asked) == (False, True, None, 1)
    ask(runner, tmp_path, job(number=2))
    ask(runner, tmp_path, job(), endpoint="other")
    assert runner.asked == 3


def test_a_fresh_job_is_asked_each_time_and_its_answer_is_not_kept(tmp_path):
    fresh = dataclasses.replace(job(), fresh=True)
    runner = Runner(Transcript(text="a"))
    results = ask(runner, tmp_path, job(), fresh, fresh, job())
    assert [result.cached for result in results] == [False, False, False, True]
    assert runner.asked == 3
    other = dataclasses.replace(job(number=2), fresh=True)
    ask(runner, tmp_path, other, job(number=2))
    assert runner.asked == 5


def test_a_broken_entry_is_asked_for_again(tmp_path):
    runner = Runner(Transcript(text="a"))
    ask(runner, tmp_path, job())
    for path in tmp_path.rglob("*.json"):
        path.write_bytes(b"{")
    ask(runner, tmp_path, job())
    assert runner.asked == 2


def test_a_schema_too_deep_to_be_sent_is_left_to_the_runner(tmp_path):
    schema: dict = {}
    for _ in range(3_000):
        schema = {"items": schema}
    refused = Infrastructure(kind="refused_request", message="too deep")
    function = {"name": "f", "parameters": schema}
    assert ask(Runner(refused), tmp_path, job(function), structured="schema") == [refused]
