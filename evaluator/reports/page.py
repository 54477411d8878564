"""The report as one self-contained page of HTML: nothing is fetched, and only its own script and style are let in."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from typing import TYPE_CHECKING, Any

from evaluator.reports.budget import Level, reduce
from evaluator.reports.escape import html_code, html_prose, shorten, visible
from evaluator.reports.layout import models, sections, witnesses
from evaluator.reports.markdown import TEMPLATES
from evaluator.reports.numbers import count
from evaluator.reports.page_charts import charts
from evaluator.reports.page_data import ROOM, data
from evaluator.reports.page_texts import MOST
from evaluator.reports.tables import Cell, Code
from evaluator.reports.view import view
from evaluator.reports.words import Look
from evaluator.results import Run

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

# The tables above the explorer, which holds every case: thousands of rows there would only keep a reader waiting.
_TABLES = Level(rows=200, names=200)
_OPEN_CHARTS = 2
_SCRIPTS = ("page_json.js", "page_case.js", "page.js")


def render(run: Run, *, room: int = ROOM) -> str:
    """The report of `run` as an HTML document, light or dark as the reader's system is. `room`: bytes that the details
    of cases may take."""
    shown = reduce(view(run), _TABLES)
    template = _environment().get_template("page.html.j2")
    return template.render(
        view=shown,
        witnesses=witnesses(shown),
        models=models(shown),
        sections=sections(shown),
        charts=charts(run),
        open_charts=_OPEN_CHARTS,
        policy=_policy(),
        style=_style(),
        script=_script(),
        data=data(run, room=room),
    )


def _verbatim(text: str) -> Markup:
    """Our own style and script, and JSON without a "<": neither can end the element that it stands in."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704


@cache
def _style() -> str:
    return (TEMPLATES / "page.css").read_text(encoding="utf-8")


@cache
def _script() -> str:
    return "\n".join((TEMPLATES / name).read_text(encoding="utf-8") for name in _SCRIPTS)


@cache
def _policy() -> str:
    """Content Security Policy: this style and this script, by their hashes, and nothing else from anywhere."""
    style, script = _hash(_style()), _hash(_script())
    return f"default-src 'none'; style-src {style}; script-src {script}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


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
    environment.filters.update(prose=_prose, code=_code, pieces=_pieces, verbatim=_verbatim, count=count)
    return environment


def _visible(value: Any) -> Any:
    return visible(shorten(value, MOST)) if type(value) is str else value


def _prose(text: str) -> Markup:
    return html_prose(shorten(text, MOST))


def _code(text: str) -> Markup:
    return html_code(shorten(text, MOST))


def _pieces(pieces: Cell) -> Markup:
    from markupsafe import Markup

    return Markup(" ").join(
        p.icon if isinstance(p, Look) else _code(p.text) if isinstance(p, Code) else _prose(p) for p in pieces
    )
