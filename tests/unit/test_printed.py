"""The two streams of the process: cleaned line by line, whoever writes, in whatever pieces."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import threading

from evaluator import printed
from evaluator.printed import Cleaned
from evaluator.progress import TerminalProgress

KEY = "sk-abc/123+DEF=456"


def upper(stream: io.StringIO) -> Cleaned:
    return Cleaned(stream, str.upper)


def test_a_line_is_written_when_it_is_whole_and_a_secret_in_two_writes_is_masked():
    stream = io.StringIO()
    with printed.cleaned({"A_KEY": KEY}, stream, stream):
        sys.stdout.write(f"bad {KEY[:7]}")
        sys.stdout.flush()
        assert stream.getvalue() == ""
        sys.stdout.write(f"{KEY[7:]}\n")
        assert stream.getvalue() == "bad ***\n"
        sys.stdout.write("next ")
    assert stream.getvalue() == "bad ***\nnext \n"


def test_both_streams_are_back_afterwards_and_a_closed_log_breaks_nothing():
    before = (sys.stdout, sys.stderr)
    stream = io.StringIO()
    with printed.cleaned({}, stream, stream):
        print("half a line", end="")
        stream.close()
    assert (sys.stdout, sys.stderr) == before


def test_lines_of_several_threads_do_not_mix():
    stream = io.StringIO()
    cleaned = upper(stream)

    def write(letter):
        for _ in range(200):
            cleaned.write(f"{letter * 50}\n")

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(set(stream.getvalue().splitlines())) == ["A" * 50, "B" * 50, "C" * 50]
    assert stream.getvalue().count("\n") == 600


def test_a_line_without_an_end_is_kept_up_to_a_bound():
    stream = io.StringIO()
    cleaned = upper(stream)
    for _ in range(300):
        cleaned.write("x" * 10_000)
    assert stream.getvalue() == ""
    cleaned.write("end\nnext\n")
    cleaned.write("more\n")
    first, second = stream.getvalue().splitlines()
    assert len(first) == 1_000_000
    assert second == "MORE"


LIBRARY = """
import logging, sys, threading, warnings
from evaluator import printed
with printed.cleaned({"A_KEY": %(key)r}):
    bound = logging.StreamHandler()  # as libraries make one when they are imported
    logging.getLogger("bound").addHandler(bound)
    print("printed", %(key)r, "::error::x")
    print("##[error] on stderr", %(key)r, file=sys.stderr)
    warnings.warn("warned " + %(key)r + "\\n::error::x")
    logging.getLogger("bare").error("logged %%s\\n::error::x", %(key)r)
    logging.getLogger("bound").error("logged by a handler %%s", %(key)r)
    thread = threading.Thread(target=lambda: int(%(key)r + "::error::x"), name="worker")
    thread.start()
    thread.join()
    class Ends:
        def __del__(self):
            raise ValueError("ignored " + %(key)r)
    Ends()
    sys.stderr.write("unfinished " + %(key)r)
"""


def test_what_a_library_prints_logs_warns_and_lets_fall_holds_no_secret_and_no_command():
    done = subprocess.run(
        [sys.executable, "-c", LIBRARY % {"key": KEY}], capture_output=True, text=True, check=True, timeout=60
    )
    text = done.stdout + done.stderr
    for word in ("printed", "on stderr", "warned", "logged", "logged by a handler", "invalid literal", "ignored"):
        assert f"{word}" in text
    assert done.stderr.endswith("unfinished ***\n")
    assert KEY not in text
    assert text.count("***") >= 8
    assert not [line for line in text.splitlines() if line.lstrip().startswith("::") or "##[" in line]


def test_in_a_terminal_a_line_stands_above_the_bar_and_is_cleaned():
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w") as terminal:
        cleaned = Cleaned(terminal, lambda text: text.replace(KEY, "***"))
        bar = TerminalProgress(cleaned)
        bar.start(2)
        print(f"[bold]a line[/bold] {KEY}", file=cleaned)
        bar.attempt(failed=False, cost_usd=0.1)
        bar.finish()
        assert cleaned.above is None
        print("after", file=cleaned)
    shown = b""
    with os.fdopen(leader, "rb", buffering=0) as reader:
        try:
            while piece := reader.read(4096):
                shown += piece
        except OSError:  # the other side of a terminal is gone: end of file
            pass
    assert b"[bold]a line[/bold] ***" in shown
    assert b"attempts" in shown
    assert KEY.encode() not in shown
    assert shown.rstrip().endswith(b"after")


def test_what_is_behind_a_stream_is_found_and_any_other_is_itself():
    stream = io.StringIO()
    assert printed.raw(upper(stream)) is stream
    assert printed.raw(stream) is stream
