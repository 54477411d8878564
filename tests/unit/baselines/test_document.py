from __future__ import annotations

import gzip
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.baselines import document
from evaluator.errors import UserError
from evaluator.results import Anchor, Baseline, encode
from tests.unit.baselines.runs import ALICE, a_run, by_itself

COMMIT = "c0ffee" + "0" * 34


def test_a_document_is_read_as_it_was_written() -> None:
    run = a_run(COMMIT)
    name, data = document.encode(run, ALICE, COMMIT)
    assert re.fullmatch(rf"{COMMIT}-[0-9a-f]{{16}}\.json\.gz", name)
    assert document.decode(data, name) == Baseline(schema_version=1, accepted=ALICE, run=run)


def test_the_same_baseline_has_the_same_name_and_bytes_and_another_has_not() -> None:
    one, again, other = (document.encode(a_run(COMMIT), by, COMMIT) for by in (ALICE, ALICE, by_itself()))
    assert one == again
    assert one[0] != other[0]


def test_an_anchor_inside_of_a_document_is_not_believed() -> None:
    run = a_run(COMMIT)
    odd = Baseline(schema_version=1, accepted=ALICE, run=run, anchor=Anchor(accepted=ALICE, run=run))
    assert document.decode(gzip.compress(encode(odd), mtime=0), "x").anchor is None


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "cut off or too large"),
        (b"{}", "it is not gzip"),
        (gzip.compress(b"{}", mtime=0)[:-9], "cut off or too large"),
        (gzip.compress(b"{}", mtime=0), "missing required field"),
        (gzip.compress(b"[" * 100_000, mtime=0), "not a readable result file"),
        (gzip.compress(b'{"schema_version": 9}', mtime=0), "written with schema version 9"),
    ],
)
def test_what_is_no_document_is_refused_with_what_is_wrong(data: bytes, why: str) -> None:
    with pytest.raises(UserError, match=why):
        document.decode(data, "a.json.gz")


@given(st.binary(max_size=100).map(lambda data: gzip.compress(b"", mtime=0)[:10] + data))
def test_no_bytes_end_in_a_traceback(data: bytes) -> None:
    with pytest.raises(UserError):
        document.decode(data, "a.json.gz")


def test_a_few_bytes_that_stand_for_very_many_are_not_unpacked(monkeypatch: Any) -> None:
    monkeypatch.setattr(document, "LARGEST_INSIDE", 1 << 20)
    bomb = gzip.compress(b" " * (8 << 20), mtime=0)
    assert len(bomb) < 10_000
    with pytest.raises(UserError, match="too large"):
        document.decode(bomb, "a.json.gz")


def test_a_run_that_is_too_large_is_refused_with_what_to_do(monkeypatch: Any) -> None:
    monkeypatch.setattr(document, "LARGEST", 100)
    with pytest.raises(UserError) as caught:
        document.encode(a_run(COMMIT), ALICE, COMMIT)
    assert caught.value.code == "baseline-too-large"
    assert re.search(r"the run has [0-9,]+ bytes, compressed; a baseline on a branch may have 100", str(caught.value))
    assert "Split the tasks over several trap.yaml" in str(caught.value)
