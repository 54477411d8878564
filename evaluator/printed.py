"""What the process prints: every line, whoever wrote it, without secrets, and as no command of a workflow's runner.

Libraries print as they like, warnings and `logging` end on standard error. So both streams are replaced, for a command
of the terminal and for the action alike. What is written to file descriptors past Python is not seen here.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TextIO

from evaluator.redaction import Redactor

# Characters that are kept of a text that does not end.
_LONGEST_PENDING = 1_000_000
# In JSON: what may begin a command, or a line.
_TELLING = re.compile("#(?=#|[^ -~])|[\x85\u2028\u2029]")


class Cleaned(io.TextIOBase):
    """`raw`, through `clean`. A text is written at once when its last line is whole, by whichever thread.

    `above`: shows lines instead, while a bar has the last line of the terminal.
    """

    def __init__(self, raw: TextIO, clean: Callable[[str], str]) -> None:
        self.raw = raw
        self.above: Callable[[str], None] | None = None
        self.clean = clean
        self._pending = ""
        self._lock = threading.RLock()

    def write(self, text: str) -> int:
        """Writes what is there once its last line is whole: `print` writes the end of a text by itself, and a secret
        may be broken over lines."""
        with self._lock:
            ended = text.endswith("\n")
            self._pending += text[: max(0, _LONGEST_PENDING - len(self._pending))]
            if ended:
                self._show(self._pending.removesuffix("\n"))
                self._pending = ""
        return len(text)

    def finish(self) -> None:
        """Writes the last line even if it is not whole."""
        with self._lock:
            if self._pending:
                self._show(self._pending)
                self._pending = ""

    def flush(self) -> None:
        """Flushes `raw`. A line that is not whole waits: a secret may be in two writes."""
        if not self.raw.closed:
            self.raw.flush()

    def isatty(self) -> bool:
        """As `raw`."""
        return self.raw.isatty()

    def fileno(self) -> int:
        """As `raw`: what goes there is not cleaned."""
        return self.raw.fileno()

    def writable(self) -> bool:
        """Always."""
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """As `raw`, which rich asks for."""
        return self.raw.encoding or "utf-8"

    def _show(self, lines: str) -> None:
        shown = self.clean(lines)
        if self.above is not None:
            self.above(shown)
            return
        # In one piece, so that lines of several threads do not mix.
        self.raw.write(f"{shown}\n")
        self.raw.flush()


def cleaner(redactor: Redactor) -> Callable[[str], str]:
    """Text → the same text for a log: without secrets, and no line of it a command."""

    def clean(text: str) -> str:
        from evaluator.reports.escape import inert

        return inert(redactor.clean(text))

    return clean


@contextlib.contextmanager
def cleaned(environ: Mapping[str, str], stdout: TextIO | None = None, stderr: TextIO | None = None) -> Iterator[None]:
    """While the context lasts, `sys.stdout` and `sys.stderr` are cleaned and end on `stdout` and `stderr`, where these
    are None on what they were before."""
    clean = cleaner(Redactor(environ))
    before = (sys.stdout, sys.stderr)
    ours = (Cleaned(stdout or before[0], clean), Cleaned(stderr or before[1], clean))
    sys.stdout, sys.stderr = ours
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        for stream in ours:
            # A log that nobody reads any more is no reason to lose what was found.
            with contextlib.suppress(OSError, ValueError):
                stream.finish()


def raw(stream: TextIO) -> TextIO:
    """What is behind a cleaned stream; any other is returned as it is."""
    return stream.raw if isinstance(stream, Cleaned) else stream


def print_json(text: str, environ: Mapping[str, str]) -> None:
    """Prints a JSON document on standard output, whole and still JSON, without secrets and without commands.

    No line of JSON begins with two colons. `##[` is found anywhere in a line, also with characters without width in it,
    and stands only inside strings; so does what some readers take for a line break.
    """
    from evaluator.redacted import redacted_json

    clean = redacted_json(text, Redactor(environ)).rstrip("\n")
    print(_TELLING.sub(lambda match: f"\\u{ord(match.group()):04x}", clean), file=raw(sys.stdout))
