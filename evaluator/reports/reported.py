"""View → View of a run that somebody else made and that nobody here has checked: nothing in it looks like our verdict.

Its first line holds our own words and one word of a fixed set: a sentence of a stranger's file may not stand there.
"""

from __future__ import annotations

from dataclasses import replace

from evaluator.reports.phrases import ended
from evaluator.reports.view_model import FigureRow, Listing, View
from evaluator.reports.words import REPORTED, REPORTED_ADVICE, UNCHECKED, Look


def reported(view: View, by: str) -> View:
    """`view` as what `by` says, which are our own words ("the fork's own run")."""
    return replace(
        view,
        look=REPORTED,
        title="trapgate",
        said=f"“{view.verdict}”",
        headline=f"reported by {by}; {UNCHECKED}",
        notes=[f"In its own words: {ended(f'{view.said} — {view.headline}')}", *view.notes],
        advice=[REPORTED_ADVICE],
        models=[replace(row, look=_plain(row.look)) for row in view.models],
        figures=[_without_icon(row) for row in view.figures],
        other_figures=_plain_figures(view.other_figures),
        beside=[reported(other, by) for other in view.beside],
    )


def _plain_figures(rows: Listing[FigureRow]) -> Listing[FigureRow]:
    return replace(rows, shown=[_without_icon(row) for row in rows.shown])


def _without_icon(row: FigureRow) -> FigureRow:
    """With the sign of a terminal in its place: a green check is for what was checked."""
    return replace(row, icon=row.sign)


def _plain(look: Look) -> Look:
    return replace(look, icon=look.sign)
