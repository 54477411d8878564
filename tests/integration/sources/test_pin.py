"""`pin` on real repositories: what is rewritten, what is left alone, what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from evaluator.errors import UserError
from evaluator.sources.location import parse
from evaluator.sources.pin import Pinned, pin
from tests.integration.sources.conftest import NO_PAUSES, Fetch
from tests.integration.sources.git_server import GitServer
from tests.integration.sources.repositories import Repository

ENVIRON = {"PATH": os.environ["PATH"]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "trap.yaml"


def run(file: Path, text: str) -> list[Pinned]:
    file.write_bytes(text.encode())
    return pin(file, ENVIRON, NO_PAUSES)


def refusal(file: Path, text: str) -> UserError:
    with pytest.raises(UserError) as caught:
        run(file, text)
    assert file.read_bytes() == text.encode(), "nothing is written when anything fails"
    assert [path.name for path in file.parent.iterdir() if path.name.startswith(".")] == []
    return caught.value


def test_names_become_commits_and_every_other_character_stays(repository: Repository, file: Path) -> None:
    first = repository.commit({"a": "1"})
    repository.git("tag", "light", first)
    repository.git("tag", "-a", "v1.0", "-m", "annotated", first)
    repository.git("branch", "feature/x", first)
    head = repository.commit({"a": "2"})
    url = f"git+{repository.url}"
    before = f"""# Größe ✓ — a comment
tasks:   # tasks
  one:
    source: {url}@main#subdirectory=a%20b   # plain
    trust:   false
  two:   {{source: '{url}@v1.0', repeats: 3}}
  three:
    source: "{url}@feature/x#subdirectory=c"
  four: {{"source": {url}@light}}
  five:
    source: {url}
  six: {{source: {url}@{"1234" * 10}}}
  seven: {{source: ./local}}
  eight: {{source: {url}@refs/tags/v1.0}}
canaries: {url}@HEAD#subdirectory=canaries
gate: {{alpha: 0.02}}  # the end, without a line break"""
    pinned = run(file, before)
    after = (
        before.replace("@main#", f"@{head}#")
        .replace("@v1.0'", f"@{first}'")
        .replace("@feature/x#", f"@{first}#")
        .replace("@light}", f"@{first}}}")
        .replace(f"source: {url}\n", f"source: {url}@{head}\n")
        .replace("@refs/tags/v1.0}", f"@{first}}}")
        .replace("@HEAD#", f"@{head}#")
    )
    assert file.read_bytes().decode() == after
    assert [change.line for change in pinned] == [4, 6, 8, 9, 11, 14, 15]
    assert pinned[0] == Pinned(4, f"{url}@main#subdirectory=a%20b", f"{url}@{head}#subdirectory=a%20b")
    assert pin(file, {}, NO_PAUSES) == []


def test_what_was_pinned_can_be_fetched(repository: Repository, file: Path, get: Fetch) -> None:
    repository.commit({"task/a.json": "{}"})
    run(file, f"tasks: {{a: {{source: git+{repository.url}@main#subdirectory=task}}}}\n")
    source = parse(yaml.safe_load(file.read_text())["tasks"]["a"]["source"])
    assert (get(source).directory / "a.json").read_text() == "{}"


def test_windows_line_ends_stay(repository: Repository, file: Path) -> None:
    commit = repository.commit({"a": "1"})
    text = f"tasks:\r\n  a:\r\n    source: git+{repository.url}@main\r\n    repeats: 2\r\n"
    run(file, text)
    assert file.read_bytes() == text.replace("@main", f"@{commit}").encode()


def test_a_source_behind_an_anchor_is_rewritten_once(repository: Repository, file: Path) -> None:
    commit = repository.commit({"a": "1"})
    text = (
        f"tasks:\n  a: &base\n    source: &where git+{repository.url}@main\n"
        "  b:\n    <<: *base\n    repeats: 2\n  c: {source: *where}\n"
    )
    assert len(run(file, text)) == 1
    assert file.read_text() == text.replace("@main", f"@{commit}")


def test_mode_and_link_of_the_file_stay(repository: Repository, file: Path, tmp_path: Path) -> None:
    repository.commit({"a": "1"})
    real = tmp_path / "real.yaml"
    real.write_text(f"tasks: {{a: {{source: git+{repository.url}@main}}}}\n")
    real.chmod(0o640)
    file.symlink_to(real)
    assert len(pin(file, ENVIRON, NO_PAUSES)) == 1
    assert file.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert "@main" not in real.read_text()


def test_all_names_that_cannot_be_resolved_are_listed_and_nothing_is_written(
    repository: Repository, file: Path, tmp_path: Path
) -> None:
    commit = repository.commit({"a": "1"})
    repository.git("tag", "both")
    repository.git("branch", "both")
    url = f"git+{repository.url}"
    error = refusal(
        file,
        f"tasks:\n  ok: {{source: {url}@main}}\n  gone: {{source: {url}@gone}}\n"
        f"  short: {{source: {url}@{commit[:8]}}}\n  both: {{source: {url}@both}}\n"
        f"  nowhere: {{source: git+file://{tmp_path}/nowhere@main}}\n",
    )
    assert error.code == "pin-unresolved"
    assert [(problem.line, problem.column) for problem in error.problems] == [(3, 18), (4, 19), (5, 18), (6, 21)]
    gone, short, both, nowhere = error.problems
    assert gone.message == f"{repository.url} has no branch or tag `gone`"
    assert short.message == f"`{commit[:8]}` is not a full commit id, and a server does not complete it"
    assert "Give all 40 (or 64) digits" in short.mend
    assert both.message == f"`both` is both a branch and a tag of {repository.url}"
    assert both.mend == "Write refs/heads/both or refs/tags/both after `@`."
    assert "does not appear to be a git repository" in nowhere.message


def test_a_branch_whose_name_reads_like_a_short_id_is_a_branch(repository: Repository, file: Path) -> None:
    commit = repository.commit({"a": "1"})
    repository.git("branch", "deadbeef")
    run(file, f"tasks: {{a: {{source: git+{repository.url}@deadbeef}}}}\n")
    assert f"@{commit}" in file.read_text()


def test_an_empty_repository_has_no_head(repository: Repository, file: Path) -> None:
    error = refusal(file, f"tasks: {{a: {{source: git+{repository.url}}}}}\n")
    assert error.problems[0].message == f"{repository.url} has no branch or tag `HEAD`"


@pytest.mark.parametrize("scalar", [">-\n      {}", '"{}\\\n      "', '"{}\\x6dain"', "|-\n      {}"])
def test_a_source_that_is_not_written_plainly_is_refused(repository: Repository, file: Path, scalar: str) -> None:
    repository.commit({"a": "1"})
    written = scalar.format(f"git+{repository.url}@main".removesuffix("main" if "x6d" in scalar else ""))
    error = refusal(file, f"tasks:\n  a:\n    source: {written}\n")
    assert error.problems[0].message == "the source is written in a way that cannot be replaced in place"
    assert error.problems[0].line == 3


def test_credentials_are_refused_with_the_place_and_not_shown(file: Path) -> None:
    error = refusal(file, "tasks:\n  a:\n    source: git+https://me:hunter2@example.com/o/r@main\n")
    assert str(error).startswith(f"{file}:3:13: the URL carries credentials")
    assert "hunter2" not in str(error)


def test_a_file_that_is_not_yaml_is_refused_with_line_and_column(file: Path) -> None:
    assert refusal(file, "tasks: [\n").code == "yaml-invalid"


def test_a_file_that_is_not_there_is_named(file: Path) -> None:
    with pytest.raises(UserError, match="there is no such file"):
        pin(file, ENVIRON)


def test_a_file_without_sources_is_left_alone(file: Path) -> None:
    for text in ("", "name: x\n", "tasks: []\n", "tasks: {a: 1}\n", "tasks: {a: {source: [1]}}\ncanaries: builtin\n"):
        assert run(file, text) == []
        assert file.read_text() == text


def test_what_a_server_calls_an_id_is_taken_only_when_it_is_one(
    repository: Repository, file: Path, tmp_path: Path
) -> None:
    liar = tmp_path / "bin" / "git"
    liar.parent.mkdir()
    liar.write_text(
        '#!/bin/sh\n[ "$1" = version ] && echo git version 2.40.0 && exit\n'
        'printf "evil: true\\trefs/heads/main\\n0123\\trefs/heads/main\\n"\n'
    )
    liar.chmod(0o755)
    file.write_text(f"tasks: {{a: {{source: git+{repository.url}@main}}}}\n")
    with pytest.raises(UserError, match="has no branch or tag `main`"):
        pin(file, {"PATH": f"{liar.parent}:{os.environ['PATH']}"}, NO_PAUSES)


def test_a_private_repository_is_pinned_with_the_token(repository: Repository, server: GitServer, file: Path) -> None:
    commit = repository.commit({"a": "1"})
    server.behaviour.token = "t0ken"
    server.behaviour.cut = 2
    file.write_text(f"tasks: {{a: {{source: git+{server.url('repo')}@main}}}}\n")
    pin(file, server.environ(TRAPGATE_GIT_TOKEN="t0ken", TRAPGATE_GIT_HOST=server.host), NO_PAUSES)
    assert f"@{commit}" in file.read_text()
