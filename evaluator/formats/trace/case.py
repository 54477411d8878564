"""A fixture that has no fault → its case, and the attempts that were recorded of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from evaluator.cases import Case, Frozen, Origin, Recorded, Request
from evaluator.formats import labels
from evaluator.formats.trace.fixture import Fixture, Invocation, Message, Recording
from evaluator.formats.trace.rules import canonical_paths
from evaluator.transcript import Call, Transcript, Usage

_T = TypeVar("_T")


def request_of(fixture: Fixture, specs: list[dict[str, Any]], tools_file: str | None, text_calls: bool) -> Request:
    """What the model is asked. `specs`: the inline tools, normalised; `text_calls`: the task's default."""
    return Request(
        messages=_messages(fixture.input),
        tools=specs,
        tools_file=tools_file,
        mocks=[Frozen(tool=mock.tool, args=mock.args, result=mock.result) for mock in fixture.mocks],
        max_turns=fixture.max_turns,
        max_calls=fixture.max_calls,
        text_calls=text_calls if fixture.text_calls is UNSET else fixture.text_calls,
    )


def case_of(fixture: Fixture, request: Request, tools: dict[str, list[dict[str, Any]]], origin: Origin) -> Case:
    """The case without its golds; `tools` are those in files."""
    return Case(
        id=fixture.task_id,
        request=request,
        expected=expected_of(fixture),
        slices=labels.slices(fixture.tags),
        critical=fixture.critical or labels.CRITICAL in fixture.tags,
        cluster=labels.cluster(fixture.tags),
        tools=tools,
        recorded=_answers(fixture),
        expected_answer=_known(fixture.expected_answer),
        origin=origin,
    )


def expected_of(fixture: Fixture) -> dict[str, Any] | None:
    """What the scorer reads. Defaults are left out, so that writing one down changes no digest."""
    paths = canonical_paths(fixture)
    if paths is None:
        return None
    expected: dict[str, Any] = {"paths": paths}
    if fixture.allowed_tools is not UNSET:
        expected["allowed_tools"] = sorted(set(fixture.allowed_tools))
    if fixture.read_only:
        expected["read_only"] = sorted(set(fixture.read_only))
    if fixture.max_extra_calls:
        expected["max_extra_calls"] = fixture.max_extra_calls
    if fixture.expected_errors:
        expected["expected_errors"] = sorted(set(fixture.expected_errors))
    if fixture.checks:
        expected["checks"] = fixture.checks
    return expected


def recorded_of(fixture: Fixture) -> Iterator[Recorded]:
    """The attempts that the fixture holds."""
    for number, recording in fixture.attempts():
        subject = recording.subject
        yield Recorded(
            case_id=fixture.task_id,
            number=number,
            transcript=_transcript(recording),
            subject_digest=None if subject is UNSET else subject.digest,
            subject=None if subject is UNSET else subject.parts,
        )


def _messages(given: str | list[Message]) -> list[dict[str, Any]]:
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    messages: list[dict[str, Any]] = msgspec.to_builtins(given)
    return messages


def _answers(fixture: Fixture) -> list[Frozen]:
    """What tools answered: of each call all that the first recording with it has, in order, so that a call that is made
    twice gets the second answer. An error that was given for want of an answer is none."""
    found: dict[bytes, list[Frozen]] = {}
    for _, recording in fixture.attempts():
        own: dict[bytes, list[Frozen]] = {}
        for call in recording.calls():
            if isinstance(call.args, dict) and call.result is not UNSET and not (call.fault or call.unanswered):
                key = msgspec.json.encode((call.tool, call.args), order="sorted")
                own.setdefault(key, []).append(Frozen(tool=call.tool, args=call.args, result=call.result))
        found |= {key: answers for key, answers in own.items() if key not in found}
    return [answer for answers in found.values() for answer in answers]


def _transcript(recording: Recording) -> Transcript:
    tokens = [_known(count) for count in (recording.input_tokens, recording.output_tokens)]
    return Transcript(
        text=_known(recording.final_answer),
        calls=[_call(call, place) for place, call in enumerate(recording.calls(), 1)],
        stop_reason=_known(recording.stop_reason),
        usage=None if tokens == [None, None] else Usage(input_tokens=tokens[0], output_tokens=tokens[1]),
        model=recording.model,
        limit=_known(recording.limit),
    )


def _call(call: Invocation, place: int) -> Call:
    return Call(
        tool=call.tool,
        arguments=call.args if isinstance(call.args, str) else json.dumps(call.args, ensure_ascii=False),
        turn=place if call.turn is UNSET else call.turn,
        id=_known(call.id),
        result=call.result,
        wrapper=_known(call.wrapper),
        fault=_known(call.fault),
        unanswered=_known(call.unanswered),
    )


def _known(value: _T | UnsetType | None) -> _T | None:
    return None if value is UNSET else value
