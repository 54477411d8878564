from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaluator.reports import escape
from tests.unit.reports.rendered import LINKED_BY_GITHUB, page

# Pieces that mean something somewhere, mixed with anything at all.
_LOADED = st.sampled_from(
    [
        *(
            "|",
            "\\",
            "\\|",
            "\\\\|",
            "`",
            "``",
            "`````````````",
            "<",
            ">",
            "<!--",
            "-->",
            "<!-- trapgate",
            "&amp;",
            "&#64;",
        ),
        *("<b>", "</details>", "<script>alert(1)</script>", "<img src=x onerror=y>", "<details", "<https://a.example>"),
        *("@user", "@org/team", "#12", "GH-12", "owner/repo#1", "0123456789abcdef", "KEY-7", "a@b.example"),
        *(
            "https://a.example",
            "www.a.example",
            "http://",
            "ftp://x.y",
            "[a](b)",
            "![a](b)",
            "[a]: /b",
            "[^1]",
            "[ ] ",
            "[0.1,",
        ),
        *(
            "*",
            "**",
            "_",
            "__",
            "~",
            "~~",
            "# ",
            "- ",
            "+ ",
            "1. ",
            "1) ",
            "> ",
            "---",
            "===",
            "    ",
            "\t",
            "```",
            "~~~",
        ),
        *(
            "$",
            "$$",
            "$`",
            ":smile:",
            ":+1:",
            "::",
            "::error::",
            "##[group]",
            "::stop-commands::x",
            "\n",
            "\n\n",
            "\r\n",
            " ",
        ),
        *(
            "\x1b[31m",
            "\u202e",
            "\u200b",
            "\u2060",
            "\ufeff",
            "\u3164",
            "\ud800",
            "\x00",
            "é",
            "日本",
            "😀",
            "a",
            "7",
            "(",
            '"',
        ),
    ]
)
hostile = st.lists(_LOADED | st.text(max_size=6), max_size=14).map("".join)


@given(hostile)
@example("a`\\|b")
@example("[0.1, 0.2]: /url")
def test_prose_renders_as_one_paragraph_of_words_and_code(text: str) -> None:
    shown = page(f"- {escape.prose(text)}\n")

    assert set(shown.tags) <= {"ul", "li", "code"}
    assert shown.tags.count("li") == 1
    assert not shown.comments
    assert not LINKED_BY_GITHUB.search(shown.prose)


@given(hostile)
def test_prose_keeps_every_visible_character(text: str) -> None:
    shown = page(f"x {escape.prose(text)} x\n")

    rendered = "".join(page(f"x {escape.prose(text)} x\n").exact) + shown.prose
    for character in text:
        if character.isalnum() and not escape._INVISIBLE.match(character):
            assert character in rendered


@given(hostile)
def test_a_code_span_shows_exactly_the_visible_text(text: str) -> None:
    shown = page(f"x {escape.code(text, 10_000)} x\n")

    assert set(shown.tags) <= {"p", "code"}
    if text and "`" * 9 not in text and "<!-" not in text:
        assert shown.exact == [escape.visible(text)]


@given(hostile, hostile)
def test_a_table_keeps_its_columns_and_its_text(name: str, sentence: str) -> None:
    row = f"| {escape.cell_code(name, 10_000)} | {escape.cell(sentence)} | end |"
    shown = page(f"| a | b | c |\n|:--|:--|:--|\n{row}\n")

    assert shown.columns == [3, 3]
    assert set(shown.tags) <= {"table", "thead", "tbody", "tr", "th", "td", "code"}
    assert not LINKED_BY_GITHUB.search(shown.prose)
    if name and "`" * 9 not in name and "<!-" not in name:
        assert shown.exact[0].replace("\\\u2060|", "\\|") == escape.visible(name)


@given(hostile)
@example("<!-- trapgate:comment -->")
def test_our_hidden_marker_never_comes_from_outside(text: str) -> None:
    for escaped in (escape.prose(text), escape.code(text), escape.cell_code(text), escape.cell(text)):
        assert "<!--" not in escaped


@given(hostile, st.integers(min_value=3, max_value=40))
def test_text_is_cut_by_bytes_between_characters(text: str, most: int) -> None:
    text = text.replace("\ud800", "")
    cut = escape.shorten(text, most)

    assert len(cut.encode()) <= most
    assert cut == text or (cut.endswith("…") and text.startswith(cut[:-1]))


def test_a_backslash_of_the_text_does_not_take_the_one_that_guards_a_pipe() -> None:
    assert escape.cell_code("a\\|b|c") == "`a\\\u2060\\|b\\|c`"
    assert escape.code("a\\|b|c") == "`a\\|b|c`"


def test_a_cut_shorter_than_its_ellipsis_is_refused() -> None:
    with pytest.raises(ValueError, match="no room for an ellipsis"):
        escape.shorten("abc", 2)


@given(hostile)
def test_nothing_invisible_is_left(text: str) -> None:
    shown = escape.visible(text)

    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")]
    assert escape.visible("a\u202eb\tc\u3164\U000e0041") == "a\\u202eb\\tc\\u3164\\u{e0041}"


@given(hostile)
def test_no_line_of_a_log_can_be_a_workflow_command(text: str) -> None:
    line = escape.log_text(text)

    assert "::" not in line
    assert "##[" not in line
    assert "\n" not in line
    assert line.isprintable()


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("json-call pass_rate fell 0.35 → 0.00", "json-call `pass_rate` fell 0.35 → 0.00"),
        ("pass_rate, max_drop 0", "`pass_rate`, `max_drop` 0"),
        ("it is 0.62 [0.31, 0.86].", "it is 0.62 [0.31, 0.86]."),
        (":.:", "`:.:`"),
        ("p < 0.001 < b", "p < 0.001 < b"),
        ("run `trapgate baseline accept`.", "run `trapgate baseline accept`."),
        ("thanks to (@somebody), see #12!", "thanks to (`@somebody`), see `#12`!"),
        ('got {"a": [1]} there', 'got `{"a": [1]}` there'),
        ("1. first", "`1`. first"),
        ("", ""),
    ],
)
def test_plain_words_stay_plain_and_others_become_code(text: str, markdown: str) -> None:
    assert escape.prose(text) == markdown


def test_a_value_is_compact_json_cut_to_its_bytes() -> None:
    assert escape.compact_json({"a": [1, None, "é"]}, 100) == '{"a":[1,null,"é"]}'
    assert escape.compact_json(["x" * 5_000_000], 20) == '["xxxxxxxxxxxxxxx…'


def test_a_value_that_json_cannot_write_is_said_to_be_one() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]

    assert escape.compact_json(deep, 100) == "(a value that cannot be shown)"
    assert escape.compact_json(10**5000, 100) == "(a value that cannot be shown)"
    assert json.loads(escape.compact_json("\ud800", 100)) == "\ud800"


def test_five_megabytes_of_backticks_are_shown_short() -> None:
    assert len(escape.code("`" * 5_000_000)) < 100
    assert page(f"x {escape.code('`' * 200)}").exact == ["`" * 8 + "…"]
