"""Runs workflow files by act: triggers, expressions, jobs and containers as on GitHub, against servers of the test.

What cannot be had without GitHub stands in, and is no more than:

- `ubuntu-latest` is the image that ours is built on, without node;
- `trapgate/trapgate@…` is a folder of the test's choice;
- `actions/checkout` does nothing: act mounts the repository as the workspace;
- `actions/upload-artifact` copies what it is given to a folder, one an artifact, and fails where there is nothing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

JOB_IMAGE = "docker.io/library/python:3.11-slim"
SECONDS = 180

_UPLOADS = "/uploads"
_UPLOAD = f"""\
name: upload-artifact
inputs:
  name: {{required: true}}
  path: {{required: true}}
runs:
  using: composite
  steps:
    - shell: sh
      env:
        NAME: ${{{{ inputs.name }}}}
        FROM: ${{{{ inputs.path }}}}
      run: cp -R "$FROM" "{_UPLOADS}/$NAME"
"""


@dataclass(frozen=True)
class Ended:
    """A workflow's run. `code`: of act, 0 where each job succeeded and 1 where one did not; `log`: what its steps
    printed and what act says of them; `outputs`: what the steps set, the last value of a name."""

    code: int
    log: str
    outputs: Mapping[str, str] = field(default_factory=dict)


class Act:
    """`docker_host`: the engine's Docker API. `action`: the folder with the action.yml of this action."""

    def __init__(self, folder: Path, docker_host: str, action: Path) -> None:
        self.artifacts = folder / "artifacts"
        self._action, self._upload, self._home = action, folder / "upload-artifact", folder / "home"
        for each in (self.artifacts, self._upload, self._home):
            each.mkdir(parents=True)
        (self._upload / "action.yml").write_text(_UPLOAD, encoding="utf-8")
        # The builder of old, which is the one that every engine has.
        self._environ = {"DOCKER_HOST": docker_host, "DOCKER_BUILDKIT": "0", "HOME": str(self._home)}

    def run(
        self,
        workflow: Path,
        repository: Path,
        event_name: str,
        event: Mapping[str, Any],
        *,
        environ: Mapping[str, str],
        secrets: Mapping[str, str],
    ) -> Ended:
        """A run of `workflow` on the event, in the checkout `repository`. Raises TimeoutExpired."""
        payload = self._home / "event.json"
        payload.write_text(json.dumps(event), encoding="utf-8")
        command = [
            *(sysconfig.get_path("scripts") + "/act", event_name, "--json", "--workflows", str(workflow)),
            *("--directory", str(repository), "--bind", "--rm", "--eventpath", str(payload)),
            *("--platform", f"ubuntu-latest={JOB_IMAGE}", "--pull=false", "--action-offline-mode", "--no-cache-server"),
            *("--network", "host", "--container-daemon-socket", "-"),
            *("--container-options", f"--volume {self.artifacts}:{_UPLOADS}"),
            *(f"--env={name}={value}" for name, value in environ.items()),
            *(f"--secret={name}={value}" for name, value in secrets.items()),
            *(f"--local-repository={use}={folder}" for use, folder in self._local(workflow).items()),
        ]
        done = subprocess.run(
            command,
            env={"PATH": os.environ["PATH"], **self._environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        return _ended(done)

    def _local(self, workflow: Path) -> dict[str, Path]:
        """The folder of each action that is not act's own business."""
        folders = {"trapgate/trapgate": self._action, "actions/upload-artifact": self._upload}
        uses = re.findall(r"\buses: (\S+)@(\S+)", workflow.read_text(encoding="utf-8"))
        return {f"{name}@{ref}": folders[name] for name, ref in uses if name != "actions/checkout"}


def released(folder: Path, action: Path, image: str) -> Path:
    """`folder` with the action as a release has it: `action`, an action.yml, on an image that is built already."""
    metadata = yaml.safe_load(action.read_text(encoding="utf-8"))
    assert metadata["runs"]["image"] == "Dockerfile"
    metadata["runs"]["image"] = f"docker://{image}"
    folder.mkdir()
    (folder / "action.yml").write_text(yaml.safe_dump(metadata), encoding="utf-8")
    return folder


def checkout(repository: Path, folder: Path) -> Path:
    """`folder` with the files of `repository` that are, or would be, under version control."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listed, cwd=repository, capture_output=True, text=True, check=True)
    for name in done.stdout.split("\0")[:-1]:
        if (repository / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(repository / name, folder / name)
    return folder


def _ended(done: subprocess.CompletedProcess[str]) -> Ended:
    lines, outputs = [], {}
    for line in done.stdout.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            lines.append(line)
            continue
        lines.append(entry["msg"].rstrip("\n"))
        if entry.get("command") == "set-output":
            outputs[entry["name"]] = entry["arg"]
    return Ended(done.returncode, "\n".join(lines), outputs)
