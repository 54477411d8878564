from __future__ import annotations

import pytest

from evaluator.baselines.acceptances import MOST, Acceptances, add, decode, find
from evaluator.errors import UserError
from evaluator.results import Acceptance

ALICE, BOB = (Acceptance(by=name, at="2026-01-01T00:00:00+00:00", why="the label") for name in ("alice", "bob"))


def test_what_was_added_is_found_under_its_commit_and_no_other() -> None:
    known = decode(add(Acceptances(), "a", ALICE), "f")
    assert (find(known, "a"), find(known, "b")) == (ALICE, None)


def test_the_last_acceptance_of_a_commit_counts() -> None:
    known = decode(add(decode(add(Acceptances(), "a", ALICE), "f"), "a", BOB), "f")
    assert find(known, "a") == BOB
    assert len(known.accepted) == 1


def test_the_oldest_are_forgotten() -> None:
    known = Acceptances()
    for number in range(MOST + 1):
        known = decode(add(known, str(number), ALICE), "f")
    assert (find(known, "0"), find(known, "1")) == (None, ALICE)


def test_no_file_holds_no_acceptance() -> None:
    assert find(decode(None, "f"), "a") is None


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"version": 2}', b'{"version":1,"accepted":[{}]}', b"[" * 99_999])
def test_what_is_broken_is_refused_and_not_empty(data: bytes) -> None:
    with pytest.raises(UserError) as caught:
        decode(data, "trapgate-baselines: acceptances.json")
    assert caught.value.code == "baseline-unreadable"
