"""A record of a log → a conversation, whichever of the two providers it was with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from evaluator import tool_calls
from evaluator.errors import Problem
from evaluator.json_text import JsonFault, parse_json
from evaluator.recording.log_files import MEND, Record, is_message
from evaluator.recording.write import kept_as_value
from evaluator.runners.answer import stop_reason_of
from evaluator.transcript import Call, Usage, well_formed
from evaluator.yaml_text import Path_

_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
_IDS = ("task_id", "conversation_id", "custom_id", "id")
_TOKENS = (
    ("prompt_tokens", "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
    ("completion_tokens", "output_tokens"),
)
# Parts that are read as what they are.
_READ_ELSEWHERE = ("tool_use", "tool_result")


@dataclass(frozen=True)
class Result:
    """What a tool answered: to the call of this `id`, or, where there is none, of this tool `name`."""

    id: str | None
    name: str | None
    value: Any


@dataclass(frozen=True)
class Message:
    """A message by what it means. `role`: system, user, assistant or tool; `other`: its parts that are no text."""

    role: str
    text: str = ""
    calls: list[Call] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    other: list[str] = field(default_factory=list)


@dataclass
class Conversation:
    """What one record says. `usages`: of each answer of the model that says its tokens."""

    record: Record
    id: str | None = None
    messages: list[Message] = field(default_factory=list)
    tools: list[Any] = field(default_factory=list)
    model: str | None = None
    date: str | None = None
    stop_reason: str | None = None
    usages: list[Usage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class UnreadableRecordError(Exception):
    """A record that is no conversation; `problem` says where and why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def conversation_of(record: Record) -> Conversation:
    """Raises UnreadableRecordError."""
    return _Reader(record).read()


class _Reader:
    def __init__(self, record: Record) -> None:
        self._record = record
        self._found = Conversation(record)
        self._tools: set[str] = set()

    def read(self) -> Conversation:
        value = self._record.value
        if isinstance(value, list):
            self._messages(value, ())
            return self._found
        if not isinstance(value, dict):
            raise self._refusal((), f"a conversation is an object or a list of messages, not {_kind(value)}")
        request, path = self._request(value)
        self._found.id = next((str(value[key]) for key in _IDS if isinstance(value.get(key), str | int)), None)
        self._found.tools = _listed(request.get("tools")) + _listed(request.get("functions"))
        self._tools = {name for spec in self._found.tools if (name := tool_name(spec))}
        self._found.model = _text_or_none(request.get("model"))
        if request.get("system"):
            self._found.messages.append(Message("system", _text_of(request["system"])[0]))
        self._messages(request["messages"], (*path, "messages"))
        self._response(value)
        return self._found

    def _request(self, value: dict[str, Any]) -> tuple[dict[str, Any], Path_]:
        path: Path_ = ()
        for key in ("request", "body"):
            inner = value.get(key)
            if "messages" not in value and isinstance(inner, dict):
                value, path = inner, (*path, key)
        if not isinstance(value.get("messages"), list):
            raise self._refusal(path, "no list of messages in this record")
        return value, path

    def _messages(self, raw: list[Any], path: Path_) -> None:
        for index, item in enumerate(raw):
            self._found.messages += self._read_message(item, (*path, index))

    def _read_message(self, raw: Any, path: Path_) -> Iterator[Message]:
        if not isinstance(raw, dict):
            raise self._refusal(path, f"a message is an object, not {_kind(raw)}")
        role = _ROLES.get(raw["role"]) if isinstance(raw.get("role"), str) else None
        if role is None:
            given = f"the role {raw['role']!r}"[:100] if "role" in raw else "no role"
            raise self._refusal(path, f"a message with {given}: it is one of {', '.join(_ROLES)}")
        content = raw.get("content")
        if content is not None and not isinstance(content, str | list):
            raise self._refusal((*path, "content"), f"content is text or a list of parts, not {_kind(content)}")
        text, other = _text_of(content)
        if role == "tool":
            result = _answer(_with_other(text, other), failed=False)
            name, call_id = _text_or_none(raw.get("name")), _text_or_none(raw.get("tool_call_id"))
            yield Message("tool", results=[Result(call_id, name, result)])
            return
        results = [_tool_result(block) for block in _listed(content) if _is(block, "tool_result")]
        if results:
            yield Message("tool", results=results)
        if role == "assistant":
            yield self._assistant(raw, text, other)
        elif text or not results:
            yield Message(role, text, other=other)
        elif other:
            self._found.notes.append(f"parts beside results were left out: {', '.join(other)}")

    def _assistant(self, raw: dict[str, Any], text: str, other: list[str]) -> Message:
        calls = tool_calls.native(raw)
        if not calls and text:
            reading = tool_calls.in_text(text, self._tools)
            calls, text = reading.calls, reading.text or ""
        return Message("assistant", text or _text_or_none(raw.get("refusal")) or "", calls, other=other)

    def _response(self, value: dict[str, Any]) -> None:
        response = value.get("response", value.get("completion"))
        if response is None and "choices" in value:
            response = value
        if isinstance(response, dict) and isinstance(response.get("body"), dict):
            response = response["body"]
        if response is None:
            return
        if isinstance(response, str):
            response = {"role": "assistant", "content": response}
        if not isinstance(response, dict):
            raise self._refusal(("response",), f"a response is an object, not {_kind(response)}")
        if response.get("error"):
            self._found.notes.append("the response is an error and was left out")
            return
        choice, message = self._choice(response)
        answer = list(self._read_message({"role": "assistant", **message}, ("response",)))
        if self._found.messages[-len(answer) :] != answer:  # some logs write it down with the request as well
            self._found.messages += answer
        self._found.model = _text_or_none(response.get("model")) or self._found.model
        self._found.date = _date(response.get("created"))
        self._found.stop_reason = stop_reason_of(choice.get("finish_reason") or response.get("stop_reason"))
        usage = _usage(response.get("usage"))
        if usage is not None:
            self._found.usages.append(usage)

    def _choice(self, response: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        choices = response.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            if len(choices) > 1:
                self._found.notes.append(f"only the first of {len(choices)} choices of the response was read")
            message = choices[0].get("message")
            if isinstance(message, dict):
                return choices[0], message
        elif is_message(response) or isinstance(response.get("content"), list):
            return {}, response
        raise self._refusal(("response",), "neither a chat completion nor a message")

    def _refusal(self, path: Path_, message: str) -> UnreadableRecordError:
        return UnreadableRecordError(self._record.problem(path, message, MEND))


def _text_of(content: Any) -> tuple[str, list[str]]:
    """The text of a message's content, and the types of the parts that are none."""
    if isinstance(content, str):
        return well_formed(content), []
    texts: list[str] = []
    other: list[str] = []
    for part in _listed(content):
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif not (isinstance(part, dict) and part.get("type") in _READ_ELSEWHERE):
            other.append(str(part.get("type", "unknown"))[:50] if isinstance(part, dict) else _kind(part))
    return well_formed("\n".join(texts)), other


def _tool_result(block: dict[str, Any]) -> Result:
    text, other = _text_of(block.get("content"))
    value = _answer(_with_other(text, other), failed=block.get("is_error") is True)
    return Result(_text_or_none(block.get("tool_use_id")), None, value)


def _with_other(text: str, other: list[str]) -> str:
    """A result's text, with a mark for each part that is none."""
    return "\n".join([text, *(f"[{kind}]" for kind in other)]).strip() if other else text


def _answer(text: str, *, failed: bool) -> Any:
    """A result as a value where it is an object or a list in JSON, else as text. `failed`: as `is_error` says."""
    value = parse_json(text) if text.lstrip().startswith(("{", "[")) else text
    if isinstance(value, JsonFault) or not kept_as_value(value):
        value = text
    if not failed:
        return value
    return {**value, "is_error": True} if isinstance(value, dict) else {"is_error": True, "content": value}


def _usage(usage: Any) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    read, written = (_sum(usage.get(name) for name in names) for names in _TOKENS)
    return None if read is None and written is None else Usage(input_tokens=read, output_tokens=written)


def _sum(counts: Iterable[Any]) -> int | None:
    known = [count for count in counts if isinstance(count, int) and not isinstance(count, bool) and count >= 0]
    return min(sum(known), 10**12) if known else None


def _date(seconds: Any) -> str | None:
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return None


def tool_name(spec: Any) -> str | None:
    """The name in a tool's spec of either provider, None where there is none."""
    if not isinstance(spec, dict):
        return None
    inner = next((spec[key] for key in ("function", "custom") if isinstance(spec.get(key), dict)), spec)
    return _text_or_none(inner.get("name"))


def _is(block: Any, kind: str) -> bool:
    return isinstance(block, dict) and block.get("type") == kind


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text_or_none(value: Any) -> str | None:
    return well_formed(value) if isinstance(value, str) and value else None


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
