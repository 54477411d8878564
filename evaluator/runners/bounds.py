"""How much of an answer is kept: megabytes of a model that runs wild belong in nobody's results."""

from __future__ import annotations

import msgspec

from evaluator.transcript import Call, Transcript

# Characters of text, tool names and arguments of one transcript. Some 250,000 tokens: no honest answer comes near.
MOST_CHARACTERS = 1024 * 1024
# What a call costs beside its characters, so that a million empty calls do not come free.
_CALL_OVERHEAD = 64


def bounded(transcript: Transcript, most: int = MOST_CHARACTERS) -> Transcript:
    """`transcript` with at most `most` characters, first the text, then the calls in order.

    What is left out is counted in `cut`; nothing else changes, the stop reason least of all: the model did not stop
    there.
    """
    room = most
    cut = transcript.cut
    text = transcript.text
    if text is not None and len(text) > room:
        cut += len(text) - room
        text = text[:room]
    room -= len(text or "")
    calls: list[Call] = []
    for call in transcript.calls:
        size = len(call.tool) + len(call.arguments)
        kept = room - _CALL_OVERHEAD - len(call.tool)
        if kept < 0:
            cut += max(1, size)
            room = -1  # the calls that follow are left out as well, however short: what is kept is a beginning
        else:
            cut += max(0, len(call.arguments) - kept)
            calls.append(
                call if len(call.arguments) <= kept else msgspec.structs.replace(call, arguments=call.arguments[:kept])
            )
            room -= _CALL_OVERHEAD + size
    if cut == transcript.cut:
        return transcript
    return msgspec.structs.replace(transcript, text=text, calls=calls, cut=cut)
