"""The action's container as the runner starts it: its mounts, work folder and variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.servers.actions_runner import ActionsRunner

# Who owns the workspace on GitHub's own runners.
OWNER = os.geteuid() or 1001


@dataclass(frozen=True)
class Step:
    """What `docker run` is given. `mounts`: host path → path inside."""

    environ: dict[str, str]
    mounts: dict[Path, str]
    workdir: str


def step(runner: ActionsRunner, environ: Mapping[str, str], *, workspace: str = "/github/workspace") -> Step:
    """The step that runs with `environ`, as paths are on the host; the workspace's files are given to their owner.

    `workspace`: where it is mounted; GitHub's runner has one place for it, others the same as on the host.
    """
    mounts = {
        runner.workspace: workspace,
        runner.home: "/github/home",
        runner.event_path.parent: "/github/workflow",
        runner.commands: "/github/file_commands",
        runner.temp: "/github/runner_temp",
    }
    # The runner translates a variable only where its whole value is a path on the host.
    inside = {str(outside): path for outside, path in mounts.items()}
    inside |= {str(file): f"{inside[str(file.parent)]}/{file.name}" for file in (runner.event_path, runner.output)}
    inside |= {str(runner.summary): f"/github/file_commands/{runner.summary.name}"}
    translated = {name: inside.get(value, value) for name, value in environ.items()}
    for path in [runner.workspace, *runner.workspace.rglob("*")]:
        os.chown(path, OWNER, OWNER, follow_symlinks=False)
    return Step({**translated, "HOME": "/github/home"}, mounts, workspace)
