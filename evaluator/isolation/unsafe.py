"""No isolation, for those who ask for it by name. Bounds, and nothing that keeps a secret."""

from __future__ import annotations

import sys
from collections.abc import Callable

from evaluator.isolation.command import Command, Finished, never
from evaluator.isolation.supervised import not_started, specification, supervise


class Unsafe:
    """Runs commands as ourselves. They can read and change all that we can, keys and tokens included."""

    means = ("resource limits",)
    protects = (
        "Nothing is protected: commands run as this user, can read its files, environment and memory, and can use the "
        "network. They are bounded in time, memory, processes, disk and output, and their processes are ended with "
        "them, unless they hide on purpose."
    )

    def run(self, command: Command, stop: Callable[[], bool] = never) -> Finished:
        """See `Isolation`."""
        if sys.platform != "linux":
            return not_started("commands can be bounded and ended on Linux only")
        spec = specification(command)
        spec.limit_processes = False  # the kernel would count all that this user runs; the watch counts the command's
        return supervise(command, spec, stop=stop)
