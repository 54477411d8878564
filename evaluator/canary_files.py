"""What a file of canaries holds, in the words in which it is written (docs/scoring.md)."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from evaluator.transcript import Call, Transcript, Usage


class Setup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The case that score canaries answer; as the fields of `Case` and `Request`. `matchers`: short for an `expected`
    that holds nothing else."""

    scorer: str | None = None
    matchers: list[dict[str, Any]] | None = None
    expected: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    function: dict[str, Any] | None = None
    prefix: str | None = None
    options: dict[str, Any] = {}


class RecordedCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `transcript.Call`, its arguments as an object (`args`) or as the text that they came in. `turn`: its place
    among the calls where it is left out."""

    tool: str
    args: dict[str, Any] | UnsetType = UNSET
    arguments: str = "{}"
    turn: int | None = None
    result: Any | UnsetType = UNSET
    wrapper: str | None = None
    fault: str | None = None
    unanswered: str | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a transcript is made of: the final answer is `text`, repeated `times`."""

    text: str | None = None
    times: int = 1
    calls: list[RecordedCall] = []
    stop_reason: str | None = "stop"
    limit: str | None = None
    usage: Usage | None = None


class ScoreCanary(Answer, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer, with the tries `later` after feedback, to a case: that of the setup which `setup` names, with what the
    canary itself says in its place (`options` are added)."""

    id: str
    verdict: str
    setup: str | None = None
    scorer: str | None = None
    matchers: list[dict[str, Any]] | None = None
    expected: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    function: dict[str, Any] | None = None
    prefix: str | None = None
    options: dict[str, Any] = {}
    later: list[Answer] | None = None


class TextCanary(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text, repeated `times`, for the parser or the extractor."""

    id: str
    verdict: str
    text: str
    times: int = 1
    wants_object: bool = False


class ToolCallCanary(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A provider's `message`; or a `text`, repeated `times`, in which a model that has `tools` wrote its calls."""

    id: str
    verdict: str
    message: dict[str, Any] | None = None
    text: str | None = None
    times: int = 1
    tools: list[str] = []


class NormalizeCanary(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text, repeated `times`, for a normalizer."""

    id: str
    verdict: str
    normalizer: str
    text: str
    times: int = 1


class File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Canaries of every kind, and the setups that its score canaries name."""

    setups: dict[str, Setup] = {}
    score: list[ScoreCanary] = []
    parse: list[TextCanary] = []
    extract: list[TextCanary] = []
    tool_call: list[ToolCallCanary] = []
    normalize: list[NormalizeCanary] = []

    def count(self) -> int:
        """How many canaries it holds."""
        kinds: list[list[Any]] = [self.score, self.parse, self.extract, self.tool_call, self.normalize]
        return sum(map(len, kinds))


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The files of a set, each with the number of its canaries."""

    version: str
    files: dict[str, int]


def transcript_of(answer: Answer) -> Transcript:
    """The transcript that `answer` stands for, without tries after feedback."""
    return Transcript(
        text=answer.text * answer.times if answer.text is not None else None,
        calls=[_recorded(call, turn) for turn, call in enumerate(answer.calls, 1)],
        stop_reason=answer.stop_reason,
        limit=answer.limit,
        usage=answer.usage,
    )


def _recorded(call: RecordedCall, turn: int) -> Call:
    return Call(
        tool=call.tool,
        arguments=call.arguments if call.args is UNSET else json.dumps(call.args),
        turn=turn if call.turn is None else call.turn,
        result=call.result,
        wrapper=call.wrapper,
        fault=call.fault,
        unanswered=call.unanswered,
    )
