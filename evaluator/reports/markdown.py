"""View → GitHub-flavoured Markdown, by one template for comment and summary."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluator.reports.escape import Markdown, cell, cell_code, code, html_code, prose, shorten
from evaluator.reports.layout import models, sections, witnesses
from evaluator.reports.tables import Cell, Code
from evaluator.reports.view_model import View
from evaluator.reports.words import Look

if TYPE_CHECKING:
    from jinja2 import Environment

_MOST = 1000  # bytes of one piece
TEMPLATES = Path(__file__).parent / "templates"


def render(view: View) -> str:
    """The report as Markdown that ends with a newline."""
    template = _environment().get_template("report.md.j2")
    return template.render(view=view, witnesses=witnesses(view), models=models(view), sections=sections(view))


@cache
def _environment() -> Environment:
    # Imported here: most commands never render, and would pay 40 ms for jinja2.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=False,  # noqa: S701 - HTML escaping is not Markdown's: `finalize` escapes every value
        finalize=_escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        code=code,
        cell_code=cell_code,
        prose=prose,
        ours=Markdown,
        cell_pieces=_cell_pieces,
        line_pieces=_line_pieces,
        summary_code=_summary_code,
    )
    return environment


def _cell_pieces(pieces: Cell) -> Markdown:
    return _pieces(pieces, cell_code, cell)


def _line_pieces(pieces: Cell) -> Markdown:
    return _pieces(pieces, code, prose)


def _pieces(pieces: Cell, exact: Callable[[str, int], str], words: Callable[[str, int], str]) -> Markdown:
    return Markdown(
        " ".join(
            p.icon if isinstance(p, Look) else exact(p.text, _MOST) if isinstance(p, Code) else words(p, _MOST)
            for p in pieces
        )
    )


def _summary_code(text: str) -> Markdown:
    """An exact name for a <summary>, which is HTML."""
    return Markdown(html_code(shorten(text, _MOST)))


def _escaped(value: Any) -> Any:
    """What a template prints and no filter has made safe is escaped for the narrowest place, a table cell."""
    return value if isinstance(value, (int, Markdown)) else cell(str(value))
