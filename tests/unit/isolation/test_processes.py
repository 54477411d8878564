"""Ending what a command left, and never anything else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from evaluator.isolation.inside import processes


@pytest.mark.parametrize(("user", "killer"), [(0, 1), (1, 0), (0, 0), (-1, 5)])
def test_root_is_never_a_user_whose_processes_are_killed(user: int, killer: int) -> None:
    with pytest.raises(ValueError, match="root's processes are never killed by their user"):
        processes.end_user(user, killer)


def test_descendants_are_found_over_generations() -> None:
    program = "import subprocess, sys; subprocess.run(['sleep', '60'])"
    with subprocess.Popen([sys.executable, "-c", program]) as child:
        while len(found := processes.descendants()) < 2:
            assert child.poll() is None
        assert child.pid in found
        for pid in found:
            assert processes.memory(pid) >= 0
        for pid in found:
            os.kill(pid, signal.SIGKILL)


def test_the_memory_of_a_process_that_is_gone_is_nothing() -> None:
    with subprocess.Popen(["true"]) as child:
        child.wait()
    assert processes.memory(child.pid) == 0
