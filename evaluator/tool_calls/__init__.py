"""tool_calls@1: the one parser of tool calls, whichever way they are wrapped. Pure; linear in what it reads.

`native` reads the structured calls of a message; `in_text` those that a model wrote into its answer, which count only
where a message has no structured ones. A malformed call is data: a `Call` whose `fault` says why and where it broke.
"""

from __future__ import annotations

from evaluator.tool_calls.native_calls import native
from evaluator.tool_calls.text_calls import Reading, in_text
from evaluator.tool_calls.wrappers import MOST_CALLS, WRAPPERS

VERSION = "tool_calls@1"

__all__ = ["MOST_CALLS", "VERSION", "WRAPPERS", "Reading", "in_text", "native"]
