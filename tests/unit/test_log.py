"""Events of a run as lines of a log."""

from __future__ import annotations

import io
import re
import subprocess
import sys

import pytest

from evaluator import log
from tests.unit.test_printed import KEY

WORKFLOW = {"GITHUB_ACTIONS": "true", "A_KEY": KEY}


def lines(environ=WORKFLOW, level=log.INFO):
    stream = io.StringIO()
    with log.to(stream, environ, level=level):
        log.debug("looked", at="it")
        log.info("source read", task="refunds", cases=12, seconds=0.8234, commit=None)
        log.warning("no more attempts", why="the limit of $1.00 was reached")
    return stream.getvalue().splitlines()


def test_an_event_is_one_short_line_in_which_what_is_unknown_is_left_out():
    assert lines() == [
        "source read task=refunds cases=12 seconds=0.823",
        'warning: no more attempts why="the limit of $1.00 was reached"',
    ]


def test_outside_of_a_workflow_a_line_begins_with_the_time():
    assert all(re.match(r"\d\d:\d\d:\d\d (source|warning: no)", line) for line in lines({}))


def test_the_runners_debug_logging_turns_everything_on():
    assert lines(WORKFLOW | {"RUNNER_DEBUG": "1"}, log.WARNING)[0] == "debug: looked at=it"
    assert len(lines(WORKFLOW | {"RUNNER_DEBUG": "0"}, log.WARNING)) == 1


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (KEY, '"***"'),
        (f"x{KEY}", '"x***"'),
        ("a b", '"a b"'),
        ('a"b\n', '"a\\"b\\n"'),
        ("", '""'),
        (3, "3"),
        (123.456, "123"),
        (True, "True"),
        ("openai/gpt-4.1-mini", "openai/gpt-4.1-mini"),
    ],
)
def test_a_value_is_quoted_where_it_is_no_plain_word_and_holds_no_secret(value, shown):
    stream = io.StringIO()
    with log.to(stream, WORKFLOW):
        log.info("event", value=value)
    assert stream.getvalue() == f"event value={shown}\n"


def test_a_long_value_is_cut_after_its_secrets_are_gone():
    stream = io.StringIO()
    with log.to(stream, WORKFLOW):
        log.info("event", value="x" * 190 + KEY)
        log.info("event", value="y" * 10_000)
    first, second = stream.getvalue().splitlines()
    assert first == f'event value="{"x" * 190}***"'
    assert len(second) < 220
    assert second.endswith('…"')


def test_without_a_place_lines_go_nowhere_and_after_it_neither():
    log.info("unheard")
    stream = io.StringIO()
    with log.to(stream, {}):
        pass
    log.warning("unheard")
    log.section("unheard")
    assert stream.getvalue() == ""


def test_a_section_is_told_to_whoever_folds_the_log():
    told = []
    with log.to(io.StringIO(), {}, section=told.append):
        log.section("Canaries")
        log.section("Sources")
    assert told == ["Canaries", "Sources"]


def test_a_log_that_is_closed_does_not_fail_the_run():
    stream = io.StringIO()
    with log.to(stream, WORKFLOW):
        stream.close()
        log.info("event")


def test_structlog_is_imported_by_the_first_line_that_is_shown_and_not_before():
    check = (
        "import io, sys; from evaluator import cli, log\n"
        "with log.to(io.StringIO(), {}, level=log.WARNING):\n"
        "    log.info('not shown')\n"
        "    assert 'structlog' not in sys.modules\n"
        "    log.warning('shown')\n"
        "    assert 'structlog' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", check], check=True, timeout=60)
