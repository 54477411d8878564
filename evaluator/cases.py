"""What is evaluated: tasks of cases. Formats make these, runners and scorers read them, results keep them.

A case is split in two on purpose. What the *task source* owns (request, expected, options) is in its digest: a case
whose digest changed is another case and is never paired with a baseline. What the *repository* owns (system prompt,
tools, model, parameters) is the subject under test, lives in `Subject`, and is part of the fingerprint only.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from typing import Any

import msgspec

from evaluator.transcript import Transcript


class Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the task asks of the model.

    `messages`: chat messages `{"role", "content"}` without the system prompt, which belongs to the subject.
    `function`: the function spec whose call is the wanted answer, in OpenAI's shape `{"name", "description",
    "parameters": <JSON Schema>}`; None where the answer is free text.
    """

    messages: list[dict[str, Any]]
    function: dict[str, Any] | None = None


class Case(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One unit of evaluation. `expected` and `options` are read by the task's scorer alone.

    `expected` None: nothing to score against; such a case can never be scored and counts against coverage.
    `gold`: a transcript that must pass the case's own scorer (the gold self-check); None where the source has none.
    """

    id: str
    request: Request
    expected: dict[str, Any] | None = None
    options: dict[str, Any] = {}
    slices: list[str] = []
    critical: bool = False
    gold: Transcript | None = None

    def digest(self) -> str:
        """SHA-256 hex of what the task source owns; slices and the critical mark are labels and not part of it."""
        return digest_of([msgspec.to_builtins(self.request), self.expected, self.options])


class Recorded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A transcript that was produced elsewhere. `subject_digest`: what it was made with, None where unknown."""

    case_id: str
    number: int
    transcript: Transcript
    subject_digest: str | None = None


class SourceRef(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a task came from. `commit` is a full id for git sources, None for local paths; `digest` is the SHA-256 over
    the names and contents of the task's files, so that a local task that changed is seen too."""

    location: str
    commit: str | None = None
    subdirectory: str | None = None
    digest: str | None = None


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A command of a task source, split into arguments; it runs in the task's folder without a shell.

    `timeout` in seconds. `envvar`: the variable in which it looks for its manifest, None where the source does not say.
    """

    cmd: list[str]
    timeout: float
    envvar: str | None = None

    def __str__(self) -> str:
        return shlex.join(self.cmd)


class OwnJudge(msgspec.Struct, frozen=True, kw_only=True):
    """What a task source brings to judge answers by itself.

    `directory`: the task's folder; `inputs` and `expected` lie in it. `version`: changes whenever a command, or a file
    that belongs to no case, does. `decides`: its verdict counts; else the built-in scorer's does, and it is compared.
    """

    directory: str
    inputs: str
    expected: str
    judge: Program
    grader: Program | None
    setup: Program | None
    version: str
    decides: bool


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A set of cases from one source, in one format, with one scorer.

    `scorer`: key of `evaluator.scoring.SCORERS`, or one of `evaluator.scoring.FOREIGN` where there is an `own_judge`.
    `inputs`: the folder with a folder of files for each case, for a solution that reads them. `skipped`: ids that the
    source itself marks `skip`. `notes`: what a reader should know (unknown keys of somebody's
    traptask.yaml, an own judge that is not run).
    """

    name: str
    format: str
    source: SourceRef
    scorer: str
    cases: list[Case]
    recorded: list[Recorded] = []
    skipped: list[str] = []
    notes: list[str] = []
    own_judge: OwnJudge | None = None
    inputs: str | None = None


class Subject(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a pull request changes and a run tests: everything of the request that the repository owns.

    `system`: text of the system prompt. `tools`: function specs in OpenAI's shape (`{"name", "description",
    "parameters"}`). `structured`: how a case's function is asked for: `schema`, `tool` or `prompt`.
    """

    model: str
    params: dict[str, Any] = {}
    system: str | None = None
    tools: list[dict[str, Any]] = []
    structured: str = "prompt"

    def digest(self) -> str:
        """SHA-256 hex over all of it; two runs with equal digests tested the same thing."""
        return digest_of(msgspec.to_builtins(self))


def digest_of(value: Any) -> str:
    """SHA-256 hex of a JSON value's canonical form (sorted keys, no white space, ASCII)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
