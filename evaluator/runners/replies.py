"""The messages that bring a model the results of its calls, in the form in which it made them. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from evaluator.transcript import well_formed

_AGAIN = "Give the whole answer again, with this mended."


def results(message: dict[str, Any], tools: Sequence[str], given: Sequence[Any]) -> list[dict[str, Any]]:
    """One message for each call of the model's `message`, or one for all of them where they stood in its text.

    `tools`: the tools that were called, by the names that the model knows; `given`: their results, in the same order.
    """
    contents = [content(result) for result in given]
    if message.get("tool_calls"):
        calls = zip(message["tool_calls"], contents, strict=True)
        return [{"role": "tool", "tool_call_id": call["id"], "content": text} for call, text in calls]
    if message.get("function_call"):
        return [{"role": "function", "name": message["function_call"]["name"], "content": contents[0]}]
    named = zip(tools, contents, strict=True)
    return [{"role": "user", "content": "\n".join(_in_text(tool, text) for tool, text in named)}]


def again(message: dict[str, Any], faults: Sequence[str]) -> list[dict[str, Any]]:
    """The model's `message`, which was meant as its answer, and a message that says what is wrong with it."""
    wrong = {"role": "user", "content": "\n".join([*faults, _AGAIN])}
    # Providers refuse an empty message, which an empty answer would be.
    return [message, wrong] if message["content"] else [wrong]


def content(result: Any) -> str:
    """A result as text: a string as it is, anything else as JSON."""
    return well_formed(result if isinstance(result, str) else json.dumps(result, ensure_ascii=False))


def _in_text(tool: str, text: str) -> str:
    return f"<tool_response name={json.dumps(tool, ensure_ascii=False)}>\n{text}\n</tool_response>"
