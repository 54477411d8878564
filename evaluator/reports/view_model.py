"""What a report shows, decided and worded, in the order in which it is shown: no template decides anything.

Every `str` here is plain text, possibly from outside; templates escape all of it. Names are shown as code, sentences as
prose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from evaluator.reports.words import Look

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class Listing(Generic[T_co]):
    """Some items, and how many `more` were left out."""

    shown: Sequence[T_co] = ()
    more: int = 0

    def __len__(self) -> int:
        return len(self.shown) + self.more

    def first(self, most: int) -> Listing[T_co]:
        """At most `most` of the items."""
        return Listing(self.shown[:most], len(self) - len(self.shown[:most]))


@dataclass(frozen=True)
class WitnessRow:
    """What one witness says of the layer that it vouches for. `models`: whose it is, where the others' says another
    thing."""

    look: Look
    state: str
    layer: str
    name: str
    models: Sequence[str]
    text: str


@dataclass(frozen=True)
class FigureRow:
    """A row of the metric table. `icon` is empty where no rule speaks of the figure; `since`: which baseline it is held
    against, where that is not the current one."""

    icon: str
    sign: str
    task: str
    metric: str
    slice: str
    since: str
    baseline: str
    now: str
    change: str
    evidence: str


@dataclass(frozen=True)
class TaskSentence:
    """What can be said of a task's cases as a whole, in words: how sure the difference of its pass rate is, for one."""

    task: str
    text: str


@dataclass(frozen=True)
class FindingRow:
    """`about`: the step or call that it is about ("step 3 issue_refund"), empty where it is about none. `wanted` and
    `got` are JSON, empty where they do not apply. For an answer that could not be read, `got` is how it begins, as it
    came."""

    about: str
    path: str
    keyword: str
    wanted: str
    got: str
    note: str


@dataclass(frozen=True)
class CaseRow:
    """A case that moved or failed. `rates`: baseline → now, empty where there was one attempt on each side; `passes`:
    it did not fail, and is listed because a rule is about it."""

    task: str
    id: str
    critical: bool
    rates: str
    mode: str
    findings: Listing[FindingRow]
    passes: bool = False


@dataclass(frozen=True)
class FlipRow:
    """A case that passed in some attempts and failed in others: `passed` ("3 of 5") and the modes of the others, each
    with how often it came."""

    task: str
    id: str
    critical: bool
    passed: str
    modes: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class ModelRow:
    """One model on one task, with the look of the model's verdict. A figure that there is none of is a dash; `tokens`:
    in and out."""

    model: str
    look: Look
    task: str
    all_k: str
    pass_rate: str
    tool: str
    argument: str
    order: str
    extra_calls: str
    tokens: str
    cost: str


@dataclass(frozen=True)
class ModelFix:
    """How a model fails, and what it needs most, in words."""

    model: str
    text: str


@dataclass(frozen=True)
class CoverageRow:
    """`why`: what kept attempts from being scored, by kind, with the first message of each kind."""

    task: str
    scored: str
    planned: str
    share: str
    why: Listing[str]


@dataclass(frozen=True)
class NamedList:
    """Case ids of a task under a heading in words ("removed by the change")."""

    task: str
    what: str
    names: Listing[str]


@dataclass(frozen=True)
class ModeRow:
    """A failure mode: attempts now, their share, and the share in the baseline."""

    task: str
    mode: str
    attempts: str
    share: str
    baseline: str


@dataclass(frozen=True)
class SliceRow:
    """A slice with its own figures."""

    task: str
    name: str
    scored: str
    pass_rate: str
    others: str


@dataclass(frozen=True)
class CanaryRow:
    """A canary that scored otherwise than it must."""

    id: str
    expected: str
    got: str


@dataclass(frozen=True)
class TaskNote:
    """A sentence about a case or task."""

    task: str
    name: str
    text: str


@dataclass(frozen=True)
class DuelRow:
    """A figure of two models. `what`: what is meant where there is no `metric`, else how it is taken ("an attempt");
    `better`: who is, in words; `shows`: the smallest difference that these cases would have shown."""

    task: str
    metric: str
    what: str
    baseline: str
    candidate: str
    better: str
    p: str
    cases: str
    shows: str


@dataclass(frozen=True)
class Duels:
    """Another model than the baseline's beside it. `candidate`, `baseline`: their names; of the `modes` the share is
    the candidate's; `alone`: cases that only one of the two passes."""

    candidate: str
    baseline: str
    rows: Listing[DuelRow]
    modes: Listing[ModeRow]
    alone: Listing[NamedList]


@dataclass(frozen=True)
class View:
    """The whole report, top to bottom. `said`: the verdict in words, with who accepted it; `calm`: a pass that nothing
    speaks against; `moved` sums up what the `witnesses` say; `compared`: with a baseline; `failed`: the cases besides
    the regressed ones that failed or that a rule is about; `rests_on_failed`: whether the verdict rests on them.
    `model`: whose figures and cases these are; `beside`: the same for each of the other models. `claims`: what a run
    that nobody here has checked says of itself; all that stands below is its word too."""

    model: str
    verdict: str
    said: str
    look: Look
    calm: bool
    title: str
    headline: str
    notes: Sequence[str]
    reasons: Sequence[str]
    more_reasons: Listing[str]
    advice: Sequence[str]
    witnesses: Sequence[WitnessRow]
    moved: str
    models: Sequence[ModelRow]
    fixes: Sequence[ModelFix]
    figures: Sequence[FigureRow]
    other_figures: Listing[FigureRow]
    facts: Sequence[str]
    sentences: Sequence[TaskSentence]
    validator_drift: Listing[str]
    regressed: Listing[CaseRow]
    failed: Listing[CaseRow]
    fixed: Listing[CaseRow]
    flips: Listing[FlipRow]
    coverage: Listing[CoverageRow]
    unpaired: Listing[NamedList]
    modes: Listing[ModeRow]
    slices: Listing[SliceRow]
    canaries: Listing[CanaryRow]
    fingerprint: Listing[str]
    warnings: Listing[str]
    faults: Listing[TaskNote]
    task_notes: Listing[TaskNote]
    versions: Listing[str]
    footer: str
    several_tasks: bool
    compared: bool
    rests_on_failed: bool
    candidates: Sequence[str] = ()
    duels: Duels | None = None
    beside: Sequence[View] = ()
    claims: Sequence[str] = ()
    shortened: bool = False
