"""Run → View of a run that somebody else made and that nobody here has checked: nothing in it looks like our verdict.

Its first lines hold our own words and one word of a fixed set. Whatever comes from a stranger's file stands below them,
as what the file says, without a sign that could be taken for a mark of ours.
"""

from __future__ import annotations

import unicodedata
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from msgspec.structs import replace as changed

from evaluator.reports.escape import shorten
from evaluator.reports.phrases import ended
from evaluator.reports.view_model import FigureRow, Listing, View, WitnessRow
from evaluator.reports.words import REPORTED, REPORTED_ADVICE, UNCHECKED, Look
from evaluator.results import Comparison, Reason, Run

T = TypeVar("T")

# Any of the emoji and dingbats can be meant as a mark: they become this one, which means nothing.
_NO_SIGN = "▯"
# What no category of Unicode tells: a root and a numeral that look like checks, and what makes an emoji of a character.
_MORE_SIGNS = "√𐄂\ufe0f"
_LAST_PLAIN = "\xff"  # Latin-1 has °, ©, ® and ¦
_NAME_BYTES = 400


def claimed(run: Run) -> Run:
    """`run` without what only this repository may say: nobody accepted it here, and its own remarks stand with the
    warnings. What it was compared with goes by the name that the file gives it, as such."""
    notes = [changed(each, kind="config") for each in (*run.reasons, *run.warnings) if _is_note(each)]
    return changed(
        run,
        accepted=None,
        reasons=[each for each in run.reasons if not _is_note(each)],
        warnings=[*notes, *(each for each in run.warnings if not _is_note(each))],
        comparison=_called(run.comparison) if run.comparison is not None else None,
        beside=[claimed(each) for each in run.beside],
    )


def _is_note(reason: Reason) -> bool:
    return reason.kind == "note"


def _called(comparison: Comparison) -> Comparison:
    anchor = comparison.anchor
    return changed(comparison, baseline=_quoted(comparison.baseline), anchor=_quoted(anchor) if anchor else "")


def _quoted(name: str) -> str:
    """In backticks of which none is its own: no name ends the quotation."""
    name = shorten(" ".join(name.replace("`", "'").split()), _NAME_BYTES)
    return f"what it calls `{name or '(nothing)'}`"


def reported(view: View, by: str) -> View:
    """`view`, of a `claimed` run, as what `by` says, which are our own words ("the fork's own run")."""
    plain = without_signs(
        replace(
            view,
            witnesses=[_plain_witness(row) for row in view.witnesses],
            models=[replace(row, look=_plain(row.look)) for row in view.models],
            figures=[_without_icon(row) for row in view.figures],
            other_figures=_plain_figures(view.other_figures),
            beside=[reported(other, by) for other in view.beside],
        )
    )
    return replace(
        plain,
        look=REPORTED,
        title="trapgate",
        said=f"“{view.verdict}”",
        headline=f"reported by {by}; {UNCHECKED}",
        notes=[],
        candidates=[],
        reasons=[],
        advice=[REPORTED_ADVICE],
        claims=[
            f"Verdict: {ended(f'{plain.said} — {plain.headline}')}",
            *plain.notes,
            *(f"Candidate: {line}" for line in plain.candidates),
            *plain.reasons,
        ],
        footer=f"The file says it was made by {plain.footer}",
    )


def without_signs(value: T) -> T:
    """`value`, a text or a part of a view, with a plain box for every character that could be taken for a mark: of the
    general categories So (emoji, dingbats, shapes), Sk (skin tones) and Me (keycaps), and some more."""
    changed_to: Any = value
    if isinstance(value, str):
        changed_to = value if value.isascii() else "".join(_NO_SIGN if _is_sign(one) else one for one in value)
    elif isinstance(value, list | tuple):
        changed_to = [without_signs(each) for each in value]
    elif is_dataclass(value) and not isinstance(value, type):
        changed_to = replace(value, **{each.name: without_signs(getattr(value, each.name)) for each in fields(value)})
    return changed_to  # type: ignore[no-any-return]


def _is_sign(character: str) -> bool:
    if character in _MORE_SIGNS:
        return True
    return character > _LAST_PLAIN and unicodedata.category(character) in ("So", "Me", "Sk")


def _plain_witness(row: WitnessRow) -> WitnessRow:
    return replace(row, look=replace(row.look, icon=f"{row.look.sign}\u00a0{row.state}"))


def _plain_figures(rows: Listing[FigureRow]) -> Listing[FigureRow]:
    return replace(rows, shown=[_without_icon(row) for row in rows.shown])


def _without_icon(row: FigureRow) -> FigureRow:
    """With the sign of a terminal in its place: a green check is for what was checked."""
    return replace(row, icon=row.sign)


def _plain(look: Look) -> Look:
    return replace(look, icon=look.sign)
