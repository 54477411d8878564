"""Fetching from real repositories on this machine: what arrives, and what is refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from evaluator.errors import UserError
from evaluator.sources import content
from evaluator.sources.content import digest_of, hash_files
from evaluator.sources.environment import Remote
from evaluator.sources.fetch import fetch
from evaluator.sources.git import Git
from evaluator.sources.listing import Blob
from evaluator.sources.location import GitSource, LocalSource
from evaluator.sources.objects import write_files
from tests.integration.sources.conftest import Fetch, Refusal, contents
from tests.integration.sources.repositories import Repository

TASK: dict[str, str | bytes] = {
    "tasks/core/traptask.yaml": "name: core\n",
    "tasks/core/inputs/q1/question.txt": "What is 1 + 1?\r\n",
    "tasks/other/secret.txt": "not asked for\n",
    "README.md": "# top\n",
}


def test_a_pinned_subdirectory_arrives_byte_for_byte_and_alone(repository: Repository, get: Fetch) -> None:
    commit = repository.commit(TASK)
    repository.commit({"tasks/core/traptask.yaml": "name: later\n"})
    fetched = get(repository.source(commit, "tasks/core"))
    assert contents(fetched.directory) == {
        "traptask.yaml": b"name: core\n",
        "inputs/q1/question.txt": b"What is 1 + 1?\r\n",
    }
    assert (fetched.ref.location, fetched.ref.commit, fetched.ref.subdirectory) == (
        repository.url,
        commit,
        "tasks/core",
    )


def test_without_a_subdirectory_the_whole_commit_arrives(repository: Repository, get: Fetch) -> None:
    fetched = get(repository.source(repository.commit(TASK)))
    assert set(contents(fetched.directory)) == set(TASK)
    assert fetched.ref.subdirectory is None


def test_a_commit_with_64_digits_is_fetched_from_a_sha256_repository(tmp_path: Path, get: Fetch) -> None:
    repository = Repository.create(tmp_path / "sha256", object_format="sha256")
    commit = repository.commit(TASK)
    assert len(commit) == 64
    assert "traptask.yaml" in contents(get(repository.source(commit, "tasks/core")).directory)


def test_the_same_files_have_the_same_digest_whether_local_or_pinned(
    repository: Repository, get: Fetch, tmp_path: Path
) -> None:
    commit = repository.commit(TASK)
    local = fetch(LocalSource(str(repository.path)), base=tmp_path, cache=tmp_path / "none", environ={})
    assert local.ref.digest == get(repository.source(commit)).ref.digest
    assert local.ref.commit is None
    assert not (tmp_path / "none").exists()


def test_an_executable_stays_executable(repository: Repository, get: Fetch) -> None:
    repository.write({"task/judge.sh": "#!/bin/sh\n", "task/data.json": "{}"})
    (repository.path / "task/judge.sh").chmod(0o755)
    fetched = get(repository.source(repository.commit(), "task"))
    assert (fetched.directory / "judge.sh").stat().st_mode & stat.S_IXUSR
    assert not (fetched.directory / "data.json").stat().st_mode & stat.S_IXUSR


def test_filters_hooks_attributes_and_the_users_configuration_have_no_say(
    repository: Repository, get: Fetch, tmp_path: Path
) -> None:
    pwned = tmp_path / "pwned"
    home, hooks = tmp_path / "home", tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "reference-transaction", "post-merge", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {pwned}\n")
        (hooks / name).chmod(0o755)
    (home / "templates").mkdir(parents=True)
    (home / "templates" / "hooks").symlink_to(hooks)
    (home / ".gitconfig").write_text(
        f'[filter "evil"]\n\tsmudge = touch {pwned}; cat\n\trequired = true\n'
        f"[core]\n\thooksPath = {hooks}\n\tautocrlf = true\n\tfsmonitor = touch {pwned}\n"
        f"[init]\n\ttemplateDir = {home}/templates\n"
        f'[credential]\n\thelper = "!touch {pwned}"\n'
        '[url "file:///nowhere"]\n\tinsteadOf = file:\n'
    )
    files: dict[str, str | bytes] = {
        "task/stamp.txt": "$Format:%H$ $Id$\n",
        "task/large.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        "task/.gitattributes": "* text eol=crlf ident export-subst filter=evil\nlarge.bin filter=lfs\n",
    }
    commit = repository.commit(files)
    fetched = get(repository.source(commit, "task"), {"PATH": os.environ["PATH"], "HOME": str(home)})
    assert contents(fetched.directory) == {
        name.removeprefix("task/"): data.encode() for name, data in files.items() if isinstance(data, str)
    }
    assert not pwned.exists()


def test_a_commit_that_does_not_exist_is_named(repository: Repository, refusal: Refusal) -> None:
    repository.commit(TASK)
    error = refusal(repository.source("1234" * 10))
    assert error.code == "source-commit-missing"
    assert f"the repository has no commit {'1234' * 10}" in str(error)
    assert "`trapgate pin trap.yaml`" in str(error)


def test_the_id_of_a_tag_object_is_not_a_commit(repository: Repository, refusal: Refusal) -> None:
    repository.commit(TASK)
    repository.git("tag", "-a", "v1", "-m", "a tag")
    error = refusal(repository.source(repository.git("rev-parse", "v1")))
    assert error.code == "source-not-pinned"
    assert "is the id of a tag, not of a commit" in str(error)


def test_a_repository_that_does_not_exist_is_said_to_be_so(tmp_path: Path, refusal: Refusal) -> None:
    error = refusal(GitSource(f"file://{tmp_path}/nowhere", "1234" * 10))
    assert error.code == "source-access-denied"
    assert "does not appear to be a git repository" in str(error)


@pytest.mark.parametrize(
    ("subdirectory", "message"),
    [
        ("tasks/cor", "there is no `tasks/cor` at this commit"),
        ("nothing/at/all", "there is no `nothing` at this commit"),
        ("README.md", "`README.md` is a file at this commit"),
        ("README.md/x", "`README.md` is a file at this commit"),
        ("tasks/*", "there is no `tasks/*` at this commit"),
    ],
)
def test_a_subdirectory_that_is_no_folder_is_named_up_to_the_fault(
    repository: Repository, refusal: Refusal, subdirectory: str, message: str
) -> None:
    error = refusal(repository.source(repository.commit(TASK), subdirectory))
    assert error.code == "source-subdirectory-missing"
    assert error.problems[0].message == message


@pytest.mark.parametrize("target", ["/etc", "../../outside", "other"])
@pytest.mark.parametrize("below", ["", "/inputs"])
def test_a_subdirectory_that_is_a_link_or_lies_behind_one_is_refused(
    repository: Repository, refusal: Refusal, target: str, below: str
) -> None:
    repository.write(TASK)
    (repository.path / "tasks" / "link").symlink_to(target)
    error = refusal(repository.source(repository.commit(), f"tasks/link{below}"))
    assert error.code == "source-unsafe"
    assert error.problems[0].message == "`tasks/link` is a symbolic link, which could lead out of the repository"


@pytest.mark.parametrize("target", ["/etc/passwd", "../../other/secret.txt", "question.txt"])
def test_a_link_inside_the_subdirectory_is_refused_by_name(
    repository: Repository, refusal: Refusal, cache: Path, target: str
) -> None:
    repository.write(TASK)
    (repository.path / "tasks/core/inputs/q1/link.txt").symlink_to(target)
    error = refusal(repository.source(repository.commit(), "tasks/core"))
    assert error.code == "source-unsafe"
    assert error.problems[0].message.startswith("`inputs/q1/link.txt` is a symbolic link")
    assert list((cache / "sources").iterdir()) == []


def test_a_link_elsewhere_in_the_repository_does_not_matter(repository: Repository, get: Fetch) -> None:
    repository.write(TASK)
    (repository.path / "link").symlink_to("/etc")
    assert contents(get(repository.source(repository.commit(), "tasks/core")).directory)


@pytest.mark.parametrize(("subdirectory", "name"), [("", "tasks/module"), ("tasks/module", "tasks/module")])
def test_a_submodule_is_refused_by_name(repository: Repository, refusal: Refusal, subdirectory: str, name: str) -> None:
    repository.write(TASK)
    repository.write({".gitmodules": '[submodule "m"]\n\tpath = tasks/module\n\turl = https://example.com/m\n'})
    repository.git("add", "--all")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{'12' * 20},tasks/module")
    repository.git("commit", "-q", "-m", "submodule")
    error = refusal(repository.source(repository.git("rev-parse", "HEAD"), subdirectory))
    assert error.code == "source-unsafe"
    assert error.problems[0].message == f"`{name}` is a submodule; submodules are never fetched"


@pytest.mark.parametrize("name", [b"..", b".", b".git", b".GIT", b"git~1", b"..\\evil", b"\xff", b"a\nb", b"/etc"])
def test_a_crafted_tree_never_reaches_the_disk(
    repository: Repository, refusal: Refusal, tmp_path: Path, name: bytes
) -> None:
    blob = repository.blob(b"evil")
    inner = repository.tree([("100644", b"evil", blob)])
    top = repository.tree([("40000", name, inner)])
    error = refusal(repository.source(repository.commit_tree(repository.tree([("40000", b"task", top)])), "task"))
    assert error.code == "source-unsafe"
    assert not list(tmp_path.rglob("*evil*"))


def test_two_names_that_differ_in_case_alone_are_refused(repository: Repository, refusal: Refusal) -> None:
    blob = repository.blob(b"x")
    one = repository.tree([("100644", b"x", blob)])
    tree = repository.tree([("40000", b"CASES", one), ("40000", b"cases", one)])
    error = refusal(repository.source(repository.commit_tree(tree)))
    assert error.code == "source-unsafe"
    assert error.problems[0].message == "`cases` and `CASES` are one name where case is ignored"


def test_a_bomb_of_trees_within_trees_is_refused_soon(repository: Repository, refusal: Refusal) -> None:
    tree = repository.tree([("100644", f"{n:02}".encode(), repository.blob(b"x")) for n in range(20)])
    for _ in range(8):
        tree = repository.tree([("40000", f"{n:02}".encode(), tree) for n in range(20)])
    error = refusal(repository.source(repository.commit_tree(tree)))
    assert error.code == "source-too-large"
    assert "more than 100,000 files" in str(error)


def test_many_names_for_one_large_file_are_counted_in_full_before_any_is_written(
    repository: Repository, tmp_path: Path
) -> None:
    large = repository.blob(bytes(11 << 20))
    git = Git(Remote(repository.url), repository.path / ".git", tmp_path, {"PATH": os.environ["PATH"]})
    into = tmp_path / "into"
    into.mkdir()
    with pytest.raises(UserError, match="more than 1,024 MiB") as caught:
        write_files(git, [Blob(f"{n:03}", large, executable=False) for n in range(100)], into, "x")
    assert caught.value.code == "source-too-large"
    assert list(into.iterdir()) == []


def test_a_file_name_that_the_disk_refuses_is_a_plain_error(repository: Repository, refusal: Refusal) -> None:
    tree = repository.tree([("100644", b"x" * 300, repository.blob(b"x"))])
    error = refusal(repository.source(repository.commit_tree(tree)))
    assert error.code == "source-unwritable"
    assert "File name too long" in str(error)


def test_a_repository_of_another_user_can_be_read(repository: Repository, get: Fetch, tmp_path: Path) -> None:
    # As in a container, where the workspace belongs to the user of the host.
    wrapper = tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(
        f'#!/bin/sh\nPATH={os.environ["PATH"]}\nexport GIT_TEST_ASSUME_DIFFERENT_OWNER=1\nexec git "$@"\n'
    )
    wrapper.chmod(0o755)
    commit = repository.commit(TASK)
    environ = {"PATH": f"{wrapper.parent}:{os.environ['PATH']}"}
    assert contents(get(repository.source(commit, "tasks/core"), environ).directory)


def test_without_git_the_error_says_so(repository: Repository, refusal: Refusal, tmp_path: Path) -> None:
    error = refusal(repository.source(repository.commit(TASK)), {"PATH": str(tmp_path)})
    assert error.code == "git-missing"
    assert "Install git 2.32 or later" in str(error)


def test_a_git_too_old_for_the_isolation_is_refused(repository: Repository, refusal: Refusal, tmp_path: Path) -> None:
    old = tmp_path / "bin" / "git"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho git version 2.30.2\n")
    old.chmod(0o755)
    error = refusal(repository.source(repository.commit(TASK)), {"PATH": f"{old.parent}:{os.environ['PATH']}"})
    assert error.code == "git-too-old"
    assert "'git version 2.30.2'" in str(error)


def test_a_local_source_is_relative_to_the_folder_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "evals" / "refunds").mkdir(parents=True)
    (tmp_path / "evals" / "refunds" / "a.json").write_text("{}")
    fetched = fetch(LocalSource("./evals/refunds"), base=tmp_path, cache=tmp_path / "cache", environ={})
    assert fetched.directory == tmp_path / "evals" / "refunds"
    assert fetched.ref.location == "./evals/refunds"
    assert fetched.ref.digest == digest_of(hash_files(fetched.directory, ""))


@pytest.mark.parametrize(("path", "message"), [("none", "does not exist"), ("file", "is a file, not a folder")])
def test_a_local_source_that_is_no_folder_is_named(tmp_path: Path, path: str, message: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError) as caught:
        fetch(LocalSource(path), base=tmp_path, cache=tmp_path / "cache", environ={})
    assert caught.value.code == "source-missing"
    assert str(caught.value) == (
        f"{path}: the folder of the source {message}\n    A local source is a folder, relative to {tmp_path}."
    )


def test_the_limits_are_those_that_the_documentation_names() -> None:
    page = (Path(__file__).parents[3] / "docs" / "sources.md").read_text()
    assert f"{content.MAX_FILES:,} files" in page
    assert f"{content.MAX_BYTES >> 30} GiB" in page
