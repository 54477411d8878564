import asyncio
import dataclasses
import time

import pytest

from evaluator.cases import Request
from evaluator.config.types import Limits
from evaluator.progress import NoProgress
from evaluator.runners.journal import Journal
from evaluator.runners.schedule import Job, key_of, run
from evaluator.runners.stopping import StopSignal
from evaluator.transcript import Infrastructure, Transcript, Usage


class Scripted:
    """A runner whose answers are a function of the job's number in order of the calls."""

    def __init__(self, answer, seconds=0.0):
        self._answer = answer
        self._seconds = seconds
        self.calls = 0
        self.in_flight = 0
        self.peak = 0
        self.gave_up = {}

    def given_up(self, model):
        return self.gave_up.get(model)

    async def attempt(self, request):
        self.calls += 1
        number = self.calls
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            await asyncio.sleep(self._seconds)
            return self._answer(number)
        finally:
            self.in_flight -= 1


class Seen(NoProgress):
    def __init__(self):
        self.told = []

    def start(self, total):
        self.told.append(("start", total))

    def attempt(self, *, failed, cost_usd, resumed=False):
        self.told.append((failed, cost_usd, resumed))

    def finish(self):
        self.told.append("finish")


def text(number):
    return Transcript(text=str(number))


def priced(cost):
    return Transcript(text="x", usage=Usage(input_tokens=1, output_tokens=1, cost_usd=cost))


def jobs(count):
    return [Job("task", f"case-{number}", 1, Request(messages=[])) for number in range(count)]


def schedule(count, runner, *, stop=None, **options):
    limits = options.pop("limits", Limits(concurrency=4))
    progress = options.pop("progress", NoProgress())
    return asyncio.run(run(jobs(count), runner, limits=limits, progress=progress, stop=stop or StopSignal(), **options))


def test_every_job_has_one_outcome_in_the_order_of_the_jobs():
    outcomes = schedule(25, Scripted(text))
    assert [outcome.job for outcome in outcomes] == jobs(25)
    assert sorted(int(outcome.result.text) for outcome in outcomes) == list(range(1, 26))


def test_no_jobs_have_no_outcomes():
    assert schedule(0, Scripted(text)) == []


def test_no_more_attempts_than_the_concurrency_are_open():
    runner = Scripted(text, seconds=0.005)
    schedule(30, runner, limits=Limits(concurrency=4))
    assert runner.peak == 4


def test_a_failure_is_an_outcome_like_any_other():
    failed = Infrastructure(kind="timeout", message="late")
    outcomes = schedule(4, Scripted(lambda number: failed if number == 2 else text(number)))
    assert [outcome.result == failed for outcome in outcomes].count(True) == 1
    assert not any(outcome.not_run for outcome in outcomes)


def test_progress_hears_of_every_attempt():
    seen = Seen()
    schedule(3, Scripted(lambda _: priced(0.25)), progress=seen)
    assert seen.told == [("start", 3), *[(False, 0.25, False)] * 3, "finish"]


def test_a_bug_in_the_runner_is_raised_and_leaves_nothing_running():
    async def main():
        def answer(number):
            if number == 2:
                raise ZeroDivisionError("bug")
            return text(number)

        runner = Scripted(answer, seconds=0.01)
        with pytest.raises(ZeroDivisionError, match="bug"):
            await run(jobs(50), runner, limits=Limits(concurrency=4), progress=NoProgress(), stop=StopSignal())
        return runner.in_flight, len(asyncio.all_tasks())

    assert asyncio.run(main()) == (0, 1)


# Money


def test_the_cost_limit_stops_new_attempts_and_says_what_was_not_run():
    runner = Scripted(lambda _: priced(1.0))
    outcomes = schedule(20, runner, limits=Limits(concurrency=1, max_cost_usd=3.0))
    assert runner.calls == 3
    assert [outcome.not_run for outcome in outcomes] == [False] * 3 + [True] * 17
    assert outcomes[-1].result == Infrastructure(kind="cost_limit", message="the limit of $3.00 was reached at $3.0000")


def test_no_more_than_the_attempts_in_flight_go_beyond_the_cost_limit():
    runner = Scripted(lambda _: priced(1.0), seconds=0.005)
    schedule(50, runner, limits=Limits(concurrency=4, max_cost_usd=3.0))
    assert runner.calls <= 3 + 4


def test_a_cost_that_is_unknown_stops_a_run_with_a_cost_limit():
    runner = Scripted(lambda _: Transcript(text="x"))
    outcomes = schedule(9, runner, limits=Limits(concurrency=1, max_cost_usd=3.0))
    assert runner.calls == 1
    assert outcomes[-1].result.message == "the limit of $3.00 can't be watched: the cost of an attempt is unknown"


def test_a_cost_that_is_unknown_stops_nothing_without_a_cost_limit():
    runner = Scripted(lambda _: Transcript(text="x"))
    schedule(9, runner)
    assert runner.calls == 9


def test_free_attempts_never_reach_the_cost_limit():
    runner = Scripted(lambda _: priced(0.0))
    schedule(9, runner, limits=Limits(concurrency=2, max_cost_usd=1.0))
    assert runner.calls == 9


# Time


def test_the_time_limit_cuts_calls_in_flight_and_says_what_was_not_run():
    runner = Scripted(text, seconds=30)
    began = time.monotonic()
    outcomes = schedule(6, runner, limits=Limits(concurrency=2, timeout=0.1))
    assert time.monotonic() - began < 5
    assert runner.in_flight == 0
    message = "the run's limit of 0.1 s was reached"
    cut = Infrastructure(kind="time_limit", message=f"cut off: {message}")
    assert [(outcome.result, outcome.not_run) for outcome in outcomes] == [
        *[(cut, False)] * 2,
        *[(Infrastructure(kind="time_limit", message=message), True)] * 4,
    ]


def test_the_time_limit_counts_from_the_beginning_of_the_run():
    runner = Scripted(text)
    outcomes = schedule(3, runner, limits=Limits(timeout=10.0), clock=lambda: 100.0, started=89.0)
    assert runner.calls == 0
    assert all(outcome.not_run and outcome.result.kind == "time_limit" for outcome in outcomes)


# Keys


def test_a_refused_key_stops_the_run_early():
    refused = Infrastructure(kind="authentication", message="bad key", http_status=401, tries=1)
    runner = Scripted(lambda _: refused)
    outcomes = schedule(20, runner, limits=Limits(concurrency=1))
    assert runner.calls == 1
    assert (outcomes[0].result, outcomes[0].not_run) == (refused, False)
    assert all(outcome.not_run for outcome in outcomes[1:])
    assert outcomes[1].result == Infrastructure(kind="authentication", message="not run after a refused key: bad key")


# Signals


def test_a_stop_lets_calls_in_flight_finish_and_begins_no_new_ones():
    stop = StopSignal()
    runner = Scripted(text, seconds=0.2)

    async def main():
        asyncio.get_running_loop().call_later(0.05, stop.request, "SIGTERM")
        return await run(jobs(10), runner, limits=Limits(concurrency=2), progress=NoProgress(), stop=stop)

    outcomes = asyncio.run(main())
    assert runner.calls == 2
    assert [isinstance(outcome.result, Transcript) for outcome in outcomes] == [True] * 2 + [False] * 8
    assert outcomes[-1].result == Infrastructure(kind="cancelled", message="the run was stopped by SIGTERM")
    assert outcomes[-1].not_run


def test_a_stop_cuts_calls_that_do_not_finish_within_the_grace():
    stop = StopSignal()
    runner = Scripted(text, seconds=30)

    async def main():
        asyncio.get_running_loop().call_later(0.05, stop.request, "SIGINT")
        return await run(jobs(3), runner, limits=Limits(concurrency=2), progress=NoProgress(), stop=stop, grace=0.1)

    began = time.monotonic()
    outcomes = asyncio.run(main())
    assert time.monotonic() - began < 5
    assert [outcome.not_run for outcome in outcomes] == [False, False, True]
    assert outcomes[0].result == Infrastructure(kind="cancelled", message="cut off: the run was stopped by SIGINT")


def test_a_stop_before_the_beginning_runs_nothing():
    stop = StopSignal()
    stop.request("SIGTERM")
    runner = Scripted(text, seconds=0.01)
    outcomes = schedule(9, runner, stop=stop)
    assert runner.calls == 0
    assert all(outcome.not_run and outcome.result.kind == "cancelled" for outcome in outcomes)


def test_a_call_that_does_not_let_go_is_left_behind_with_an_outcome():
    class Stubborn:
        def given_up(self, model):
            return None

        async def attempt(self, request):
            for _ in range(30):
                try:
                    await asyncio.sleep(0.1)
                except asyncio.CancelledError:
                    continue
            return Transcript(text="late")

    async def main():
        began = time.monotonic()
        outcomes = await run(jobs(1), Stubborn(), limits=Limits(timeout=0.1), progress=NoProgress(), stop=StopSignal())
        return outcomes, time.monotonic() - began

    (outcome,), seconds = asyncio.run(main())
    assert outcome.result.kind == "time_limit"
    assert seconds < 2.5


def test_a_runner_that_cannot_call_is_not_asked_and_its_reason_is_every_jobs():
    runner = Scripted(text)
    runner.gave_up = {"": Infrastructure(kind="authentication", message="no key: set OPENAI_API_KEY")}
    outcomes = schedule(5, runner)
    assert runner.calls == 0
    assert all(outcome.not_run and outcome.result == runner.gave_up[""] for outcome in outcomes)


def test_a_runner_that_gives_up_on_the_way_leaves_the_rest_not_run():
    runner = Scripted(lambda number: give_up() if number == 3 else text(number))

    def give_up():
        runner.gave_up[""] = Infrastructure(kind="connection", message="nothing answers")
        return Infrastructure(kind="connection", message="refused")

    outcomes = schedule(6, runner, limits=Limits(concurrency=1))
    assert [outcome.not_run for outcome in outcomes] == [False] * 3 + [True] * 3
    assert [outcome.result for outcome in outcomes[3:]] == [runner.gave_up[""]] * 3


def by_models(runner, limits=Limits(concurrency=1)):  # noqa: B008 - frozen
    plan = [Job("task", f"case-{number}", 1, Request(messages=[]), model=name) for number in (1, 2) for name in "ab"]
    outcomes = asyncio.run(run(plan, runner, limits=limits, progress=NoProgress(), stop=StopSignal()))
    assert [outcome.job for outcome in outcomes] == plan
    return outcomes


def test_a_model_that_cannot_be_called_does_not_end_the_calling_of_another():
    runner = Scripted(text)
    runner.gave_up["a"] = Infrastructure(kind="authentication", message="no key: set OPENAI_API_KEY")
    outcomes = by_models(runner)
    assert [outcome.not_run for outcome in outcomes] == [True, False, True, False]
    assert outcomes[0].result == outcomes[2].result == runner.gave_up["a"]


def test_a_key_that_is_refused_ends_the_calling_of_its_model_alone():
    refused = Infrastructure(kind="authentication", message="bad key")
    outcomes = by_models(Scripted(lambda number: refused if number == 1 else text(number)))
    assert [outcome.not_run for outcome in outcomes] == [False, False, True, False]
    assert outcomes[2].result.message == "not run after a refused key: bad key"


def test_the_limit_on_cost_is_one_for_all_models():
    outcomes = by_models(Scripted(lambda _: priced(0.6)), Limits(concurrency=1, max_cost_usd=1.0))
    assert [outcome.not_run for outcome in outcomes] == [False, False, True, True]
    assert outcomes[2].result.message == "the limit of $1.00 was reached at $1.2000"


@pytest.mark.parametrize(("cost", "why"), [(0.6, "was reached at $0.6000"), (None, "can't be watched")])
def test_what_a_conversation_had_cost_when_it_failed_counts_towards_the_limit(cost, why):
    failed = Infrastructure(kind="server_error", message="no", http_status=500, usage=Usage(cost_usd=cost))
    first, second = schedule(2, Scripted(lambda _: failed), limits=Limits(concurrency=1, max_cost_usd=0.5))
    assert (first.not_run, second.not_run) == (False, True)
    assert why in second.result.message


def test_a_failure_without_any_answer_says_nothing_of_cost():
    failed = Infrastructure(kind="server_error", message="no", http_status=500)
    outcomes = schedule(2, Scripted(lambda _: failed), limits=Limits(concurrency=1, max_cost_usd=0.5))
    assert [outcome.not_run for outcome in outcomes] == [False, False]


# Resume


def test_what_the_journal_has_is_not_paid_for_again(tmp_path):
    path = tmp_path / "journal.jsonl"
    first = Journal.open(path, plan="p", fingerprint="f", endpoint="e", now=0.0)
    schedule(6, Scripted(lambda _: priced(0.5)), journal=first)
    first.close(complete=False)
    second = Journal.open(path, plan="p", fingerprint="f", endpoint="e", now=0.0)
    runner, seen = Scripted(text), Seen()
    outcomes = schedule(8, runner, journal=second, progress=seen)
    second.close(complete=True)
    assert runner.calls == 2
    assert [outcome.resumed for outcome in outcomes] == [True] * 6 + [False] * 2
    assert outcomes[0].result == priced(0.5)
    assert seen.told[1] == (False, 0.5, True)


def test_a_fresh_job_is_neither_taken_from_the_journal_nor_left_in_it(tmp_path):
    path = tmp_path / "journal.jsonl"
    kept, fresh = jobs(2)
    plan = [kept, dataclasses.replace(fresh, fresh=True)]
    first = Journal.open(path, plan="p", fingerprint="f", endpoint="e", now=0.0)
    for each in plan:
        first.append(key_of(each), Transcript(text="old"))
    first.close(False)
    second = Journal.open(path, plan="p", fingerprint="f", endpoint="e", now=0.0)
    limits = Limits(concurrency=1)
    outcomes = asyncio.run(
        run(plan, Scripted(text), limits=limits, progress=NoProgress(), stop=StopSignal(), journal=second)
    )
    second.close(False)
    assert [(outcome.result.text, outcome.resumed) for outcome in outcomes] == [("old", True), ("1", False)]
    assert len(path.read_text().splitlines()) == 3  # the header and what stood there


def test_a_failure_in_the_journal_is_tried_again(tmp_path):
    path = tmp_path / "journal.jsonl"
    first = Journal.open(path, plan="p", fingerprint="f", endpoint="e", now=0.0)
    schedule(3, Scripted(lambda _: Infrastructure(kind="timeout", message="late")), journal=first)
    first.close(complete=False)
    second = Journal.open(path, plan="p", fingerprint="f", endpoint="e", now=0.0)
    outcomes = schedule(3, Scripted(text), journal=second)
    second.close(complete=True)
    assert all(isinstance(outcome.result, Transcript) for outcome in outcomes)


def test_what_an_interrupted_run_spent_counts_against_the_cost_limit(tmp_path):
    path = tmp_path / "journal.jsonl"
    first = Journal.open(path, plan="p", fingerprint="f", endpoint="e", now=0.0)
    schedule(3, Scripted(lambda _: priced(1.0)), journal=first)
    first.close(complete=False)
    second = Journal.open(path, plan="p", fingerprint="f", endpoint="e", now=0.0)
    runner = Scripted(lambda _: priced(1.0))
    outcomes = schedule(9, runner, journal=second, limits=Limits(concurrency=1, max_cost_usd=3.0))
    second.close(complete=False)
    assert runner.calls == 0
    assert outcomes[-1].result.kind == "cost_limit"
