"""The calls that a model wrote into its answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import chain
from typing import NamedTuple

from evaluator.json_text import JsonFault
from evaluator.tool_calls import bare_json, python_style, tagged
from evaluator.tool_calls.fences import blocks, unfenced
from evaluator.tool_calls.wrappers import bounded, faulty
from evaluator.transcript import Call, well_formed

# Llama and Mistral open an answer that is nothing but calls with these.
_MARKERS = ("<|python_tag|>", "[TOOL_CALLS]")
_THINK = re.compile(r"\s*<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_THOUGHT = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)


class Reading(NamedTuple):
    """`calls` in order, and the `text` that is left beside them, None where nothing is."""

    calls: list[Call]
    text: str | None


def in_text(text: str, tools: Collection[str]) -> Reading:
    """The calls in the text of an answer; `tools`: the names on offer. Never raises.

    Prose is never a call. In this order, the first that finds something:
    1. reasoning, up to the last `</think>` (or `</thinking>`, `</thought>`, `</reasoning>`), is no part of the answer;
    2. an answer that is one fenced block is what stands in it;
    3. a marker that opens the answer (`<|python_tag|>`, `[TOOL_CALLS]`): all of it is JSON or Python-style calls;
    4. an answer that is JSON: calls where all of it is calls, else an answer;
    5. an answer that is Python-style calls of tools on offer, or a bracketed list of calls;
    6. tagged calls, anywhere;
    7. fenced blocks in prose, where each of them is JSON or Python-style calls of tools on offer.
    """
    text = well_formed(text)
    start = _answer_start(text)
    body = unfenced(text[start:])
    whole = _whole(body, tools)
    if whole is not None:
        return Reading(bounded(whole), _left(text, [(start, len(text))] if whole else []))
    found = tagged.read(text[start:], tools)
    if found.calls:
        return Reading(bounded(found.calls), _left(text, [(start + begin, start + end) for begin, end in found.spans]))
    calls, spans = _fenced(text[start:], tools)
    return Reading(bounded(calls), _left(text, [(start + begin, start + end) for begin, end in spans]))


def _answer_start(text: str) -> int:
    """Where reasoning is over: after the last closer, since some templates open it themselves; at the end of a text
    that begins with reasoning and does not close it."""
    closers = list(_THOUGHT.finditer(text))
    if closers:
        return closers[-1].end()
    return len(text) if _THINK.match(text) else 0


def _whole(body: str, tools: Collection[str]) -> list[Call] | None:
    """The calls that all of `body` is; empty where it is an answer by its form; None where that is not said."""
    if not body:
        return []
    for marker in _MARKERS:
        if body.startswith(marker):
            return _marked(body.removeprefix(marker).strip(), tools)
    calls = bare_json.read(body, tools)
    return python_style.read(body, tools) if calls is None else calls


def _marked(payload: str, tools: Collection[str]) -> list[Call]:
    value = bare_json.values_of(payload)
    if isinstance(value, JsonFault):
        calls, fault = python_style.read(payload, tools), str(value)
    else:
        calls, fault = bare_json.calls_of(value, tools, "tool_call_tag"), "the JSON after the marker is no call"
    return calls or [faulty(payload, fault, "tool_call_tag", bare_json.name_at_head(payload))]


def _fenced(answer: str, tools: Collection[str]) -> tuple[list[Call], list[tuple[int, int]]]:
    found = list(blocks(answer)) if "```" in answer else []
    read = [_whole(block.content, tools) for block in found]
    calls = list(chain.from_iterable(part or [] for part in read))
    if not all(read) or any(call.tool not in tools for call in calls):
        return [], []
    return calls, [(block.start, block.end) for block in found]


def _left(text: str, spans: Iterable[tuple[int, int]]) -> str | None:
    pieces = []
    position = 0
    for start, end in spans:
        pieces.append(text[position:start])
        position = end
    pieces.append(text[position:])
    left = "".join(pieces)
    return (left.strip() if len(pieces) > 1 else left) or None
