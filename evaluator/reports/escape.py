"""The one place where text from outside becomes text of a report.

Whatever a model, a task source or a result file says must be read as words: it may neither format the page, nor link,
nor mention somebody, nor end a table cell, nor look like our hidden marker, nor start a workflow command.

Two ideas carry it. What could mean something to Markdown or to GitHub is put into a code span, where neither looks (a
backslash would not do: GitHub links mentions, issues and commits in the *rendered* text). What cannot be seen is spelt
out as an escape (`\\u202e`), so that what the reader sees is what was there.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markupsafe import Markup

ELLIPSIS = "…"

# Invisible although Unicode calls them letters, marks or symbols. U+FE0F stays: it only makes an emoji colourful.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0e\uffa0\U000e0100-\U000e01ef]"
)
_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

# What neither Markdown nor GitHub gives a meaning to: letters and digits with plain punctuation, and the ends of an
# interval like [0.18, 0.57], a "<" alone (as in p < 0.001).
_PLAIN_WORD = re.compile(
    r"(?:[^\W_]|[-,.;:!?'’\"“”‘()%/=→…–—+−×±≥≤·])+|\[[-+−]?\d+(?:\.\d+)?,?|[-+−]?\d+(?:\.\d+)?\][.,;)]*|<"
)
# Commit ids; GH-12 and a repository's own KEY-12 links; bare links; emoji shortcodes.
_LINKED = re.compile(r"[0-9a-f]{7}|[a-z]-\d|www\.|//|:[^:]+:", re.IGNORECASE)
_BLOCK_START = re.compile(r"\d+[.)]|[-+=]+")
_PUNCTUATED = re.compile(r"([(\"“‘']*)(.*?)([,.;:!?)\"”’']*)", re.DOTALL)

# Stands in a code span of its own, whatever is beside it.
_IDENTIFIER = re.compile(r"[(\"“]*[\w./-]+[,.;:!?)\"”]*")
_TOKEN = re.compile(r"(?P<before>[(\"“]*)`(?P<quoted>[^`]+)`(?P<after>[,.;:!?)\"”]*)(?!\S)|\S+")

_COMMENT_START = re.compile(r"<!-*")
_LINE_BREAK = re.compile(r"\r\n|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_LONGEST_LINE = 10_000
# cmark gives up on code spans fenced by more than 80 backticks.
_BACKTICKS = re.compile(r"`{9,}")


class Markdown(str):
    """Text that is Markdown already: made by this module from text that was not."""

    __slots__ = ()


def visible(text: str) -> str:
    """`text` with every character that cannot be seen (control, format, bidirectional, zero-width, private, surrogate,
    unusual space) spelt as an escape, on one line."""
    if text.isprintable() and not _INVISIBLE.search(text):
        return text
    return "".join(
        character if character.isprintable() and not _INVISIBLE.match(character) else _spelt(character)
        for character in text
    )


def _spelt(character: str) -> str:
    code = ord(character)
    return _SHORT_ESCAPES.get(character) or (f"\\u{code:04x}" if code <= 0xFFFF else f"\\u{{{code:x}}}")


def shorten(text: str, max_bytes: int) -> str:
    """At most `max_bytes` bytes of `text` in UTF-8, cut between characters and ended by an ellipsis where cut."""
    if max_bytes < len(ELLIPSIS.encode()):
        raise ValueError("no room for an ellipsis")
    if len(text) * 4 <= max_bytes:  # no character is longer than four bytes
        return text
    # No character is shorter than a byte, so the rest of a very long text need not be looked at.
    data = text[: max_bytes + 1].encode("utf-8", "surrogatepass")
    if len(data) <= max_bytes:
        return text
    kept = data[: max_bytes - len(ELLIPSIS.encode())]
    return kept.decode("utf-8", "ignore") + ELLIPSIS


def compact_json(value: Any, max_bytes: int) -> str:
    """A JSON value on one line, cut to `max_bytes`; a sentence in brackets for one that cannot be written."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (RecursionError, TypeError, ValueError):
        return "(a value that cannot be shown)"
    return shorten(text, max_bytes)


def code(text: str, max_bytes: int = 300) -> Markdown:
    """A code span, for use outside tables."""
    return Markdown(_fenced(_bare(shorten(text, max_bytes))) if text else "(empty)")


def cell_code(text: str, max_bytes: int = 300) -> Markdown:
    """A code span for a table cell."""
    return _for_cell(code(text, max_bytes))


def prose(text: str, max_bytes: int = 2000) -> Markdown:
    """One line of running text for a paragraph, list item or heading: plain words as they are, others in code spans.
    What stands in single backticks is in a code span anyway, so the texts of the program may use them."""
    parts: list[str] = []
    unsafe: list[str] = []
    for token in _TOKEN.finditer(" ".join(shorten(text, max_bytes).split())):
        before, quoted, after = token.group("before", "quoted", "after")
        if quoted is None and not _is_plain(token.group(), first=token.start() == 0):
            if _IDENTIFIER.fullmatch(token.group()):
                parts += [*_spans(unsafe), *_spans([token.group()])]
                unsafe = []
            else:
                unsafe.append(token.group())
            continue
        parts += _spans(unsafe)
        parts.append(token.group() if quoted is None else f"{before}{_fenced(_bare(quoted))}{after}")
        unsafe = []
    return Markdown(" ".join([*parts, *_spans(unsafe)]))


def html_prose(text: str) -> Markup:
    """As `prose`, for a page of HTML: text, with what stands in single backticks as `<code>`."""
    from markupsafe import Markup

    parts = []
    for token in _TOKEN.finditer(" ".join(text.split())):
        before, quoted, after = token.group("before", "quoted", "after")
        if quoted is None:
            parts.append(Markup("{}").format(visible(token.group())))
        else:
            parts.append(Markup("{}<code>{}</code>{}").format(before, visible(quoted), after))
    return Markup(" ").join(parts)


def html_code(text: str) -> Markup:
    """An exact value, for a page of HTML."""
    from markupsafe import Markup

    return Markup("<code>{}</code>").format(visible(text))


def cell(text: str, max_bytes: int = 2000) -> Markdown:
    """As `prose`, for a table cell."""
    return _for_cell(prose(text, max_bytes))


def _for_cell(text: Markdown) -> Markdown:
    """A pipe ends a cell even inside a code span, and a backslash of the text must not take ours for its own: an
    invisible joiner stands between."""
    return Markdown(text.replace("\\|", "\\\u2060|").replace("|", "\\|"))


def log_text(text: str, max_bytes: int = 2000) -> str:
    """One line for a terminal or a log. The runner looks for `::command::` at the start of a line and for `##[command]`
    anywhere in it."""
    return re.sub(":(?=:)", ": ", visible(shorten(text, max_bytes))).replace("##[", "# #[")


def inert(text: str) -> str:
    """`text` so that no line of it is a command, whatever it is; line breaks of any kind become newlines."""
    return "\n".join(log_text(line, _LONGEST_LINE) for line in _LINE_BREAK.split(text))


def _is_plain(word: str, *, first: bool) -> bool:
    if not _PLAIN_WORD.fullmatch(word) or not word.isprintable() or _INVISIBLE.search(word) or _LINKED.search(word):
        return False
    return not (first and _BLOCK_START.fullmatch(word))


def _spans(words: list[str]) -> list[str]:
    """Words that stand together, in one code span; brackets, quotes and full stops around them stay outside."""
    if not words:
        return []
    match = _PUNCTUATED.fullmatch(" ".join(words))
    assert match is not None  # noqa: S101 - the pattern takes any text
    before, inner, after = match.groups()
    if not inner:
        return [_fenced(_bare(before + after))]
    return [f"{before}{_fenced(_bare(inner))}{after}"]


def _bare(text: str) -> str:
    shown = _BACKTICKS.sub("`" * 8 + ELLIPSIS, visible(text))
    # Our own comment is found by its hidden marker in the raw body.
    return _COMMENT_START.sub(lambda match: match.group().replace("-", "‑"), shown)


def _fenced(text: str) -> str:
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    # A space at both ends of a code span is taken off again, unless there is nothing else in it.
    needs_room = text.strip(" ") != "" and (text[0] in " `" or text[-1] in " `")
    return f"{fence} {text} {fence}" if needs_room else f"{fence}{text}{fence}"
