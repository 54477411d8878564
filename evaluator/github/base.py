"""Whose rules: on a pull request, gate and baseline come from the base, so that a change cannot judge itself.

Everything is read through the API at the merge base's commit: a checkout may be shallow, and its files are the
change's. What cannot be read is unreadable, never absent.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import msgspec

from evaluator import config, yaml_text
from evaluator.baselines import BaselineState, Missing, Unreadable
from evaluator.baselines.file import decode
from evaluator.config.types import Config, GateConfig
from evaluator.errors import UserError, user_error
from evaluator.github.client import RAW_MEDIA, Client, Failure, an_object
from evaluator.github.environment import is_commit
from evaluator.results import Reason

PERMISSION = "contents: read"


@dataclass(frozen=True)
class Change:
    """The change under test. `config_path`: trap.yaml, relative to the repository; `config`: as the change has it.
    `baseline_path`: a path relative to the repository that the workflow gives instead of trap.yaml's."""

    repository: str
    base_sha: str
    head_sha: str
    config_path: str
    config: Config
    baseline_path: str | None = None


@dataclass(frozen=True)
class Rules:
    """What a run is judged by. `gate` None: the change's own rules; `baseline` None: the change's own baseline."""

    gate: GateConfig | None
    baseline: BaselineState | None
    allow_missing: bool
    notes: list[Reason] = field(default_factory=list)


def rules(client: Client, change: Change) -> Rules:
    """The rules at the merge base.

    Raises UserError `github-permission` where the token may not read the repository: no run can end well then, and
    none should be paid for.
    """
    commit, notes = _merge_base(client, change)
    found = _file(client, change.repository, change.config_path, commit)
    where = f"{change.config_path} at {commit[:12]}"
    if isinstance(found, Failure):
        return _unreadable(where, found.message, notes)
    if found is None:
        text = f"The base has no {change.config_path} yet, so this change's own rules apply."
        return Rules(None, None, change.config.baseline.allow_missing, [*notes, _note(text)])
    try:
        base = config.parse(yaml_text.decode(found, where), where)
    except UserError as error:
        return _unreadable(where, error.problems[0].message, notes)
    return _from_base(client, change, base, commit, notes)


def changed(change: Change, base: Config) -> list[Reason]:
    """What the change does to its own rules, in words."""
    effect = "It takes effect after the merge; this run is judged by the base's."
    notes = []
    if _without_lines(change.config.gate) != _without_lines(base.gate):
        notes.append(_note(f"This change alters the gate in {change.config_path}. {effect}"))
    if change.config.baseline != base.baseline:
        notes.append(_note(f"This change alters `baseline` in {change.config_path}. {effect}"))
    return notes


def repository_path(workspace: Path, path: Path) -> str:
    """`path`, a file of the workspace, relative to the repository that it lies in.

    The repository is the outermost folder on the way that holds `.git`, or the workspace: a submodule that a change
    adds must not turn its own trap.yaml into the one that is looked up on the base.
    """
    steps = [workspace, *reversed([way for way in path.parents if way != workspace and way.is_relative_to(workspace)])]
    root = next((step for step in steps if (step / ".git").exists()), workspace)
    return path.relative_to(root).as_posix()


def _from_base(client: Client, change: Change, base: Config, commit: str, notes: list[Reason]) -> Rules:
    folder = posixpath.dirname(change.config_path)
    path = change.baseline_path or posixpath.normpath(posixpath.join(folder, base.baseline.path))
    where = f"{path} at {commit[:12]}"
    notes = [*notes, *changed(change, base)]
    if path.startswith(("/", "../")):
        return Rules(base.gate, Unreadable(where, "the path leaves the repository"), False, notes)
    data = _file(client, change.repository, path, commit)
    if isinstance(data, Failure):
        return Rules(base.gate, Unreadable(where, data.message), False, notes)
    state = Missing(where) if data is None else decode(data, where)
    return Rules(base.gate, state, base.baseline.allow_missing, notes)


def _merge_base(client: Client, change: Change) -> tuple[str, list[Reason]]:
    """Where the change branched off; the base's tip, and a note, where GitHub cannot say."""
    span = f"{change.base_sha}...{change.head_sha}"
    # Only the merge base is wanted, and the list of commits may be long.
    params = {"per_page": "1"}
    answer = client.get(f"/repos/{change.repository}/compare/{span}", permission=PERMISSION, params=params)
    found = answer if isinstance(answer, Failure) else an_object(answer)
    if isinstance(found, Failure):
        _refuse_without_permission(found)
        why = found.message
    else:
        merge_base = found.get("merge_base_commit")
        sha = merge_base.get("sha") if isinstance(merge_base, dict) else None
        if isinstance(sha, str) and is_commit(sha):
            return sha, []
        why = "the server's answer names none"
    text = f"The merge base could not be had ({why}), so rules and baseline are those of the base's tip."
    return change.base_sha, [_note(text)]


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
    raise _no_permission(f"neither {path} nor its commit {commit[:12]} can be seen (HTTP 404)")


def _refuse_without_permission(failure: Failure) -> None:
    if failure.kind == "permission":
        raise _no_permission(failure.message)


def _no_permission(why: str) -> UserError:
    return user_error(
        "github-permission",
        f"the base's rules cannot be read: {why}",
        where="input github-token",
        mend=f"Add to the job: `permissions: {{{PERMISSION}, pull-requests: write}}`.",
    )


def _unreadable(where: str, why: str, notes: list[Reason]) -> Rules:
    """The default gate, since its relative rules can come to no verdict without a baseline: never a pass."""
    text = f"The base's rules cannot be read ({where}: {why}), so there is no verdict."
    return Rules(GateConfig(), Unreadable(where, why), False, [*notes, _note(text)])


def _without_lines(gate: GateConfig) -> GateConfig:
    if gate.rules is None:
        return gate
    return msgspec.structs.replace(gate, rules=[msgspec.structs.replace(rule, line=0) for rule in gate.rules])


def _note(text: str) -> Reason:
    return Reason(kind="note", text=text)
