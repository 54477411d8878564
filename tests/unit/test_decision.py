"""The decision table: every row, every combination of signs, and the page that shows it."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, get_args

import pytest

from evaluator import decision
from evaluator.decision import TABLE, ControlWord, Row, Signs

PAGE = Path(__file__).parents[2] / "docs" / "drift.md"

ALL = [
    Signs(
        canaries=canaries,
        rescored=rescored,
        open=open_,
        floor=floor,
        drop=drop,
        control=control,
        provider=provider,
        model=model,
    )
    for canaries, rescored, open_, floor, drop, control, provider, model in itertools.product(
        (True, False),
        (True, False),
        (True, False),
        (True, False),
        (True, False),
        get_args(ControlWord),
        (True, False),
        (True, False),
    )
]


@pytest.mark.parametrize(
    ("signs", "verdict", "layer"),
    [
        ({"canaries": False}, "drift", "validator"),
        ({"canaries": False, "open": True, "drop": True, "control": "holds"}, "drift", "validator"),
        ({"rescored": False}, "drift", "validator"),
        ({"rescored": False, "open": True}, "drift", "validator"),
        ({"rescored": False, "drop": True, "control": "fell", "model": True}, "drift", "validator"),
        ({"open": True}, "inconclusive", None),
        ({"open": True, "provider": True}, "inconclusive", "provider"),
        ({"open": True, "drop": True, "control": "holds"}, "inconclusive", None),
        ({"open": True, "model": True}, "inconclusive", None),
        ({"floor": True}, "regression", None),
        ({"floor": True, "drop": True, "control": "holds"}, "regression", "change"),
        ({"floor": True, "drop": True, "control": "fell"}, "regression", None),
        ({"floor": True, "provider": True}, "regression", None),
        ({"drop": True, "control": "holds"}, "regression", "change"),
        ({"drop": True, "control": "holds", "provider": True, "model": True}, "regression", "change"),
        ({"drop": True, "control": "fell"}, "drift", "model"),
        ({"drop": True, "control": "fell", "model": True}, "drift", "model"),
        ({"drop": True, "control": "fell", "provider": True}, "drift", "provider"),
        ({"drop": True, "control": "unclear"}, "regression", None),
        ({"drop": True, "control": "silent"}, "regression", None),
        ({"drop": True, "control": "silent", "model": True}, "regression", None),
        ({"drop": True, "control": "unclear", "provider": True}, "regression", None),
        ({"provider": True}, "drift", "provider"),
        ({"provider": True, "model": True}, "drift", "provider"),
        ({"model": True}, "drift", "model"),
        ({}, "pass", None),
    ],
)
def test_each_row_of_the_table(signs: dict[str, Any], verdict: str, layer: str | None) -> None:
    row = decision.row(Signs(**signs))
    assert (row.verdict, row.layer) == (verdict, layer)


def test_every_combination_of_signs_has_a_row_and_every_row_decides_one() -> None:
    assert {id(decision.row(signs)) for signs in ALL} == {id(row) for row in TABLE}


def test_nothing_that_moved_is_missing_or_is_worse_ever_passes() -> None:
    for signs in ALL:
        spotless = signs.canaries and signs.rescored and not (signs.open or signs.floor or signs.drop)
        assert (decision.row(signs).verdict == "pass") == (spotless and not signs.provider and not signs.model)


def test_only_provider_and_model_drift_can_be_set_to_warn() -> None:
    assert {row.layer for row in TABLE if row.soft} == {"provider", "model"}
    for signs in ALL:
        if decision.row(signs).soft:
            assert signs.canaries
            assert signs.rescored
            assert not signs.open
            assert not signs.floor
            assert not signs.drop or signs.control == "fell"


def test_the_change_is_blamed_only_where_the_control_arm_vouches_for_the_base() -> None:
    for signs in ALL:
        if decision.row(signs).layer == "change":
            assert signs.drop
            assert signs.control == "holds"


def cells(row: Row) -> list[str]:
    layer = row.layer or "not known"
    shown = {"pass": "—"}.get(row.verdict, layer)
    return [row.says, f"`{row.verdict}`", shown, "yes" if row.soft else ""]


def test_the_page_shows_the_same_table() -> None:
    lines = PAGE.read_text().splitlines()
    start = lines.index("| what is seen, first that applies | verdict | layer | `on_drift: warn` passes it |")
    shown = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines[start + 2 : start + 2 + len(TABLE)]
    ]
    assert shown == [cells(row) for row in TABLE]
    assert not lines[start + 2 + len(TABLE)].startswith("|")
