from __future__ import annotations

from pathlib import Path

import pytest

from evaluator import config
from evaluator.errors import UserError
from evaluator.github import outside

COMMIT = "a" * 40
OURS = f"git+https://git.example/octo/tasks@{COMMIT}#subdirectory=one"
OTHERS = f"git+https://git.example/octo/secret@{COMMIT}"


def parsed(source: str) -> config.types.Config:
    return config.parse(f"model: a/b\ntasks:\n  t: {{source: '{source}'}}\n", "trap.yaml")


def refusal(tmp_path: Path, source: str, *, with_secrets: bool = False) -> str:
    """What is said of a change that names `source`, where the base has a task of `OURS`; empty where it may."""
    folder = tmp_path / "workspace" / "agent"
    folder.mkdir(parents=True)
    try:
        outside.refuse(folder.parent, folder, parsed(source), parsed(OURS), with_secrets=with_secrets)
    except UserError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("source", ["./evals", "../other/evals"])
def test_a_task_in_the_repository_may_be_read(tmp_path: Path, source: str) -> None:
    assert refusal(tmp_path, source, with_secrets=True) == ""


@pytest.mark.parametrize("source", ["/etc", "../../elsewhere"])
def test_a_task_outside_of_the_repository_is_refused(tmp_path: Path, source: str) -> None:
    assert refusal(tmp_path, source) == (
        f"trap.yaml:3:1: t: {source} lies outside of the repository\n    Put it into the repository."
    )


def test_a_link_out_of_the_repository_is_followed_before_it_is_judged(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "evals").symlink_to("/etc")
    with pytest.raises(UserError, match="lies outside of the repository"):
        outside.refuse(
            tmp_path / "workspace", tmp_path / "workspace", parsed("./evals"), parsed(OURS), with_secrets=False
        )


def test_any_git_source_may_be_read_where_there_are_no_secrets(tmp_path: Path) -> None:
    assert refusal(tmp_path, OTHERS) == ""


def test_with_our_secrets_only_repositories_of_the_base_are_read_at_whatever_commit(tmp_path: Path) -> None:
    other = OURS.replace("one", "two").replace("a" * 40, "b" * 40)
    assert refusal(tmp_path / "known", other, with_secrets=True) == ""
    said = refusal(tmp_path / "unknown", OTHERS, with_secrets=True)
    assert "the base evaluates nothing of https://git.example/octo/secret" in said


def test_without_rules_of_the_base_no_repository_is_known(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the base evaluates nothing of") as caught:
        outside.refuse(tmp_path, tmp_path, parsed(OURS), None, with_secrets=True)
    assert caught.value.code == "source-outside"


def test_canaries_are_read_like_tasks(tmp_path: Path) -> None:
    change = config.parse(f"model: a/b\ncanaries: '{OTHERS}'\ntasks:\n  t: {{source: ./t}}\n", "trap.yaml")
    outside.refuse(tmp_path, tmp_path, change, parsed(OURS), with_secrets=False)
    with pytest.raises(UserError, match="canaries: the base evaluates nothing of"):
        outside.refuse(tmp_path, tmp_path, change, parsed(OURS), with_secrets=True)
