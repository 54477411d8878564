"""A fixture as typed values: what trace.schema.json says, decoded fast.

The schema is what users and editors read, and it explains what is refused; these types only decide, because a JSON
Schema takes a hundred times as long. A test holds the two together.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Text = Annotated[str, Meta(min_length=1)]
Turn = Annotated[int, Meta(ge=1, le=100_000)]
Tokens = Annotated[int, Meta(ge=0, le=10**12)]
Arguments = dict[str, Any]
Normalizers = dict[str, str | dict[str, str]]


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a field is compared where a word does not say it: exactly one member is set."""

    tolerance: Annotated[float, Meta(ge=0)] | UnsetType = UNSET
    normalizer: Name | UnsetType = UNSET
    regex: Text | UnsetType = UNSET
    one_of: Annotated[list[Any], Meta(min_length=1)] | UnsetType = UNSET

    def __post_init__(self) -> None:
        if sum(member is not UNSET for member in msgspec.structs.astuple(self)) != 1:
            raise ValueError("a rule has one of tolerance, normalizer, regex and one_of")


AnyRule = Literal["exact", "set", "any", "ignore"] | Rule
Rules = dict[str, AnyRule]


class Alternative(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another call that is as good as the step's own."""

    tool: Name
    args: Arguments | UnsetType = UNSET
    rules: Rules = {}


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call that is expected. `turn` None: the step's place in its list, from 1."""

    tool: Name
    turn: Turn | UnsetType = UNSET
    args: Arguments | UnsetType = UNSET
    alternatives: list[Alternative] = []
    optional: bool = False
    args_match: Literal["subset", "exact"] = "subset"
    rules: Rules = {}


class Mock(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a tool answers: to these arguments, or to any where there are none."""

    tool: Name
    result: Any
    args: Arguments | UnsetType = UNSET


class Invocation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call that was made. `args` as text: what the model sent was no JSON object."""

    tool: Annotated[str, Meta(max_length=200)]
    turn: Turn | UnsetType = UNSET
    args: Arguments | str = {}
    result: Any | UnsetType = UNSET
    id: str | UnsetType = UNSET
    wrapper: Name | UnsetType = UNSET
    fault: Text | UnsetType = UNSET
    unanswered: Name | UnsetType = UNSET


class MadeWith(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The subject that a recording was made with."""

    digest: Annotated[str, Meta(pattern="^[0-9a-f]{64}$", max_length=64)]
    parts: dict[str, str] = {}


class SchemaCheck(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether the call of a step (from 1) was valid by its tool's schema when it was recorded."""

    step: Turn
    valid: bool


StopReason = Literal["stop", "length", "tool_calls", "content_filter"]


class _Attempt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one attempt was. A None says that it is not known, or that there was none."""

    actual_invocations: list[Invocation] | UnsetType = UNSET
    final_answer: str | UnsetType | None = UNSET
    stop_reason: StopReason | UnsetType | None = UNSET
    limit: Literal["max_turns", "max_calls", "no_answer"] | UnsetType | None = UNSET
    input_tokens: Tokens | UnsetType | None = UNSET
    output_tokens: Tokens | UnsetType | None = UNSET

    def calls(self) -> list[Invocation]:
        """What was called, in order."""
        return self.actual_invocations or []


ATTEMPT_KEYS = _Attempt.__struct_fields__


class Recording(_Attempt, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One attempt of `recordings`. `attempt` unset: its place in the list, from 1."""

    attempt: Turn | UnsetType = UNSET
    model: Name | None = None
    date: Name | None = None
    subject: MadeWith | UnsetType = UNSET
    schema_checks: list[SchemaCheck] = []


class FunctionCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The function of a call in a chat message."""

    name: Name
    arguments: str


class ChatCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool call in a chat message, in OpenAI's shape."""

    id: Name
    function: FunctionCall
    type: Literal["function"] = "function"


class Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A chat message of the input."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Text | Annotated[list[Arguments], Meta(min_length=1)] | None = None
    name: Name | UnsetType = UNSET
    tool_calls: Annotated[list[ChatCall], Meta(min_length=1)] | UnsetType = UNSET
    tool_call_id: Name | UnsetType = UNSET


class Fixture(_Attempt, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One case and what was recorded of it: a single attempt by its own keys, or `recordings`."""

    schema: str | UnsetType = msgspec.field(default=UNSET, name="$schema")
    task_id: Name
    input: Text | Annotated[list[Message], Meta(min_length=1)]
    tools: Text | list[Arguments] = []
    allowed_tools: list[Name] | UnsetType = UNSET
    read_only: list[Name] = []
    max_extra_calls: Annotated[int, Meta(ge=0, le=100_000)] = 0
    expected_errors: list[Name] = []
    expected_invocations: list[Step] | UnsetType = UNSET
    expected_paths: Annotated[list[list[Step]], Meta(min_length=1)] | UnsetType = UNSET
    normalizers: Normalizers = {}
    checks: list[Arguments] = []
    expected_answer: Text | UnsetType = UNSET
    mocks: list[Mock] = []
    max_turns: Annotated[int, Meta(ge=1, le=1000)] = 16
    max_calls: Annotated[int, Meta(ge=1, le=100_000)] = 64
    text_calls: bool | UnsetType = UNSET
    tags: list[Name] = []
    critical: bool = False
    skip: bool = False
    description: str = ""
    recordings: list[Recording] = []

    def paths(self) -> list[list[Step]] | None:
        """The valid sequences of calls, None where nothing is expected."""
        if self.expected_paths is not UNSET:
            return self.expected_paths
        return None if self.expected_invocations is UNSET else [self.expected_invocations]

    def attempts(self) -> list[tuple[int, Recording]]:
        """(attempt number, what was recorded)."""
        if any(getattr(self, key) is not UNSET for key in ATTEMPT_KEYS):
            return [(1, Recording(**{key: getattr(self, key) for key in ATTEMPT_KEYS}))]
        return [
            (number if each.attempt is UNSET else each.attempt, each) for number, each in enumerate(self.recordings, 1)
        ]
