"""Calls that a model wrote into its text, where the task lets them count and there is no native one. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from evaluator.cases import Request
from evaluator.runners.request import Wire
from evaluator.tool_calls import in_text
from evaluator.transcript import Call, Transcript


def understood(answer: Transcript, wire: Wire, request: Request) -> Transcript:
    """`answer` with the calls of its text as calls, and what is left of the text beside them."""
    if answer.calls or answer.text is None or not (request.text_calls and wire.offered):
        return answer
    # The model knows tools by their names on the wire; a prompt may use their real ones.
    reading = in_text(answer.text, {*wire.offered, *wire.names})
    if not reading.calls or (request.answer_schema is not None and _is_json_of_others(reading.calls, wire)):
        return answer
    calls = [msgspec.structs.replace(call, tool=wire.names.get(call.tool, call.tool)) for call in reading.calls]
    return msgspec.structs.replace(answer, text=reading.text, calls=calls)


def _is_json_of_others(calls: Sequence[Call], wire: Wire) -> bool:
    """Whether they are JSON, and of tools that are not on offer: an answer may have the very keys of a call."""
    return any(call.wrapper == "json" and wire.names.get(call.tool, call.tool) not in wire.offered for call in calls)
