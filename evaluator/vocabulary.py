"""The words that rules, results and reports share: metric names and failure modes.

A rule on a word that is not here is a configuration error; a rule on a word that has no value in a run is
`inconclusive`. Neither can pass in silence.
"""

from __future__ import annotations

# Modes of an attempt that failed, in the order in which they are decided: the first that applies.
FAILURE_MODES = (
    "truncated",
    "unparseable",
    "wrong_count",
    "wrong_tool",
    "missing_argument",
    "unexpected_argument",
    "wrong_type",
    "wrong_value",
)

# Share of an attempt or case, in [0, 1]. Higher is better.
SHARE_METRICS = ("pass_rate", "all_k_pass_rate", "schema_valid", "argument_score")

# Sums over a task or run. Lower is better.
AMOUNT_METRICS = ("cost_usd", "input_tokens", "output_tokens")

FAILURE_MODE_PREFIX = "failure_modes."


def known_metrics() -> list[str]:
    """Every metric name that a rule may use."""
    return [*SHARE_METRICS, *AMOUNT_METRICS, *(FAILURE_MODE_PREFIX + mode for mode in FAILURE_MODES)]
