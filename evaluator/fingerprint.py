"""What a run's figures depend on besides the change under test, gathered in one place."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version

import msgspec

from evaluator import __version__, scoring
from evaluator.cases import SUBJECT, Subject, Task, short_digest
from evaluator.results import Fingerprint, TaskResult

# Whose behaviour can change a score or what a provider is asked.
_PACKAGES = ("jsonschema", "regex", "msgspec", "litellm")


def build(tasks: Iterable[Task], subject: Mapping[str, str], canaries: str) -> Fingerprint:
    """The fingerprint before anything was answered. `subject`: readable entries (`Subject.entries`);
    `canaries`: version of the built-in set. Packages are looked up without importing them."""
    return Fingerprint(
        packages={"trapgate": __version__, "python": platform.python_version()} | {n: _version(n) for n in _PACKAGES},
        scorers=scoring.versions() | {"canaries": canaries},
        subject=dict(subject),
        sources={task.name: task.source.commit or task.source.digest or "unknown" for task in tasks},
    )


def of_subject(mark: Fingerprint, subject: Subject, tasks: Iterable[Task]) -> Fingerprint:
    """`mark` with what is asked: the subject, and the tools that the tasks' own files hold."""
    entries = {
        f"{file}/{tool['name']} of {task.name}": short_digest(tool)
        for task in tasks
        for file, tools in task.tools.items()
        if file != SUBJECT
        for tool in tools
    }
    return msgspec.structs.replace(mark, subject=subject.entries() | entries)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def answered(tasks: Iterable[TaskResult]) -> dict[str, list[str]]:
    """The models and system fingerprints that the provider reported, each sorted and once."""
    transcripts = [
        attempt.transcript
        for task in tasks
        for case in task.cases
        for attempt in case.attempts
        if attempt.transcript is not None
    ]
    return {
        "models": sorted({t.model for t in transcripts if t.model}),
        "system_fingerprints": sorted({t.system_fingerprint for t in transcripts if t.system_fingerprint}),
    }
