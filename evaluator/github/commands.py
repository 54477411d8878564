"""Workflow commands, and text from outside that must never become one.

The runner reads commands from both streams: `::name …::message` where a line starts with it (after white space), and
`##[name …]message` anywhere in a line. Source: GitHub's documentation, "Workflow commands", and the runner's parser.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

from evaluator.errors import Problem
from evaluator.reports.escape import log_text
from evaluator.transcript import well_formed

# The runner keeps at most so many characters of an annotation.
_LONGEST_MESSAGE = 4096

_LONGEST_LINE = 10_000

_LINE_BREAK = re.compile(r"\r\n|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")


def escape_message(text: str) -> str:
    """`text` as the message of a command."""
    return well_formed(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """`text` as a property's value of a command."""
    return escape_message(text).replace(":", "%3A").replace(",", "%2C")


def inert(text: str) -> str:
    """`text` so that no line of it is a command, whatever it is; line breaks of any kind become newlines."""
    return "\n".join(log_text(line, _LONGEST_LINE) for line in _LINE_BREAK.split(text))


def in_a_line(problem: Problem, *, with_place: bool) -> str:
    """A problem and its mend as sentences on one line."""
    line = f":{problem.line}:{problem.column}" if problem.line else ""
    place = f"{problem.file}{line}: " if with_place and problem.file else ""
    end = "" if not problem.mend or problem.message.endswith((".", "!", "?")) else "."
    return f"{place}{problem.message}{end} {problem.mend}".rstrip()


@dataclass(frozen=True)
class Log:
    """The job's log. Nothing else in the action prints."""

    stream: TextIO

    def line(self, text: str) -> None:
        """Prints text of our own or from outside; it cannot be a command."""
        self._print(inert(text))

    @contextmanager
    def commands_off(self) -> Iterator[None]:
        """Whatever anybody prints inside, on either stream, is no command to the runner."""
        token = secrets.token_hex(16)
        self._print(f"::stop-commands::{token}")
        try:
            yield
        finally:
            self._print(f"::{token}::")

    def outside(self, text: str) -> None:
        """Prints text that a model, a task or a server wrote."""
        with self.commands_off():
            self._print(inert(text))

    @contextmanager
    def group(self, title: str) -> Iterator[None]:
        """Folds what is printed inside under `title`."""
        self._print(f"::group::{escape_message(title)}")
        try:
            yield
        finally:
            self._print("::endgroup::")

    def error(self, message: str, *, title: str = "", file: str = "", line: int = 0, column: int = 0) -> None:
        """An annotation of the job, on a line of a file where one is given."""
        self._annotate("error", message, title, file, line, column)

    def warning(self, message: str, *, title: str = "") -> None:
        """As `error`, milder."""
        self._annotate("warning", message, title, "", 0, 0)

    def problem(self, problem: Problem, *, title: str, inside: bool) -> None:
        """A problem as an error, where `inside` on its line of a file of the workspace."""
        if not inside:
            self.error(in_a_line(problem, with_place=True), title=title)
            return
        text = in_a_line(problem, with_place=False)
        self.error(text, title=title, file=problem.file, line=problem.line, column=problem.column)

    def mask(self, secret: str) -> None:
        """Has the runner hide `secret` in all that is logged from now on."""
        for part in secret.splitlines():
            if part.strip():
                self._print(f"::add-mask::{escape_message(part)}")

    def _annotate(self, kind: str, message: str, title: str, file: str, line: int, column: int) -> None:
        named = {"file": file, "line": str(line or ""), "col": str(column or ""), "title": title}
        properties = ",".join(f"{name}={escape_property(value)}" for name, value in named.items() if value)
        self._print(f"::{kind} {properties}".rstrip() + f"::{escape_message(message[:_LONGEST_MESSAGE])}")

    def _print(self, text: str) -> None:
        print(text, file=self.stream, flush=True)
