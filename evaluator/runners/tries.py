"""A single answer, with further tries after feedback on a fault of its shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from evaluator.cases import Request
from evaluator.runners import replies
from evaluator.runners.conversation import Ask
from evaluator.runners.feedback import answer_fault, call_fault
from evaluator.runners.request import Wire
from evaluator.runners.spending import spent_before, total
from evaluator.runners.text_calls import understood
from evaluator.transcript import Infrastructure, Transcript

_WITH_ANOTHER = "not run, because another call of the same answer was refused; make it again"


async def answer(ask: Ask, wire: Wire, request: Request, retry: int) -> Transcript | Infrastructure:
    """The model's answer.

    `retry` above 1: while the answer's call is no JSON or refused by its function's schema, it goes back with what is
    wrong, at most `retry` tries in all. The transcript is the first try with the usage of all, `later` the others, each
    with its own; it is empty where none was needed. An answer cut off at the token limit is not tried again. A try
    without an answer makes the whole attempt an infrastructure failure.
    """
    messages = list(wire.messages)
    tries: list[Transcript] = []
    while True:
        answered = await ask(messages)
        if isinstance(answered, Infrastructure):
            return spent_before(answered, tries)
        said = understood(answered.transcript, wire, request)
        tries.append(said)
        faults = _faults(said, wire) if len(tries) < retry and said.stop_reason != "length" else []
        if not any(faults):
            break
        messages += _back(answered.message, said, faults)
    first, later = tries[0], tries[1:]
    if retry == 1:
        return first
    return msgspec.structs.replace(first, usage=total(tries), later=later)


def _faults(said: Transcript, wire: Wire) -> list[str | None]:
    """What is wrong with each call; one entry for the text where there is no call."""
    if wire.function is not None:
        return [answer_fault(said, wire.function)]
    return [call_fault(call, wire.offered) for call in said.calls]


def _back(message: dict[str, Any], said: Transcript, faults: Sequence[str | None]) -> list[dict[str, Any]]:
    """The answer and what is wrong with it, as messages."""
    if message.get("tool_calls") or message.get("function_call"):
        errors = [{"error": fault or _WITH_ANOTHER} for fault in faults]
        return [message, *replies.results(message, [call.tool for call in said.calls], errors)]
    return replies.again(message, [fault for fault in faults if fault is not None])
