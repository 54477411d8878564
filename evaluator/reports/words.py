"""How verdicts, outcomes and layers are called and what they look like: one table each, for every report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evaluator.results import LayerWord, VerdictWord

Outcome = Literal["ok", "fail", "warn", "inconclusive"]
WitnessState = Literal["steady", "moved", "silent"]
WitnessName = Literal["replay_canaries", "baseline_rescored", "live_canaries", "control_arm"]


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

# A pass that is no green light, and what is added to the look of a verdict that somebody accepts.
UNCERTAIN = Look("⚠️", "!", "yellow")
ACCEPTED = Look("☑️", "accepted", "blue")
# What somebody else's run says: no verdict of ours, whatever it is.
REPORTED = Look("📨", ">", "blue")
UNCHECKED = "nothing of it was checked here"
REPORTED_ADVICE = (
    "Read the change itself: whoever wrote it could have written this report. To have it evaluated by this repository, "
    "push its branch here once it has been read."
)

# What tells the states apart is the shape of the sign and the word, not a colour. No line is broken between the two.
STATES: dict[WitnessState, Look] = {
    "steady": Look("=\u00a0steady", "=", "green"),
    "moved": Look(f"{VERDICTS['drift'].icon}\u00a0moved", VERDICTS["drift"].sign, VERDICTS["drift"].colour),
    "silent": Look("?\u00a0silent", "?", "yellow"),
}
# Witness → the layer that it vouches for, and what it is called.
WITNESSES: dict[WitnessName, tuple[str, str]] = {
    "replay_canaries": ("validators", "replay canaries"),
    "baseline_rescored": ("validators", "baseline scored again"),
    "live_canaries": ("provider", "live canaries"),
    "control_arm": ("model", "control arm"),
}

# Verdict → the kinds of reason that can cause it.
CAUSES: dict[VerdictWord, tuple[str, ...]] = {
    "pass": (),
    "regression": ("rule", "floor", "critical"),
    "drift": ("canary", "validator", "source", "provider", "model"),
    "inconclusive": ("stale", "coverage", "comparison", "baseline", "rule", "task"),
}

_VALIDATORS = "the validators moved, not the model"
# Kind of reason → the layer that moved, where the run itself does not name one.
LAYERS: dict[str, str] = {
    "canary": _VALIDATORS,
    "validator": _VALIDATORS,
    "source": "the task source moved",
    "provider": "the provider moved, not the change",
    "model": "the model moved, not the change",
}
# Layer of a drift → how the first line says it.
MOVED: dict[LayerWord, str] = {layer: LAYERS[layer] for layer in ("validator", "provider", "model")}
# Layer → its name in a list.
LAYER_NAMES: dict[LayerWord, str] = {
    "change": "the change",
    "validator": "the validators",
    "provider": "the provider",
    "model": "the model",
}

_MEND_VALIDATORS = (
    "No figure below can be trusted before this is settled. See what differs from the baseline, and pin that package "
    "or scorer back."
)
# Nobody can accept a run whose canaries failed.
_MEND_CANARIES = (
    "No figure below can be trusted before this is settled, and no such run becomes a baseline. Find out what changed: "
    "`trapgate canaries` scores the recorded answers alone, and what differs from the baseline stands below. Pin the "
    "versions of trapgate and its packages, or mend the scorer or the task's judge."
)
_COMMAND = "accept a new baseline with `trapgate baseline accept`"
_COMMAND_OR_LABEL = f"{_COMMAND} or, on a pull request, by the label `trapgate:accept`"
RECORD_AGAIN = (
    "Recordings that were made with another prompt, other tools, another model or other parameters cannot answer for "
    "these: make them again with `trapgate record` or, where they came by `--outputs`, make those outputs again."
)
# After what the control arm says of a regression.
CHANGE_IS_CAUSE = (
    "Mend the change: asked again today, the base still does well on these cases. If the drop is meant, accept it as "
    "the new baseline with `trapgate baseline accept` or, on a pull request, by the label `trapgate:accept`."
)
# The same where nobody can accept the drop, a floor being broken as well.
CHANGE_ALONE_IS_CAUSE = "Mend the change: asked again today, the base still does well on these cases."
# Of a regression of which there is nothing else to say.
MEND = "Mend the change; the cases are below."
# Of an inconclusive run under which a drop is proven.
MEND_FIRST = "Mend the change first: what fell is more than noise, whatever is still missing."
# Of a drop that only blocks by `on_noise: fail`.
ANY_DROP = (
    "Run again to see whether it stays: a few cases can flip by chance, and `on_noise: fail` blocks on any drop. More "
    "cases, or more `repeats` of each, would tell."
)
# Of cases that got worse under another model than the baseline's, whose run nobody can accept.
WORSE_MODEL = (
    "{candidate} does worse. Keep {baseline}, or set `model: {candidate}` in `trap.yaml`, run again and accept that "
    "run."
)
# In place of `MEANT` there.
MEANT_MODEL = "If it is meant, set `model: {candidate}` in `trap.yaml`, run again and accept that run."
# Of a model under which cases got worse for the base as well, and then how to live with it.
MODEL_FELL = "Run again to rule out chance. If it stays, pin another model version or mend the prompt"
LIVE_WITH_IT = (
    "to live with it, set the label `trapgate:accept` on a pull request or accept a new baseline with "
    "`trapgate baseline accept`"
)
ASK_AGAIN = (
    "Read below why the control arm is silent. Where it was not asked, `trapgate run` asks it, given a key, "
    "`drift.control_cases` and room in `limits`; where it cannot tell, more `repeats` would."
)
# Of a pass with a possible drop.
TELL_APART = (
    "This can be noise or a real change: look at the cases below before you merge. More cases, or more `repeats` of "
    "each, would tell them apart."
)
# Where only rules against the last accepted baseline fail.
NO_RATCHET = (
    "Small drops have added up since the last baseline that somebody accepted. Win them back or, if this level is "
    "meant, accept it with `trapgate baseline accept` or, on a pull request, by the label `trapgate:accept`: nothing "
    "else moves what their sum is held against."
)
# The same where nobody can accept it.
WIN_BACK = "Small drops have added up since the last baseline that somebody accepted. Win them back."
# Kind of a failure that kept every missing attempt from its verdict → what a person can do about it.
UNANSWERED: dict[str, str] = {
    "authentication": (
        "See that the key in the step's `env:`, from a secret of the repository, is valid and may use this model."
    ),
    "no_key": "Bring back the recordings of these cases: without a key, nothing else answers.",
    "rate_limit": (
        "Run again later, or with a smaller `limits.concurrency`; see to the account's quota where that is used up."
    ),
    **dict.fromkeys(
        ("server_error", "timeout"), "Nothing in this change explains it. Run again when the provider answers."
    ),
    "connection": "See that the model's server runs and can be reached from here, and run again.",
    "cost_limit": "Raise `limits.max_cost_usd`, or ask for less: fewer `repeats`, fewer tasks.",
    "time_limit": "Raise `limits.timeout` or `limits.concurrency`, or ask for less: fewer `repeats`, fewer tasks.",
    "cancelled": "Run again: this run was stopped before its end.",
}
SET_KEY = "Set {names} in the step's `env:`, from a secret of the repository; in a terminal, `export` it."
# Of a run that may have no key, for it is a stranger's.
WITHOUT_KEY = "Nothing to do for the author: a maintainer decides, see `docs/forks.md` of trapgate."
# (verdict, kind of reason) → what a person can do about it.
ADVICE: dict[tuple[VerdictWord, str], str] = {
    ("drift", "canary"): _MEND_CANARIES,
    ("drift", "validator"): _MEND_VALIDATORS,
    ("drift", "source"): "Pin the task source to the commit of the baseline.",
    ("drift", "provider"): (
        "Nothing in this change explains it. Ask the provider, or choose another model or mechanism (`structured`)."
    ),
    ("drift", "model"): "Nothing in this change explains it. Name a dated version of the model in `trap.yaml`.",
    ("inconclusive", "stale"): RECORD_AGAIN,
    ("inconclusive", "coverage"): "See below what was not scored or not compared and why, mend that, and run again.",
    ("inconclusive", "comparison"): "Cases were changed or removed, so these cannot be compared. Bring them back.",
    ("inconclusive", "provider"): (
        "Ask the provider, or ask for structure by another mechanism (`structured`) until it takes such schemas again."
    ),
    ("inconclusive", "baseline"): "Run on the default branch and store its result with `trapgate baseline accept`.",
    ("inconclusive", "rule"): "The rule needs a value that this run does not have: see the rows that are not decided.",
    ("inconclusive", "task"): "Mend the task: see its faults below.",
}
# The same → how it is accepted where it is meant. No label accepts that validators or sources moved.
MEANT: dict[tuple[VerdictWord, str], str] = {
    ("drift", "validator"): f"If it is right now, {_COMMAND}.",
    ("drift", "source"): f"If it is meant, {_COMMAND}.",
    ("drift", "provider"): f"If it is meant, {_COMMAND_OR_LABEL}.",
    ("drift", "model"): f"If it is meant, {_COMMAND_OR_LABEL}.",
    ("inconclusive", "comparison"): f"If it is meant, {_COMMAND_OR_LABEL}.",
}
# After a figure that is held against the last baseline that somebody accepted.
SINCE_ANCHOR = "since the accepted baseline"
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
