from __future__ import annotations

import json
import string
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.baselines import index as indexes
from evaluator.baselines.history import Entry, Figures
from evaluator.baselines.index import MOST_ENTRIES, Index, decode, encode, insert
from evaluator.errors import UserError

COMMIT = "c0ffee" + "0" * 34
LIMITS = {"config": "trap.yaml", "branch": "main", "keep": 3, "most_bytes": 1000}


def an_entry(file: str, *, explicit: bool = False, commit: str = COMMIT) -> Entry:
    return Entry(commit=commit, at="now", by="alice", why="first", explicit=explicit, verdict="pass", file=file)


def grown(*added: tuple[Entry, int] | tuple[Entry, int, int], **limits: Any) -> Index:
    """An index of these entries, each with its size and the place where it is put."""
    index = None
    for new, size, *place in added:
        index = insert(index, new, size, place[0] if place else 0, **{**LIMITS, **limits})
    assert index is not None
    return index


TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40)
ENTRIES = st.builds(
    Entry,
    commit=st.text(alphabet="0123456789abcdef", min_size=40, max_size=40),
    at=TEXT,
    by=TEXT,
    why=TEXT,
    explicit=st.booleans(),
    verdict=st.sampled_from(["pass", "regression", "drift", "inconclusive"]),
    file=st.text(alphabet=string.ascii_lowercase + string.digits, min_size=1, max_size=20),
)
ADDED = st.lists(st.tuples(ENTRIES, st.integers(0, 400), st.integers(0, 5)), min_size=1, max_size=30)


@given(ADDED)
def test_an_index_is_read_as_it_was_written(added: list[tuple[Entry, int, int]]) -> None:
    index = grown(*added)
    assert decode(encode(index), "index.json") == index


@given(ADDED, st.integers(1, 6), st.integers(0, 2000))
def test_what_is_kept_is_bounded_and_whole(added: list[tuple[Entry, int, int]], keep: int, most: int) -> None:
    index = grown(*added, keep=keep, most_bytes=most)
    kept = [entry for entry in index.entries if entry.file]
    assert index.entries[0].file, "the newest always has its document"
    assert len(kept) <= keep
    assert index.bytes.keys() == {name for entry in kept for name in (entry.file, entry.anchor) if name}
    first = {name for name in (index.entries[0].file, index.entries[0].anchor) if name}
    assert sum(index.bytes.values()) <= most or index.bytes.keys() == first


@given(ADDED)
def test_no_acceptance_and_no_first_baseline_has_an_anchor(added: list[tuple[Entry, int, int]]) -> None:
    for entry in grown(*added).entries:
        assert not (entry.explicit and entry.anchor)
        assert entry.anchor != entry.file or not entry.file


def test_moves_by_themselves_keep_the_last_accepted_one_as_their_anchor() -> None:
    index = grown((an_entry("a", explicit=True), 1), (an_entry("b"), 1), (an_entry("c"), 1))
    assert [(entry.file, entry.anchor) for entry in index.entries] == [("c", "a"), ("b", "a"), ("a", "")]


def test_the_first_of_a_line_that_nobody_accepted_is_the_anchor_all_the_same() -> None:
    index = grown((an_entry("a"), 1), (an_entry("b"), 1), (an_entry("c"), 1))
    assert [entry.anchor for entry in index.entries] == ["a", "a", ""]


def test_an_acceptance_starts_anew() -> None:
    index = grown((an_entry("a", explicit=True), 1), (an_entry("b", explicit=True), 1), (an_entry("c"), 1))
    assert [entry.anchor for entry in index.entries] == ["b", "", ""]


def test_an_anchor_outlives_its_own_place_among_those_that_are_kept() -> None:
    index = grown((an_entry("a", explicit=True), 7), *((an_entry(name), 1) for name in "bcdef"))
    assert [entry.file for entry in index.entries] == ["f", "e", "d", "", "", ""]
    assert index.bytes == {"f": 1, "e": 1, "d": 1, "a": 7}


def test_the_oldest_documents_go_first_where_they_are_too_large_together() -> None:
    index = grown(*((an_entry(name, explicit=True), 400) for name in "abc"))
    assert [entry.file for entry in index.entries] == ["c", "b", ""]


def test_a_document_that_is_larger_than_all_may_be_together_is_still_kept_as_the_newest() -> None:
    assert grown((an_entry("a"), 5000)).bytes == {"a": 5000}


def test_an_entry_may_be_put_behind_newer_ones() -> None:
    index = grown((an_entry("a", explicit=True), 1), (an_entry("late"), 1, 1), (an_entry("later"), 1, 2))
    assert [entry.file for entry in index.entries] == ["a", "late", "later"]


def test_the_same_document_written_twice_stands_once() -> None:
    index = grown((an_entry("a"), 1), (an_entry("b"), 1), (an_entry("a"), 1))
    assert [(entry.file, entry.anchor) for entry in index.entries] == [("b", "a"), ("a", "")]


def test_the_history_is_bounded() -> None:
    index = grown(*((an_entry(f"f{number}"), 1) for number in range(MOST_ENTRIES + 5)))
    assert len(index.entries) == MOST_ENTRIES
    assert index.entries[0].file == f"f{MOST_ENTRIES + 4}"
    assert "f0" in index.bytes, "its entry is gone, and it is still the anchor"
    assert decode(encode(index), "index.json") == index


FIGURES = [
    Figures(task="refunds", cases=9, slice=f"slice {number} {'x' * 250}", metrics={"pass_rate": 0.9})
    for number in range(60)
]


def test_an_index_never_outgrows_its_own_reader_and_the_oldest_figures_go_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(indexes, "LARGEST", 200_000)
    added = [(msgspec.structs.replace(an_entry(f"f{number}"), figures=FIGURES), 1) for number in range(20)]
    index = grown(*added)
    assert len(encode(index)) <= 150_000
    assert len(index.entries) == 20
    full = [bool(entry.figures) for entry in index.entries]
    assert full == sorted(full, reverse=True)
    assert 1 < sum(full) < 20
    assert index.entries[1].figures == FIGURES
    assert index.bytes == {"f19": 1, "f18": 1, "f17": 1, "f0": 1}


def test_where_the_figures_are_gone_the_oldest_entries_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "LARGEST", 40_000)
    added = [(msgspec.structs.replace(an_entry(f"f{number}"), why="x" * 300), 1) for number in range(200)]
    index = grown(*added, keep=1)
    assert 20_000 < len(encode(index)) <= 30_000
    assert index.entries[0].file == "f199"
    assert index.bytes == {"f199": 1, "f0": 1}, "the anchor stays"


def test_the_newest_stays_however_little_room_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "LARGEST", 1)
    index = grown((an_entry("a"), 1), (an_entry("b"), 1))
    assert [entry.file for entry in index.entries] == ["b"]


def broken(**changes: Any) -> bytes:
    return json.dumps({**json.loads(encode(grown((an_entry("a"), 1)))), **changes}).encode()


GOOD = json.loads(encode(grown((an_entry("a"), 1))))["entries"][0]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "truncated"),
        (b"[]", "Expected `object`"),
        (b"\xff\xfe", "invalid character"),
        (b"[" * 100_000, ""),
        (b'{"version":' * 50_000, ""),
        (broken(version=2), "written with version 2 of the index, this trapgate reads 1"),
        (broken(entries=[]), "length >= 1"),
        (broken(entries=[GOOD] * (MOST_ENTRIES + 1)), "length <= 500"),
        (broken(entries=[{**GOOD, "commit": "../../x"}]), "matching regex"),
        (broken(entries=[{**GOOD, "file": "../../x"}]), "matching regex"),
        (broken(entries=[{**GOOD, "verdict": "fine"}]), "Invalid enum value"),
        (broken(entries=[{**GOOD, "why": "x" * 301}]), "length <= 300"),
        (broken(entries=[{**GOOD, "file": ""}]), "its newest baseline has no document"),
        (broken(entries=[{**GOOD, "anchor": "b"}]), "the size of b is not in it"),
        (broken(bytes={"a": -1}), "`int` >= 0"),
        (broken(bytes={"a": 1e400}), ""),
    ],
)
def test_an_index_that_does_not_fit_is_refused_with_what_is_wrong(data: bytes, why: str) -> None:
    with pytest.raises(UserError) as caught:
        decode(data, "trapgate-baselines: index.json")
    assert caught.value.code == "baseline-unreadable"
    assert why in str(caught.value)
    assert str(caught.value).startswith("trapgate-baselines: index.json: not a readable index of baselines: ")


@given(st.binary(max_size=200) | TEXT.map(str.encode))
def test_no_bytes_end_in_anything_but_an_index_or_that_error(data: bytes) -> None:
    with pytest.raises(UserError):
        decode(data, "index.json")
