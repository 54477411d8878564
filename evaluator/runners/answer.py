"""A chat completion as litellm returns it → Transcript. Whatever a model put in it is data.

What litellm fills in for what a provider left out is taken out again: zero tokens, a stop reason that it did not know.
An answer that the provider broke off, held back or never made is no answer of the model: there is no verdict on it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from evaluator.runners.bounds import bounded
from evaluator.transcript import Call, Transcript, Usage, well_formed

# Providers' words → OpenAI's. A word that is not here is unknown, which is not "stop".
_STOP_REASONS = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "complete": "stop",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "tool_call": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "refusal": "content_filter",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "sensitive": "content_filter",
}

# The provider's words for an end that is its own fault. Not here: malformed_function_call, unexpected_tool_call and
# their like, for those the model made.
_FAULTS = frozenset(
    {
        "error",
        "failed",
        "failure",
        "internal_error",
        "server_error",
        "network_error",
        "insufficient_system_resource",
        "timeout",
        "abort",
        "aborted",
        "cancelled",
        "canceled",
    }
)

# A count beyond what results can hold is no count.
_MOST_TOKENS = 10**12


class UnusableAnswerError(Exception):
    """A chat completion in form in which no model answers. `kind` as in `Infrastructure`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def read(response: Any, *, names: Mapping[str, str], structured: str, seconds: float) -> Transcript:
    """The transcript of `response` without its cost.

    `names`: the tool's name on the wire → its real name. Calls are known by `message.tool_calls`, never by the stop
    reason: some providers say "stop" after a call. Raises `UnusableAnswerError`.
    """
    choices = getattr(response, "choices", None)
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = getattr(choice, "message", None)
    if message is None:
        raise _malformed("it has no choices")
    _refuse_faulty(choice)
    transcript = bounded(
        Transcript(
            text=_text(message),
            calls=[_call(call, names) for call in getattr(message, "tool_calls", None) or []],
            stop_reason=_stop_reason(choice),
            usage=_usage(getattr(response, "usage", None)),
            model=_word(getattr(response, "model", None)),
            system_fingerprint=_word(getattr(response, "system_fingerprint", None)),
            structured=structured,
            seconds=seconds,
        )
    )
    if transcript.stop_reason == "content_filter":
        raise UnusableAnswerError("content_filter", f"the provider held the answer back: {_native(choice)}")
    if _is_empty(transcript, message, choice):
        raise _malformed("it has no text, no call and no usage")
    return transcript


def stop_reason_of(word: Any) -> str | None:
    """A provider's stop reason in OpenAI's vocabulary, None where unknown."""
    return _STOP_REASONS.get(word.lower()) if isinstance(word, str) else None


def _malformed(what: str) -> UnusableAnswerError:
    return UnusableAnswerError("malformed_response", f"the answer is not a chat completion: {what}")


def _refuse_faulty(choice: Any) -> None:
    word = _native(choice)
    error = _fields(choice).get("error")
    if error or (isinstance(word, str) and word.lower() in _FAULTS):
        said = error.get("message") if isinstance(error, dict) else error
        why = f": {said}" if isinstance(said, str) and said else ""
        raise UnusableAnswerError("server_error", f"the provider ended the answer with {word!r}{why}")


def _is_empty(transcript: Transcript, message: Any, choice: Any) -> bool:
    """Whether nothing says that a model was asked. litellm writes "stop" where the provider gave no reason, so that
    word alone says nothing."""
    if transcript.text is not None or transcript.calls or transcript.usage is not None:
        return False
    return _native(choice) in (None, "stop") and not getattr(message, "reasoning_content", None)


def _text(message: Any) -> str | None:
    content = getattr(message, "content", None)
    if isinstance(content, list):
        content = "".join(
            part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    if not content:
        # A refusal stands in a field of its own; it is what the model said.
        content = getattr(message, "refusal", None) or content
    return well_formed(content) if isinstance(content, str) else None


def _call(call: Any, names: Mapping[str, str]) -> Call:
    function = getattr(call, "function", None)
    name = getattr(function, "name", None)
    arguments = getattr(function, "arguments", None)
    if not isinstance(arguments, str):
        arguments = "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    tool = well_formed(name) if isinstance(name, str) else ""
    return Call(tool=names.get(tool, tool), arguments=well_formed(arguments), id=_word(getattr(call, "id", None)))


def _stop_reason(choice: Any) -> str | None:
    # litellm knows some words that are not here. What it does not know it turns into "stop".
    translated = getattr(choice, "finish_reason", None)
    return stop_reason_of(_native(choice)) or (stop_reason_of(translated) if translated != "stop" else None)


def _native(choice: Any) -> Any:
    """The provider's own word, where litellm kept it aside, else litellm's."""
    native = _fields(choice).get("native_finish_reason")
    return native if native is not None else getattr(choice, "finish_reason", None)


def _fields(choice: Any) -> dict[str, Any]:
    fields = getattr(choice, "provider_specific_fields", None)
    return fields if isinstance(fields, dict) else {}


def _usage(usage: Any) -> Usage | None:
    read_tokens = _count(getattr(usage, "prompt_tokens", None))
    written_tokens = _count(getattr(usage, "completion_tokens", None))
    # litellm says 0 for what the provider did not say; a prompt of no tokens there is none.
    if not read_tokens:
        return None if not written_tokens else Usage(output_tokens=written_tokens)
    total = _count(getattr(usage, "total_tokens", None)) or 0
    if not written_tokens and total < read_tokens:
        return Usage(input_tokens=read_tokens)
    return Usage(input_tokens=read_tokens, output_tokens=written_tokens)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS else None


def _word(value: Any) -> str | None:
    return well_formed(value)[:200] if isinstance(value, str) else None
