"""Which users commands get."""

from __future__ import annotations

from pathlib import Path

from evaluator.isolation.command import Command
from evaluator.isolation.own_user import OwnUser

COMMAND = Command(("true",), Path("/"), {})


def test_no_two_commands_share_a_user_nor_one_with_whom_another_is_ended() -> None:
    isolation = OwnUser(())
    specs = [isolation.specify(COMMAND) for _ in range(100)]
    assert len({spec.user for spec in specs} | {spec.killer for spec in specs}) == 200
    assert all(0 < spec.user < 2**31 for spec in specs)


def test_two_runs_on_one_machine_start_at_different_users() -> None:
    assert len({OwnUser(()).specify(COMMAND).user for _ in range(5)}) > 1
