"""Task sources that a pull request may not name: they would be read, and sent to the model, in our name."""

from __future__ import annotations

from pathlib import Path

from evaluator.config.types import Config
from evaluator.errors import Problem, UserError
from evaluator.sources import location
from evaluator.sources.location import GitSource


def refuse(workspace: Path, folder: Path, config: Config, base: Config | None, *, with_secrets: bool) -> None:
    """Raises UserError `source-outside` where a task of `config`, the change's trap.yaml in `folder`, lies outside of
    the workspace; and on a run `with_secrets` of ours, which may hold a token for other repositories, where it lies in
    a repository that no task of `base` does."""
    known = {
        source.url
        for task in (base.tasks if base else ())
        if isinstance(source := location.parse(task.source), GitSource)
    }
    problems = []
    for task in config.tasks:
        source = location.parse(task.source)
        if isinstance(source, GitSource):
            if with_secrets and source.url not in known:
                what = f"the base evaluates nothing of {source.url}, and this run may hold a token for it"
                mend = "Use `pull_request`, or let a maintainer add the source to the base's trap.yaml first."
                problems.append(Problem(config.path, task.line, 1, f"{task.name}: {what}", mend))
        elif not (folder / source.path).resolve().is_relative_to(workspace.resolve()):
            what = f"{task.name}: {source.path} lies outside of the repository"
            problems.append(Problem(config.path, task.line, 1, what, "Put the task into the repository."))
    if problems:
        raise UserError("source-outside", *problems)
