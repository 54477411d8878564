"""What a command is never given."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.isolation import paths
from evaluator.isolation.command import Command


def exposed(*folders: Path, closed: tuple[Path, ...], stdin: Path | None = None) -> str:
    return paths.exposed(Command(("true",), Path("/"), {}, readable=folders, stdin=stdin), closed)


def test_a_folder_apart_from_what_is_guarded_may_be_given(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "task").mkdir()
    assert exposed(tmp_path / "task", closed=(tmp_path / ".git",)) == ""


def test_a_folder_above_below_or_at_a_guarded_path_may_not(tmp_path: Path) -> None:
    guarded = tmp_path / ".git"
    (guarded / "hooks").mkdir(parents=True)
    for folder in (tmp_path, guarded, guarded / "hooks", Path("/")):
        assert exposed(folder, closed=(guarded,)) == f"{folder} would give the command {guarded}"


def test_a_link_to_a_folder_above_does_not_hide_it(tmp_path: Path) -> None:
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    (tmp_path / "innocent").symlink_to(tmp_path / "repository")
    assert exposed(tmp_path / "innocent", closed=(tmp_path / "repository" / ".git",)) != ""


def test_standard_input_counts_too(tmp_path: Path) -> None:
    output = tmp_path / "output"
    output.touch()
    assert exposed(stdin=output, closed=(output,)) == f"{output} would give the command {output}"


def test_what_does_not_exist_guards_nothing(tmp_path: Path) -> None:
    assert exposed(tmp_path, closed=(tmp_path / "missing",)) == ""


def test_sockets_command_files_and_git_are_guarded(tmp_path: Path) -> None:
    guarded = paths.guarded({"GITHUB_OUTPUT": "/github/file_commands/x", "GITHUB_ENV": ""}, tmp_path)
    for path in (Path("/var/run/docker.sock"), Path("/github/file_commands/x"), tmp_path / ".git" / "config"):
        assert path in guarded
    assert Path() not in guarded


def test_the_workspaces_git_is_guarded_by_its_full_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert tmp_path / ".git" in paths.guarded({}, Path())


def test_an_interpreter_whose_prefix_is_the_working_folder_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setattr("sys.base_prefix", "/usr")
    assert paths.interpreter() == ("/usr",)
