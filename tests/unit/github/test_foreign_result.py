from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from evaluator.github import artifacts, foreign_result
from evaluator.github.artifacts import UnusableError
from evaluator.github.foreign_result import Report
from evaluator.results import Acceptance, Attempt, Reason, Run, encode
from evaluator.transcript import Infrastructure
from tests.browser import runs
from tests.servers.github_actions import zipped
from tests.unit.reports import builders

ROOT = Path(__file__).parents[3]
COMMIT = "c" * 40
BY = "the fork's own run"
HONEST = replace(builders.regressing(), commit=COMMIT)


def report(data: bytes | Run, seconds: float = 30.0) -> Report:
    data = encode(data) if isinstance(data, Run) else data
    archive = zipped({artifacts.FILE: data})
    return foreign_result.report(
        archive, commit=COMMIT, by=BY, comment_bytes=65_000, summary_bytes=500_000, seconds=seconds
    )


def document(run: Run = HONEST) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(encode(run))
    return parsed


def test_an_honest_result_is_shown_as_the_word_of_the_run_that_made_it() -> None:
    shown = report(HONEST)
    first = "### 📨 trapgate: “regression” — reported by the fork's own run; nothing of it was checked here\n"
    assert shown.comment.startswith(first)
    assert shown.summary.startswith(first)
    assert "- Verdict: regression — json-call `pass_rate` fell 0.35 → 0.00" in shown.comment


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe{}", "is not UTF-8"),
        (b"hello", "not JSON"),
        (b"[" * 100_000, "nested more than 500 levels deep"),
        (b'{"a":' * 100_000, "nested more than 500 levels deep"),
        (b"null", "not a readable result file: Expected `object`, got `null`"),
        (b"{}", "missing required field `schema_version`"),
        (b'{"schema_version": 99}', "written with schema version 99, this trapgate reads version 1"),
        (b'{"schema_version": 1}', "missing required field `evaluator`"),
        (b'{"schema_version": 1, "schema_version": 1}', "a key stands twice in one object"),
        (b'{"schema_version": NaN}', "not a JSON number"),
        (b'{"schema_version": 1' + b"0" * 5000 + b"}", "a number of more than 4300 digits"),
        (b'{"a": "\\ud800"}', "half a character"),
        (b"\xef\xbb\xbf{}", "begins with a byte-order mark"),
    ],
)
def test_what_is_not_the_json_of_a_result_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(UnusableError, match=why):
        report(data)


def test_a_large_honest_result_is_read() -> None:
    large = replace(HONEST, warnings=[Reason(kind="config", text="long " * 2_000_000)])
    assert len(encode(large)) > 9_000_000
    assert "“regression”" in report(large).comment


def test_the_limits_leave_room_for_three_thousand_cases_with_three_attempts_of_three_calls_each() -> None:
    document = encode(runs.large(60))
    fifty_times = 50 * len(document), 50 * sum(map(document.count, (b",", b"[", b"{")))
    assert 1.4 * fifty_times[0] < artifacts.MOST_FILE_BYTES
    assert 2 * fifty_times[1] < foreign_result.MOST_VALUES


@pytest.mark.parametrize("item", [b"[],", b"{},", b'{"a":1},', b"0,"])
def test_a_small_artifact_with_millions_of_values_is_refused_before_they_are_made(item: bytes) -> None:
    archive = zipped({artifacts.FILE: b'{"x":[' + item * (artifacts.MOST_FILE_BYTES // len(item) - 10) + b"0]}"})
    assert len(archive) < 40_000
    tracemalloc.start()
    try:
        with pytest.raises(UnusableError, match=r"results\.json has up to [\d,]+ values, more than the 1,500,000"):
            foreign_result.report(archive, commit=COMMIT, by=BY, comment_bytes=65_000, summary_bytes=65_000)
        assert tracemalloc.get_traced_memory()[1] < 3 * artifacts.MOST_FILE_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("commit", ["d" * 40, None, "", COMMIT[:12], COMMIT.upper()])
def test_a_result_of_another_commit_is_refused(commit: str | None) -> None:
    with pytest.raises(UnusableError, match="is of another commit than the run, which is of cccccccccccc"):
        report(replace(HONEST, commit=commit))


def test_a_result_that_contradicts_itself_is_refused() -> None:
    changed = document()
    changed["tasks"][0]["cases"][0]["request"]["messages"][0]["content"] = "another question"
    with pytest.raises(UnusableError, match="its digest is not that of its request"):
        report(json.dumps(changed).encode())


def test_a_figure_that_cannot_be_written_is_refused_and_breaks_nothing() -> None:
    changed = document()
    changed["tasks"][0]["failure_modes"] = {"wrong_value": 10**4000}
    with pytest.raises(UnusableError, match=r"results\.json cannot be shown \(OverflowError\)"):
        report(json.dumps(changed).encode())


def test_an_acceptance_is_not_believed() -> None:
    accepted = Acceptance(by="octocat", at="2026-05-04T10:00:00+00:00", why="label on #12")
    beside = [replace(builders.passing(), accepted=accepted, subject=None)]
    shown = report(replace(HONEST, accepted=accepted, beside=beside))
    for text in (shown.comment, shown.summary):
        assert "octocat" not in text
        assert "☑️" not in text


def test_its_own_remarks_do_not_stand_in_the_first_lines() -> None:
    said = "Verified by the maintainers."
    notes = [Reason(kind="note", text=said)]
    shown = report(replace(HONEST, reasons=[*notes, *HONEST.reasons], warnings=notes)).comment
    head, _, below = shown.partition("<summary>Warnings")
    assert said not in head
    assert below.count(said) == 2


# The first alarm may ring inside a callback of the garbage collector, where it is ignored: the next one counts.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_result_made_to_take_for_ever_is_given_up_and_leaves_no_alarm() -> None:
    failures = [
        Attempt(number=n, status="infrastructure", infrastructure=Infrastructure(kind=f"k{n}", message=f"m{n}"))
        for n in range(1, 20_001)
    ]
    task = HONEST.tasks[0]
    case = replace(task.cases[0], attempts=failures)
    slow = replace(HONEST, tasks=[replace(task, cases=[case], planned=len(failures), scored=0)])
    before, began = signal.getsignal(signal.SIGALRM), time.monotonic()
    with pytest.raises(UnusableError, match=r"its report takes longer than 1\.5 s"):
        report(slow, seconds=1.5)
    assert time.monotonic() - began < 10
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_alarm_that_is_ignored_rings_again() -> None:
    class Deaf:
        def __del__(self) -> None:
            time.sleep(0.5)  # what is raised in here, nobody hears of

    def work() -> foreign_result.Report:
        deaf = Deaf()
        del deaf
        time.sleep(20)
        raise AssertionError("no alarm")

    began = time.monotonic()
    with pytest.raises(UnusableError, match="takes longer than"):
        foreign_result._within(0.2, work)
    assert time.monotonic() - began < 10


def rung_at(step: int) -> tuple[str, bool]:
    """How a report of nothing ends where the alarm rings before the given instruction of the module or of what it
    enters and leaves by; and whether there was one."""
    left = step

    def watch(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename not in (foreign_result.__file__, contextlib.__file__):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == 0:
                signal.raise_signal(signal.SIGALRM)
        return watch

    tracing = sys.gettrace()
    sys.settrace(watch)
    try:
        foreign_result.report(b"", commit=COMMIT, by=BY, comment_bytes=65_000, summary_bytes=65_000)
    except UnusableError as error:
        return str(error), left <= 0
    finally:
        sys.settrace(tracing)
    raise AssertionError("a report of nothing")


def test_an_alarm_at_the_last_moment_is_either_too_late_or_the_end_of_the_report() -> None:
    # In a process of its own: an exception out of a trace function may stay the context of all that follow.
    program = f"from {__name__} import every_alarm; every_alarm()"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def every_alarm() -> None:
    """An alarm before each instruction in turn, until there is none left."""
    rung: list[int] = []
    former = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    try:
        ends, step, there = [], 0, True
        while there:
            step += 1
            end, there = rung_at(step)
            ends.append(end)
            assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
        assert step > 50
        assert set(ends) == {"the archive cannot be read (BadZipFile)", "its report takes longer than 30 s"}
        signal.raise_signal(signal.SIGALRM)
        assert rung[-1] == 1
    finally:
        signal.signal(signal.SIGALRM, former)


@given(st.binary(max_size=2000))
def test_random_bytes_are_no_report(data: bytes) -> None:
    with pytest.raises(UnusableError):
        foreign_result.report(data, commit=COMMIT, by=BY, comment_bytes=65_000, summary_bytes=65_000)
    with pytest.raises(UnusableError):
        report(data)


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.just([]),
    st.just({}),
    st.lists(st.text(max_size=5), max_size=3),
)


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """An honest result, at up to three places of which something else stands or nothing."""
    changed = document()
    for _ in range(draw(st.integers(1, 3))):
        node: Any = changed
        for _ in range(draw(st.integers(1, 9))):
            if not isinstance(node, dict | list) or not node:
                break
            key = draw(st.sampled_from(sorted(node))) if isinstance(node, dict) else draw(st.integers(0, len(node) - 1))
            parent, node = node, node[key]
        if draw(st.booleans()):
            parent[key] = draw(ODD)
        elif isinstance(parent, dict):
            del parent[key]
    return changed


@settings(max_examples=150, deadline=None)
@given(mutated())
def test_a_changed_result_is_shown_under_its_label_or_not_at_all(changed: dict[str, Any]) -> None:
    try:
        shown = report(json.dumps(changed).encode())
    except UnusableError:
        return
    title = shown.comment.partition("\n")[0]
    word = msgspec.json.decode(json.dumps(changed).encode(), type=Run).verdict
    assert title == f"### 📨 trapgate: “{word}” — reported by {BY}; nothing of it was checked here"
    assert "✅" not in shown.comment
    assert changed["commit"] == COMMIT
