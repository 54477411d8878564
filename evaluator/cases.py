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
from msgspec import UNSET, UnsetType

from evaluator.transcript import Transcript

# Key of `Case.tools` for the tools that trap.yaml names. No file has this name.
SUBJECT = "trap.yaml/tools"

_LONGEST_ENTRY = 60
_DIGITS = 12


class Frozen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a tool answers in a test: `result` for a call of `tool` with these `args`, any where they are unset."""

    tool: str
    args: dict[str, Any] | UnsetType = UNSET
    result: Any = None


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A text that a search can find."""

    title: str
    text: str


# Ways of having a begun answer continued. What is measured under one says nothing of another.
BY_TOKEN_IDS = "completion:token_ids"  # noqa: S105 - tokens of text
BY_TEXT = "completion:text"
BY_PREFILL = "prefill"
CONDITIONS = (BY_TOKEN_IDS, BY_TEXT, BY_PREFILL)


class Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the task asks of the model.

    `messages`: chat messages `{"role", "content"}` without the system prompt, which belongs to the subject.
    `function`: the function spec whose call is the wanted answer, in OpenAI's shape `{"name", "description",
    "parameters": <JSON Schema>}`; None where the answer is free text.
    `tools`: specs on offer that the task itself brings, in the same shape (with `read_only` true where a call changes
    nothing). `tools_file`: key of `Case.tools` for those that stand in files. `mocks`: what tools answer.
    `max_turns`, `max_calls`: answers of the model, and calls in all, after which a conversation is ended. `text_calls`:
    whether a call that is written into the text counts where there is no native one. `answer_schema`: JSON Schema of
    the answer itself, where that is JSON and no call. `corpus`: what the tool `search` finds. `prefix`: how the answer
    begins; the model continues it. `prompt_token_ids`: the whole prompt, prefix included, as tokens of one model.
    `condition`: how the model is asked to go on, a key of `CONDITIONS`; None where an answer is asked for.
    """

    messages: list[dict[str, Any]]
    function: dict[str, Any] | None = None
    tools: list[dict[str, Any]] = []
    tools_file: str | None = None
    mocks: list[Frozen] = []
    max_turns: int = 1
    max_calls: int = 64
    text_calls: bool = False
    answer_schema: dict[str, Any] | None = None
    corpus: list[Passage] = []
    prefix: str | None = None
    prompt_token_ids: list[int] | None = None
    condition: str | None = None


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a case was written, for messages. `file`: as a reader knows it; `line`: where the case begins, 0 where it
    is all of the file; `lines`: JSON path into `Case.expected` → line of the value there, as far as that is known."""

    file: str
    line: int = 0
    lines: dict[str, int] = {}


class Case(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One unit of evaluation. `expected` and `options` are read by the task's scorer alone.

    `expected` None: nothing to score against; such a case can never be scored and counts against coverage.
    `golds`: transcripts that must pass the case's own scorer (the gold self-check); empty where the source has none.
    `tools`: specs that the repository owns and a change may change, so no part of the digest: by the file that a
    request names (`Request.tools_file`), and under `SUBJECT` those of trap.yaml. `recorded`: what tools answered when
    the case was recorded; not in the digest either, since another recording is the same case. `expected_answer`: the
    final answer of golds that are made once all tools are known. `origin`: None where the format does not say it.
    `absent`: why nobody can be asked, of a case that the source lists and does not hold; it is planned, never scored.
    `cluster`: cases with the same name here are not independent of each other (cut from one document, say); a label
    like the slices. Empty: the case stands for itself.
    """

    id: str
    request: Request
    expected: dict[str, Any] | None = None
    options: dict[str, Any] = {}
    slices: list[str] = []
    critical: bool = False
    golds: list[Transcript] = []
    tools: dict[str, list[dict[str, Any]]] = {}
    recorded: list[Frozen] = []
    expected_answer: str | None = None
    origin: Origin | None = None
    absent: str = ""
    cluster: str = ""

    def offered(self) -> list[dict[str, Any]]:
        """The tools that the model gets: the repository's own spec of a name wins over the task's."""
        named = self.tools.get(self.request.tools_file or "", [])
        specs = [*self.request.tools, *named, *self.tools.get(SUBJECT, [])]
        return list({spec["name"]: spec for spec in specs}.values())

    def digest(self) -> str:
        """SHA-256 hex of what the task source owns; slices and the critical mark are labels and not part of it."""
        return digest_of([msgspec.to_builtins(self.request), self.expected, self.options])


class Recorded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A transcript that was produced elsewhere. `subject`: what it was made with, as readable entries
    (`Subject.entries`), None where unknown; `subject_digest` is the digest of all of it."""

    case_id: str
    number: int
    transcript: Transcript
    subject_digest: str | None = None
    subject: dict[str, str] | None = None


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
    `inputs`: the folder with a folder of files for each case, for a solution that reads them. `tools`: as `Case.tools`
    of every case. `pooled`: whether a share over all cases means anything; where not, each slice is reported and gated
    by itself. `skipped`: ids that the source itself marks `skip`. `notes`: what a reader should know (unknown keys of
    somebody's traptask.yaml, an own judge that is not run).
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
    tools: dict[str, list[dict[str, Any]]] = {}
    pooled: bool = True


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

    def entries(self) -> dict[str, str]:
        """The same for people, name by name: short values as JSON, long ones and texts as the first digits of a
        digest."""
        entries = {"model": self.model, "structured": self.structured}
        for name, value in self.params.items():
            text = json.dumps(value, sort_keys=True)
            entries[f"params.{name}"] = text if len(text) <= _LONGEST_ENTRY else short_digest(value)
        if self.system is not None:
            entries["system"] = short_digest(self.system)
        for tool in self.tools:
            entries[f"tools/{tool['name']}"] = short_digest(tool)
        return entries


def made_with(subject: Subject, case: Case) -> Subject:
    """What an attempt at `case` is made with: the subject with the tools that are in fact on offer. Its digest tells
    whether a recording still answers for the tree."""
    return msgspec.structs.replace(subject, tools=case.offered())


def digest_of(value: Any) -> str:
    """SHA-256 hex of a JSON value's canonical form (sorted keys, no white space, ASCII)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def short_digest(value: Any) -> str:
    """The first digits of `digest_of`, to be read beside a name."""
    return digest_of(value)[:_DIGITS]
