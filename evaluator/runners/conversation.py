"""A conversation with a model on frozen tools: answers and results in turn, until there is an answer without a call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from evaluator.cases import Frozen, Request
from evaluator.runners import replies
from evaluator.runners.answer import Answered
from evaluator.runners.bounds import bounded
from evaluator.runners.feedback import call_fault, json_fault
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

    It ends with an answer without a call, with a call of `wire.answer_tool`, whose arguments are the answer and which
    is none of the transcript's calls, with an answer that was cut off at the token limit, whose calls are not answered,
    and, as `Transcript.limit` says, after `request.max_turns` answers, at a call beyond `request.max_calls`, or where
    the model says nothing after its calls. `ask` gives the model's answer to messages.

    `retry` above 1: a call whose arguments are no JSON object, or are refused by its tool's schema, gets as its result
    an error that says what is wrong, and so goes back an answer that is not JSON by `request.answer_schema`; both in at
    most `retry` - 1 messages, which do not count towards `max_turns`. The transcript is what happened up to the first
    answer. `later` then holds the whole conversation without what was sent back; its usage is that of the turns that
    followed it, which is what they cost in addition. It is empty where nothing was.
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
        self._tools = FrozenTools(recorded, request.mocks, wire.offered, request.corpus)
        self._retry = retry
        self._refused: list[int] = []  # the answers, counted from 0, to which a fault of shape went back
        self._calls: list[Call] = []
        self._sent_back: set[int] = set()  # places in `_calls`
        self._first: tuple[int, Transcript] | None = None  # the first final answer that went back, and its place
        self._limit: str | None = None

    def ends_with(self, said: Transcript, message: dict[str, Any]) -> bool:
        """Takes in an answer and adds what goes back to the messages, unless it is the last."""
        place = next((at for at, call in enumerate(said.calls) if call.tool == self._wire.answer_tool), None)
        if place is not None:
            others = [*said.calls[:place], *said.calls[place + 1 :]]
            sole = not any(call.tool == self._wire.answer_tool for call in others)
            readable = sole and arguments_of(said.calls[place]) is not None
            kept = readable or said.stop_reason == "length"
            text = said.calls[place].arguments if kept else None  # what is no object, or not the only one, is none
            self.answers.append(msgspec.structs.replace(said, text=text, calls=others))
            return self._ends_with_answer(said, message, place)
        self.answers.append(said)
        if said.stop_reason == "length":
            self._keep(said.calls)
            return True
        if not said.calls:
            if self._calls and not (said.text or "").strip():
                self._limit = "no_answer"
                return True
            return self._ends_with_answer(said, message, None)
        given = self._answer(said.calls, refusing=self._may_refuse(said.calls))
        if any(each.unanswered == "too_many" for each in given):
            self._limit = "max_calls"
        elif len(self.answers) - len(self._refused) >= self._request.max_turns:
            self._limit = "max_turns"
        if self._limit is not None:
            return True
        self._send_results(said, message, [each.result for each in given])
        return False

    def _ends_with_answer(self, said: Transcript, message: dict[str, Any], place: int | None) -> bool:
        """Takes in a final answer; `place`: of the call that gives it, None where it stands in the text."""
        answer = self.answers[-1]
        if answer.stop_reason == "length":
            self._keep(answer.calls)
            return True
        fault = self._fault_of(answer)
        results = [each.result for each in self._answer(answer.calls, refusing=False)]
        if fault is None:
            return True
        if self._first is None:
            self._first = (len(self.answers) - 1, self._whole())
        self._refused.append(len(self.answers) - 1)
        if place is None:
            self.messages += replies.again(message, [fault])
        else:
            self._send_results(said, message, [*results[:place], {"error": fault}, *results[place:]])
        return False

    def _fault_of(self, answer: Transcript) -> str | None:
        schema = self._request.answer_schema
        return json_fault(answer.text, schema) if schema is not None and self._may_refuse(answer.calls) else None

    def _send_results(self, said: Transcript, message: dict[str, Any], results: Sequence[Any]) -> None:
        names = [self._wire.wire_name(call.tool) for call in said.calls]
        self.messages += [message, *replies.results(message, names, results)]

    def _keep(self, calls: Sequence[Call]) -> None:
        turn = len(self.answers)
        self._calls += [msgspec.structs.replace(call, turn=turn) for call in calls]

    def _answer(self, calls: Sequence[Call], *, refusing: bool) -> list[Given]:
        faults = [call_fault(call, self._wire.offered) if refusing else None for call in calls]
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
        whole = self._whole()
        if self._retry == 1:
            return whole
        first = whole if self._first is None else self._first[1]
        later = [self._without_refused(whole)] if self._sent_back or self._first is not None else []
        return msgspec.structs.replace(first, usage=whole.usage, later=later)

    def _whole(self) -> Transcript:
        """All that happened so far."""
        last = self.answers[-1]
        seconds = [answer.seconds for answer in self.answers]
        return bounded(
            msgspec.structs.replace(
                last,
                text=None if self._limit is not None else last.text,
                calls=list(self._calls),
                usage=total(self.answers),
                seconds=None if None in seconds else sum(second for second in seconds if second is not None),
                cut=sum(answer.cut for answer in self.answers),
                limit=self._limit,
            )
        )

    def _without_refused(self, whole: Transcript) -> Transcript:
        calls = [call for place, call in enumerate(whole.calls) if place not in self._sent_back]
        extra = {turn + 1 for turn in self._refused}
        if self._first is not None:  # but for the answer there would have been no further turn
            extra |= set(range(self._first[0] + 1, len(self.answers)))
        spent = [answer for turn, answer in enumerate(self.answers) if turn in extra]
        return msgspec.structs.replace(whole, calls=calls, usage=total(spent))
