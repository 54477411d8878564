"""The words that rules, results and reports share: metric names and failure modes.

A rule on a word that is not here is a configuration error; a rule on a word that has no value in a run is
`inconclusive`. Neither can pass in silence.
"""

from __future__ import annotations

# Modes of an attempt that failed, in the order in which they are decided: the first that applies.
FAILURE_MODES = (
    "truncated",
    "unparseable",
    "syntax_incomplete",
    "content_changed",
    "wrong_count",
    "wrong_tool",
    "missing_call",
    "extra_call",
    "wrong_order",
    "wrong_arguments",
    "missing_argument",
    "unexpected_argument",
    "wrong_type",
    "schema_invalid",
    "wrong_value",
    "tool_not_used",
    "check_failed",
    "ignored_error",
    "max_turns",
    "wrong_answer",
)

# Share of an attempt or case, in [0, 1]. Higher is better.
SHARE_METRICS = (
    "pass_rate",
    "all_k_pass_rate",
    "tool_score",
    "order_score",
    "argument_score",
    "argument_score_matched",
    "schema_valid",
    "first_try_pass_rate",
    "recovered_pass_rate",
    "syntax_complete",
    "content_preserved",
    "whole_response_success",
)

# Counts of an attempt: a case's mean over its attempts, a task's mean over its cases. Lower is better.
COUNT_METRICS = ("missing_calls", "extra_calls", "retry_tokens", "trailing_content")

# Sums over a task or run. Lower is better.
AMOUNT_METRICS = ("cost_usd", "input_tokens", "output_tokens")

FAILURE_MODE_PREFIX = "failure_modes."


def known_metrics() -> list[str]:
    """Every metric name that a rule may use."""
    return [*SHARE_METRICS, *COUNT_METRICS, *AMOUNT_METRICS, *(FAILURE_MODE_PREFIX + mode for mode in FAILURE_MODES)]
