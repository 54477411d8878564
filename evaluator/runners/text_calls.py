"""Calls that a model wrote into its text, where the task lets them count and there is no native one. Pure."""

from __future__ import annotations

import msgspec

from evaluator.cases import Request
from evaluator.runners.request import Wire
from evaluator.tool_calls import in_text
from evaluator.transcript import Transcript


def understood(answer: Transcript, wire: Wire, request: Request) -> Transcript:
    """`answer` with the calls of its text as calls, and what is left of the text beside them."""
    if answer.calls or answer.text is None or not (request.text_calls and wire.offered):
        return answer
    # The model knows tools by their names on the wire; a prompt may use their real ones.
    reading = in_text(answer.text, {*wire.offered, *wire.names})
    if not reading.calls:
        return answer
    calls = [msgspec.structs.replace(call, tool=wire.names.get(call.tool, call.tool)) for call in reading.calls]
    return msgspec.structs.replace(answer, text=reading.text, calls=calls)
