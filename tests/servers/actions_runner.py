"""What the Actions runner prepares for a step (folders, event, command files, environment) and reads after it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.servers.github_server import GitHubServer

TOKEN = "ghs_" + "t0kenOfThisJob"


class ActionsRunner:
    """One job on `repository` of `server`, in the folder `root`."""

    def __init__(self, root: Path, server: GitHubServer) -> None:
        self.server = server
        self.workspace, self.temp = root / "workspace", root / "temp"
        self.commands = root / "file_commands"
        for folder in (self.workspace, self.temp, self.commands, root / "home", root / "workflow"):
            folder.mkdir(parents=True)
        self.event_path = root / "workflow" / "event.json"
        self.output, self.summary = self.commands / "output", self.commands / "summary"
        self.output.touch()
        self.summary.touch()
        self.home = root / "home"
        self.base, self.head = server.commit("base"), server.commit("head")
        server.merge_bases[self.base, self.head] = self.base
        server.git.branches["main"] = self.head
        self.merge = server.commit("merge of head into base", (self.base, self.head))

    def write(self, files: dict[str, str]) -> None:
        """Files of the checkout."""
        for name, text in files.items():
            path = self.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def check_out(self, commit: str) -> None:
        """A checkout of `commit` in the workspace, as shallow as it gets: git knows its id and nothing else."""
        git = self.workspace / ".git"
        for folder in ("objects", "refs"):
            (git / folder).mkdir(parents=True, exist_ok=True)
        (git / "HEAD").write_text(f"{commit}\n", encoding="utf-8")

    def at(self, commit: str, ref: str = "refs/heads/main") -> dict[str, str]:
        """What the environment says of a run of `commit`, which is checked out and the tip of its branch."""
        self.check_out(commit)
        self.server.git.branches[ref.removeprefix("refs/heads/")] = commit
        return {"GITHUB_SHA": commit, "GITHUB_REF": ref}

    def on_base(self, path: str, data: str | bytes) -> None:
        """A file of the base."""
        self.server.add_file(path, data.encode() if isinstance(data, str) else data, self.base)

    def pull_request(self, number: int = 7, head_repository: str | None = None) -> dict[str, Any]:
        """The payload of a pull request, from the same repository unless another is named."""
        return {
            "action": "synchronize",
            "sender": {"login": "alice"},
            "pull_request": {
                "number": number,
                "base": {"sha": self.base, "ref": "main", "repo": {"full_name": self.server.repository}},
                "head": {"sha": self.head, "repo": {"full_name": head_repository or self.server.repository}},
            },
        }

    def environ(self, event_name: str, event: dict[str, Any], **inputs: str) -> dict[str, str]:
        """The environment of the step, with the event's commit checked out. Every declared input is there, an omitted
        one empty."""
        commit = self.merge if event_name.startswith("pull_request") else self.head
        self.check_out(commit)
        self.event_path.write_text(json.dumps(event), encoding="utf-8")
        declared = (
            *("config", "model", "tasks", "baseline", "github-token", "comment", "output", "unsafe-judges"),
            *("move-baseline", "skip-unchanged", "accept-label", "mode", "artifact", "tracking-issue"),
            "allow-pull-request-target",
        )
        given = {"github-token": TOKEN, **{name.replace("_", "-"): value for name, value in inputs.items()}}
        return {
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": self.server.api_url,
            "GITHUB_SERVER_URL": self.server.root,
            "GITHUB_EVENT_NAME": event_name,
            "GITHUB_EVENT_PATH": str(self.event_path),
            "GITHUB_REPOSITORY": self.server.repository,
            "GITHUB_SHA": commit,
            "GITHUB_REF": "refs/pull/7/merge",
            "GITHUB_JOB": "evals",
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_OUTPUT": str(self.output),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "RUNNER_TEMP": str(self.temp),
            **{f"INPUT_{name.upper()}": given.get(name, "") for name in declared},
        }

    def outputs(self) -> dict[str, str]:
        """The outputs, as the runner reads them: the last value of a name counts."""
        return parse_outputs(self.output.read_text(encoding="utf-8"))


def parse_outputs(text: str) -> dict[str, str]:
    """The file behind GITHUB_OUTPUT: `name<<delimiter`, lines, `delimiter`."""
    values: dict[str, str] = {}
    lines = iter(text.split("\n"))
    for line in lines:
        if not line:
            continue
        head = re.fullmatch(r"(.+?)<<(.+)", line)
        if head is None:
            raise ValueError(f"the runner would refuse the line {line!r}")
        value: list[str] = []
        while (part := next(lines)) != head[2]:
            value.append(part)
        values[head[1]] = "\n".join(value)
    return values
