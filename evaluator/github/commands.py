"""Workflow commands, and text from outside that must never become one.

The runner reads commands from both streams: `::name …::message` where a line starts with it (after white space), and
`##[name …]message` anywhere in a line. Source: GitHub's documentation, "Workflow commands", and the runner's parser.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

from evaluator.errors import Problem
from evaluator.redaction import SHORTEST
from evaluator.reports.escape import inert
from evaluator.transcript import well_formed

# The runner keeps at most so many characters of an annotation.
_LONGEST_MESSAGE = 4096

_ODD_BREAK = re.compile("[\v\f\x1c-\x1e\x85\u2028\u2029]")


def escape_message(text: str) -> str:
    """`text` as the message of a command. What only some readers take for a line break is one here, too."""
    escaped = well_formed(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return _ODD_BREAK.sub("%0A", escaped)


def escape_property(text: str) -> str:
    """`text` as a property's value of a command."""
    return escape_message(text).replace(":", "%3A").replace(",", "%2C")


def in_a_line(problem: Problem, *, with_place: bool) -> str:
    """A problem and its mend as sentences on one line."""
    line = f":{problem.line}:{problem.column}" if problem.line else ""
    place = f"{problem.file}{line}: " if with_place and problem.file else ""
    end = "" if not problem.mend or problem.message.endswith((".", "!", "?")) else "."
    return f"{place}{problem.message}{end} {problem.mend}".rstrip()


@dataclass(frozen=True)
class Log:
    """The job's log. Nothing else in the action prints commands. `clean` takes secrets out of a text; only `mask`
    goes without it."""

    stream: TextIO
    clean: Callable[[str], str] = str

    def line(self, text: str) -> None:
        """Prints text of our own or from outside; it cannot be a command."""
        self._print(inert(self.clean(text)))

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
            self._print(inert(self.clean(text)))

    @contextmanager
    def group(self, title: str) -> Iterator[None]:
        """Folds what is printed inside under `title`."""
        self._print(_opening(title))
        try:
            yield
        finally:
            self._print(_CLOSING)

    @contextmanager
    def sections(self, title: str) -> Iterator[Callable[[str], None]]:
        """Folds what is printed inside under `title`, and from a call of what is given on under another. Whatever
        anybody prints meanwhile, on either stream, is no command."""
        token = secrets.token_hex(16)

        def begin(title: str) -> None:
            # Commands have to be on for a group. All in one piece, so that nothing comes between.
            nonlocal token
            before, token = token, secrets.token_hex(16)
            self._print(f"::{before}::\n{_CLOSING}\n{_opening(title)}\n::stop-commands::{token}")

        self._print(f"{_opening(title)}\n::stop-commands::{token}")
        try:
            yield begin
        finally:
            self._print(f"::{token}::\n{_CLOSING}")

    def error(self, message: str, *, title: str = "", file: str = "", line: int = 0, column: int = 0) -> None:
        """An annotation of the job, on a line of a file where one is given."""
        self._annotate("error", message, title, file, line, column)

    def warning(self, message: str, *, title: str = "", file: str = "", line: int = 0) -> None:
        """As `error`, milder."""
        self._annotate("warning", message, title, file, line, 0)

    def notice(self, message: str, *, title: str = "", file: str = "", line: int = 0) -> None:
        """As `warning`, milder still."""
        self._annotate("notice", message, title, file, line, 0)

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
            if len(part.strip()) >= SHORTEST:  # a brace alone would be masked everywhere
                self._print(f"::add-mask::{escape_message(part)}")

    def _annotate(self, kind: str, message: str, title: str, file: str, line: int, column: int) -> None:
        named = {"file": file, "line": str(line or ""), "col": str(column or ""), "title": title}
        properties = ",".join(f"{name}={escape_property(self.clean(value))}" for name, value in named.items() if value)
        text = escape_message(self.clean(message)[:_LONGEST_MESSAGE])
        self._print(f"::{kind} {properties}".rstrip() + f"::{text}")

    def _print(self, text: str) -> None:
        self.stream.write(f"{text}\n")  # in one piece: other threads print, too
        self.stream.flush()


def _opening(title: str) -> str:
    return f"::group::{escape_message(title)}"


_CLOSING = "::endgroup::"
