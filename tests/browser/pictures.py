"""Pictures of the comment, the job summary and the page, for the documentation and for looking at.

    python -m tests.browser.pictures docs/pictures

GitHub's own style sheet is not here, so fonts and spacing are only about those of a comment.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import cmarkgfm
from cmarkgfm.cmark import Options
from playwright.sync_api import Browser, Page, sync_playwright

from evaluator.reports import comment, page, summary
from evaluator.results import Run
from tests.browser.conftest import find
from tests.integration.planted import bed
from tests.integration.planted_rows import ROWS
from tests.unit.reports import builders

WIDTH = 900
TALLEST = 1200

_STYLE = """
body { margin: 0; padding: 16px; font: 14px/1.5 "Noto Sans", "DejaVu Sans", sans-serif; color: #1f2328; }
h3 { font-size: 17px; margin: 0 0 12px; } p, ul, table, details { margin: 0 0 12px; }
table { border-collapse: collapse; } th, td { border: 1px solid #d1d9e0; padding: 5px 11px; }
tr:nth-child(2n) td { background: #f6f8fa; } summary { cursor: pointer; }
code { font: 12px "DejaVu Sans Mono", monospace; background: #818b981f; border-radius: 6px; padding: 2px 5px; }
"""

# Picture → the row of docs/planted-changes.md that is run for it: a real evaluation, against a scripted provider.
COMMENTS = {
    "pass": "nothing",
    "regression": "prompt_worsened",
    "drift": "model_worse_for_both",
    "inconclusive": "provider_refuses_schemas",
}


def _large(cases: int = 3_000) -> Run:
    """A drop in a third of so many cases, far more than a comment can hold."""
    now, before = builders.outcomes(cases // 3, cases - cases // 3), builders.outcomes(2 * cases // 3, cases // 3)
    return builders.build([builders.task_result("json-call", now)], [builders.task_result("json-call", before)])


def markdown(text: str) -> str:
    """A comment's Markdown as a page that looks about as GitHub shows it."""
    body = cmarkgfm.github_flavored_markdown_to_html(text, options=Options.CMARK_OPT_UNSAFE)
    return f"<!doctype html><meta charset=utf-8><style>{_STYLE}</style>{body}"


def main(folder: Path) -> None:
    """Writes every picture into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        base = bed(Path(scratch))
        planted = {name: ROWS[row].plant(base).run for name, row in COMMENTS.items()}
    regression = planted["regression"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find(), args=["--no-sandbox"])
        for name, run in {**planted, "size-limit": _large()}.items():
            _shoot(_opened(browser, markdown(comment.render(run))), folder / f"comment-{name}.png")
        _shoot(_opened(browser, markdown(summary.render(regression))), folder / "summary.png")
        for scheme in ("light", "dark"):
            _shoot(_opened(browser, page.render(regression), color_scheme=scheme), folder / f"page-{scheme}.png")
        tab = _opened(browser, page.render(regression))
        tab.locator("#list .id").first.click()
        tab.evaluate("document.querySelector('#detail').previousElementSibling.scrollIntoView()")
        tab.screenshot(path=folder / "page-case.png")
        browser.close()


def _opened(browser: Browser, html: str, **options: Any) -> Page:
    tab = browser.new_page(viewport={"width": WIDTH, "height": 700}, **options)
    tab.set_content(html)
    return tab


def _shoot(tab: Page, file: Path) -> None:
    height = min(int(tab.evaluate("document.documentElement.scrollHeight")), TALLEST)
    tab.set_viewport_size({"width": WIDTH, "height": height})
    tab.screenshot(path=file)
    tab.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
