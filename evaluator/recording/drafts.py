"""A conversation → the draft of a fixture, whose expected calls are those that were made: for the user to edit.

A fixture is one request. Its input is what was said up to the user's last message before the first call, without the
system prompt, which belongs to the subject; the recording ends where the user speaks again. Whatever does not fit is
named in a note.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

import msgspec
from msgspec import UNSET

from evaluator.recording.conversations import Conversation, Message, Result, tool_name
from evaluator.recording.write import invocation_of
from evaluator.transcript import Call, failed

_LONGEST_NAME = 200


def draft_of(conversation: Conversation, task_id: str, origin: str) -> tuple[dict[str, Any] | None, list[str]]:
    """The fixture, None where there is none in this conversation, and the notes on it. `origin`: where it is from."""
    notes = list(conversation.notes)
    messages = _without_system(conversation.messages, notes.append)
    called = next((place for place, message in enumerate(messages) if message.calls), len(messages))
    asked = [place for place, message in enumerate(messages[:called]) if message.role == "user" and message.text]
    if not asked:
        return None, [*notes, f"no text of a user before the first call: all {len(messages)} messages were left out"]
    given = _input(messages[: asked[-1] + 1], notes.append)
    answered = _until_the_user_speaks(messages[asked[-1] + 1 :], notes.append)
    fixture: dict[str, Any] = {
        "task_id": task_id,
        "description": f"Draft made of {origin}. Edit expected_invocations: they are the calls that were made.",
        "input": given,
    }
    specs = _tools(conversation.tools, notes.append)
    if specs:
        fixture["tools"] = list(specs.values())
    recorder = _Recorder(notes.append)
    for message in answered:
        recorder.add(message)
    fixture["expected_invocations"] = _expected(recorder.calls, specs, notes.append)
    mocks = _mocks([call for call in recorder.calls if not specs or call.tool in specs])
    if mocks:
        fixture["mocks"] = mocks
    fixture["recordings"] = [_recording(conversation, recorder, answered, notes.append)]
    return fixture, notes


def _mocks(calls: list[Call]) -> list[dict[str, Any]]:
    """What the tools answered, so that a live model is answered too once the expected calls are edited: of a tool that
    was called once for any arguments, else for those of each call."""
    answered = [call for call in calls if call.result is not UNSET and call.fault is None]
    times = Counter(call.tool for call in answered)
    mocks = []
    for call in answered:
        invocation = invocation_of(call)
        named = {"args": invocation["args"]} if times[call.tool] > 1 and isinstance(invocation["args"], dict) else {}
        mocks.append({"tool": invocation["tool"], **named, "result": call.result})
    return mocks


class _Recorder:
    """Calls in order, each with the result that was sent back for it."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self.calls: list[Call] = []
        self.final: str | None = None
        self.turns = 0
        self._note = note

    def add(self, message: Message) -> None:
        for result in message.results:
            self._answer(result)
        if message.role != "assistant":
            return
        if message.other:
            self._note(f"parts of the model's answer that are no text were left out: {', '.join(message.other)}")
        if self.final is not None:
            self._note("text of the model that more followed on was left out")
        self.final = None if message.calls else message.text or None
        if message.calls:
            self.turns += 1
            if message.text:
                self._note(f"text beside the calls of turn {self.turns} was left out")
            self.calls += [msgspec.structs.replace(call, turn=self.turns) for call in message.calls]

    def _answer(self, result: Result) -> None:
        for place, call in enumerate(self.calls):
            if call.result is UNSET and _belongs(result, call):
                self.calls[place] = msgspec.structs.replace(call, result=result.value)
                return
        name = f"the call {result.id!r}" if result.id else f"a call of {result.name!r}" if result.name else "no call"
        self._note(f"a result for {name[:100]} was left out: there is no such call without a result")


def _belongs(result: Result, call: Call) -> bool:
    if result.id is not None:
        return call.id == result.id
    return result.name is None or call.tool == result.name


def _without_system(messages: list[Message], note: Callable[[str], None]) -> list[Message]:
    kept = [message for message in messages if message.role != "system"]
    if len(kept) < len(messages):
        note(f"{_count(len(messages) - len(kept), 'system message')} left out: the system prompt belongs to trap.yaml")
    return kept


def _input(messages: list[Message], note: Callable[[str], None]) -> str | list[dict[str, Any]]:
    other = sorted({kind for message in messages for kind in message.other})
    if other:
        note(f"parts of the input that are no text were left out: {', '.join(other)}")
    said = [message for message in messages if message.text]
    if len(said) < len(messages):
        note(f"{_count(len(messages) - len(said), 'message')} of the input without text left out")
    if len(said) == 1:
        return said[0].text
    return [{"role": message.role, "content": message.text} for message in said]


def _until_the_user_speaks(messages: list[Message], note: Callable[[str], None]) -> list[Message]:
    end = next((place for place, message in enumerate(messages) if message.role == "user"), len(messages))
    left = messages[end:]
    if left:
        calls = sum(len(message.calls) for message in left)
        note(
            f"{_count(len(left), 'message')} with {_count(calls, 'call')} left out from where the user speaks again: "
            "a fixture is one request"
        )
    return messages[:end]


def _tools(specs: list[Any], note: Callable[[str], None]) -> dict[str, dict[str, Any]]:
    """The specs that a fixture can hold, by name."""
    kept: dict[str, dict[str, Any]] = {}
    for spec in specs:
        name = tool_name(spec)
        kind = spec.get("type") if isinstance(spec, dict) else None
        if name is None or name in kept:
            note(f"the tool {name[:100]!r} stands twice in tools: the first is kept" if name else "a tool has no name")
        elif kind not in (None, "function", "custom"):
            note(f"a tool of type {str(kind)[:50]!r} was left out: it is run by the provider")
        else:
            custom = spec.get("custom")
            kept[name] = _custom(custom) if isinstance(custom, dict) else _without_nulls(spec)
    return kept


def _custom(spec: dict[str, Any]) -> dict[str, Any]:
    """A tool that takes free text, as a function: see `tool_calls.native`."""
    parameters = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
    return {"name": spec.get("name"), "description": spec.get("description") or "", "parameters": parameters}


def _without_nulls(spec: dict[str, Any]) -> dict[str, Any]:
    """Client libraries log what is unset as null, which a spec does not allow."""
    kept = {key: value for key, value in spec.items() if value is not None}
    function = kept.get("function")
    if isinstance(function, dict):
        kept["function"] = {key: value for key, value in function.items() if value is not None}
    return kept


def _expected(calls: list[Call], tools: Collection[str], note: Callable[[str], None]) -> list[dict[str, Any]]:
    """The steps that the calls are; `tools` is empty where the log does not say what was on offer."""
    steps = []
    for number, call in enumerate(calls, 1):
        arguments = invocation_of(call)["args"]
        if call.fault is not None or not call.tool or len(call.tool) > _LONGEST_NAME:
            note(f"call {number} is malformed and not expected: {call.fault or 'its name'}")
            continue
        if tools and call.tool not in tools:
            note(f"call {number} ({call.tool}) is not expected: there is no such tool")
            continue
        step: dict[str, Any] = {"turn": call.turn, "tool": call.tool}
        if isinstance(arguments, dict):
            step["args"] = arguments
        else:
            note(f"call {number} ({call.tool}) has arguments that are no JSON object: its step expects any")
        if call.result is UNSET:
            note(f"call {number} ({call.tool}) has no result")
        elif failed(call.result):
            note(f"call {number} ({call.tool}) failed: if that belongs to the scenario, name it in expected_errors")
        steps.append(step)
    return steps


def _recording(
    conversation: Conversation, recorder: _Recorder, answered: list[Message], note: Callable[[str], None]
) -> dict[str, Any]:
    if recorder.final is None:
        note("there is no final answer")
    recording: dict[str, Any] = {"attempt": 1}
    if conversation.model:
        recording["model"] = conversation.model[:_LONGEST_NAME]
    if conversation.date:
        recording["date"] = conversation.date
    recording["actual_invocations"] = [invocation_of(call) for call in recorder.calls]
    if recorder.final is not None:
        recording["final_answer"] = recorder.final
    if conversation.stop_reason and answered and answered[-1] is conversation.messages[-1]:
        recording["stop_reason"] = conversation.stop_reason
    return recording | _tokens(conversation, answered, note)


def _tokens(conversation: Conversation, answered: list[Message], note: Callable[[str], None]) -> dict[str, int]:
    """The tokens of all answers, where all are known: a part of them would read as less than it was."""
    answers = sum(message.role == "assistant" for message in answered)
    usages = conversation.usages
    if not usages:
        return {}
    if len(usages) != answers:
        note(f"token counts left out: they are known of {len(usages)} answers, and there are {answers}")
        return {}
    read = [usage.input_tokens for usage in usages if usage.input_tokens is not None]
    written = [usage.output_tokens for usage in usages if usage.output_tokens is not None]
    tokens = {}
    if len(read) == answers:
        tokens["input_tokens"] = sum(read)
    if len(written) == answers:
        tokens["output_tokens"] = sum(written)
    return tokens


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
