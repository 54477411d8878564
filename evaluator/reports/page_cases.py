"""Run → the cases of the page's explorer, of all its models, those that matter most first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec import UNSET

from evaluator.reports import numbers
from evaluator.reports.escape import shorten
from evaluator.reports.figures import comparison_of
from evaluator.reports.page_kept import kept
from evaluator.reports.page_pairs import Pair, json_text
from evaluator.reports.page_sides import judged, side_by_side
from evaluator.reports.view_model import Listing
from evaluator.results import Attempt, CaseResult, Finding, Run, TaskResult, models_of
from evaluator.vocabulary import COUNT_METRICS, SHARE_METRICS

# How a case came out, and how that stands to the baseline, in the order of the page.
VERDICTS = ("failed", "flips", "passed", "not scored")
AGAINST = ("regressed", "fixed", "same", "new", "not compared")

_MOST_ATTEMPTS = 20
_MOST_FINDINGS = 40
_MOST_MESSAGES = 20
_NAME_BYTES = 300


@dataclass(frozen=True)
class Found:
    """A finding. `wanted`, `got`: JSON, empty where they do not apply; `is_note`: no fault."""

    where: str
    keyword: str
    wanted: str
    got: str
    message: str
    is_note: bool


@dataclass(frozen=True)
class Shown:
    """An attempt. `arm`: which arm made it, empty for the run itself; `said`: its verdict in one word; `why`: what kept
    it from having one; `figures`: its values, tokens, cost and time in words."""

    arm: str
    number: int
    said: str
    mode: str
    why: str
    figures: str
    findings: Listing[Found]
    pairs: Listing[Pair]


@dataclass(frozen=True)
class Row:
    """A case of one model. `passed` of `scored` attempts; `before`: its pass rate in the baseline, None where unknown;
    `modes`: of the attempts that failed."""

    model: str
    task: str
    id: str
    verdict: str
    against: str
    critical: bool
    passed: int
    scored: int
    attempts: int
    before: float | None
    slices: Sequence[str]
    modes: Sequence[str]
    source: Source


@dataclass(frozen=True)
class Source:
    """What the details of a row are made of, for they are made only while there is room for them."""

    case: CaseResult
    fault: str
    arms: Sequence[tuple[str, CaseResult]]


def rows(run: Run) -> list[Row]:
    """Every case of every model: regressed ones first, then what failed, flips, was not scored, passed; critical ones
    first among their like."""
    found = [row for model, each in zip(models_of(run), (run, *run.beside), strict=True) for row in _rows(model, each)]
    rank = {"failed": 0, "flips": 1, "not scored": 2, "passed": 3}
    return sorted(found, key=lambda row: (row.against != "regressed", rank[row.verdict], not row.critical))


def _rows(model: str, run: Run) -> Iterator[Row]:
    arms = _arms(run)
    for task in run.tasks:
        before = _Before(run, task)
        for case in task.cases:
            scored = [attempt for attempt in case.attempts if attempt.status == "scored"]
            passed = sum(attempt.passed is True for attempt in scored)
            against, rate = before.of(case, passed / len(scored) if scored else None)
            modes = [attempt.failure_mode for attempt in scored if attempt.failure_mode and not attempt.passed]
            yield Row(
                model=model,
                task=task.name,
                id=case.id,
                verdict=_verdict(passed, len(scored)),
                against=against,
                critical=case.critical,
                passed=passed,
                scored=len(scored),
                attempts=len(case.attempts),
                before=rate,
                slices=case.slices,
                modes=list(dict.fromkeys(modes)),
                source=Source(case, task.faults.get(case.id, ""), arms.get((task.name, case.id), ())),
            )


def _verdict(passed: int, scored: int) -> str:
    if not scored:
        return "not scored"
    return "passed" if passed == scored else "flips" if passed else "failed"


class _Before:
    """What the comparison says of the cases of a task."""

    def __init__(self, run: Run, task: TaskResult) -> None:
        self._part = comparison_of(run, task.name)
        part = self._part
        self._moved = {change.id: ("regressed", change) for change in part.regressed} if part else {}
        self._moved |= {change.id: ("fixed", change) for change in part.fixed} if part else {}
        self._new = set(part.added) if part else set()
        self._apart = {*part.not_comparable, *part.unscored} if part else set()

    def of(self, case: CaseResult, now: float | None) -> tuple[str, float | None]:
        """How a case stands to the baseline (empty where there is none), and its pass rate there."""
        if self._part is None:
            return "", None
        if case.id in self._moved:
            word, change = self._moved[case.id]
            return word, change.baseline
        if case.id in self._new:
            return "new", None
        return ("not compared", None) if case.id in self._apart else ("same", now)


def _arms(run: Run) -> dict[tuple[str, str], list[tuple[str, CaseResult]]]:
    """(task, case id) → the case in each arm that was asked again."""
    found: dict[tuple[str, str], list[tuple[str, CaseResult]]] = {}
    if run.control is not None:
        for arm, tasks in (("base, asked again", run.control.base), ("change, asked again", run.control.change)):
            for task in tasks:
                for case in task.cases:
                    found.setdefault((task.name, case.id), []).append((arm, case))
    return found


def attempts(source: Source) -> Listing[Shown]:
    """The attempts of a case, and those of the control arm behind them. Of too many those that failed are kept first,
    then those without a verdict."""
    found, more = [], 0
    for arm, case in (("", source.case), *source.arms):
        pairs = side_by_side(case)
        some = kept(case.attempts, _MOST_ATTEMPTS, _urgency)
        found += [_shown(arm, case, each, pairs(each)) for each in some.shown]
        more += some.more
    return Listing(found, more)


def _urgency(attempt: Attempt) -> int:
    return 1 if attempt.status != "scored" else 2 if attempt.passed else 0


def asked(case: CaseResult) -> Listing[tuple[str, str]]:
    """What was asked: role and text of the last messages, for the question is among them, and the prefix of an answer
    that was to be continued."""
    said = case.request.messages
    messages = [
        (shorten(str(message.get("role", "")), _NAME_BYTES), _content(message.get("content")))
        for message in said[-_MOST_MESSAGES:]
    ]
    prefix = [("prefix", case.request.prefix)] if case.request.prefix is not None else []
    return Listing([*messages, *prefix], len(said) - len(messages))


def _content(content: object) -> str:
    return content if isinstance(content, str) else json_text(content)


def _shown(arm: str, case: CaseResult, attempt: Attempt, pairs: Listing[Pair]) -> Shown:
    failure, said = attempt.infrastructure, judged(case, attempt)
    why = f"{failure.kind}: {failure.message}" if failure is not None else ""
    if said is not None and said.process is not None and said.process.exit_code:
        why = f"{why}\nexit code {said.process.exit_code}\n{said.process.stderr}".strip()
    findings = kept(attempt.findings, _MOST_FINDINGS, lambda finding: finding.note)
    return Shown(
        arm=arm,
        number=attempt.number,
        said=_said(attempt),
        mode=attempt.failure_mode or "",
        why=why,
        figures=" · ".join(_figures(attempt)),
        findings=Listing(list(map(_found, findings.shown)), findings.more),
        pairs=pairs,
    )


def _said(attempt: Attempt) -> str:
    if attempt.status != "scored":
        return {"infrastructure": "not scored", "stale": "stale recording"}.get(attempt.status, "not run")
    return "passed" if attempt.passed else "failed"


def _figures(attempt: Attempt) -> Iterable[str]:
    known = (*SHARE_METRICS, *COUNT_METRICS)
    yield from (f"{name} {numbers.figure(name, attempt.values[name])}" for name in known if name in attempt.values)
    said = attempt.transcript
    usage = said.usage if said is not None else None
    if usage is not None and usage.input_tokens is not None and usage.output_tokens is not None:
        yield f"{numbers.count(usage.input_tokens)} tokens in, {numbers.count(usage.output_tokens)} out"
    if usage is not None and usage.cost_usd is not None:
        yield numbers.money(usage.cost_usd)
    if said is not None and said.seconds is not None and not said.cached:
        yield numbers.duration(said.seconds)


def _found(finding: Finding) -> Found:
    tool = shorten(finding.tool or "", _NAME_BYTES)
    about = f"step {finding.step}" if finding.step is not None else ""
    about += f"{', ' if about else ''}call {finding.call}" if finding.call is not None else ""
    path = "" if finding.path in ("", "$") and (about or tool) else finding.path
    return Found(
        where=" ".join(part for part in (about, tool, path) if part),
        keyword=finding.keyword,
        wanted="" if finding.wanted is UNSET else json_text(finding.wanted),
        got="" if finding.got is UNSET else json_text(finding.got),
        message=finding.message or "",
        is_note=finding.note,
    )
