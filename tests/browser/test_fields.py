"""Which lines of JSON are marked as differing, however their keys are spelt."""

from __future__ import annotations

from typing import Any

import pytest

from evaluator.results import Finding
from evaluator.transcript import Transcript
from tests.browser import runs
from tests.browser.reader import Reader, marked, opened_case
from tests.unit.reports.builders import build, failed, task_result


def got(reader: Reader, args: dict[str, Any], arguments: str) -> list[str]:
    """The lines that are marked of a call that was made with `arguments` where a step wanted `args`."""
    of = runs.case("one", {"paths": [[{"tool": "cut", "args": args}]]})
    task = runs.result("t", "trace", {"one": (of, [runs.said(runs.call("cut", arguments))])})
    return marked(opened_case(reader.open(build([task]), "#case=t/one")), "got")


@pytest.mark.parametrize(
    ("key", "spelt"),
    [
        ("größe", '"gr\\u00f6\\u00dfe"'),
        ("größe", '"größe"'),
        ("amount", '"\\u0061mount"'),
        ("a/b", '"a\\/b"'),
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("a\u200bb", '"a\u200bb"'),
        ("a\x7fb", '"a\x7fb"'),
        ("😀", '"\\ud83d\\ude00"'),
        ("k" * 201, f'"{"k" * 201}"'),
        ("ü" * 81, f'"{"ü" * 81}"'),
        ("__proto__", '"__proto__"'),
        ("", '""'),
    ],
)
def test_a_field_is_marked_however_its_key_is_spelt(reader: Reader, key: str, spelt: str) -> None:
    [line] = got(reader, {key: 42, "b": 2}, f'{{{spelt}: 41, "b": 2}}')

    assert line.endswith(": 41,")


def test_a_field_that_is_missing_beside_one_of_a_like_name_is_named(reader: Reader) -> None:
    assert got(reader, {"a/b": 1, "a\\/b": 2}, '{"a\\/b": 1}') == ['$["a\\\\/b"] is missing']


def continued(reader: Reader, content: str, text: str) -> list[str]:
    """The lines that are marked of an answer where `content` was wanted."""
    of = runs.case("one", {"format": "json", "content": content}, prefix="")
    task = runs.result("t", "closure", {"one": (of, [Transcript(text=text, stop_reason="stop")])})
    return marked(opened_case(reader.open(build([task]), "#case=t/one")), "got")


def test_items_of_lists_in_lists_are_marked_one_by_one(reader: Reader) -> None:
    assert continued(reader, '[[1], [2, {"x": 3, "y": 1}]]', '[[1], [2, {"x": 4, "y": 1}]]') == ['"x": 4,']


def test_an_item_that_a_list_has_not_is_named_where_the_list_is_empty_too(reader: Reader) -> None:
    for text, path in (('{"all": [1]}', "$.all[1]"), ('{"all": []}', "$.all[0]")):
        task = task_result("t", {"one": [failed(1, Finding(path=path, keyword="value"), text=text)]})
        opened = reader.open(build([task]), "#case=t/one")

        assert marked(opened_case(opened), "got") == [f"{path} is missing"]
