"""What is left to do when a supervisor was killed: ends all processes of the command's user."""

from __future__ import annotations

import sys

from evaluator.isolation.inside import processes


def main() -> None:
    """`sweep <user> <killer>`, as root."""
    processes.end_user(int(sys.argv[2]), int(sys.argv[3]))
