"""The cache: used without git, never trusted, shared by processes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evaluator.sources.location import GitSource
from tests.integration.sources.conftest import Fetch, Refusal, contents
from tests.integration.sources.repositories import Repository

NO_GIT = {"PATH": "/nowhere"}
TASK: dict[str, str | bytes] = {"task/a.json": "{}", "task/b/c.txt": "c", "other/d.txt": "d"}
FILES = {"a.json": b"{}", "b/c.txt": b"c"}


@pytest.fixture
def source(repository: Repository) -> GitSource:
    return repository.source(repository.commit(TASK), "task")


def test_a_cached_source_needs_neither_git_nor_the_repository(
    source: GitSource, repository: Repository, get: Fetch
) -> None:
    first = get(source)
    shutil.rmtree(repository.path)
    second = get(source, NO_GIT)
    assert second == first
    assert contents(second.directory) == FILES


def test_another_commit_or_subdirectory_is_another_entry(source: GitSource, repository: Repository, get: Fetch) -> None:
    first = get(source)
    later = get(repository.source(repository.commit({"task/a.json": "[]"}), "task"))
    other = get(GitSource(source.url, source.commit, "other"))
    assert contents(first.directory) == FILES
    assert contents(later.directory) == FILES | {"a.json": b"[]"}
    assert contents(other.directory) == {"d.txt": b"d"}
    assert len({first.ref.digest, later.ref.digest, other.ref.digest}) == 3


def change(files: Path) -> None:
    (files / "a.json").write_text('{"evil": true}')


def add(files: Path) -> None:
    (files / "b" / "evil.txt").write_text("added")


def remove(files: Path) -> None:
    (files / "b" / "c.txt").unlink()


def link(files: Path) -> None:
    (files / "a.json").unlink()
    (files / "a.json").symlink_to("/etc/passwd")


def link_whole(files: Path) -> None:
    files.rename(files.with_name("elsewhere"))
    files.symlink_to("elsewhere")


def lose_manifest(files: Path) -> None:
    (files.parent / "manifest.json").unlink()


def break_manifest(files: Path) -> None:
    (files.parent / "manifest.json").write_text("[" * 100_000)


def foreign_manifest(files: Path) -> None:
    manifest = json.loads((files.parent / "manifest.json").read_text())
    manifest["commit"] = "1234" * 10
    (files.parent / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("tamper", "why"),
    [
        (change, "`a.json` was changed, added or removed"),
        (add, "`b/evil.txt` was changed, added or removed"),
        (remove, "`b/c.txt` was changed, added or removed"),
        (link, "`a.json` is a symbolic link, which could lead out of the folder"),
        (link_whole, "its manifest is missing or not readable"),
        (lose_manifest, "its manifest is missing or not readable"),
        (break_manifest, "its manifest is missing or not readable"),
        (foreign_manifest, "its manifest is missing or not readable"),
    ],
)
def test_a_cached_copy_that_is_not_as_it_was_is_fetched_anew_with_a_note(
    source: GitSource, get: Fetch, tamper: object, why: str
) -> None:
    first = get(source)
    assert callable(tamper)
    tamper(first.directory)
    again = get(source)
    assert contents(again.directory) == FILES
    assert again.ref == first.ref
    assert again.notes[0] == f"{source}: the cached copy was not used, {why}; it was fetched anew"
    assert get(source, NO_GIT).notes == ()


def test_a_tampered_copy_is_not_used_when_it_cannot_be_fetched_anew(
    source: GitSource, repository: Repository, get: Fetch, refusal: Refusal
) -> None:
    change(get(source).directory)
    shutil.rmtree(repository.path)
    assert refusal(source).code == "source-access-denied"


def test_a_failed_fetch_leaves_nothing_behind(repository: Repository, refusal: Refusal, cache: Path) -> None:
    repository.commit(TASK)
    refusal(repository.source("1234" * 10))
    assert list((cache / "sources").iterdir()) == []


def test_what_a_killed_process_left_behind_is_swept_after_a_day(source: GitSource, get: Fetch, cache: Path) -> None:
    old, young = cache / "sources" / ".new-old", cache / "sources" / ".new-young"
    for folder in (old, young):
        (folder / "files").mkdir(parents=True)
    yesterday = time.time() - 25 * 3600
    os.utime(old, (yesterday, yesterday))
    get(source)
    assert not old.exists()
    assert young.exists()


FETCH = """
import os, sys
from pathlib import Path
from evaluator.sources.fetch import fetch
from evaluator.sources.location import parse
go, cache, text = sys.argv[1:]
while not os.path.exists(go):
    pass
fetched = fetch(parse(text), base=Path("/"), cache=Path(cache), environ=os.environ)
print(fetched.ref.digest, sorted(path.name for path in fetched.directory.rglob("*")))
"""


@pytest.mark.parametrize("tampered", [False, True])
def test_processes_that_fetch_the_same_source_at_once_do_not_clash(
    source: GitSource, get: Fetch, cache: Path, tmp_path: Path, tampered: bool
) -> None:
    if tampered:
        change(get(source).directory)
    go = tmp_path / "go"
    command = [sys.executable, "-c", FETCH, str(go), str(cache), str(source)]
    processes = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]
        )
        for _ in range(4)
    ]
    time.sleep(0.5)
    go.touch()
    answers = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, answers
    assert len({out for out, _ in answers}) == 1
    assert [path.name for path in (cache / "sources").iterdir()] == [get(source, NO_GIT).directory.parent.name]


def test_a_cache_that_cannot_be_written_is_a_plain_error(source: GitSource, refusal: Refusal, cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    error = refusal(source)
    assert error.code == "source-unwritable"
    assert "Look at the room and the permissions of" in str(error)
