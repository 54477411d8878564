"""Whose rules: on a pull request, gate and baseline come from the base, so that a change cannot judge itself.

Everything is read through the API at the tip of the base, which the runner's checkout has merged
(`evaluator.github.tip` says which commit that is): a checkout may be shallow, and its files are the change's. Not at
the merge base, which the author of a change chooses: a branch off an old commit would be judged by old, laxer rules.
What cannot be read is unreadable, never absent. Where the base keeps its baselines on a branch of their own, that of
the base's tip counts, else the newest of the base's branch.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import msgspec

from evaluator import config, yaml_text
from evaluator.baselines import BaselineState, Missing, Unreadable
from evaluator.baselines.branch import BranchStore
from evaluator.baselines.file import decode
from evaluator.baselines.store import Place
from evaluator.config.types import Config, GateConfig
from evaluator.errors import UserError
from evaluator.github.client import RAW_MEDIA, Client, Failure
from evaluator.github.permissions import Lack, refused
from evaluator.results import Reason

PERMISSION = "contents: read"


@dataclass(frozen=True)
class Change:
    """The change under test. `base_sha`: the tip of the base; `config_path`: trap.yaml, relative to the repository;
    `config`: as the change has it.
    `base_ref`: the branch that it is to be merged into, and `default_branch`: the one whose baseline does where that
    has none, None where the event does not say. `baseline_path`: a path relative to the repository that the workflow
    gives instead of trap.yaml's; `baseline`: the bytes of the change's own baseline file, None where it has none."""

    repository: str
    base_sha: str
    config_path: str
    config: Config
    base_ref: str | None = None
    default_branch: str | None = None
    baseline_path: str | None = None
    baseline: bytes | None = None


@dataclass(frozen=True)
class Rules:
    """What a run is judged by. `config` None: the change's own rules; `baseline` None: the change's own baseline.
    `base`: the base's trap.yaml, None where there is none or it cannot be read."""

    config: Config | None
    baseline: BaselineState | None
    notes: list[Reason] = field(default_factory=list)
    base: Config | None = None


def rules(client: Client, change: Change) -> Rules:
    """The rules at the base's tip.

    Raises UserError `github-permission` where the token may not read the repository: no run can end well then, and
    none should be paid for.
    """
    found = _file(client, change.repository, change.config_path, change.base_sha)
    where = f"{change.config_path} at {change.base_sha[:12]}"
    if isinstance(found, Failure):
        return unreadable(change, where, found.message)
    if found is None:
        text = f"The base has no {change.config_path} yet, so this change's own rules apply."
        return Rules(None, None, [_note(text)])
    try:
        base = config.parse(yaml_text.decode(found, where), where)
    except UserError as error:
        return unreadable(change, where, error.problems[0].message)
    if base.baseline.store == "branch" and change.baseline_path is None:
        return Rules(base, _on_branch(client, change, base), changed(change, base), base)
    path, data = _baseline(client, change, base)
    notes = changed(change, base, another_baseline=not isinstance(data, Failure) and data != change.baseline)
    if isinstance(data, Failure):
        return Rules(base, Unreadable(path, data.message), notes, base)
    return Rules(base, Missing(path) if data is None else decode(data, path), notes, base)


def changed(change: Change, base: Config, *, another_baseline: bool = False) -> list[Reason]:
    """What the change does to its own rules, and to which cases are run, in words."""
    ours, theirs = change.config, base
    held = []
    if _without_lines(ours.gate) != _without_lines(theirs.gate):
        held.append("the gate")
    if ours.baseline != theirs.baseline:
        held.append("`baseline`")
    if ours.price != theirs.price:
        held.append("`price`")
    before = {task.name: task for task in theirs.tasks}
    both = [(task, before[task.name]) for task in ours.tasks if task.name in before]
    held += [
        f"`repeats` of {new.name} from {old.repeats} to {new.repeats}" for new, old in both if new.repeats < old.repeats
    ]
    effect = "It takes effect after the merge; this run is judged by the base's."
    notes = []
    if held:
        notes.append(_note(f"This change alters {', '.join(held)} in {change.config_path}. {effect}"))
    if another_baseline:
        notes.append(_note(f"This change alters the baseline file. {effect}"))
    free = [
        f"`{key}` of {new.name}" for new, old in both for key in _SELECTING if getattr(new, key) != getattr(old, key)
    ]
    if ours.canaries != theirs.canaries:
        free.append("`canaries`")
    if (ours.command is None) != (theirs.command is None):
        free.append("`cmd`, the command in the place of a model" if theirs.command is None else "`cmd`, which is gone")
    if gone := [model for model in theirs.models if model not in (*ours.models, ours.model)]:
        free.append(f"`models`, without {', '.join(gone)}")
    if free:
        notes.append(_note(f"This change alters what is evaluated in {change.config_path}: {', '.join(free)}."))
    return notes


# Settings of a task that a change may well have its own way with, but not unseen.
_SELECTING = ("source", "include", "options", "retry")


def repository_path(workspace: Path, path: Path) -> str:
    """`path`, a file of the workspace, relative to the repository that it lies in."""
    return path.relative_to(repository_root(workspace, path)).as_posix()


def repository_root(workspace: Path, path: Path) -> Path:
    """The repository that `path`, a file of the workspace, lies in: the outermost folder on the way that holds `.git`,
    or the workspace. A submodule that a change adds must not turn its own trap.yaml into the one that is looked up on
    the base."""
    steps = [workspace, *reversed([way for way in path.parents if way != workspace and way.is_relative_to(workspace)])]
    return next((step for step in steps if (step / ".git").exists()), workspace)


def _on_branch(client: Client, change: Change, base: Config) -> BaselineState:
    """The baseline in the base's store, whichever the change names."""
    if change.base_ref is None:
        return Unreadable(base.baseline.branch, "the event does not say which branch the base is")
    store = BranchStore(client, change.repository, branch=base.baseline.branch, keep=base.baseline.keep)
    return store.read(Place(change.base_sha, change.base_ref, change.config_path, change.default_branch))


def _baseline(client: Client, change: Change, base: Config) -> tuple[str, bytes | Failure | None]:
    """Which file is the base's baseline, in words, and its bytes; None where it is certain that there is none."""
    folder = posixpath.dirname(change.config_path)
    path = change.baseline_path or posixpath.normpath(posixpath.join(folder, base.baseline.path))
    where = f"{path} at {change.base_sha[:12]}"
    if path.startswith(("/", "../")):
        return where, Failure("refused", "the path leaves the repository")
    return where, _file(client, change.repository, path, change.base_sha)


def _file(client: Client, repository: str, path: str, commit: str) -> bytes | Failure | None:
    """The file's bytes, None where it is certain that the commit has none."""
    url = f"/repos/{repository}/contents/{quote(path)}"
    answer = client.get(url, permission=PERMISSION, params={"ref": commit}, accept=RAW_MEDIA)
    if not isinstance(answer, Failure):
        return answer.data
    _refuse_without_permission(answer)
    if answer.kind != "not_found":
        return answer
    # A token that may not read the repository gets 404 as well. The commit needs the same permission, and it exists.
    commit_answer = client.get(f"/repos/{repository}/git/commits/{commit}", permission=PERMISSION)
    if not isinstance(commit_answer, Failure):
        return None
    _refuse_without_permission(commit_answer)
    if commit_answer.kind != "not_found":
        return commit_answer
    hidden = f"neither {path} nor its commit {commit[:12]} can be seen (HTTP 404)"
    raise no_permission(Failure("not_found", hidden, 404))


def _refuse_without_permission(failure: Failure) -> None:
    if failure.kind == "permission":
        raise no_permission(failure)


def no_permission(failure: Failure) -> UserError:
    """The error for a token that may not read the base, or is not accepted."""
    why = f"the base's rules cannot be read: {failure.message}"
    return refused(failure, Lack(PERMISSION, why, "input github-token"))


def unreadable(change: Change, where: str, why: str) -> Rules:
    """No rules of the change's own in the place of those of `where` that cannot be read: an unreadable baseline is
    inconclusive under any gate."""
    text = f"The base's rules cannot be read ({where}: {why}), so there is no verdict."
    return Rules(msgspec.structs.replace(change.config, gate=GateConfig()), Unreadable(where, why), [_note(text)])


def _without_lines(gate: GateConfig) -> GateConfig:
    if gate.rules is None:
        return gate
    return msgspec.structs.replace(gate, rules=[msgspec.structs.replace(rule, line=0) for rule in gate.rules])


def _note(text: str) -> Reason:
    return Reason(kind="note", text=text)
