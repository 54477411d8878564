"""What one matcher says of one answer, and how a matcher is refused."""

from __future__ import annotations

from typing import NamedTuple

from evaluator.results import Finding


class Outcome(NamedTuple):
    """`failure_mode` None: the matcher is satisfied. `accepted` of `gold` arguments were right."""

    failure_mode: str | None = None
    findings: tuple[Finding, ...] | list[Finding] = ()
    accepted: int = 0
    gold: int = 0


class MalformedError(ValueError):
    """A matcher's definition is not usable: a fault of the task. The message says what is wanted."""
