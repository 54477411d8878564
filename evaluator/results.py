"""The result of a run, versioned: everything right of it (metrics, comparison, gate, reports) can be redone from it.

`results.json` is `Run`, `.trap/baseline.json` is `Baseline`. The published JSON Schemas in docs/schemas/ are generated
from these types (`make schemas`) and a test holds them together.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from evaluator.cases import Case, Origin, Request, SourceRef, Subject
from evaluator.errors import UserError, user_error
from evaluator.transcript import Infrastructure, Transcript, Usage

SCHEMA_VERSION = 1

VerdictWord = Literal["pass", "regression", "drift", "inconclusive"]
Status = Literal["scored", "infrastructure", "stale", "not_run"]
# What can move under a figure. None of them: nothing moved, or nobody can say which did.
LayerWord = Literal["change", "validator", "provider", "model"]


class Finding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One located fault. `path`: JSON path into the answer (`$.amount`); `keyword`: what failed, in JSON Schema's words
    where there is one (`type`, `required`, `enum`), else `json`, `value`, `name`, a matcher's kind. `wanted` and `got`
    are unset where they do not apply: null and missing are different things. `step`: which expected step it is about,
    by its place in the expected sequence, from 1. `call`: which of the calls that were made, from 1. A call that stands
    for a step has both; a step that was not called has no `call`, a call that stands for no step no `step`. `tool`:
    that of the call, else of the step. `note`: nothing is wrong with it and the verdict does not rest on it. The
    findings of a trace stand in this order: what decides its failure mode, other faults, notes."""

    path: str
    keyword: str
    wanted: Any | UnsetType = UNSET
    got: Any | UnsetType = UNSET
    step: int | None = None
    call: int | None = None
    tool: str | None = None
    message: str | None = None
    note: bool = False


# Figures of an attempt are shares or counts.
Value = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class Score(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a scorer says of a transcript. `failure_mode` is None exactly when `passed`. `values`: named figures in
    [0, 1] or counts; a figure that has no value for this attempt is left out, never 1.0."""

    passed: bool
    failure_mode: str | None = None
    values: dict[str, float] = {}
    findings: list[Finding] = []


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one case. `passed`, `failure_mode`, `values`, `findings` only where `status` is `scored`;
    `infrastructure` says why where it is not. `number` counts from 1 within the case."""

    number: int
    status: Status
    passed: bool | None = None
    failure_mode: str | None = None
    values: dict[str, Value] = {}
    scorer: str | None = None
    findings: list[Finding] = []
    transcript: Transcript | None = None
    infrastructure: Infrastructure | None = None


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """A case with its attempts, and all that is needed to score them again. `origin`: where it was written, for
    messages, with the lines that findings of its failed attempts are about; unset where its format does not say it."""

    id: str
    digest: str
    request: Request
    expected: dict[str, Any] | None
    attempts: list[Attempt]
    options: dict[str, Any] = {}
    slices: list[str] = []
    critical: bool = False
    golds: list[Transcript] = []
    cluster: str = ""
    origin: Origin | UnsetType = UNSET


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """A figure with its 95 % interval and the number of cases it rests on. `low` and `high` are None where the figure
    is exact (a sum of dollars)."""

    value: float
    n: int
    low: float | None = None
    high: float | None = None


class SliceResult(msgspec.Struct, frozen=True, kw_only=True):
    """As `TaskResult`, for the cases of one slice."""

    planned: int
    scored: int
    metrics: dict[str, Metric]
    failure_modes: dict[str, int]


class TaskResult(msgspec.Struct, frozen=True, kw_only=True):
    """`planned` and `scored` count attempts. `repeats` is the k of pass^k. `deterministic`: the transcripts were
    recorded, so any change counts and no statistics apply. `faults`: case id → what is wrong with the case
    itself (a gold that its own scorer refuses). `failure_modes` counts attempts. `tools`: the repository's own tool
    specs as the model got them, without which a call cannot be checked again (`Case.tools`). `pooled` false: no share
    is taken over all cases, so `metrics` has amounts alone and `failure_modes` is empty; both are in `slices`. `tries`:
    of each attempt whose answer had the wrong shape, at most."""

    name: str
    format: str
    source: SourceRef
    scorer: str
    repeats: int
    deterministic: bool
    planned: int
    scored: int
    metrics: dict[str, Metric]
    slices: dict[str, SliceResult]
    failure_modes: dict[str, int]
    cases: list[CaseResult]
    skipped: list[str] = []
    notes: list[str] = []
    faults: dict[str, str] = {}
    tools: dict[str, list[dict[str, Any]]] = {}
    pooled: bool = True
    tries: int = 1


class CanaryResult(msgspec.Struct, frozen=True, kw_only=True):
    """`expected` and `got` are short descriptions of a verdict, comparable by eye and by equality."""

    id: str
    expected: str
    got: str
    ok: bool


class CanaryResults(msgspec.Struct, frozen=True, kw_only=True):
    """`version` of the built-in set. An empty `cases` is a broken set, never a pass."""

    version: str
    cases: list[CanaryResult]


class LiveCanary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request of trapgate's own that the provider was sent in this run. `digest`: of all that was sent but the model;
    `attempts`: for each `valid` or `invalid` (by the canary's schema), `refused` (the schema was), else the kind of an
    infrastructure failure. `message`: what the provider said first of those that it refused or failed."""

    id: str
    digest: str
    attempts: list[str]
    message: str = ""


class LiveCanaries(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The live canaries of a run. `silent`: why none was sent, in words, empty where they were. `usage`: of all of
    them, which is no part of the run's totals."""

    canaries: list[LiveCanary] = []
    silent: str = ""
    usage: Usage | None = None


class Control(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The control arm: suspected cases asked again now, side by side: `base` with what the baseline was made with,
    `change` with what this run was. Only the cases that were asked are in these tasks. `silent`: why it was not asked,
    in words, empty where it was. `left`: suspected cases beyond its budget, of which those that were asked are a random
    sample. `anchor`: the base is the accepted baseline, not the current one."""

    base: list[TaskResult] = []
    change: list[TaskResult] = []
    silent: str = ""
    left: int = 0
    anchor: bool = False


class Witness(msgspec.Struct, frozen=True, kw_only=True):
    """What one witness says. `state`: `steady` (its layer is as it was; of the control arm: the base still does well),
    `moved`, or `silent`, and then `text` says why."""

    name: Literal["replay_canaries", "baseline_rescored", "live_canaries", "control_arm"]
    state: Literal["steady", "moved", "silent"]
    text: str


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """What a figure depends on besides the change. Each map is name → version or digest.

    `packages`: evaluator, python, jsonschema, litellm, …; `scorers`: every scorer, matcher, extractor and parser with
    its version, and the canary set; `subject`: model, parameters, system prompt and each tool, by digest or value;
    `sources`: task → commit or content digest; `answered`: models and system fingerprints that the provider reported.
    """

    packages: dict[str, str]
    scorers: dict[str, str]
    subject: dict[str, str]
    sources: dict[str, str]
    answered: dict[str, list[str]] = {}


class Reason(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One sentence for a person, and where it comes from. `kind`: `canary`, `validator`, `coverage`, `baseline`,
    `comparison` (cases that changed or were removed), `stale`, `rule`, `floor`, `critical`, `provider`, `model`,
    `task`, `config`, or `note`, which belongs into the first lines."""

    kind: str
    text: str
    task: str | None = None
    metric: str | None = None


class Evidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How sure a difference is. `test`: `mcnemar`, `sign-flip`, `deterministic` or `none`; `p` one-sided in the bad
    direction; `n` paired cases; `worse` and `better` count cases; `difference` is now − baseline over paired cases;
    `detectable`: the smallest drop this suite would show with 80 % power, None where that cannot be said. `adjusted`:
    p after Holm's correction over all `family` tests that could block this run; None where it was tested alone.
    `clusters`: how many groups of cases the test takes as one each, None where every case stands for itself."""

    test: str
    n: int
    worse: int
    better: int
    difference: float
    p: float | None = None
    low: float | None = None
    high: float | None = None
    detectable: float | None = None
    underpowered: bool = False
    adjusted: float | None = None
    family: int = 1
    clusters: int | None = None


class RuleResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One gate rule on one task. `outcome`: `ok`, `fail`, `warn` or `inconclusive`; `text` says why. `worse`: ids of
    the paired cases whose own value of the metric became worse, most harm first, at most 50; `evidence.worse` counts
    all of them. Empty for a limit on the figure itself, which holds for no single case. `anchor`: held against the last
    baseline that somebody accepted, not the current one, so that small drops do not add up unseen."""

    rule: str
    metric: str
    outcome: Literal["ok", "fail", "warn", "inconclusive"]
    text: str
    task: str | None = None
    slice: str | None = None
    baseline: float | None = None
    now: float | None = None
    evidence: Evidence | None = None
    worse: list[str] = []
    anchor: bool = False


class CaseChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A paired case whose pass rate moved, with the findings of its first failed attempt on the worse side."""

    task: str
    id: str
    baseline: float
    now: float
    critical: bool = False
    failure_mode: str | None = None
    findings: list[Finding] = []


class TaskComparison(msgspec.Struct, frozen=True, kw_only=True):
    """`paired` counts cases on both sides with equal digests and a score on both. The lists hold case ids.
    `baseline_metrics`: the baseline's own figures over all its cases, by metric name; `baseline_repeats`: the k of
    its pass^k, None where the baseline does not know the task. Of a task that is not pooled `pass_rate` is None, and
    `slices` has the evidence on the pass rate of each slice."""

    task: str
    paired: int
    not_comparable: list[str] = []
    removed: list[str] = []
    added: list[str] = []
    unscored: list[str] = []
    regressed: list[CaseChange] = []
    fixed: list[CaseChange] = []
    pass_rate: Evidence | None = None
    baseline_metrics: dict[str, Metric] = {}
    baseline_repeats: int | None = None
    slices: dict[str, Evidence] = {}


# Which of two models is better on a figure; `neither` where the evidence does not decide.
Winner = Literal["candidate", "baseline", "neither"]


class Duel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One metric of one task for two models, over the `n` paired cases that have a value on both sides: a mean, or of
    an amount the mean of a scored attempt. `p` is two-sided, `adjusted` the same after Holm's correction over all
    duels; both None where the transcripts are recorded, of which any difference counts. `detectable`: the smallest
    difference that would be shown with 80 % power where `neither` won, None where that cannot be said."""

    metric: str
    baseline: float
    candidate: float
    n: int
    winner: Winner
    p: float | None = None
    adjusted: float | None = None
    detectable: float | None = None


class PassCost(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a passed case costs. `cost_usd`: dollars of all attempts, failed ones included, by `cost_state` as in
    `Totals`; `passed`: cases that passed every attempt or, of one attempt a case, attempts that passed. `each`: dollars
    for one that passed, of a `partial` cost a lower bound; None where it is unknown or nothing passed."""

    passed: int
    cost_state: Literal["known", "partial", "unknown"]
    cost_usd: float | None = None
    each: float | None = None


class ModeShare(msgspec.Struct, frozen=True, kw_only=True):
    """A failure mode's share of the scored attempts of each model."""

    mode: str
    baseline: float
    candidate: float


class CandidateTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Two models on the paired cases of one task, each with its first `k` attempts where passing all of them counts.
    `gap`: why shares say nothing here, in words, empty where they do. `only_candidate`, `only_baseline`: ids of the
    cases that one of the two passes in every scored attempt and the other does not."""

    task: str
    paired: int
    k: int = 1
    recorded: bool = False
    gap: str = ""
    duels: list[Duel] = []
    modes: list[ModeShare] = []
    candidate_cost: PassCost | None = None
    baseline_cost: PassCost | None = None
    only_candidate: list[str] = []
    only_baseline: list[str] = []


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """Another model than the baseline's, beside it. `candidate`, `baseline`: their names; `sentence`: whether the
    evidence is enough. The verdict does not rest on it."""

    candidate: str
    baseline: str
    alpha: float
    sentence: str
    tasks: list[CandidateTask]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What differs from the baseline. `baseline`: which one it is, in words; `anchor`: the same of the last one that
    somebody accepted, empty where that is the baseline itself. `fingerprint`: differences in words; `subject`: names of
    the entries of `Fingerprint.subject` that differ. `validator_drift`: cases whose stored baseline verdict today's
    scorers do not give again, in words. `candidate`: this run's model beside the baseline's, where it is another."""

    baseline: str
    tasks: list[TaskComparison]
    fingerprint: list[str] = []
    validator_drift: list[str] = []
    subject: list[str] = []
    anchor: str = ""
    candidate: Candidate | None = None


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over all attempts. `cost_state`: `known`, `partial` (some attempts have no price; `cost_usd` is a lower
    bound) or `unknown` (`cost_usd` is None)."""

    attempts: int
    planned: int
    scored: int
    infrastructure: dict[str, int]
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    cost_state: Literal["known", "partial", "unknown"]
    seconds: float


class Alone(msgspec.Struct, frozen=True, kw_only=True):
    """What the first of several models would get as the only one."""

    verdict: VerdictWord
    reasons: list[Reason]
    layer: LayerWord | None = None


class Acceptance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who made a run the baseline, when (ISO 8601, UTC) and why. `explicit` false: nobody decided it, the run passed
    with full coverage and moved the baseline by itself."""

    by: str
    at: str
    why: str
    explicit: bool = True


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run, complete. `selection`: task names asked for, None for all. `warnings`: what a reader should know but the
    verdict does not rest on. Times are ISO 8601 in UTC. `commit`: of the repository under test, None where unknown.
    `beside`: the same tasks by the other models of `models`, each compared and judged by itself; `verdict`, `layer` and
    `reasons` are then of all of them, and `alone` has those of this one. `layer`: what moved, by the decision table of
    `evaluator.decision`. `unchanged`: nothing that matters differs from the baseline, so no model was asked and the
    baseline's own answers are judged again. `accepted`: somebody who may do so accepts what the verdict says."""

    schema_version: int
    evaluator: str
    started: str
    verdict: VerdictWord
    reasons: list[Reason]
    fingerprint: Fingerprint
    canaries: CanaryResults
    tasks: list[TaskResult]
    totals: Totals
    name: str | None = None
    subject: Subject | None = None
    selection: list[str] | None = None
    warnings: list[Reason] = []
    rules: list[RuleResult] = []
    comparison: Comparison | None = None
    commit: str | None = None
    beside: list[Run] = []
    alone: Alone | None = None
    layer: LayerWord | None = None
    witnesses: list[Witness] = []
    live: LiveCanaries | None = None
    control: Control | None = None
    unchanged: bool = False
    accepted: Acceptance | None = None


class Anchor(msgspec.Struct, frozen=True, kw_only=True):
    """The last run that somebody accepted explicitly."""

    accepted: Acceptance
    run: Run


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The run that others are compared with. `anchor`: the last explicitly accepted one, where this is another."""

    schema_version: int
    accepted: Acceptance
    run: Run
    anchor: Anchor | None = None


def models_of(run: Run) -> list[str]:
    """The model of each run that stands side by side, the first one first; empty text where none is named."""
    return [each.subject.model if each.subject is not None else "" for each in (run, *run.beside)]


def not_accepted(run: Run) -> Acceptance:
    """What stands in for an acceptance where a mere result file is compared with."""
    return Acceptance(by="", at=run.started, why="")


_RUN = msgspec.json.Decoder(Run)
_BASELINE = msgspec.json.Decoder(Baseline)


def encode(document: Run | Baseline) -> bytes:
    """JSON, one line per member of the outer levels, so that a stored baseline diffs in git."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def decode_run(data: bytes, where: str) -> Run:
    """A `Run` from the bytes of a results.json. `where` names it in errors.

    Raises UserError `results-unreadable` (with the JSON path, or what does not fit together) or `results-version`.
    """
    run: Run = _decode(_RUN, data, where)
    _refuse_inconsistent(run, where)
    return run


def decode_baseline(data: bytes, where: str) -> Baseline:
    """A `Baseline` from bytes; errors as `decode_run`."""
    baseline: Baseline = _decode(_BASELINE, data, where)
    _refuse_inconsistent(baseline.run, where)
    if baseline.anchor is not None:
        _refuse_inconsistent(baseline.anchor.run, f"{where}, anchor")
    if not any(task.cases for task in baseline.run.tasks):
        raise _unreadable(where, "a baseline without a case")
    return baseline


def decode_run_or_baseline(data: bytes, where: str) -> Run | Baseline:
    """Whichever the bytes hold; errors as `decode_run`. A baseline is told by its member `accepted`."""
    try:
        accepted = msgspec.json.decode(data, type=_Accepted).accepted
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise _unreadable(where, str(error)) from error
    return decode_run(data, where) if accepted is None else decode_baseline(data, where)


def _decode(decoder: msgspec.json.Decoder[Any], data: bytes, where: str) -> Any:
    try:
        version = msgspec.json.decode(data, type=_Versioned).schema_version
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise _unreadable(where, str(error)) from error
    if version != SCHEMA_VERSION:
        raise user_error(
            "results-version",
            f"written with schema version {version}, this trapgate reads version {SCHEMA_VERSION}",
            where=where,
            mend="Run the evaluation again with this version and accept its result.",
        )
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise _unreadable(where, str(error)) from error


class _Versioned(msgspec.Struct):
    schema_version: int


class _Accepted(msgspec.Struct):
    accepted: Any = None


def _refuse_inconsistent(run: Run, where: str) -> None:
    """Raises UserError where parts of a run contradict each other: somebody edited it, and what it says is worth
    nothing. What scorers said is not looked at here: that is scored again."""
    _refuse_twice(models_of(run), "model", where)
    for other in run.beside:
        if other.beside:
            raise _unreadable(where, "a run beside another has runs beside it")
        _refuse_inconsistent(other, where)
    _refuse_odd_tasks(run.tasks, where)
    for arm in (run.control.base, run.control.change) if run.control is not None else ():
        _refuse_odd_tasks(arm, f"{where}, control arm")


def _refuse_odd_tasks(tasks: list[TaskResult], where: str) -> None:
    _refuse_twice([task.name for task in tasks], "task", where)
    for task in tasks:
        if task.repeats < 1:
            raise _unreadable(where, f"{task.name}: repeats is {task.repeats}")
        _refuse_twice([case.id for case in task.cases], f"{task.name}: case", where)
        for case in task.cases:
            _refuse_odd_case(case, f"{task.name}/{case.id}", where)
        attempts = [attempt for case in task.cases for attempt in case.attempts]
        scored = sum(attempt.status == "scored" for attempt in attempts)
        if task.scored != scored or task.planned < len(attempts):
            what = f"{len(attempts)} attempts, {scored} of them scored, but it says {task.scored} of {task.planned}"
            raise _unreadable(where, f"{task.name}: it holds {what}")


def _refuse_odd_case(case: CaseResult, name: str, where: str) -> None:
    whole = Case(id=case.id, request=case.request, expected=case.expected, options=case.options)
    if whole.digest() != case.digest:
        raise _unreadable(where, f"{name}: its digest is not that of its request, expected answer and options")
    _refuse_twice([str(attempt.number) for attempt in case.attempts], f"{name}: attempt", where)
    for attempt in case.attempts:
        if attempt.status == "scored" and (attempt.transcript is None or attempt.passed is None):
            raise _unreadable(where, f"{name}: attempt {attempt.number} is scored without a transcript or a verdict")


def _refuse_twice(names: list[str], what: str, where: str) -> None:
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise _unreadable(where, f"{what} {twice} stands twice")


def _unreadable(where: str, why: str) -> UserError:
    return user_error(
        "results-unreadable",
        f"not a readable result file: {why}",
        where=where,
        mend="Write it again with `trapgate run` or `trapgate baseline accept`; it is not edited by hand.",
    )
