"""One line of the history of baselines: who made which run the baseline, when and why, with a few of its figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from evaluator.results import Acceptance, Run, SliceResult, TaskResult, VerdictWord, models_of
from evaluator.vocabulary import SHARE_METRICS

# A history must stay small: what a figure was in full is in its document.
_MOST_FIGURES = 60
_MOST_METRICS = 3
_LONGEST = 300

Text = Annotated[str, msgspec.Meta(max_length=_LONGEST)]
File = Annotated[str, msgspec.Meta(max_length=200, pattern=r"^([0-9a-z][0-9a-z.-]*)?$")]


class Figures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Figures of one task, or of a slice of it where none is taken over all its cases, by one model. `metrics`: name →
    value, those that a report shows first."""

    task: Text
    cases: Annotated[int, msgspec.Meta(ge=0)]
    metrics: Annotated[dict[Text, float], msgspec.Meta(max_length=_MOST_METRICS)]
    model: Text = ""
    slice: Text = ""


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run that was made the baseline. `commit`: of the code that ran, empty where unknown; `at`: when it was accepted
    (ISO 8601, UTC); `explicit` false: it moved by itself. `file`: its document, empty where that is kept no longer;
    `anchor`: the document of the one that small drops add up from, empty where that is itself."""

    commit: Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})?$")]
    at: Text
    by: Text
    why: Text
    explicit: bool
    verdict: VerdictWord
    figures: Annotated[list[Figures], msgspec.Meta(max_length=_MOST_FIGURES)] = []
    file: File = ""
    anchor: File = ""


def entry(run: Run, accepted: Acceptance, *, file: str = "", anchor: str = "") -> Entry:
    """The line of `run`, accepted as `accepted` says."""
    figures = [
        figure
        for model, each in zip(models_of(run), (run, *run.beside), strict=True)
        for task in each.tasks
        for figure in _figures(task, model)
    ]
    return Entry(
        commit=run.commit or "",
        at=_short(accepted.at),
        by=_short(accepted.by),
        why=_short(accepted.why),
        explicit=accepted.explicit,
        verdict=run.verdict,
        figures=figures[:_MOST_FIGURES],
        file=file,
        anchor=anchor,
    )


def _figures(task: TaskResult, model: str) -> Iterator[Figures]:
    if task.pooled:
        yield Figures(task=_short(task.name), model=_short(model), cases=len(task.cases), metrics=_first(task))
        return
    for name, part in task.slices.items():
        cases = sum(name in case.slices for case in task.cases)
        yield Figures(
            task=_short(task.name), model=_short(model), slice=_short(name), cases=cases, metrics=_first(part)
        )


def _first(part: TaskResult | SliceResult) -> dict[str, float]:
    names = [name for name in SHARE_METRICS if name in part.metrics][:_MOST_METRICS]
    return {name: part.metrics[name].value for name in names}


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
