"""The report as one self-contained page of HTML: no script, no font, nothing that is fetched."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from evaluator.reports.escape import html_code, html_prose, visible
from evaluator.reports.layout import models, sections, witnesses
from evaluator.reports.markdown import TEMPLATES
from evaluator.reports.tables import Cell, Code
from evaluator.reports.view import view
from evaluator.reports.words import Look
from evaluator.results import Run

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def render(run: Run) -> str:
    """The report of `run` as an HTML document, light or dark as the reader's system is."""
    shown = view(run)
    template = _environment().get_template("page.html.j2")
    return template.render(view=shown, witnesses=witnesses(shown), models=models(shown), sections=sections(shown))


@cache
def _environment() -> Environment:
    # Imported here: most commands never render.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(prose=html_prose, code=html_code, pieces=_pieces)
    return environment


def _visible(value: Any) -> Any:
    return visible(value) if type(value) is str else value


def _pieces(pieces: Cell) -> Markup:
    from markupsafe import Markup

    return Markup(" ").join(
        p.icon if isinstance(p, Look) else html_code(p.text) if isinstance(p, Code) else html_prose(p) for p in pieces
    )
