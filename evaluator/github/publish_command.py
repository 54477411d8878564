"""`trapgate publish`: the second stage in a step of one's own, by the same variables of the runner as the action."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping

from evaluator import printed
from evaluator.errors import EXIT_CONFIGURATION
from evaluator.github import action

_TOKEN = "INPUT_GITHUB-TOKEN"  # noqa: S105 - the name of a variable
_TOKENS = (_TOKEN, "GITHUB_TOKEN", "GH_TOKEN")
# What the runner sets in every step.
_RUNNER = ("GITHUB_ACTIONS", "GITHUB_EVENT_PATH")
ELSEWHERE = "`trapgate publish` runs in a `workflow_run` workflow: see docs/forks.md"


def publish(options: argparse.Namespace) -> int:
    """Comments what the run of the `workflow_run` event has reported; returns the exit code of `mode: publish`."""
    if not any(os.environ.get(name, "").strip() for name in _RUNNER):
        print(ELSEWHERE, file=sys.stderr)
        return EXIT_CONFIGURATION
    # The action cleans what it prints by itself, but for its own commands, which are none once they are cleaned.
    return action.run(as_action(os.environ, options.artifact), printed.raw(sys.stdout))


def as_action(environ: Mapping[str, str], artifact: str | None) -> dict[str, str]:
    """`environ` as the action would get it: a step that is no action has no inputs, its token under another name."""
    token = next((value for name in _TOKENS if (value := environ.get(name, "").strip())), "")
    named = {"INPUT_ARTIFACT": artifact} if artifact else {}
    return {**environ, "INPUT_MODE": "publish", _TOKEN: token, **named}
