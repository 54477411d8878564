from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.errors import Problem
from evaluator.github.commands import Log, escape_message, escape_property, inert

HOSTILE = [
    "::add-mask::x",
    " \t::error::x",
    "\u00a0\u2003::error::x",
    "fine\n::set-output name=a::b",
    "fine\r::error::x",
    "fine\x85::error::x",
    "fine\u2028::error::x",
    "::::error::x",
    "text ##[error]x",
    "##[add-mask]x",
    "\x00::error::x",
    "\ud800::error::x",
]


def commands(text: str) -> list[str]:
    """What the runner would take for commands: its two forms, over every kind of line break."""
    found = []
    for line in re.split(r"\r\n|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]", text):
        if re.match(r"[\s\x00-\x1f]*::[^:]*::", line) or "##[" in line:
            found.append(line)
    return found


@pytest.mark.parametrize("text", HOSTILE)
def test_text_from_outside_can_produce_no_command(text: str) -> None:
    stream = io.StringIO()
    Log(stream).line(text)
    assert commands(stream.getvalue()) == []


@given(st.text(alphabet="#[]: \n\r\t\x0b\x85\u2028aerror%", max_size=60))
def test_no_text_at_all_can_produce_a_command(text: str) -> None:
    assert commands(inert(text)) == []


@pytest.mark.parametrize("text", HOSTILE)
def test_around_text_from_outside_commands_are_off_and_come_on_again(text: str) -> None:
    stream = io.StringIO()
    Log(stream).outside(text)
    first, *_, last = stream.getvalue().splitlines()
    token = first.removeprefix("::stop-commands::")
    assert re.fullmatch("[0-9a-f]{32}", token)
    assert last == f"::{token}::"
    assert commands(stream.getvalue()) == [first, last]


def test_each_stop_has_a_token_of_its_own() -> None:
    stream = io.StringIO()
    Log(stream).outside("a")
    Log(stream).outside("b")
    stops = [line for line in stream.getvalue().splitlines() if "stop-commands" in line]
    assert len(set(stops)) == 2


def test_messages_and_properties_are_escaped() -> None:
    assert escape_message("50%\r\n::error::x") == "50%25%0D%0A::error::x"
    assert escape_property("a:b,c%\n") == "a%3Ab%2Cc%25%0A"


def test_a_problem_in_a_file_becomes_an_annotation_on_its_line() -> None:
    stream = io.StringIO()
    problem = Problem("evals/trap.yaml", 12, 5, "unknown key `modle`", "Write `model`.")
    Log(stream).problem(problem, title="trapgate: config", inside=True)
    assert stream.getvalue() == (
        "::error file=evals/trap.yaml,line=12,col=5,title=trapgate%3A config::unknown key `modle`. Write `model`.\n"
    )


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (Problem("a.yaml", 2, 3, "has no source", "Add it."), "a.yaml:2:3: has no source. Add it."),
        (Problem("input x", 0, 0, "it is empty.", "Add it."), "input x: it is empty. Add it."),
        (Problem("", 0, 0, "it is empty"), "it is empty"),
    ],
)
def test_a_problem_elsewhere_is_told_with_its_place_and_its_mend_in_one_line(problem: Problem, text: str) -> None:
    stream = io.StringIO()
    Log(stream).problem(problem, title="t", inside=False)
    assert stream.getvalue() == f"::error title=t::{text}\n"


def test_an_annotation_with_line_breaks_stays_one_command() -> None:
    stream = io.StringIO()
    Log(stream).error("one\n::error::two", file="a\nb", title="t")
    assert stream.getvalue() == "::error file=a%0Ab,title=t::one%0A::error::two\n"


def test_a_group_is_closed_even_when_what_is_inside_fails() -> None:
    stream = io.StringIO()
    with pytest.raises(KeyError), Log(stream).group("attempts\n::error::x"):
        raise KeyError
    assert stream.getvalue() == "::group::attempts%0A::error::x\n::endgroup::\n"


def test_each_line_of_a_secret_is_masked() -> None:
    stream = io.StringIO()
    Log(stream).mask("first%line\n\nsecond")
    assert stream.getvalue() == "::add-mask::first%25line\n::add-mask::second\n"
