"""What became of the live canaries: each attempt in a word. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from evaluator.json_text import JsonFault, parse_json
from evaluator.live import canaries
from evaluator.live.canaries import PLAIN, Canary, Shape
from evaluator.results import LiveCanaries, LiveCanary
from evaluator.runners.spending import total
from evaluator.scoring.extract_json import extract_json
from evaluator.scoring.schema import compile_schema
from evaluator.transcript import Call, Infrastructure, Transcript, well_formed

VALID, INVALID, REFUSED = "valid", "invalid", "refused"
# Refused without any schema as well: nobody can say that a schema is what is refused.
BAD_REQUEST = "bad_request"

LONGEST_MESSAGE = 300

# Some providers refuse a request afterwards, when the answer did not fit: that is no word about its schema.
_ABOUT_LENGTH = re.compile(r"max_(?:completion_|output_)?tokens|output limit|context (?:length|window|size)", re.I)

Result = Transcript | Infrastructure


def of(attempts: Iterable[tuple[str, Result]]) -> LiveCanaries:
    """All canaries of one model, in the order of their first attempts; `attempts`: pairs of a canary's id and what came
    of one attempt."""
    made: dict[str, list[Result]] = {}
    for canary_id, result in attempts:
        made.setdefault(canary_id, []).append(result)
    plain = _plain(made.get(PLAIN, []))
    answers = [result for found in made.values() for result in found if isinstance(result, Transcript)]
    return LiveCanaries(
        canaries=[
            _canary(canary, found, plain)
            for canary_id, found in made.items()
            if (canary := canaries.by_id(canary_id)) is not None
        ],
        usage=total(answers) if answers else None,
    )


def _plain(reference: Sequence[Result]) -> Literal["answered", "refused", "unknown"]:
    """What became of the request without a schema."""
    if any(isinstance(result, Transcript) for result in reference):
        return "answered"
    return "refused" if any(_is_refusal(result) for result in reference) else "unknown"


def _canary(canary: Canary, found: Sequence[Result], plain: str) -> LiveCanary:
    failures = [result.message for result in found if isinstance(result, Infrastructure)]
    return LiveCanary(
        id=canary.id,
        digest=canaries.digest(canary),
        attempts=[_word(canary, result, plain) for result in found],
        message=shortened(failures[0]) if failures else "",
    )


def _word(canary: Canary, result: Result, plain: str) -> str:
    if isinstance(result, Transcript):
        return VALID if is_valid(canary, result) else INVALID
    if not _is_refusal(result):
        return result.kind
    if plain == "refused":
        return BAD_REQUEST
    # Not every provider says what it refuses. Where a request without a schema is answered, it is the schema.
    unnamed = canary.shape is not None and plain == "answered" and not _ABOUT_LENGTH.search(result.message)
    return REFUSED if result.kind == "refused_schema" or unnamed else result.kind


def _is_refusal(result: Result) -> bool:
    return isinstance(result, Infrastructure) and result.kind in ("refused_schema", "refused_request")


def is_valid(canary: Canary, answer: Transcript) -> bool:
    """Whether an answer is what the canary's schema asks for. To plain text any answer is right; one that was cut off
    is wrong, since its end may be what is missing."""
    shape = canary.shape
    if shape is None:
        return True
    if answer.stop_reason == "length" or answer.cut:
        return False
    response_format = canaries.sent(canary).response_format
    if response_format is not None:
        value = extract_json(answer.text or "", wants_object=True)
        return _fits(response_format["json_schema"]["schema"], value)
    return bool(answer.calls) and all(_is_call(shape, call) for call in answer.calls)


def _is_call(shape: Shape, call: Call) -> bool:
    return call.fault is None and call.tool == shape.function and _fits(shape.parameters, parse_json(call.arguments))


def _fits(schema: object, value: object) -> bool:
    return not isinstance(value, JsonFault) and compile_schema(schema).findings(value) == []


def shortened(text: str) -> str:
    """One line of at most `LONGEST_MESSAGE` characters: it is somebody else's."""
    line = " ".join(well_formed(text).split())
    return line if len(line) <= LONGEST_MESSAGE else line[: LONGEST_MESSAGE - 1] + "…"
