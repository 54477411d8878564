"""What an attempt produced, whoever produced it: a model, a command or a recording.

Text in here is well-formed Unicode (a lone surrogate from outside is replaced by U+FFFD where it enters) and can be
stored as it is. What the model meant by it is for scorers to say: malformed arguments stay text.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from evaluator.json_text import parse_json


class Call(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One tool call. `turn` counts from 1. `arguments` is the text that the model sent, unparsed: whether it is JSON,
    and an object, is the scorer's finding. `result` is what the (frozen) tool answered, unset where nothing did.

    `wrapper`: how the call was written, a key of `evaluator.tool_calls.WRAPPERS`, None for a native call of OpenAI's
    shape. `fault`: why this is no proper call though it was meant as one, with `arguments` the text as it came; None
    for a call. `unanswered`: why a frozen error was given in place of a recorded result (`unmatched`, `unknown_tool`,
    `malformed`, `invalid`, `too_many`), None where there was a recorded result or no frozen tools."""

    tool: str
    arguments: str = "{}"
    turn: int = 1
    id: str | None = None
    result: Any | UnsetType = UNSET
    wrapper: str | None = None
    fault: str | None = None
    unanswered: str | None = None


def failed(result: Any) -> bool:
    """Whether a tool's result says that the tool failed: `error` or `is_error` that is truthy, or `ok` false, in an
    object or in the JSON text of one."""
    if isinstance(result, str) and result.lstrip().startswith("{"):
        parsed = parse_json(result)
        result = parsed if isinstance(parsed, dict) else result
    if not isinstance(result, dict):
        return False
    return bool(result.get("error")) or bool(result.get("is_error")) or result.get("ok") is False


# Bounds that no real attempt reaches, so that sums stay finite whatever a file says.
Tokens = Annotated[int, msgspec.Meta(ge=0, le=10**12)]
Dollars = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens and dollars of one attempt. A None is "unknown", never zero. `cost_usd` 0.0 means that the price is known
    to be zero."""

    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    cost_usd: Dollars | None = None


class Process(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a command that is the solution ended. `exit_code` 124 after its time was over; `stderr` its last part;
    `files` what it left in its outputs, by relative name; `limit`: the bound that ended it, None where it ended by
    itself."""

    exit_code: int
    stderr: str = ""
    files: dict[str, bytes] = {}
    limit: str | None = None


class Transcript(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`text`: the final answer, None where there was none. `stop_reason`: the provider's word in OpenAI's
    vocabulary (`stop`, `length`, `tool_calls`, `content_filter`), None where unknown. `model`: the model that
    answered, which may not be the one asked. `structured`: the mechanism that was in fact used. `seconds`: latency
    of the answered try. `cut`: characters of text and arguments that were left out because the answer was longer
    than what is kept. `process`: where a command answered and no model. `cached`: it answers an earlier run's
    request, not this one's. `limit`: what ended a conversation with tools before a final answer: `max_turns`,
    `max_calls`, or `no_answer` where the model said nothing more. `later`: the tries after feedback on a schema
    fault, in order, each a transcript of its own; None where such tries were not on offer. The transcript itself is
    the first try, but its `usage` is of all of them."""

    text: str | None = None
    calls: list[Call] = []
    stop_reason: str | None = None
    usage: Usage | None = None
    model: str | None = None
    system_fingerprint: str | None = None
    structured: str | None = None
    seconds: float | None = None
    cut: int = 0
    process: Process | None = None
    cached: bool = False
    limit: str | None = None
    later: list[Transcript] | None = None


class Infrastructure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why no verdict could be had. Never the model's failure, always counted against coverage.

    `kind`: a stable word: `rate_limit`, `server_error`, `timeout`, `connection`, `authentication`, `refused_schema`,
    `refused_request`, `malformed_response`, `content_filter` (the provider held the answer back), `cost_limit`,
    `time_limit`, `cancelled`, `no_output`, `missing` (the source does not hold the case), `no_expected`,
    `unknown_matcher`, `scorer_error`; of a task's own judge `judge_timeout`, `judge_no_json`, `judge_crashed`,
    `judge_no_score`, `judge_missing` (it was not asked); of a command as the solution `command_failed`,
    `outputs_refused`; `no_key` (nobody could be asked), `secret` (the answer held one and was thrown away). `usage`: of
    the answers that the attempt had before it failed, None where it had none.
    """

    kind: str
    message: str
    http_status: int | None = None
    tries: int = 0
    usage: Usage | None = None


def well_formed(text: str) -> str:
    """`text` with each lone surrogate replaced by U+FFFD, so that it can be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)
    return text
