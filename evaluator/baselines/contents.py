"""What is on the branch of baselines at one commit. Only what fits together is handed out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from evaluator.baselines import acceptances as accepting
from evaluator.baselines import document, names
from evaluator.baselines import index as indexes
from evaluator.baselines.acceptances import Acceptances
from evaluator.baselines.history import Entry
from evaluator.baselines.index import Index
from evaluator.baselines.permission import refuse_without
from evaluator.errors import user_error
from evaluator.github.client import Failure
from evaluator.github.git_data import READ, Blob, Change, Folder, GitData, Inside, Tip
from evaluator.results import Baseline

T = TypeVar("T")

ACCEPTANCES = "acceptances.json"


class Contents:
    """Reads the branch `name` through `git`. A tip of None is a branch that is not there, and so has nothing. Whatever
    cannot be read raises UserError `baseline-unreadable` or `github-permission`."""

    def __init__(self, git: GitData, name: str) -> None:
        self._git, self._name = git, name

    def index(self, tip: Tip | None, config: str, branch: str) -> Index | None:
        """The index of one branch of the code, None where it has none."""
        path = f"{names.of_branch(config, branch)}/index.json"
        data = self._file(tip, path, indexes.LARGEST)
        if data is None:
            return None
        index = indexes.decode(data, f"{self._name}: {path}")
        if (index.config, index.branch) != (config, branch):
            what = f"the index is that of {index.branch} by {index.config}"
            raise user_error("baseline-unreadable", what, where=f"{self._name}: {path}")
        return index

    def kept_index(self, tip: Tip | None, config: str, branch: str) -> Index | None:
        """The same for a reader, to whom a folder that lost its index is not one that never was."""
        index = self.index(tip, config, branch)
        if index is None and (folder := names.of_branch(config, branch)) in self.others(tip, config):
            raise user_error("baseline-unreadable", f"{folder} has no index any more", where=f"{self._name}: {folder}")
        return index

    def baseline(self, tip: Tip, folder: str, chosen: Entry) -> Baseline:
        """The document of the entry `chosen`, and its anchor."""
        newest = self._document(tip, folder, chosen.file)
        if newest.run.commit != chosen.commit:
            raise user_error("baseline-unreadable", f"{chosen.file} holds a run of another commit", where=folder)
        anchor = self._document(tip, folder, chosen.anchor) if chosen.anchor else None
        return document.with_anchor(newest, anchor)

    def acceptances(self, tip: Tip | None) -> Acceptances:
        """Who accepted which head commit by label."""
        data = self._file(tip, ACCEPTANCES, accepting.LARGEST)
        return accepting.decode(data, f"{self._name}: {ACCEPTANCES}")

    def others(self, tip: Tip | None, config: str) -> list[str]:
        """Folders of baselines: one for each branch of the code by `config`, then one for each other configuration."""
        own = names.of_config(config)
        there = [f"{own}/{name}" for name in self._folders(tip, own)]
        return there + [path for name in self._folders(tip, names.ROOT) if (path := f"{names.ROOT}/{name}") != own]

    def gone(self, tip: Tip | None, folder: str, index: Index) -> dict[str, Change]:
        """Documents that the index needs no longer. Only what is there: GitHub refuses to delete the rest."""
        path = f"{folder}/documents"
        there = [name for name, each in self._folder(tip, path).items() if isinstance(each, Blob)]
        return {f"{path}/{name}": None for name in there if name not in index.bytes}

    def _document(self, tip: Tip, folder: str, name: str) -> Baseline:
        path = f"{folder}/documents/{name}"
        data = self._file(tip, path, document.LARGEST)
        if data is None:
            raise user_error("baseline-unreadable", f"{name} is in the index, and there is no such file", where=path)
        return document.decode(data, path)

    def _folders(self, tip: Tip | None, path: str) -> list[str]:
        return sorted(name for name, each in self._folder(tip, path).items() if isinstance(each, Folder))

    def _folder(self, tip: Tip | None, path: str) -> Mapping[str, Inside]:
        return (self._read(self._git.folder(tip, path), path) if tip is not None else None) or {}

    def _file(self, tip: Tip | None, path: str, most: int) -> bytes | None:
        """The bytes of a file, None where the branch has none; never more than `most`."""
        blob = self._read(self._git.file(tip, path), path) if tip is not None else None
        if blob is None:
            return None
        large = Failure("malformed", f"larger than {most:,} bytes")
        return self._read(self._git.read(blob) if blob.size <= most else large, path)

    def _read(self, outcome: T | Failure, path: str) -> T:
        if isinstance(outcome, Failure):
            refuse_without(READ, outcome)
            raise user_error("baseline-unreadable", outcome.message, where=f"{self._name}: {path}")
        return outcome
