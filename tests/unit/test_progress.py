import io
import os
import pty
import subprocess
import sys
import time

import pytest

from evaluator.progress import PlainProgress, Tally, TerminalProgress, progress


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_line_says_attempts_failures_dollars_and_rate():
    clock = Clock()
    tally = Tally(60, clock)
    for number in range(12):
        tally.add(failed=number == 0, cost_usd=None if number == 0 else 0.001, resumed=False)
    clock.now = 4.0
    assert str(tally) == "12/60 attempts, 1 infrastructure failure, $0.0110, 3.0/s, 4 s, about 16 s left"


@pytest.mark.parametrize(
    ("costs", "shown"),
    [([None, None], "cost unknown"), ([None, 0.5], "at least $0.5000"), ([0.0], "$0.0000"), ([], "$0.0000")],
)
def test_an_unknown_cost_is_never_shown_as_zero(costs, shown):
    tally = Tally(9, Clock())
    for cost in costs:
        tally.add(failed=False, cost_usd=cost, resumed=False)
    rest = ", about 0 s left" if costs else ""
    assert str(tally) == f"{len(costs)}/9 attempts, 0 infrastructure failures, {shown}, 0.0/s, 0 s{rest}"


def test_resumed_attempts_count_but_are_no_measure_of_speed():
    clock = Clock()
    tally = Tally(9, clock)
    tally.add(failed=False, cost_usd=0.0, resumed=True)
    clock.now = 1.0
    assert str(tally).startswith("1/9 attempts")
    assert str(tally).endswith("0.0/s, 1 s")  # and so nobody knows how long the rest takes


def test_a_log_gets_lines_while_nothing_finishes_and_one_at_the_end():
    stream = io.StringIO()
    plain = PlainProgress(stream, interval=0.02)
    plain.start(3)
    plain.attempt(failed=False, cost_usd=0.1)
    deadline = time.monotonic() + 5
    while stream.getvalue().count("\n") < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    plain.attempt(failed=False, cost_usd=0.1)
    plain.finish()
    lines = stream.getvalue().splitlines()
    assert len(lines) >= 3
    assert lines[0].startswith("1/3 attempts")
    assert lines[-1].startswith("2/3 attempts, 1 not run, 0 infrastructure failures, $0.2000")
    assert "\r" not in stream.getvalue()


def test_attempts_that_were_not_made_are_said_at_the_end_and_are_no_failures():
    clock = Clock()
    stream = io.StringIO()
    plain = PlainProgress(stream, clock=clock)
    plain.start(9)
    clock.now = 1.0
    plain.finish()
    assert stream.getvalue() == "0/9 attempts, 9 not run, 0 infrastructure failures, $0.0000, 0.0/s, 1 s\n"


def test_a_run_that_is_not_over_says_of_no_attempt_that_it_is_not_run():
    assert "not run" not in str(Tally(9, Clock()))


def test_a_log_that_is_closed_does_not_fail_the_run():
    stream = io.StringIO()
    plain = PlainProgress(stream, interval=10)
    plain.start(1)
    stream.close()
    plain.attempt(failed=False, cost_usd=None)
    plain.finish()


def test_finishing_without_having_started_prints_nothing():
    stream = io.StringIO()
    PlainProgress(stream).finish()
    assert stream.getvalue() == ""


def test_a_pipe_gets_lines_and_a_terminal_gets_a_bar():
    assert isinstance(progress(io.StringIO()), PlainProgress)
    leader, follower = pty.openpty()
    with os.fdopen(leader, "rb"), os.fdopen(follower, "w") as terminal:
        assert isinstance(progress(terminal), TerminalProgress)


SHOW = """
from evaluator.progress import progress
bar = progress()
bar.start(4)
for number in range(4):
    bar.attempt(failed=number == 0, cost_usd=0.25)
bar.finish()
"""


def test_the_bar_shows_the_figures_on_stderr():
    leader, follower = pty.openpty()
    with os.fdopen(leader, "rb", buffering=0) as reader:
        environ = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "NO_COLOR": "1"}
        done = subprocess.run(
            [sys.executable, "-c", SHOW], stdout=subprocess.PIPE, stderr=follower, env=environ, check=True
        )
        os.close(follower)
        shown = b""
        try:
            while piece := reader.read(4096):
                shown += piece
        except OSError:  # the other side of a terminal is gone: end of file
            pass
    assert done.stdout == b""
    assert b"4/4" in shown
    assert b"1 infrastructure failure, $1.0000" in shown


def test_the_bar_says_at_the_end_what_was_not_run():
    leader, follower = pty.openpty()
    shown = b""
    with os.fdopen(leader, "rb", buffering=0) as reader:
        with os.fdopen(follower, "w") as terminal:
            bar = TerminalProgress(terminal)
            bar.start(4)
            bar.attempt(failed=False, cost_usd=0.25)
            bar.finish()
        try:
            while part := reader.read(65536):
                shown += part
        except OSError:  # the other side of a terminal is gone: end of file
            pass
    assert b"3 not run" in shown


def test_importing_progress_does_not_import_rich():
    check = "import sys, evaluator.progress; sys.exit('rich' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)
