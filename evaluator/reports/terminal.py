"""The report for a terminal or a log: short, plain, and no line of it can be a workflow command."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evaluator.reports.budget import Level, reduce
from evaluator.reports.escape import log_text
from evaluator.reports.layout import models, sections, witnesses
from evaluator.reports.tables import Cell, Code, Piece, Section
from evaluator.reports.view import view
from evaluator.reports.view_model import View
from evaluator.reports.words import OUTCOMES, Look
from evaluator.results import Run

if TYPE_CHECKING:
    from rich.table import Table

_CELL_BYTES = 80
_LINE_BYTES = 400
_NAME_WIDTH = 28
_ROOM = Level(findings=3, value_bytes=_CELL_BYTES, rows=10, names=10)


def render(run: Run, *, width: int = 120, colour: bool = False) -> str:
    """The verdict, its reasons, the metric table and the sections that matter, cut to ten entries each; ends with a
    newline.

    `width`: columns of the terminal, which tables keep to. `colour`: whether the verdict and outcomes get ANSI codes.
    """
    # Imported here: only a command that prints a report needs it.
    from rich.console import Console
    from rich.text import Text

    shown = reduce(view(run), _ROOM)
    target = io.StringIO()
    console = Console(
        file=target,
        width=width,
        color_system="standard" if colour else None,
        force_terminal=colour,
        markup=False,
        emoji=False,
        highlight=False,
    )
    console.print(Text(_headline(shown), style=f"bold {shown.look.colour}"), soft_wrap=True)
    for line in _top(shown):
        console.print(Text(line), soft_wrap=True)
    side_by_side = models(shown)
    if side_by_side is not None:
        console.print(_models(shown, side_by_side))
        for line in _fixes(shown):
            console.print(Text(line), soft_wrap=True)
    if shown.figures:
        console.print(_figures(shown))
    for line in _bottom(shown):
        console.print(Text(line), soft_wrap=True)
    for section in sections(shown):
        if section.open or section.listed:
            console.print(Text(f"\n{_title(section)}"), soft_wrap=True)
            if section.columns:
                console.print(_section_table(section))
            for line in _list_lines(section):
                console.print(Text(line), soft_wrap=True)
    console.print(Text(f"\n{_line(shown.footer)}"), soft_wrap=True)
    return "".join(f"{line.rstrip()}\n" for line in target.getvalue().split("\n")).rstrip("\n") + "\n"


def first_lines(rendered: str) -> str:
    """Of what `render` gave: the verdict, its reasons and what to do."""
    return re.split(r"\n\n|\n  What moved", rendered, maxsplit=1)[0]


def _headline(shown: View) -> str:
    return f"{_named(shown.title, shown.said)} — {_line(shown.headline)}"


def _top(shown: View) -> Iterator[str]:
    yield from (f"  {_line(note)}" for note in shown.notes)
    yield from (f"  Candidate: {log_text(line)}" for line in shown.candidates)
    yield from (f"  - {_line(reason)}" for reason in shown.reasons)
    yield from (f"  What to do: {_line(line)}" for line in shown.advice)
    yield from _witnesses(shown)
    yield ""


def _witnesses(shown: View) -> Iterator[str]:
    """A line for each; one for all of them where nobody needs to look."""
    section = witnesses(shown)
    if section is None:
        return
    yield f"  {section.title}"
    for row in shown.witnesses if section.open else ():
        models = f" {', '.join(map(_line, row.models))}:" if row.models else ""
        yield f"    {row.look.sign} {row.state}: {row.name} ({row.layer}):{models} {_line(row.text)}"


def _fixes(shown: View) -> Iterator[str]:
    yield ""
    yield from (f"  {_named(fix.model, fix.text)}" for fix in shown.fixes)
    yield ""
    yield f"Figures and cases of {_line(shown.model)}:"


def _bottom(shown: View) -> Iterator[str]:
    yield ""
    yield " · ".join(shown.facts)
    yield from (f"  {_named(sentence.task, sentence.text)}" for sentence in shown.sentences)


def _figures(shown: View) -> Table:
    from rich.text import Text

    table = _table(("", "metric", "baseline", "now", "change", "evidence"))
    colours = {look.sign: look.colour for look in OUTCOMES.values()}
    for row in shown.figures:
        parts = (row.task, row.metric, f"in {row.slice}" if row.slice else "", row.since)
        name = " ".join(part for part in parts if part)
        table.add_row(
            Text(row.sign, style=colours.get(row.sign, "")),
            Text(log_text(name, _CELL_BYTES)),
            *map(Text, (row.baseline, row.now, row.change, log_text(row.evidence, _LINE_BYTES))),
        )
    return table


def _models(shown: View, section: Section) -> Table:
    """Headings give way before names do."""
    table = _section_table(section)
    longest = max(len(_line(row.model)) for row in shown.models)
    table.columns[section.columns.index("model")].min_width = min(longest, _NAME_WIDTH)
    return table


def _section_table(section: Section) -> Table:
    from rich.text import Text

    table = _table(section.columns)
    for row in section.rows:
        table.add_row(*[Text(_cell(cell)) for cell in row])
    return table


def _title(section: Section) -> str:
    named = (("of", section.of), ("beside", section.beside))
    return " ".join([section.title, *(f"{word} {_line(name)}" for word, name in named if name)])


def _list_lines(section: Section) -> Iterator[str]:
    """The rows of a section without columns, and how many of any section are not shown."""
    if not section.columns:
        yield from (f"  - {_cell(row[0])}" for row in section.rows)
    if section.more:
        yield section.more


def _table(columns: Sequence[str]) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _cell(cell: Cell) -> str:
    return " ".join(map(_piece, cell))


def _piece(piece: Piece) -> str:
    if isinstance(piece, Look):
        return piece.sign
    return log_text(piece.text, _CELL_BYTES) if isinstance(piece, Code) else log_text(piece, _LINE_BYTES)


def _named(name: str, text: str) -> str:
    """What is said of a name, which may end in a colon itself: two in a row could be taken for a command."""
    return log_text(f"{_line(name)}: {_line(text)}", 2 * _LINE_BYTES)


def _line(text: str) -> str:
    return log_text(" ".join(text.split()), _LINE_BYTES)
