"""Recordings in fixtures, in the shape that `evaluator/formats/trace.schema.json` describes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import UNSET

from evaluator.baselines.file import write_atomically
from evaluator.json_text import JsonFault, parse_json
from evaluator.transcript import Call, Transcript
from evaluator.yaml_scalars import INT64

# Keys of a fixture that are one recording, written without a list.
SHORTHAND = ("actual_invocations", "final_answer", "stop_reason", "limit", "input_tokens", "output_tokens")

# What a reader wants to see first comes first; keys that are not here keep their order and follow.
_ORDER = (
    "task_id",
    "description",
    "tags",
    "critical",
    "skip",
    "input",
    "tools",
    "allowed_tools",
    "read_only",
    "expected_invocations",
    "expected_paths",
    "max_extra_calls",
    "expected_errors",
    "normalizers",
    "checks",
    "expected_answer",
    "mocks",
    "max_turns",
    "max_calls",
    "text_calls",
)
_LAST = (*SHORTHAND, "recordings")

# A fixture file holds no more; what does is kept as text. Its own structure takes a few levels.
_MOST_DEPTH = 80
_LONGEST_NAME = 200


def recording_of(
    transcript: Transcript,
    *,
    number: int,
    model: str | None,
    date: str | None,
    subject_parts: Mapping[str, str] | None,
    subject_digest: str | None,
    schema_checks: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The entry of a fixture's `recordings` for attempt `number`; what is not known is left out.

    `date`: ISO 8601. `subject_digest`: 64 hex digits of what it was made with, `subject_parts` its readable entries.
    `schema_checks`: `{"step", "valid"}` of each call that has a schema. Read back, it is the same transcript up to the
    white space of arguments; latency, cost and later tries are not recorded.
    """
    usage = transcript.usage
    recording: dict[str, Any] = {
        "attempt": number,
        "model": model,
        "date": date,
        "subject": None
        if subject_digest is None
        else {"digest": subject_digest, "parts": dict(sorted((subject_parts or {}).items()))},
        "actual_invocations": [invocation_of(call) for call in transcript.calls],
        "final_answer": transcript.text,
        "stop_reason": transcript.stop_reason,
        "limit": transcript.limit,
        "input_tokens": usage.input_tokens if usage else None,
        "output_tokens": usage.output_tokens if usage else None,
        "schema_checks": [dict(check) for check in schema_checks] or None,
    }
    return {key: value for key, value in recording.items() if value is not None}


def invocation_of(call: Call) -> dict[str, Any]:
    """An entry of `actual_invocations`. Arguments are an object where they are one, else text as the model sent it."""
    invocation: dict[str, Any] = {"turn": call.turn, "tool": call.tool[:_LONGEST_NAME], "args": _arguments(call)}
    if call.result is not UNSET:
        invocation["result"] = call.result
    extra = {"id": call.id, "wrapper": call.wrapper, "fault": call.fault, "unanswered": call.unanswered}
    return invocation | {key: value for key, value in extra.items() if value is not None}


def fixture_with_recordings(fixture: Mapping[str, Any], recordings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """`fixture` with these recordings in place of those that it has."""
    kept = {key: value for key, value in fixture.items() if key not in (*SHORTHAND, "recordings")}
    return {**kept, "recordings": [dict(recording) for recording in recordings]}


def write_fixture(path: Path, fixture: Mapping[str, Any]) -> None:
    """Writes the fixture as JSON, whole or not at all. Raises UserError `not-writable`."""
    write_atomically(path, fixture_text(fixture).encode())


def fixture_text(fixture: Mapping[str, Any]) -> str:
    """The fixture as JSON with a fixed order of its keys, so that recording again changes what changed and no more."""
    first = [key for key in _ORDER if key in fixture]
    last = [key for key in _LAST if key in fixture]
    others = [key for key in fixture if key not in first and key not in last]
    ordered = {key: fixture[key] for key in [*first, *others, *last]}
    return json.dumps(ordered, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def kept_as_value(value: Any) -> bool:
    """Whether a fixture file can hold a JSON value as it is: not too deep, and integers of 64 bits at most."""
    level = [value]
    for _ in range(_MOST_DEPTH):
        if any(isinstance(item, int) and item not in INT64 for item in level):
            return False
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return True
    return False


def _arguments(call: Call) -> Any:
    if call.fault is not None:
        return call.arguments
    value = parse_json(call.arguments)
    is_object = isinstance(value, dict) and not isinstance(value, JsonFault)
    return value if is_object and kept_as_value(value) else call.arguments
