"""Which tests a run is, for what counts tests, and how each came out. No XML here.

One rule decides what counts: a part of a run that fails it has failures and errors, a part that does not has none.
There, what would count is `skipped`, with the reason, so that a green run looks green and hides nothing. The part is
the whole run for the gate's own tests, and the run of its model for a case.

Of a part that fails:
- `failure`: a case that fails and regressed, that a failing or warning rule is about, or that was not compared with the
  baseline; a rule that fails; a canary that is judged otherwise; a witness that says its layer moved.
- `error`: what could not be decided: a case that was not scored (infrastructure, stale, not run), in no attempt or not
  in all; a case of the baseline that is gone; a rule that is inconclusive.
- `skipped`: a case that fails, and no more often than in the baseline; one that the source itself leaves out; a rule
  that warns; a witness that is silent.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

from evaluator.gate import exit_code
from evaluator.reports import cases, numbers, unanswered
from evaluator.reports.figures import comparison_of
from evaluator.reports.models import all_runs, model_of, whose
from evaluator.reports.one_line import finding_text
from evaluator.reports.verdict import verdict_of, words
from evaluator.reports.view_model import CaseRow
from evaluator.reports.words import SINCE_ANCHOR, WITNESSES
from evaluator.results import Attempt, CaseResult, RuleResult, Run, TaskResult

GATE = "trapgate"
VERDICT = "verdict"

# Of one answer: a result file may say anything.
_MOST_SECONDS = 1e9

# What came out: nothing is said of a test that passed.
Kind = Literal["", "failure", "error", "skipped"]


class Outcome(NamedTuple):
    """`type`: a stable word, such as the failure mode; `message` is one sentence, `text` all there is to say."""

    kind: Kind
    type: str = ""
    message: str = ""
    text: str = ""


PASSED = Outcome("")


class Test(NamedTuple):
    """One test. `seconds`: how long its answers took, as far as that is known."""

    name: str
    outcome: Outcome
    seconds: float = 0.0


class Suite(NamedTuple):
    """Tests that belong together. `about`: what they were made of, by name."""

    name: str
    tests: list[Test]
    about: dict[str, str]


def suites(run: Run) -> list[Suite]:
    """The gate's suite, then one for each task of each model."""
    about = {"verdict": run.verdict, "layer": run.layer or "", "trapgate": run.evaluator, "commit": run.commit or ""}
    found = [Suite(GATE, list(_gate(run)), about)]
    for part in all_runs(run):
        listed = _listed(part)
        excuse = _excuse(run, part)
        for task in part.tasks:
            of = f" ({model_of(part)})" if run.beside else ""
            about = {"model": model_of(part), "format": task.format, "scorer": task.scorer}
            found.append(Suite(task.name + of, list(_cases(part, task, listed, excuse)), about))
    return found


def _excuse(run: Run, part: Run) -> str:
    """Why nothing of `part` counts, in words; empty where it does."""
    if run.accepted is not None:
        return words(run)
    if exit_code(run) == 0:
        return "the run passes all the same"
    return "this model passes all the same" if verdict_of(part) == "pass" else ""


def _counted(outcome: Outcome, excuse: str) -> Outcome:
    """The one place where what would count may be set aside."""
    if not excuse or outcome.kind in ("", "skipped"):
        return outcome
    return Outcome("skipped", outcome.type, f"{outcome.message} ({excuse})", outcome.text)


def _gate(run: Run) -> Iterator[Test]:
    """The verdict, and everything that it rests on besides the cases."""
    excuse = _excuse(run, run) if exit_code(run) == 0 else ""
    yield Test(VERDICT, _verdict(run))
    for name, outcome in (*_canaries(run), *_witnesses(run), *_rules(run)):
        yield Test(name, _counted(outcome, excuse))


def _verdict(run: Run) -> Outcome:
    text = "\n".join(f"{reason.kind}: {reason.text}" for reason in (*run.reasons, *run.warnings))
    if run.verdict == "pass":
        return PASSED
    reasons = [reason.text for reason in run.reasons if reason.kind != "note"]
    first = unanswered.said(run) or (reasons[0] if reasons else "")
    message = f"{words(run)}: {first}" if first else words(run)
    if run.accepted is not None:
        return Outcome("skipped", run.verdict, message, text)
    return Outcome("error" if run.verdict == "inconclusive" else "failure", run.verdict, message, text)


def _canaries(run: Run) -> Iterator[tuple[str, Outcome]]:
    for canary in run.canaries.cases:
        said = f"expected {canary.expected}, got {canary.got}"
        if not canary.ok:
            yield f"canary {canary.id}", Outcome("failure", "canary", said)
    if held := sum(canary.ok for canary in run.canaries.cases):
        yield f"canaries ({held})", PASSED
    if not run.canaries.cases:
        yield "canaries", Outcome("error", "canary", "no canary was scored, so nothing vouches for the validators")


def _witnesses(run: Run) -> Iterator[tuple[str, Outcome]]:
    for part in all_runs(run):
        for witness in part.witnesses:
            layer, name = WITNESSES[witness.name]
            outcome = {
                "steady": PASSED,
                "moved": Outcome("failure", "drift", f"the layer moved ({layer}): {witness.text}"),
                "silent": Outcome("skipped", "silent", witness.text),
            }[witness.state]
            yield f"witness {whose(run, part)}{name}", outcome


def _rules(run: Run) -> Iterator[tuple[str, Outcome]]:
    for part in all_runs(run):
        for rule in part.rules:
            since = f", {SINCE_ANCHOR}" if rule.anchor else ""
            yield f"rule {whose(run, part)}{rule.rule}{since}", _rule(rule)


def _rule(rule: RuleResult) -> Outcome:
    kind: dict[str, Kind] = {"ok": "", "fail": "failure", "warn": "skipped", "inconclusive": "error"}
    if rule.outcome == "ok":
        return PASSED
    word = ("floor" if rule.evidence is None else "drop") if rule.outcome == "fail" else rule.outcome
    worse = "\n".join(rule.worse)
    return Outcome(kind[rule.outcome], word, rule.text, f"worse:\n{worse}" if worse else "")


def _listed(run: Run) -> dict[tuple[str, str], CaseRow]:
    """The failed cases that a verdict may rest on, as the other reports list them, by task and id."""
    rows = [*cases.regressed(run).shown, *cases.failed(run).shown]
    return {(row.task, row.id): row for row in rows if not row.passes}


def _cases(run: Run, task: TaskResult, listed: dict[tuple[str, str], CaseRow], excuse: str) -> Iterator[Test]:
    grave = any(reason.kind == "critical" and reason.task == task.name for reason in run.reasons)
    for case in task.cases:
        row = listed.get((task.name, case.id))
        yield Test(case.id, _counted(_case(task, case, row, grave=grave), excuse), _seconds(case))
    compared = comparison_of(run, task.name)
    for case_id in compared.removed if compared is not None else ():
        yield Test(case_id, _counted(Outcome("error", "removed", "the baseline has it, and this run has not"), excuse))
    for case_id in task.skipped:
        yield Test(case_id, Outcome("skipped", "skip", "the task's source marks it skip"))


def _case(task: TaskResult, case: CaseResult, row: CaseRow | None, *, grave: bool) -> Outcome:
    scored = cases.scored(case)
    lost = [attempt for attempt in scored if not attempt.passed]
    if lost and (row is not None or (grave and case.critical)):
        return _failure(row or cases.failed_row(task.name, case))
    if missing := max(len(case.attempts), task.repeats) - len(scored):
        return _unscored(case, missing, max(len(case.attempts), task.repeats))
    if lost:
        often = "" if len(lost) == len(scored) else f" in {len(lost)} of {len(scored)} attempts"
        return Outcome("skipped", lost[0].failure_mode or "failed", f"failed{often}, and no less often in the baseline")
    return PASSED


def _failure(row: CaseRow) -> Outcome:
    findings = [finding_text(finding) for finding in row.findings.shown]
    more = [f"… and {row.findings.more} more findings"] if row.findings.more else []
    rates = f" ({row.rates})" if row.rates else ""
    message = f"{row.mode or 'failed'}{rates}" + (f": {findings[0]}" if findings else "")
    return Outcome("failure", row.mode or "failed", message, "\n".join([*findings, *more]))


def _unscored(case: CaseResult, missing: int, planned: int) -> Outcome:
    """A case of which nobody can say that it passed."""
    without = [attempt for attempt in case.attempts if attempt.status != "scored"]
    kinds = Counter(map(_why, without))
    kinds["not run"] += missing - len(without)
    mix = ", ".join(f"{kind} × {times}" if times > 1 else kind for kind, times in kinds.items() if times)
    said = [f"{_why(each)}: {each.infrastructure.message}" for each in without if each.infrastructure is not None]
    message = f"{missing} of {numbers.counted(planned, 'attempt')} not scored: {mix}"
    return Outcome("error", _why(without[0]) if without else "not_run", message, "\n".join(dict.fromkeys(said)))


def _why(attempt: Attempt) -> str:
    return attempt.infrastructure.kind if attempt.infrastructure is not None else attempt.status


def _seconds(case: CaseResult) -> float:
    known = [a.transcript.seconds or 0.0 for a in case.attempts if a.transcript is not None]
    return sum(min(max(seconds, 0.0), _MOST_SECONDS) if math.isfinite(seconds) else 0.0 for seconds in known)
