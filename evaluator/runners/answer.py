"""A chat completion as litellm returns it → Transcript. Whatever a model put in it is data.

What litellm fills in for what a provider left out is taken out again: zero tokens, a stop reason that it did not know.
An answer that the provider broke off, held back or never made is no answer of the model: there is no verdict on it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from evaluator import tool_calls
from evaluator.json_text import parse_json
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


# Of a message, what its provider needs to see again, in litellm's names.
_THOUGHTS = ("reasoning_content", "thinking_blocks")


class Answered(NamedTuple):
    """One answer of the model. `message`: as it goes back to the model with the results of its calls."""

    transcript: Transcript
    message: dict[str, Any]


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
            calls=[msgspec.structs.replace(call, tool=names.get(call.tool, call.tool)) for call in _calls(message)],
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


def sent_back(response: Any, transcript: Transcript, turn: int) -> dict[str, Any]:
    """The message of `response`, read as `transcript`, as it goes back to the model; `turn` tells ids apart.

    As it came, but such that every provider takes it: text is well-formed, a call without an id of its own has one, and
    arguments that are no JSON object stand in one, since servers (and litellm) refuse what they cannot parse.
    """
    message = response.choices[0].message
    back: dict[str, Any] = {"role": "assistant", "content": _text(message)}
    for name in _THOUGHTS:
        thoughts = getattr(message, name, None)
        if thoughts:
            back[name] = well_formed(thoughts) if isinstance(thoughts, str) else thoughts
    calls = _calls(message)[: len(transcript.calls)]
    if calls and calls[0].wrapper == "function_call":
        back["function_call"] = _function_back(calls[0])
    elif calls:
        back["tool_calls"] = _calls_back(calls, getattr(message, "tool_calls", None) or [], turn)
    return back


def _calls_back(calls: list[Call], came: Sequence[Any], turn: int) -> list[dict[str, Any]]:
    back: list[dict[str, Any]] = []
    seen: set[str] = set()
    for number, call in enumerate(calls):
        original = came[number] if number < len(came) else None
        known = getattr(original, "id", None) or call.id  # a call's own id may have been cut
        name = well_formed(known) if isinstance(known, str) else ""
        if not name or name in seen:
            name = f"call_{turn}_{number + 1}"
        seen.add(name)
        whole = {"id": name, "type": "function", "function": _function_back(call)}
        # Gemini's signatures of its thoughts, without which it refuses the call.
        signed = getattr(original, "provider_specific_fields", None)
        back.append({**whole, "provider_specific_fields": signed} if signed else whole)
    return back


def _function_back(call: Call) -> dict[str, str]:
    arguments = call.arguments
    if not isinstance(parse_json(arguments), dict):
        arguments = json.dumps({"malformed": arguments}, ensure_ascii=False)
    return {"name": call.tool, "arguments": arguments}


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


def _calls(message: Any) -> list[Call]:
    """The structured calls of a message, by the names that the model knows."""
    return tool_calls.native(
        {
            "content": getattr(message, "content", None),
            "tool_calls": [
                {"id": getattr(call, "id", None), "function": _plain(getattr(call, "function", None))}
                for call in getattr(message, "tool_calls", None) or []
            ],
            "function_call": _plain(getattr(message, "function_call", None)),
        }
    )


def _plain(function: Any) -> dict[str, Any]:
    return {} if function is None else {name: getattr(function, name, None) for name in ("name", "arguments")}


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
