"""Task sources that a pull request may not name: they would be read, and sent to the model, in our name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from evaluator.config.types import Config
from evaluator.errors import Problem, UserError
from evaluator.sources import location
from evaluator.sources.location import GitSource


def refuse(workspace: Path, folder: Path, config: Config, base: Config | None, *, with_secrets: bool) -> None:
    """Raises UserError `source-outside` where a task or the canaries of `config`, the change's trap.yaml in `folder`,
    lie outside of the workspace; and on a run `with_secrets` of ours, which may hold a token for other repositories,
    where they lie in a repository that `base` reads nothing of. `base` None: nobody knows what it reads."""
    sources = [location.parse(source) for _, source, _ in (_named(base) if base is not None else ())]
    known = {source.url for source in sources if isinstance(source, GitSource)}
    problems = []
    for name, written, line in _named(config):
        source = location.parse(written)
        if isinstance(source, GitSource):
            if with_secrets and source.url not in known:
                what = f"the base evaluates nothing of {source.url}, and this run may hold a token for it"
                mend = "Use `pull_request`, or let a maintainer add the source to the base's trap.yaml first."
                problems.append(Problem(config.path, line, 1, f"{name}: {what}", mend))
        elif not (folder / source.path).resolve().is_relative_to(workspace.resolve()):
            what = f"{name}: {source.path} lies outside of the repository"
            problems.append(Problem(config.path, line, 1, what, "Put it into the repository."))
    if problems:
        raise UserError("source-outside", *problems)


def _named(config: Config) -> Iterator[tuple[str, str, int]]:
    """Name, source and line of everything that is read from elsewhere."""
    yield from ((task.name, task.source, task.line) for task in config.tasks)
    if config.canaries:
        yield "canaries", config.canaries, 1
