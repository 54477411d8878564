"""How verdicts, outcomes and layers are called and what they look like: one table each, for every report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evaluator.results import VerdictWord

Outcome = Literal["ok", "fail", "warn", "inconclusive"]


@dataclass(frozen=True)
class Look:
    """`icon` for Markdown and HTML, `sign` for a terminal, `colour` a name that the page and the terminal both know."""

    icon: str
    sign: str
    colour: str


VERDICTS: dict[VerdictWord, Look] = {
    "pass": Look("✅", "+", "green"),
    "regression": Look("❌", "x", "red"),
    "drift": Look("🧭", "~", "magenta"),
    "inconclusive": Look("❓", "?", "yellow"),
}

OUTCOMES: dict[Outcome, Look] = {
    "ok": Look("✅", "+", "green"),
    "fail": Look("❌", "x", "red"),
    "warn": Look("⚠️", "!", "yellow"),
    "inconclusive": Look("❓", "?", "yellow"),
}

# Verdict → the kinds of reason that can cause it.
CAUSES: dict[VerdictWord, tuple[str, ...]] = {
    "pass": (),
    "regression": ("rule", "floor", "critical"),
    "drift": ("canary", "validator", "source", "provider", "model"),
    "inconclusive": ("stale", "coverage", "baseline", "rule", "task"),
}

_VALIDATORS = "the validators moved, not the model"
LAYERS: dict[str, str] = {
    "canary": _VALIDATORS,
    "validator": _VALIDATORS,
    "source": "the task source moved",
    "provider": "the provider moved, not the change",
    "model": "the model moved, not the change",
}

_MEND_VALIDATORS = (
    "No figure below can be trusted before this is settled. See what differs from the baseline: pin that package or "
    "scorer back or, if it is right now, accept a new baseline with `trapgate baseline accept`."
)
_NEW_BASELINE = "If it is meant, accept a new baseline with `trapgate baseline accept`."
RECORD_AGAIN = (
    "Recordings that were made with another prompt, other tools, another model or other parameters cannot answer for "
    "these: make them again with `trapgate record` or, where they came by `--outputs`, make those outputs again."
)
# (verdict, kind of reason) → what a person can do about it.
ADVICE: dict[tuple[VerdictWord, str], str] = {
    ("drift", "canary"): _MEND_VALIDATORS,
    ("drift", "validator"): _MEND_VALIDATORS,
    ("drift", "source"): f"Pin the task source to the commit of the baseline. {_NEW_BASELINE}",
    ("drift", "provider"): f"Ask the provider, or choose another model or mechanism (`structured`). {_NEW_BASELINE}",
    ("drift", "model"): f"Name a dated version of the model in `trap.yaml`. {_NEW_BASELINE}",
    ("inconclusive", "stale"): RECORD_AGAIN,
    ("inconclusive", "coverage"): "See below what was not scored or not compared and why, mend that, and run again.",
    ("inconclusive", "baseline"): "Run on the default branch and store its result with `trapgate baseline accept`.",
    ("inconclusive", "rule"): "The rule needs a value that this run does not have: see the rows that are not decided.",
    ("inconclusive", "task"): "Mend the task: see its faults below.",
}
TESTS: dict[str, str] = {
    "mcnemar": "exact McNemar test, one-sided",
    "sign-flip": "sign-flip test, one-sided",
}

_SCHEMAS = "schemas and examples (tighter types and enums, plainer field descriptions, an example of a right call)"
_ROUTING = "tool descriptions and routing (when each tool is right, and when it is not)"
_PLANNING = "planning and the system prompt (which steps, in which order, what to do after an error, when to stop)"
_CONTINUING = "how answers are continued (the prefill or completion template, turn-end markers, the token limit)"
# Failure mode → the fix that it calls for, after "To mend first: ".
FIXES: dict[str, str] = {
    "truncated": "the length (raise `max_tokens`, or ask for shorter answers)",
    **dict.fromkeys(
        ("unparseable", "wrong_arguments", "missing_argument", "unexpected_argument", "wrong_type", "wrong_value"),
        _SCHEMAS,
    ),
    "schema_invalid": _SCHEMAS,
    **dict.fromkeys(("syntax_incomplete", "content_changed"), _CONTINUING),
    **dict.fromkeys(("wrong_tool", "wrong_count", "extra_call", "tool_not_used"), _ROUTING),
    **dict.fromkeys(
        ("missing_call", "wrong_order", "ignored_error", "max_turns", "wrong_answer", "check_failed"), _PLANNING
    ),
}
