from __future__ import annotations

from typing import Any

import msgspec
import pytest

from evaluator.baselines import acceptances
from evaluator.baselines.acceptances import LARGEST, MOST, Acceptances, Kept, add, decode, find
from evaluator.baselines.accepted import Accepted, Cases
from evaluator.errors import UserError
from evaluator.results import Acceptance

ALICE, BOB = (Acceptance(by=name, at="2026-01-01T00:00:00+00:00", why="the label") for name in ("alice", "bob"))
KEPT = Kept(
    head="a",
    pull_request=7,
    base="main",
    config="trap.yaml",
    acceptance=ALICE,
    accepted=Accepted(models=["m"], reasons=[("", "rule", "refunds", "pass_rate")]),
)


def kept(**other: Any) -> Kept:
    return msgspec.structs.replace(KEPT, **other)


def with_cases(count: int, head: str = "a") -> Kept:
    """An acceptance that names so many removed cases, each some 100 bytes long."""
    removed = [f"{number:0100}" for number in range(count)]
    return kept(head=head, accepted=Accepted(models=["m"], cases=[Cases(model="m", task="t", removed=removed)]))


def of(*each: Kept) -> Acceptances:
    known = Acceptances()
    for one in each:
        known = decode(add(known, one), "f")
    return known


def test_what_was_added_is_found_under_its_commit_and_no_other() -> None:
    known = of(KEPT)
    assert (find(known, "a"), find(known, "b")) == ([KEPT], [])


def test_the_last_acceptance_of_the_same_counts() -> None:
    again = kept(acceptance=BOB, accepted=Accepted(models=["other"]))
    assert of(KEPT, again).accepted == [again]


@pytest.mark.parametrize("other", [{"pull_request": 8}, {"base": "dev"}, {"config": "evals/trap.yaml"}])
def test_one_of_another_pull_request_branch_or_configuration_takes_no_ones_place(other: dict[str, Any]) -> None:
    assert find(of(KEPT, kept(**other)), "a") == [kept(**other), KEPT]


def test_the_oldest_are_forgotten() -> None:
    known = of(*(kept(head=str(number)) for number in range(MOST + 1)))
    assert (find(known, "0"), len(find(known, "1"))) == ([], 1)


def test_the_oldest_go_too_where_they_name_so_many_cases_that_the_file_would_not_be_read() -> None:
    known = of(*(with_cases(4_000, str(number)) for number in range(4)))
    assert [each.head for each in known.accepted] == ["3", "2"]
    assert len(add(known, KEPT)) <= LARGEST


def test_one_that_alone_would_not_be_read_is_refused() -> None:
    with pytest.raises(UserError, match="what alice accepts names so many cases") as caught:
        add(Acceptances(), with_cases(20_000))
    assert caught.value.code == "acceptance-too-large"


def test_no_file_holds_no_acceptance() -> None:
    assert find(decode(None, "f"), "a") == []


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"version": 2}', b'{"version":1,"accepted":[{}]}', b"[" * 99_999])
def test_what_is_broken_is_refused_and_not_empty(data: bytes) -> None:
    with pytest.raises(UserError) as caught:
        decode(data, "trapgate-baselines: acceptances.json")
    assert caught.value.code == "baseline-unreadable"


@pytest.mark.parametrize("missing", ["head", "pull_request", "base", "config", "accepted"])
def test_an_acceptance_that_does_not_say_what_it_is_bound_to_is_refused(missing: str) -> None:
    read = msgspec.json.decode(add(Acceptances(), KEPT))
    del read["accepted"][0][missing]
    with pytest.raises(UserError, match=f"missing required field `{missing}`"):
        acceptances.decode(msgspec.json.encode(read), "f")
