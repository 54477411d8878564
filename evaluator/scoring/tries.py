"""An attempt with feedback on schema faults → its score: one try counts, the others are figures beside it.

Values: `first_try_pass_rate`, `recovered_pass_rate` (passed at first or in the end) and `retry_tokens` (of the tries
after the first; left out where unknown). An attempt without such tries on offer has none of them.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from evaluator.results import Score
from evaluator.transcript import Infrastructure, Transcript

# Option of a case: "last of 2" where the verdict rests on the last of so many tries. It is in the digest, for it is
# another question.
OPTION = "scored_try"


def scored(
    score: Callable[[Transcript], Score | Infrastructure], transcript: Transcript, *, last: bool
) -> Score | Infrastructure:
    """`score` of the first try or of the `last`; infrastructure where one of the two cannot be scored."""
    first = score(transcript)
    if transcript.later is None or isinstance(first, Infrastructure):
        return first
    final = score(transcript.later[-1]) if transcript.later else first
    if isinstance(final, Infrastructure):
        return final
    figures = {
        "first_try_pass_rate": float(first.passed),
        "recovered_pass_rate": float(first.passed or final.passed),
    }
    tokens = _tokens(transcript.later)
    if tokens is not None:
        figures["retry_tokens"] = float(tokens)
    chosen = final if last else first
    return msgspec.structs.replace(chosen, values={**chosen.values, **figures})


def _tokens(later: list[Transcript]) -> int | None:
    total = 0
    for each in later:
        usage = each.usage
        if usage is None or usage.input_tokens is None or usage.output_tokens is None:
            return None
        total += usage.input_tokens + usage.output_tokens
    return total
