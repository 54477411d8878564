"""Which files a source may hold, and the digest over them."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.errors import UserError
from evaluator.sources.content import MAX_BYTES, check_limits, check_name, digest_of, hash_files


def refusal(root: Path) -> UserError:
    with pytest.raises(UserError) as caught:
        hash_files(root, "./evals")
    return caught.value


def test_the_digest_can_be_redone_with_sha256sum(tmp_path: Path) -> None:
    for name in ("b.txt", "a/c.txt", "a-b.txt", "ä.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"content of {name}")
    command = "find . -type f | cut -c3- | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -c-64"
    by_hand = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert digest_of(hash_files(tmp_path, "x")) == by_hand.stdout.strip()


def test_the_digest_depends_on_names_and_contents_alone(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for root, order in ((one, ("a", "b")), (two, ("b", "a"))):
        root.mkdir()
        for name in order:
            (root / name).write_text(name)
    before = digest_of(hash_files(one, "x"))
    assert before == digest_of(hash_files(two, "x"))
    (two / "a").rename(two / "c")
    assert before != digest_of(hash_files(two, "x"))


@given(st.dictionaries(st.text(st.characters(exclude_categories=["C"]), min_size=1), st.just("0" * 64)))
def test_the_digest_does_not_depend_on_order(files: dict[str, str]) -> None:
    assert digest_of(files) == digest_of(dict(reversed(files.items())))


def test_git_s_own_folder_is_not_part_of_a_local_source(tmp_path: Path) -> None:
    (tmp_path / "case.json").write_text("{}")
    before = hash_files(tmp_path, "x")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "index").write_text("changes all the time")
    assert hash_files(tmp_path, "x") == before


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "inside", "/nowhere"])
def test_a_symbolic_link_is_refused_by_name(tmp_path: Path, target: str) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "link").symlink_to(target)
    error = refusal(tmp_path)
    assert error.code == "source-unsafe"
    assert error.problems[0].message == "`cases/link` is a symbolic link, which could lead out of the folder"


def test_a_link_to_a_folder_is_refused_and_not_entered(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    assert refusal(tmp_path).problems[0].message.startswith("`loop` is a symbolic link")


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path).problems[0].message == "`pipe` is not a regular file"


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert refusal(tmp_path).code in ("source-unsafe", "source-unreadable")


def test_a_name_that_is_not_utf_8_is_refused_in_printable_words(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad-\xff")).touch()
    error = refusal(tmp_path)
    assert error.code == "source-unsafe"
    assert "`bad-\\udcff` has a character that cannot be printed, or is not UTF-8" in str(error)


def test_a_name_with_a_line_break_cannot_forge_a_line_of_the_log(tmp_path: Path) -> None:
    (tmp_path / "x\n::error::pwned").touch()
    assert "\n::error" not in str(refusal(tmp_path))


def test_a_file_beyond_the_size_limit_is_refused_without_being_read(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    error = refusal(tmp_path)
    assert error.code == "source-too-large"
    assert error.problems[0].message == "the source holds more than 1,024 MiB, which is the limit"


def test_more_files_than_the_limit_are_refused() -> None:
    check_limits(100_000, 1, "x")
    with pytest.raises(UserError, match="more than 100,000 files"):
        check_limits(100_001, 1, "x")


@pytest.mark.parametrize(
    "name", ["../x", "a/../x", "./x", "a//x", ".git/config", "a/.GIT/hooks", "GIT~1/x", "a\\..\\x"]
)
def test_a_name_that_could_lead_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="could lead out of the folder or into git's own files"):
        check_name(name, "x")


def test_a_name_that_hides_git_behind_an_invisible_character_is_refused() -> None:
    with pytest.raises(UserError, match="cannot be printed"):
        check_name(".g\u200cit/config", "x")


def test_ordinary_names_are_fine() -> None:
    for name in (".gitignore", "a b/ü.txt", "inputs/q1/question.txt", "..a/b"):
        check_name(name, "x")
