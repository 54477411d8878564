"""A real git repository whose commits the GitHub server knows."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.servers.github_git import Commit
from tests.servers.github_server import GitHubServer

NUMBER = 7
BRANCH = "proposal"


class Repository:
    """The repository of `server`, cloned to `folder`. `base`: the tip of main."""

    def __init__(self, folder: Path, server: GitHubServer, files: Mapping[str, str | bytes]) -> None:
        self.folder, self.server = folder, server
        folder.mkdir()
        self._git("init", "--quiet", "--initial-branch", "main")
        # By this name act knows whose repository it is.
        self._git("remote", "add", "origin", f"https://github.com/{server.repository}.git")
        self.base = self._on_main(files)

    def push(self, files: Mapping[str, str | bytes]) -> None:
        """A commit with `files` on main, which is checked out."""
        self._git("checkout", "--quiet", "main")
        self.base = self._on_main(files)

    def pull_request(self, files: Mapping[str, str | bytes], head_repository: str = "") -> dict[str, Any]:
        """The event of a pull request with `files`, whose merge into main is checked out. From the same repository
        unless another is named."""
        self._git("checkout", "--quiet", "--detach", self.base)
        head = self._commit(files, BRANCH)
        self._git("checkout", "--quiet", "--detach", self.base)
        self._git("merge", "--quiet", "--no-ff", "--message", "merge", head)
        self._publish()
        name = self.server.repository
        origin = {"head_ref": BRANCH, "head_repository": head_repository or name}
        self.server.pulls[NUMBER] = {"head": head, "base_ref": "main", "merge_commit": None, **origin}
        return {
            "action": "synchronize",
            "number": NUMBER,
            "sender": {"login": "alice"},
            "repository": {"full_name": name, "default_branch": "main"},
            "pull_request": {
                "number": NUMBER,
                "base": {"sha": self.base, "ref": "main", "repo": {"full_name": name}},
                "head": {"sha": head, "ref": BRANCH, "repo": {"full_name": head_repository or name}},
            },
        }

    def _on_main(self, files: Mapping[str, str | bytes]) -> str:
        self.server.git.branches["main"] = commit = self._commit(files, "a change")
        return commit

    def _commit(self, files: Mapping[str, str | bytes], message: str) -> str:
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        self._git("add", *files)
        self._git("commit", "--quiet", "--allow-empty", "--message", message)
        return self._publish()

    def _publish(self) -> str:
        """What is checked out, on the server as well."""
        commit, *parents = self._git("rev-list", "--parents", "--max-count", "1", "HEAD").split()
        self.server.commits.add(commit)
        self.server.git.commits[commit] = Commit(self.server.git.add_tree({}), tuple(parents), "a commit")
        for path in self._git("ls-files", "-z").split("\0")[:-1]:
            self.server.add_file(path, (self.folder / path).read_bytes(), commit)
        return commit

    def _git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=Alice", "-c", "user.email=alice@example.com", *arguments],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout
