"""Fitting a report into a number of bytes: details go first, then long lists are cut, then slices, what is below the
table of the models about those beside the first, rows of the metric table that no verdict rests on, and the rest.

The verdict, its reasons, the table of the models and the rows of rules that do not hold are never given up for anything
below them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from evaluator.reports.escape import shorten
from evaluator.reports.numbers import counted
from evaluator.reports.view_model import CaseRow, CoverageRow, Duels, FindingRow, Listing, NamedList, View
from evaluator.reports.words import OUTCOMES

_ALL = 10**9
_DUELS = 10  # rows of a task in the table of two models
_ROW_BYTES = 20  # of the emptiest row of a table of cases
_UNMET = [OUTCOMES[outcome].sign for outcome in ("fail", "inconclusive")]
_CUT_NOTE = "\n\n… cut here: this is the most that fits. All of it is in results.json.\n"


@dataclass(frozen=True)
class Level:
    """How much is shown: findings of a case, bytes of a value, rows of a list, names in a row, rows of the metric table
    (at least those of rules that do not hold), and whether slices and the sections of the other models."""

    findings: int = _ALL
    value_bytes: int = 400
    rows: int = _ALL
    names: int = _ALL
    figures: int = _ALL
    slices: bool = True
    beside: bool = True


LEVELS = (
    Level(),
    Level(findings=3, value_bytes=120),
    Level(findings=1, value_bytes=60),
    Level(findings=1, value_bytes=60, rows=250, names=250),
    Level(findings=1, value_bytes=60, rows=100, names=100),
    Level(findings=1, value_bytes=60, rows=25, names=25),
    Level(findings=1, value_bytes=60, rows=25, names=25, slices=False),
    Level(findings=1, value_bytes=60, rows=25, names=25, slices=False, beside=False),
    Level(findings=1, value_bytes=60, rows=5, names=5, slices=False, beside=False),
    Level(findings=1, value_bytes=60, rows=5, names=5, figures=10, slices=False, beside=False),
    Level(rows=0, names=0, figures=10, slices=False, beside=False),
)


def fit(view: View, render: Callable[[View], str], max_bytes: int) -> str:
    """The fullest rendering of `view` that has at most `max_bytes` bytes in UTF-8.

    Where even verdict, reasons and rules that do not hold are too long (hundreds of them), they are cut at the end of a
    line. Empty where there is no room for the note that says so.
    """
    text = ""
    for level in LEVELS:
        reduced = reduce(view, level)
        if _least_bytes(reduced) > max_bytes and level != LEVELS[-1]:
            continue
        text = render(reduced)
        if len(text.encode()) <= max_bytes:
            return text
    return _cut(text, max_bytes)


def _least_bytes(view: View) -> int:
    """Less than any rendering needs: spares laying out thousands of rows only to see that they are too many."""
    cases = (*view.regressed.shown, *view.failed.shown, *view.fixed.shown)
    own = _ROW_BYTES * sum(max(1, len(case.findings.shown)) for case in cases)
    # The fixed cases of the other models are not shown.
    return own + sum(_least_bytes(replace(other, fixed=Listing())) for other in view.beside)


def reduce(view: View, level: Level) -> View:
    """`view` with no more than `level` allows; `shortened` where that leaves something out."""
    if level == LEVELS[0]:
        return view
    return replace(
        _figures(view, level),
        other_figures=view.other_figures.first(level.rows),
        validator_drift=view.validator_drift.first(level.rows),
        regressed=_cases(view.regressed, level),
        failed=_cases(view.failed, level),
        fixed=_cases(view.fixed, level),
        flips=view.flips.first(level.rows),
        coverage=_coverage(view.coverage, level),
        unpaired=_names(view.unpaired, level),
        modes=view.modes.first(level.rows),
        slices=view.slices.first(level.rows if level.slices else 0),
        canaries=view.canaries.first(level.rows),
        fingerprint=view.fingerprint.first(level.rows),
        warnings=view.warnings.first(level.rows),
        faults=view.faults.first(level.rows),
        task_notes=view.task_notes.first(level.rows),
        versions=view.versions.first(level.rows),
        duels=_duels(view.duels, level) if view.duels is not None else None,
        beside=[reduce(other, level) for other in view.beside] if level.beside else [],
        shortened=True,
    )


def _figures(view: View, level: Level) -> View:
    """The first rows of the metric table, where those of rules that do not hold stand, and what is said of their
    tasks."""
    rows = view.figures[: max(level.figures, sum(row.sign in _UNMET for row in view.figures))]
    more = len(view.figures) - len(rows)
    if not more:
        return view
    tasks = {row.task for row in rows}
    sentences = [sentence for sentence in view.sentences if sentence.task in tasks]
    said = f"… and {counted(more, 'more row')} of figures"
    if left := len(view.sentences) - len(sentences):
        said += f", and what can be said of {counted(left, 'more task')}"
    return replace(view, figures=rows, sentences=sentences, facts=[said, *view.facts])


def _cases(cases: Listing[CaseRow], level: Level) -> Listing[CaseRow]:
    kept = cases.first(level.rows)
    return replace(kept, shown=[replace(row, findings=_findings(row.findings, level)) for row in kept.shown])


def _findings(findings: Listing[FindingRow], level: Level) -> Listing[FindingRow]:
    kept = findings.first(level.findings)
    most = level.value_bytes
    return replace(
        kept,
        shown=[
            replace(
                row,
                path=shorten(row.path, most),
                wanted=shorten(row.wanted, most),
                got=shorten(row.got, most),
                note=shorten(row.note, most),
            )
            for row in kept.shown
        ],
    )


def _coverage(rows: Listing[CoverageRow], level: Level) -> Listing[CoverageRow]:
    kept = rows.first(level.rows)
    return replace(kept, shown=[replace(row, why=row.why.first(level.names)) for row in kept.shown])


def _duels(duels: Duels, level: Level) -> Duels:
    return replace(
        duels,
        rows=duels.rows.first(level.rows * _DUELS),
        modes=duels.modes.first(level.rows),
        alone=_names(duels.alone, level),
    )


def _names(rows: Listing[NamedList], level: Level) -> Listing[NamedList]:
    kept = rows.first(level.rows)
    return replace(kept, shown=[replace(row, names=row.names.first(level.names)) for row in kept.shown])


def _cut(text: str, max_bytes: int) -> str:
    room = max_bytes - len(_CUT_NOTE.encode()) - len("\n\n</details>")
    if room < 0:
        return ""
    kept = text.encode()[:room].decode("utf-8", "ignore")
    kept = kept.rpartition("\n")[0]
    # Text from outside never begins a line.
    is_open = kept.count("\n<details") > kept.count("\n</details>")
    return kept + ("\n\n</details>" if is_open else "") + _CUT_NOTE
