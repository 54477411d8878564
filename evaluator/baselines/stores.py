"""The registry of stores: which one trap.yaml names, and whose baseline is meant from a work folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from evaluator.baselines.store import Place, Store
from evaluator.config.types import Config
from evaluator.errors import user_error

Opener = Callable[[Config, Path, Mapping[str, str]], Store]


def _file(config: Config, folder: Path, _: Mapping[str, str]) -> Store:
    from evaluator.baselines.file import FileStore

    return FileStore(folder / config.baseline.path, config.baseline.path)


def _branch(config: Config, folder: Path, environ: Mapping[str, str]) -> Store:
    from evaluator.baselines.branch import BranchStore
    from evaluator.baselines.origin import github
    from evaluator.github.client import Client

    server = github(folder, environ)
    client = Client(server.api_url, server.token)
    return BranchStore(client, server.repository, branch=config.baseline.branch, keep=config.baseline.keep)


STORES: dict[str, Opener] = {
    "file": _file,
    "branch": _branch,
}


def open_store(config: Config, folder: Path, environ: Mapping[str, str]) -> Store:
    """The store that `config` names, from a terminal. `folder`: that of trap.yaml. The store `branch` finds repository
    and token in `environ`, or the remote `origin` of `folder`; raises UserError `baseline-no-repository` or
    `baseline-no-token` otherwise."""
    return STORES[config.baseline.store](config, folder, environ)


def _default_branch(folder: Path, environ: Mapping[str, str]) -> str | None:
    """The repository's default branch, None where nobody says which it is. GitHub is asked where nothing at hand does.

    Raises UserError `baseline-no-repository` or `baseline-no-token`.
    """
    from evaluator.baselines.origin import default_branch, github
    from evaluator.github.client import Client
    from evaluator.github.git_data import default_branch as ask

    known = default_branch(folder, environ)
    if known:
        return known
    server = github(folder, environ)
    return ask(Client(server.api_url, server.token), server.repository)


def here(config: Config, path: Path, environ: Mapping[str, str], branch: str | None = None) -> Place:
    """Whose baseline is meant in the work folder of `path`, a trap.yaml: that of its commit and branch, else that of
    the repository's default branch. `branch`: given instead of the one that is checked out.

    Raises UserError `baseline-no-branch` where the store needs a branch and none can be told, and what `open_store`
    raises.
    """
    if config.baseline.store == "file":
        return Place(None, "", "")
    from evaluator.baselines.origin import current_branch, git

    folder = path.parent
    name = branch or current_branch(folder, environ)
    if not name:
        raise user_error(
            "baseline-no-branch",
            "no branch is checked out, so it is not known whose baseline is meant",
            where=str(path),
            mend="Check a branch out, or name it with --branch.",
        )
    config_path = (git(folder, "rev-parse", "--show-prefix") or "") + path.name
    otherwise = "" if branch else _default_branch(folder, environ)
    return Place(git(folder, "rev-parse", "HEAD"), name, config_path, "" if otherwise == name else otherwise)
