"""What happens in a run and is worth a line: `source fetched task=refunds commit=1f2e3d4 seconds=0.8`.

    log.info("source fetched", task=task.name, seconds=0.8)

Where the lines go is said once a process, by `to`; before that they go nowhere. An event is a few words of ours; values
may come from outside and are quoted, cut, freed of secrets and made inert. No text of a model or of a case is a value.

structlog takes a while to import, so that is left to the first line that is shown.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TextIO

from evaluator.printed import Cleaned, cleaner
from evaluator.redaction import Redactor

# As the standard library's `logging` numbers them.
DEBUG, INFO, WARNING = 10, 20, 30
_NAMES = {DEBUG: "debug", INFO: "info", WARNING: "warning"}

_VALUE_BYTES = 200
_PLAIN = re.compile(r"[\w./@%$+-]+")


@dataclass(frozen=True)
class _Lines:
    """Where lines go. `stamped`: each with its time; `section`: told of the title of what begins."""

    stream: TextIO
    clean: Callable[[str], str]
    level: int
    stamped: bool
    section: Callable[[str], None]

    @cached_property
    def logger(self) -> Any:
        """structlog's logger for it."""
        import structlog

        stamp = [structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False)] if self.stamped else []
        return structlog.wrap_logger(
            structlog.WriteLogger(self.stream),
            processors=[structlog.processors.add_log_level, *stamp, self._rendered],
            wrapper_class=structlog.make_filtering_bound_logger(self.level),
            cache_logger_on_first_use=True,
        )

    def _rendered(self, _logger: Any, _method: str, line: MutableMapping[str, Any]) -> str:
        """The line: time, level where it is not the usual one, event, values."""
        time, level, event = line.pop("timestamp", ""), line.pop("level"), line.pop("event")
        values = (f"{name}={self._value(value)}" for name, value in line.items() if value is not None)
        head = (time, "" if level == "info" else f"{level}:", event)
        # As a whole once more: a value may only become a command or a secret beside another one.
        return self.clean(" ".join(filter(None, (*head, *values))))

    def _value(self, value: object) -> str:
        from evaluator.reports.escape import shorten

        if isinstance(value, float):
            return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
        # Before it is cut: half a secret is not known by its value.
        text = shorten(self.clean(str(value)), _VALUE_BYTES)
        return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


_lines: _Lines | None = None


@contextlib.contextmanager
def to(
    stream: TextIO,
    environ: Mapping[str, str],
    *,
    level: int = INFO,
    section: Callable[[str], None] = lambda _: None,
) -> Iterator[None]:
    """Lines of `level` and above go to `stream` while the context lasts, and the titles of sections to `section`.

    Where GitHub's debug logging is on (`RUNNER_DEBUG` is 1), all levels do. In a workflow the runner stamps each line,
    elsewhere it begins with the time.
    """
    global _lines
    before = _lines
    clean = stream.clean if isinstance(stream, Cleaned) else cleaner(Redactor(environ))
    _lines = _Lines(
        stream=stream,
        clean=clean,
        level=DEBUG if environ.get("RUNNER_DEBUG") == "1" else level,
        stamped=environ.get("GITHUB_ACTIONS") != "true",
        section=section,
    )
    try:
        yield
    finally:
        _lines = before


def debug(event: str, **values: object) -> None:
    """For who looks for a fault."""
    _say(DEBUG, event, values)


def info(event: str, **values: object) -> None:
    """What happened."""
    _say(INFO, event, values)


def warning(event: str, **values: object) -> None:
    """What a reader should look at."""
    _say(WARNING, event, values)


def section(title: str) -> None:
    """What is logged from now on belongs under `title`, until the next one."""
    if _lines is not None:
        _lines.section(title)


def _say(level: int, event: str, values: dict[str, object]) -> None:
    if _lines is None or level < _lines.level:
        return
    # A log that nobody reads any more (closed pipe, closed file) is no reason to lose a paid run.
    with contextlib.suppress(OSError, ValueError):
        getattr(_lines.logger, _NAMES[level])(event, **values)
