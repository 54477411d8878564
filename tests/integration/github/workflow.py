"""An example workflow as a runner would read it: whether an event starts it, its permissions and its step's inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.servers.actions_runner import ActionsRunner
from tests.servers.github_server import GitHubServer

EXAMPLES = Path(__file__).parents[3] / "examples"


class Workflow:
    """The one job of a workflow file with the one step that uses this action. `leg`: the values of the job's matrix."""

    def __init__(self, path: Path, leg: Mapping[str, str] | None = None) -> None:
        self.leg = dict(leg or {})
        self.text = path.read_text(encoding="utf-8")
        self.read: dict[Any, Any] = yaml.safe_load(self.text)
        # YAML 1.1 takes the key `on` for a truth value.
        self.on: Any = self.read[True]
        [self.job] = self.read["jobs"].values()
        [self.step] = [step for step in self.job["steps"] if step.get("uses", "").startswith("trapgate/trapgate@")]
        assert self.leg.keys() == self.job.get("strategy", {}).get("matrix", {}).keys()

    def starts_on(self, name: str, event: dict[str, Any]) -> bool:
        """Whether the event starts the workflow. Source: GitHub's documentation, "Events that trigger workflows"."""
        if isinstance(self.on, str):
            self.on = {self.on: None}
        if name not in self.on:
            return False
        wanted = (self.on[name] if isinstance(self.on[name], dict) else None) or {}
        if name == "pull_request":
            return event["action"] in wanted.get("types", ["opened", "synchronize", "reopened"])
        branch = event.get("ref", "").removeprefix("refs/heads/")
        return "branches" not in wanted or branch in wanted["branches"]

    def inputs(self, event: dict[str, Any]) -> dict[str, str]:
        """What the step is given, expressions on the inputs of the event filled in."""
        return {name: self._filled(value, event) for name, value in self.step.get("with", {}).items()}

    def _filled(self, value: Any, event: dict[str, Any]) -> str:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        filled = re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: event["inputs"][match[1]], text)
        filled = re.sub(r"\$\{\{ matrix\.(\w+) \}\}", lambda match: self.leg[match[1]], filled)
        assert "${{" not in filled, f"an expression that this test does not know: {text}"
        return filled

    def grants(self) -> set[str]:
        """The permissions of the job's token. A permission that may write may read."""
        granted = {"metadata: read"}
        for scope, access in self.job["permissions"].items():
            granted |= {f"{scope}: {access}", f"{scope}: read"}
        return granted

    def environ(
        self, runner: ActionsRunner, server: GitHubServer, name: str, event: dict[str, Any], *, sha: str = ""
    ) -> dict[str, str]:
        """The environment of the step on an event that has to start the workflow."""
        assert self.starts_on(name, event), f"{name} does not start it"
        server.granted = self.grants()
        inputs = {key.replace("-", "_"): value for key, value in self.inputs(event).items()}
        ref = "refs/pull/7/merge" if name == "pull_request" else event.get("ref", "refs/heads/main")
        environ = runner.environ(name, event, **inputs)
        return environ | runner.at(sha or environ["GITHUB_SHA"], ref)


def example(name: str, leg: Mapping[str, str] | None = None) -> Workflow:
    return Workflow(EXAMPLES / "workflows" / name, leg)
