"""Markdown as GitHub's own parser renders it, taken apart for assertions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

import cmarkgfm
from cmarkgfm.cmark import Options


def html(markdown: str) -> str:
    # Raw HTML is let through, so that a tag that slipped in is seen rather than filtered by the renderer.
    rendered: str = cmarkgfm.github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE)
    return rendered


@dataclass
class Page(HTMLParser):
    """`tags`: every opening tag; `prose`: text outside code; `exact`: text of each code element; `columns`: cells of
    each table row; `comments`: HTML comments."""

    source: str
    tags: list[str] = field(default_factory=list)
    attributes: set[str] = field(default_factory=set)
    prose: str = ""
    exact: list[str] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    depth: int = 0

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "code":
            self.depth += 1
            self.exact.append("")
        elif tag == "tr":
            self.columns.append(0)
        elif tag in ("td", "th"):
            self.columns[-1] += 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "code":
            self.depth -= 1

    def handle_data(self, data: str) -> None:
        if self.depth:
            self.exact[-1] += data
        else:
            self.prose += data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def page(markdown: str) -> Page:
    return Page(html(markdown))


# What GitHub turns into a link, a picture or a formula after rendering, wherever it stands outside code.
LINKED_BY_GITHUB = re.compile(
    r"@[\w-]|#\d|\bGH-\d|\b[A-Z]+-\d|\b[0-9a-f]{7,40}\b|https?://|www\.|:[a-z0-9_+-]+:|\$.*\$", re.IGNORECASE
)
