"""Live canaries and what came of them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from evaluator.live import canaries
from evaluator.live.canaries import Canary
from evaluator.results import LiveCanaries, LiveCanary
from evaluator.transcript import Call, Infrastructure, Transcript

REFUSED_SCHEMA = Infrastructure(kind="refused_schema", message="Invalid schema for response_format", http_status=400)
REFUSED_REQUEST = Infrastructure(
    kind="refused_request", message="Request contains an invalid argument.", http_status=400
)


def sent(canary_id: str, *attempts: str, message: str = "") -> LiveCanary:
    """A canary of the set, as a run keeps it."""
    canary = canaries.by_id(canary_id)
    assert canary is not None
    return LiveCanary(id=canary_id, digest=canaries.digest(canary), attempts=list(attempts), message=message)


def live(*found: LiveCanary) -> LiveCanaries:
    return LiveCanaries(canaries=list(found))


def answer(canary: Canary, arguments: object) -> Transcript:
    """The answer of a model that gives these arguments."""
    if canary.shape is None:
        return Transcript(text="ready", stop_reason="stop")
    if canary.mechanism == "schema":
        text = json.dumps({"name": canary.shape.function, "arguments": arguments})
        return Transcript(text=text, stop_reason="stop")
    call = Call(tool=canary.shape.function, arguments=json.dumps(arguments))
    return Transcript(calls=[call], stop_reason="tool_calls")


def every() -> Sequence[Canary]:
    return [canary for mechanism in canaries.MECHANISMS for canary in canaries.of(mechanism)]
