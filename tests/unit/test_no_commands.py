"""Whatever somebody else wrote, and whoever prints it, the runner finds no command in it."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import traceback
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given

from evaluator import cli, log, printed
from evaluator.errors import Problem, user_error
from evaluator.github.commands import Log
from evaluator.reports import terminal
from evaluator.results import Reason
from tests.unit import builders
from tests.unit.workflow_commands import TOKENS, commands, texts


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("::error::x", ["error"]),
        (" \t\u00a0::error file=a::x", ["error"]),
        ("\ufeff\u200b::error::x", ["error"]),
        (":\u200b:error::x", ["error"]),
        ("text ##[error]x", ["error"]),
        ("a\r::add-mask::x\u2028##[b]", ["add-mask", "b"]),
        ("text ::error::x", []),
        ("::error:x", []),
        (": :error::x", []),
        ("##[error", []),
    ],
)
def test_the_parser_of_these_tests_finds_what_the_runner_finds(line: str, names: list[str]) -> None:
    assert commands(line) == names


def logged(act: Callable[[Log], None]) -> list[str]:
    stream = io.StringIO()
    act(Log(stream))
    return commands(stream.getvalue())


@given(texts)
def test_a_line_of_the_log_is_no_command(text: str) -> None:
    assert logged(lambda to: to.line(text)) == []


@given(texts)
def test_outside_text_stands_between_a_stop_and_its_token_and_is_no_command_even_so(text: str) -> None:
    stop, token = logged(lambda to: to.outside(text))
    assert stop == "stop-commands"
    assert token not in TOKENS


@given(texts, texts, texts)
def test_an_annotation_is_one_command_whatever_is_in_it(message: str, title: str, file: str) -> None:
    assert logged(lambda to: to.error(message, title=title, file=file, line=3)) == ["error"]
    assert logged(lambda to: to.warning(message, title=title)) == ["warning"]
    assert logged(lambda to: to.notice(message, title=title, file=file)) == ["notice"]
    problem = Problem(file, 1, 2, message, title)
    assert logged(lambda to: to.problem(problem, title=title, inside=True)) == ["error"]
    assert logged(lambda to: to.problem(problem, title=title, inside=False)) == ["error"]


@given(texts)
def test_the_title_of_a_group_is_one_command(text: str) -> None:
    def act(to: Log) -> None:
        with to.group(text):
            pass

    assert logged(act) == ["group", "endgroup"]


@given(texts)
def test_a_mask_is_a_mask_whatever_it_hides(text: str) -> None:
    assert set(logged(lambda to: to.mask(text))) <= {"add-mask"}


@given(texts, texts)
def test_an_event_of_a_run_is_no_command_whatever_its_values_are(text: str, other: str) -> None:
    stream = io.StringIO()
    with log.to(stream, {"GITHUB_ACTIONS": "true", "RUNNER_DEBUG": "1"}):
        log.info("source read", task=text, where=other)
        log.warning(text)
        log.debug("waiting", **{"kind": text})
    assert commands(stream.getvalue()) == []
    assert stream.getvalue().count("\n") >= 3


@given(texts, texts)
def test_what_anybody_prints_on_either_stream_is_no_command(text: str, other: str) -> None:
    stream = io.StringIO()
    with printed.cleaned({}, stream, stream):
        print(text)
        print(other, end="", file=sys.stderr)
        sys.stdout.write(text[:3])
        sys.stdout.write(text[3:])
        logging.Logger("a library").error("%s", text)  # no child of the root, whose records pytest keeps
        traceback.print_exception(ValueError(text))
    assert commands(stream.getvalue()) == []


@given(texts)
def test_json_for_a_machine_holds_no_command_and_stays_the_same_document(text: str) -> None:
    stream = io.StringIO()
    document = msgspec.json.encode({"a": [text.encode("utf-8", "replace").decode()]}).decode()
    with printed.cleaned({}, stream, stream):
        printed.print_json(document, {})
    assert commands(stream.getvalue()) == []
    assert msgspec.json.decode(stream.getvalue()) == msgspec.json.decode(document)


@pytest.mark.parametrize(
    "place", [["{}"], ["run", "--{}"], ["run", "{}"], ["build", "{}"], ["compare", "{}", "{}", "{}"]]
)
def test_a_usage_error_that_quotes_an_argument_is_no_command(place: list[str]) -> None:
    @given(texts)
    def check(text: str) -> None:
        stream = io.StringIO()
        arguments = [part.replace("{}", text) for part in place]
        with contextlib.redirect_stderr(stream), contextlib.redirect_stdout(stream), contextlib.suppress(SystemExit):
            cli.main(arguments)
        assert commands(stream.getvalue()) == []

    check()


@given(texts)
def test_an_error_of_the_command_line_is_no_command(text: str) -> None:
    stream = io.StringIO()
    name = text.encode("utf-8", "replace").decode().replace("\0", "") or "a"
    with contextlib.redirect_stderr(stream), contextlib.redirect_stdout(stream):
        assert cli.main(["validate", f"--config={name}"]) == 2
        with printed.cleaned({}):
            print(user_error("bad", text, where=text, mend=text), file=sys.stderr)
    assert commands(stream.getvalue()) == []


@given(texts, texts)
def test_the_report_in_the_log_is_no_command(text: str, other: str) -> None:
    task = builders.task_result({f"a {text}": [builders.scored(False)]}, name=f"t{other}")
    run = builders.run([task])
    reasons = [Reason(kind="note", text=text, task=other)]
    rendered = terminal.render(msgspec.structs.replace(run, reasons=reasons, warnings=reasons, name=text))
    assert commands(rendered) == []
    assert commands(terminal.first_lines(rendered)) == []
