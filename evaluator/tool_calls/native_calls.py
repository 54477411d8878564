"""The structured calls of a message, in the shapes of OpenAI, Anthropic and Gemini."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from evaluator.tool_calls.wrappers import ARGUMENT_KEYS, MOST_CALLS, bounded, call, faulty
from evaluator.transcript import Call


def native(message: Mapping[str, Any]) -> list[Call]:
    """The calls of one message of a model, in order; all have turn 1.

    Read are OpenAI's `tool_calls` (function and custom tools), else its older `function_call`, else Anthropic's
    `tool_use` blocks and Gemini's `functionCall` parts: a library that translates a provider's message may leave the
    same call in two places. A custom tool's free text is the argument `input`. At most `MOST_CALLS` are read. Never
    raises: what is no call though it stands where calls stand has a `fault`.
    """
    tool_calls = message.get("tool_calls")
    if tool_calls:
        return bounded(list(islice(_openai(tool_calls), MOST_CALLS + 1)))
    if message.get("function_call"):
        return [_older(message["function_call"])]
    return bounded(list(islice(_blocks(message), MOST_CALLS + 1)))


def _openai(tool_calls: Any) -> Iterator[Call]:
    if not isinstance(tool_calls, list | tuple):
        yield faulty(str(tool_calls)[:1000], "tool_calls is no list", None)
        return
    for item in tool_calls:
        if not isinstance(item, Mapping):
            yield faulty(str(item)[:1000], "an entry of tool_calls is no object", None)
            continue
        custom = item.get("custom")
        if isinstance(custom, Mapping):
            yield call(custom.get("name"), {"input": custom.get("input")}, None, item.get("id"))
            continue
        function = item.get("function")
        function = function if isinstance(function, Mapping) else item
        yield call(function.get("name"), _arguments(function), None, item.get("id"))


def _older(function: Any) -> Call:
    if not isinstance(function, Mapping):
        return faulty(str(function)[:1000], "function_call is no object", "function_call")
    return call(function.get("name"), _arguments(function), "function_call")


def _arguments(function: Mapping[str, Any]) -> Any:
    return next((function[key] for key in ARGUMENT_KEYS if key in function), None)


def _blocks(message: Mapping[str, Any]) -> Iterator[Call]:
    content = message.get("content")
    parts = content.get("parts") if isinstance(content, Mapping) else message.get("parts")
    for block in [*_list(content), *_list(parts)]:
        if not isinstance(block, Mapping):
            continue
        if block.get("type") == "tool_use":
            yield call(block.get("name"), block.get("input"), "anthropic", block.get("id"))
            continue
        function = block.get("functionCall") or block.get("function_call")
        if isinstance(function, Mapping):
            yield call(function.get("name"), function.get("args"), "gemini", function.get("id"))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
