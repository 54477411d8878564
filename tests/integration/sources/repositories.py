"""Real git repositories for tests, made with git itself."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from evaluator.sources.location import GitSource

_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "Test",
    "GIT_AUTHOR_EMAIL": "test@example.com",
    "GIT_COMMITTER_NAME": "Test",
    "GIT_COMMITTER_EMAIL": "test@example.com",
}


@dataclass(frozen=True)
class Repository:
    """A repository with a work tree at `path`."""

    path: Path

    @classmethod
    def create(cls, path: Path, object_format: str = "sha1") -> Repository:
        path.mkdir(parents=True)
        repository = cls(path)
        repository.git("init", "-q", "-b", "main", f"--object-format={object_format}")
        return repository

    @property
    def url(self) -> str:
        return f"file://{self.path}"

    def git(self, *arguments: str, stdin: bytes = b"") -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.path, env=_ENVIRONMENT, input=stdin, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def write(self, files: dict[str, str | bytes]) -> None:
        for name, data in files.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data if isinstance(data, bytes) else data.encode())

    def commit(self, files: dict[str, str | bytes] | None = None) -> str:
        """Commit everything, with `files` written first. Returns the id."""
        self.write(files or {})
        self.git("add", "--all", "--force")
        self.git("commit", "-q", "--allow-empty", "-m", "a commit")
        return self.git("rev-parse", "HEAD")

    def allow_partial_fetches(self) -> None:
        self.git("config", "uploadpack.allowFilter", "true")
        self.git("config", "uploadpack.allowAnySHA1InWant", "true")

    def blob(self, data: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", stdin=data)

    def tree(self, entries: list[tuple[str, bytes, str]]) -> str:
        """A tree of (mode, name, id) exactly as given, valid or not."""
        raw = b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries)
        return self.git("hash-object", "-t", "tree", "-w", "--stdin", "--literally", stdin=raw)

    def commit_tree(self, tree: str) -> str:
        """A commit of `tree` on a branch of its own, so that the server gives it out."""
        commit = self.git("commit-tree", "-m", "crafted", tree)
        self.git("update-ref", f"refs/heads/{commit[:12]}", commit)
        return commit

    def source(self, commit: str, subdirectory: str = "") -> GitSource:
        return GitSource(self.url, commit, subdirectory)
