"""The supervisor of one command: starts it, watches it, ends all that it left behind, reports.

It ends the command when its own parent closes the control pipe, which also happens when that parent dies.
"""

from __future__ import annotations

import marshal
import os
import select
import sys
import time

from evaluator.isolation.inside import confine, folders, kernel, processes
from evaluator.isolation.inside.spec import Spec

_TICK = 0.05  # seconds between two looks at memory, processes and orphans
_DISK_EVERY = 10  # ticks


def main() -> None:
    """`supervise <spec> <control> <report>`: numbers of open descriptors. Writes the report as a marshalled dict."""
    given, control, report = map(int, sys.argv[2:5])
    os.set_inheritable(control, False)
    os.set_inheritable(report, False)
    with os.fdopen(given, "rb") as file:
        spec = Spec(**marshal.load(file))  # noqa: S302  (written by our own parent)
    try:
        outcome = _run(spec, control)
    except (OSError, ValueError, processes.LeftoverError) as error:
        outcome = {"error": f"the supervisor failed: {error}", "exit_code": confine.NOT_STARTED}
    with os.fdopen(report, "wb") as file:
        marshal.dump(outcome, file)
    os._exit(0)  # without tidying up an interpreter that nobody needs


def _run(spec: Spec, control: int) -> dict[str, object]:
    kernel.adopt_orphans()
    kernel.hide_from_equals(True)
    if spec.user:
        folders.hand_over(spec.writable, spec.user)
    failed, failures = os.pipe()
    child = os.fork()
    if child == 0:
        confine.become(spec, failures)
    os.close(failures)
    # Our copies of the command's streams would keep its pipes open after it ended.
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    try:
        with os.fdopen(failed, "rb") as file:
            error = file.read().decode("utf-8", "replace")  # ends when the command starts or its child ends
        began = time.monotonic()
        limit, ended = _watch(spec, child, control)
        seconds = time.monotonic() - began
    finally:
        left = processes.end_all(spec.user, spec.killer)
        if spec.user:
            folders.take_back(spec.writable)
    status = (ended | left)[child]
    return {
        "error": error,
        "exit_code": os.waitstatus_to_exitcode(status),
        "limit": limit,
        "seconds": seconds,
    }


def _watch(spec: Spec, child: int, control: int) -> tuple[str, dict[int, int]]:
    """Returns when the command's first process ended or a limit was reached: (limit or "", statuses of those ended)."""
    deadline = time.monotonic() + spec.timeout
    poll = select.poll()
    poll.register(os.pidfd_open(child), select.POLLIN)
    poll.register(control, select.POLLIN | select.POLLHUP)
    ended: dict[int, int] = {}
    tick = 0
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return "time", ended
        ready = {number for number, _ in poll.poll(1000 * min(_TICK, left))}
        ended |= processes.reap()
        if child in ended:
            return "", ended
        if control in ready:
            return "stopped", ended
        tick += 1
        if limit := _exceeded(spec, tick):
            return limit, ended


def _exceeded(spec: Spec, tick: int) -> str:
    alive = processes.descendants()
    if len(alive) > spec.processes:
        return "processes"
    if sum(map(processes.memory, alive)) > spec.memory_bytes:
        return "memory"
    if tick % _DISK_EVERY == 0 and folders.size(spec.writable, spec.disk_bytes) > spec.disk_bytes:
        return "disk"
    return ""
