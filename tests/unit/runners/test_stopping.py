import asyncio
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from evaluator.runners.stopping import StopSignal, stop_on_signals

WAIT = """
import asyncio, sys
from evaluator.runners.stopping import stop_on_signals
async def main(stop):
    print("ready", flush=True)
    await stop.wait()
    print(stop.reason, flush=True)
    await asyncio.sleep(float(sys.argv[1]))
    print("reported", flush=True)
with stop_on_signals() as stop:
    asyncio.run(main(stop))
"""


@pytest.fixture
def waiting():
    started = []

    def start(seconds):
        process = subprocess.Popen(
            [sys.executable, "-c", WAIT, str(seconds)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_wakes_a_waiting_loop_and_the_process_reports(waiting, number):
    process = waiting(0)
    process.send_signal(number)
    out, err = process.communicate(timeout=10)
    assert (out, err, process.returncode) == (f"{number.name}\nreported\n", "", 0)


def test_the_same_signal_again_ends_the_process_at_once_without_a_verdict(waiting):
    process = waiting(30)
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "SIGTERM\n"
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=10)
    assert (out, err, process.returncode) == ("", "trapgate: stopped at once, nothing is reported\n", 3)


def test_the_platforms_second_kind_of_signal_does_not_cut_the_report(waiting):
    process = waiting(0.3)
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "SIGINT\n"
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=10)
    assert (out, process.returncode) == ("reported\n", 0)


def test_the_former_handlers_are_back_afterwards():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with stop_on_signals():
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_signal_in_this_process_becomes_a_request():
    with stop_on_signals() as stop:
        assert stop.reason is None
        os.kill(os.getpid(), signal.SIGTERM)
        deadline = time.monotonic() + 5
        while stop.reason is None and time.monotonic() < deadline:
            time.sleep(0.01)
    assert stop.reason == "SIGTERM"


def test_outside_the_main_thread_signals_stay_as_they_are():
    handlers = []

    def inside():
        with stop_on_signals():
            handlers.append(signal.getsignal(signal.SIGTERM))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert handlers == [before]


def test_a_request_from_another_thread_wakes_the_loop_and_the_first_reason_counts():
    async def main():
        stop = StopSignal()
        threading.Timer(0.05, lambda: (stop.request("first"), stop.request("second"))).start()
        await asyncio.wait_for(stop.wait(), 5)
        await asyncio.wait_for(stop.wait(), 5)
        return stop.reason

    assert asyncio.run(main()) == "first"
