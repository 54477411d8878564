"""Reading what a hostile program left, without following, waiting, or reading too much."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from evaluator.isolation.folders import OutputError, collect, copy, remove, scratch
from evaluator.isolation.walk import walk


def test_files_are_collected_by_their_path_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.json").write_bytes(b"{}")
    (tmp_path / "a.txt").write_bytes(b"text")
    (tmp_path / "empty").mkdir()
    assert list(collect(tmp_path).items()) == [("a.txt", b"text"), ("b/x.json", b"{}")]


def test_a_link_is_named_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    with pytest.raises(OutputError, match=r"^link is a symbolic link, which is not taken as an output$"):
        collect(tmp_path)


def test_a_folder_that_is_itself_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc")
    with pytest.raises(OutputError, match=r"^cannot be read: Not a directory$"):
        collect(tmp_path / "link")


def test_a_pipe_is_named_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OutputError, match=r"^pipe is a named pipe"):
        collect(tmp_path)


def test_a_socket_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
    with pytest.raises(OutputError, match=r"^s is a socket"):
        collect(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_is_named(tmp_path: Path) -> None:
    os.mknod(tmp_path / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    with pytest.raises(OutputError, match=r"^zero is a device"):
        collect(tmp_path)


def test_a_name_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff")).write_bytes(b"")
    with pytest.raises(OutputError, match=r"is not a name in UTF-8"):
        collect(tmp_path)


def test_too_many_entries_are_refused(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / str(number)).write_bytes(b"")
    assert len(collect(tmp_path, max_files=4)) == 4
    with pytest.raises(OutputError, match=r"^more than 3 files and folders$"):
        collect(tmp_path, max_files=3)


def test_bytes_are_bounded_over_all_files(tmp_path: Path) -> None:
    for number in range(2):
        (tmp_path / str(number)).write_bytes(b"12345")
    assert sum(map(len, collect(tmp_path, max_bytes=10).values())) == 10
    with pytest.raises(OutputError, match=r"^more than 9 bytes$"):
        collect(tmp_path, max_bytes=9)


def test_a_file_of_holes_is_not_read_whole(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OutputError, match=r"^more than 1000 bytes$"):
        collect(tmp_path, max_bytes=1000)


def test_folders_nested_too_deep_are_refused(tmp_path: Path) -> None:
    deep = tmp_path / "/".join("d" * 63)
    deep.mkdir(parents=True)
    assert collect(tmp_path) == {}
    (deep / "d").mkdir()
    with pytest.raises(OutputError, match=r"^folders nested deeper than 64$"):
        collect(tmp_path)


def test_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"^cannot be read: No such file or directory$"):
        collect(tmp_path / "missing")


def test_a_walk_leaves_no_descriptor_open_when_it_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    before = len(list(Path("/proc/self/fd").iterdir()))
    entries = walk(str(tmp_path))
    assert [next(entries).path for _ in range(3)] == ["a", "a/b", "a/b/c"]
    entries.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_walk_does_not_enter_a_folder_that_became_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    entries = walk(str(tmp_path))
    assert next(entries).path == "folder"
    (tmp_path / "folder").rmdir()
    (tmp_path / "folder").symlink_to("/etc")
    assert list(entries) == []


def test_a_file_that_became_a_link_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "answer").write_bytes(b"")
    entries = walk(str(tmp_path))
    entry = next(entries)
    (tmp_path / "answer").unlink()
    (tmp_path / "answer").symlink_to("/etc/passwd")
    with pytest.raises(OSError, match=r"Too many levels of symbolic links"):
        entry.open(os.O_RDONLY)
    entries.close()


def test_a_copy_keeps_content_and_links_and_leaves_git_behind(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "sub" / ".git").mkdir(parents=True)
    (source / "sub" / "file").write_bytes(b"content")
    (source / "sub" / "file").chmod(0o600)
    (source / "tool").write_bytes(b"#!/bin/sh")
    (source / "tool").chmod(0o4700)
    (source / "link").symlink_to("sub/file")
    copy(source, tmp_path / "copy")
    names = sorted(str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*"))
    assert names == ["link", "sub", "sub/file", "tool"]
    assert stat.S_IMODE((tmp_path / "copy" / "sub" / "file").stat().st_mode) == 0o644
    assert stat.S_IMODE((tmp_path / "copy" / "tool").stat().st_mode) == 0o755
    assert (tmp_path / "copy" / "link").is_symlink()


def test_a_copy_of_a_folder_with_a_pipe_is_refused(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    os.mkfifo(tmp_path / "source" / "pipe")
    with pytest.raises(OSError, match=r"cannot be copied: .*pipe.* is a named pipe"):
        copy(tmp_path / "source", tmp_path / "copy")


def test_others_may_pass_through_a_scratch_folder_but_not_list_it() -> None:
    with scratch() as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o711
        (folder / "file").write_bytes(b"")
    assert not folder.exists()


def test_a_folder_without_permissions_is_removed(tmp_path: Path) -> None:
    (tmp_path / "closed" / "below").mkdir(parents=True)
    (tmp_path / "closed").chmod(0)
    remove(tmp_path / "closed")
    assert not (tmp_path / "closed").exists()


def test_removing_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_bytes(b"")
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone" / "link").symlink_to(tmp_path / "kept")
    remove(tmp_path / "gone")
    assert (tmp_path / "kept" / "file").exists()
