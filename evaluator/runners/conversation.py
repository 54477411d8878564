"""A conversation with a model on frozen tools: answers and results in turn, until there is an answer without a call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from evaluator.cases import Frozen, Request
from evaluator.runners import replies
from evaluator.runners.answer import Answered
from evaluator.runners.bounds import bounded
from evaluator.runners.feedback import call_fault
from evaluator.runners.frozen import FrozenTools, Given, arguments_of, refusal
from evaluator.runners.request import Wire
from evaluator.runners.spending import spent_before, total
from evaluator.runners.text_calls import understood
from evaluator.transcript import Call, Infrastructure, Transcript

Ask = Callable[[list[dict[str, Any]]], Awaitable[Answered | Infrastructure]]


async def converse(
    ask: Ask, wire: Wire, request: Request, recorded: Sequence[Frozen], retry: int
) -> Transcript | Infrastructure:
    """The whole conversation as one transcript, or why a turn of it got no answer, with what the turns before had cost.

    It ends with an answer without a call, with one that was cut off at the token limit, whose calls are not answered,
    and, as `Transcript.limit` says, after `request.max_turns` answers or at a call beyond `request.max_calls`. `ask`
    gives the model's answer to messages.

    `retry` above 1: a call whose arguments are no JSON object, or are refused by its tool's schema, gets as its result
    an error that says what is wrong, in at most `retry` - 1 messages, which do not count towards `max_turns`. `later`
    then holds the conversation without those calls; its usage is that of the turns that followed them, which is what
    they cost in addition. It is empty where there was none.
    """
    conversation = _Conversation(wire, request, recorded, retry)
    while True:
        answered = await ask(conversation.messages)
        if isinstance(answered, Infrastructure):
            return spent_before(answered, conversation.answers)
        said = understood(answered.transcript, wire, request)
        if conversation.ends_with(said, answered.message):
            return conversation.transcript()


class _Conversation:
    def __init__(self, wire: Wire, request: Request, recorded: Sequence[Frozen], retry: int) -> None:
        self.messages = list(wire.messages)
        self.answers: list[Transcript] = []
        self._wire = wire
        self._request = request
        self._tools = FrozenTools(recorded, request.mocks, wire.offered)
        self._retry = retry
        self._refused: list[int] = []  # the answers, counted from 0, to which a fault of shape went back
        self._calls: list[Call] = []
        self._sent_back: set[int] = set()  # places in `_calls`
        self._limit: str | None = None

    def ends_with(self, said: Transcript, message: dict[str, Any]) -> bool:
        """Takes in an answer and adds the results of its calls to the messages, unless it is the last."""
        self.answers.append(said)
        if not said.calls or said.stop_reason == "length":
            turn = len(self.answers)
            self._calls += [msgspec.structs.replace(call, turn=turn) for call in said.calls]
            return True
        given = self._answer(said.calls)
        if any(each.unanswered == "too_many" for each in given):
            self._limit = "max_calls"
        elif len(self.answers) - len(self._refused) >= self._request.max_turns:
            self._limit = "max_turns"
        if self._limit is not None:
            return True
        names = [self._wire.wire_name(call.tool) for call in said.calls]
        self.messages += [message, *replies.results(message, names, [each.result for each in given])]
        return False

    def _answer(self, calls: Sequence[Call]) -> list[Given]:
        faults = [call_fault(call, self._wire.offered) if self._may_refuse(calls) else None for call in calls]
        if any(faults):
            self._refused.append(len(self.answers) - 1)
        given: list[Given] = []
        for call, fault in zip(calls, faults, strict=True):
            each = self._given(call, fault)
            if fault is not None:
                self._sent_back.add(len(self._calls))
            answered = {"result": each.result, "unanswered": each.unanswered}
            self._calls.append(msgspec.structs.replace(call, turn=len(self.answers), **answered))
            given.append(each)
        return given

    def _may_refuse(self, calls: Sequence[Call]) -> bool:
        """Whether what is wrong with a call would go back: not in a message that ends the conversation."""
        return len(self._refused) < self._retry - 1 and len(self._calls) + len(calls) <= self._request.max_calls

    def _given(self, call: Call, fault: str | None) -> Given:
        if fault is not None:
            return Given({"error": fault}, "malformed" if arguments_of(call) is None else "invalid")
        if len(self._calls) >= self._request.max_calls:
            return refusal("too_many")
        return self._tools.answer(call)

    def transcript(self) -> Transcript:
        last = self.answers[-1]
        seconds = [answer.seconds for answer in self.answers]
        whole = bounded(
            msgspec.structs.replace(
                last,
                text=None if self._limit is not None else last.text,
                calls=self._calls,
                usage=total(self.answers),
                seconds=None if None in seconds else sum(second for second in seconds if second is not None),
                cut=sum(answer.cut for answer in self.answers),
                limit=self._limit,
            )
        )
        if self._retry == 1:
            return whole
        return msgspec.structs.replace(whole, later=[self._without_refused(whole)] if self._sent_back else [])

    def _without_refused(self, whole: Transcript) -> Transcript:
        calls = [call for place, call in enumerate(whole.calls) if place not in self._sent_back]
        extra = [self.answers[turn + 1] for turn in self._refused if turn + 1 < len(self.answers)]
        return msgspec.structs.replace(whole, calls=calls, usage=total(extra))
