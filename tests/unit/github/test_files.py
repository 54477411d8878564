from __future__ import annotations

import os
from pathlib import Path

import pytest

from evaluator.errors import UserError
from evaluator.github.files import (
    SUMMARY_BYTES,
    append_summary,
    give_to_owner,
    output_folder,
    summary_room,
    write_outputs,
)
from tests.servers.actions_runner import parse_outputs


def test_outputs_are_read_back_as_they_were_whatever_is_in_them(tmp_path: Path) -> None:
    file = tmp_path / "output"
    file.write_text("before<<X\n1\nX\n")
    values = {"verdict": "pass", "text": "a\nevil<<value_0\nb\nvalue_0\n", "empty": ""}
    write_outputs(file, values)
    assert parse_outputs(file.read_text()) == {"before": "1", **values}


def test_a_summary_is_appended_to_what_is_there(tmp_path: Path) -> None:
    file = tmp_path / "summary"
    file.write_text("# Before\n")
    append_summary(file, "# After")
    assert file.read_text() == "# Before\n# After\n"


@pytest.mark.parametrize("before", [0, 1000, SUMMARY_BYTES - 100])
def test_a_summary_that_is_too_long_is_cut_between_characters_and_says_so(tmp_path: Path, before: int) -> None:
    file = tmp_path / "summary"
    file.write_bytes(b"x" * before)
    append_summary(file, "é€😀" * 200_000)
    assert SUMMARY_BYTES - 4 < file.stat().st_size <= SUMMARY_BYTES
    assert file.read_text(encoding="utf-8").endswith("… cut here: the job summary is full.\n")


def test_a_full_summary_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "summary"
    file.write_bytes(b"x" * SUMMARY_BYTES)
    append_summary(file, "more")
    assert file.stat().st_size == SUMMARY_BYTES
    assert summary_room(file) == 0


def test_a_summary_of_exactly_the_room_there_is_is_kept_whole(tmp_path: Path) -> None:
    file = tmp_path / "summary"
    file.touch()
    append_summary(file, "x" * (summary_room(file) - 1))
    assert "cut here" not in file.read_text()


def test_the_output_folder_is_made(tmp_path: Path) -> None:
    assert output_folder(tmp_path, "a/b") == tmp_path / "a" / "b"
    assert (tmp_path / "a" / "b").is_dir()


def test_an_output_folder_of_an_earlier_step_is_used_again(tmp_path: Path) -> None:
    (tmp_path / "out" / "deep").mkdir(parents=True)
    (tmp_path / "out" / "results.json").touch()
    assert output_folder(tmp_path, "out") == tmp_path / "out"


@pytest.mark.parametrize("link", ["out", "out/deep", "out/results.json", "out/deep/journal.jsonl"])
def test_a_link_that_would_lead_results_elsewhere_is_refused(tmp_path: Path, link: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "workspace" / link).parent.mkdir(parents=True)
    (tmp_path / "workspace" / link).symlink_to(elsewhere)
    with pytest.raises(UserError, match=r"(is not a plain folder|is a symbolic link)") as caught:
        output_folder(tmp_path / "workspace", "out/deep" if link == "out/deep" else "out")
    assert caught.value.code == "output-folder"
    assert list(elsewhere.iterdir()) == []


def test_an_output_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(UserError, match="is not a plain folder"):
        output_folder(tmp_path, "out/deep")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_root_wrote_is_given_to_the_owner_of_the_workspace_and_links_are_not_followed(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    (workspace / "out").mkdir(parents=True)
    outside.touch()
    (workspace / "out" / "results.json").touch()
    (workspace / "out" / "link").symlink_to(outside)
    os.chown(workspace, 1234, 1235)
    give_to_owner(workspace, workspace / "out")
    for path in (workspace / "out", workspace / "out" / "results.json"):
        assert (path.stat().st_uid, path.stat().st_gid) == (1234, 1235)
    assert outside.stat().st_uid == 0
