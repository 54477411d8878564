"""A report, opened from its file in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Locator, Page

from evaluator.reports import page
from evaluator.results import Run


class Reader:
    """Opens reports and remembers all that they ask the network for and complain about."""

    def __init__(self, browser: Browser, file: Path) -> None:
        self._browser = browser
        self._file = file
        self._contexts: list[BrowserContext] = []
        self.requests: list[str] = []
        self.complaints: list[str] = []

    def open(self, run: Run | str, fragment: str = "", *, width: int = 1280, **options: Any) -> Page:
        """The page of a run (or its text) once it is loaded. `options`: of the browser's context."""
        self._file.write_text(run if isinstance(run, str) else page.render(run), encoding="utf-8")
        context = self._browser.new_context(viewport={"width": width, "height": 900}, **options)
        self._contexts.append(context)
        opened = context.new_page()
        opened.set_default_timeout(10_000)
        opened.on("request", lambda request: self.requests.append(request.url))
        opened.on("console", lambda message: self.complaints.append(message.text))
        opened.on("pageerror", lambda error: self.complaints.append(str(error)))
        opened.on("dialog", lambda dialog: self.complaints.append(f"a dialog: {dialog.message}"))
        opened.goto(self.url + fragment)
        return opened

    @property
    def url(self) -> str:
        return self._file.as_uri()

    def close(self) -> None:
        """Raises AssertionError where a page asked for anything but its own file, or complained: a violation of its
        policy is a complaint."""
        for context in self._contexts:
            context.close()
        assert not self.complaints
        assert {request.partition("#")[0] for request in self.requests} <= {self.url}


def ids(opened: Page) -> list[str]:
    """The cases that are listed."""
    return opened.locator("#list .id").evaluate_all("all => all.map(one => one.firstChild.textContent)")


def opened_case(opened: Page) -> Locator:
    return opened.locator("#detail")


def marked(within: Locator, side: str) -> list[str]:
    """The lines that are marked as differing, `wanted` or `got`."""
    texts: list[str] = within.locator(f".{side} mark").all_text_contents()
    return [text.removeprefix("differs: ") for text in texts]
