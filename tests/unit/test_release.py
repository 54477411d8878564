"""One version everywhere, and the release workflow's own commands run against stand-ins for what is not here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from evaluator import __version__

ROOT = Path(__file__).parents[2]
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
DIGEST = "sha256:" + "ab12" * 16
PINNED = f"ghcr.io/trapgate/trapgate@{DIGEST}"


def script(name: str) -> str:
    """The commands of the step of that name."""
    steps = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]
    [found] = [step for step in steps if step.get("name") == name]
    return str(found["run"])


def execute(commands: str, folder: Path, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs commands as the Actions runner does for a step without `shell`."""
    return subprocess.run(
        ["bash", "-e", "-c", commands],
        cwd=folder,
        env={"PATH": f"{folder.parent / 'bin'}:{os.environ['PATH']}", "HOME": str(folder.parent), **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def stand_in(bin_folder: Path, name: str, body: str) -> Path:
    """A program that writes its arguments to a file, which is returned, and does `body`."""
    log = bin_folder / f"{name}.log"
    bin_folder.mkdir(exist_ok=True)
    program = bin_folder / name
    program.write_text(f'#!/bin/bash\nprintf "%s\\n" "$*" >> {log}\n{body}\n', encoding="utf-8")
    program.chmod(0o755)
    return log


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clone of a bare repository that holds what a release needs, with a changelog of two versions."""
    origin, clone = tmp_path / "origin.git", tmp_path / "clone"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(origin))
    git(tmp_path, "clone", "--quiet", str(origin), str(clone))
    for name in ("action.yml", "Dockerfile", "evaluator/__init__.py"):
        (clone / name).parent.mkdir(exist_ok=True)
        (clone / name).write_bytes((ROOT / name).read_bytes())
    changes = f"# Changelog\n\n## {__version__} - 2026-01-01\n\n- The newest.\n\n## 0.0.9 - 2025-01-01\n\n- Old.\n"
    (clone / "CHANGELOG.md").write_text(changes, encoding="utf-8")
    author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    git(clone, "add", ".")
    git(clone, *author, "commit", "--quiet", "--message", "All")
    git(clone, "push", "--quiet", "origin", "HEAD:main")
    return clone


def test_the_version_is_the_same_in_the_package_and_in_the_images_label() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "evaluator/__init__.py"
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert re.findall(r'org\.opencontainers\.image\.version="([^"]*)"', dockerfile) == [__version__]


def test_the_changelog_has_this_version_or_what_will_be_released_as_it() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == "Unreleased" or headings[0].split()[0] == __version__


def test_every_workflow_that_users_copy_names_this_version() -> None:
    documents = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "evaluator").rglob("*.py")]
    documents += [file for file in (ROOT / "examples").rglob("*") if file.suffix in (".md", ".yml", ".py")]
    named = {
        (str(file.relative_to(ROOT)), version)
        for file in documents
        for version in re.findall(r"trapgate/trapgate@(v\d[\w.-]*)", file.read_text(encoding="utf-8"))
    }
    assert "README.md" in {file for file, _ in named}
    assert [each for each in sorted(named) if each[1] != f"v{__version__}"] == []


@pytest.mark.parametrize(
    ("version", "changes", "code"),
    [(__version__, None, 0), ("9.9.9", None, 1), (__version__, "# Changelog\n\n## Unreleased\n", 1)],
    ids=["the same", "another than the package's", "not in the changelog"],
)
def test_a_release_needs_one_version_everywhere(checkout: Path, version: str, changes: str | None, code: int) -> None:
    if changes is not None:
        (checkout / "CHANGELOG.md").write_text(changes, encoding="utf-8")
    ended = execute(script("The version is everywhere the same"), checkout, {"VERSION": version})
    assert ended.returncode == code, ended.stderr


def test_a_release_is_built_on_a_base_that_is_pinned_by_digest(checkout: Path, tmp_path: Path) -> None:
    body = f"""case "$*" in
  *RepoDigests*) echo "python@{DIGEST}" ;;
  *.Id*) echo "sha256:built" ;;
esac"""
    log = stand_in(tmp_path / "bin", "docker", body)
    (tmp_path / "output").touch()
    environ = {
        "VERSION": __version__,
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_REPOSITORY": "trapgate/trapgate",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_SHA": "c" * 40,
    }
    ended = execute(script("Build the image"), checkout, environ)
    assert ended.returncode == 0, ended.stderr
    [build] = [line for line in log.read_text().splitlines() if line.startswith("build ")]
    base = "docker.io/library/python"
    assert f"--build-arg PYTHON={base}@{DIGEST} " in build
    for label in (
        f"base.name={base}:3.11-slim",
        f"base.digest={DIGEST}",
        f"revision={'c' * 40}",
        "source=https://github.com/trapgate/trapgate",
        f"version={__version__}",
    ):
        assert f"--label org.opencontainers.image.{label} " in build
    assert re.search(r"image\.created=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", build)
    assert (tmp_path / "output").read_text() == "id=sha256:built\n"


@pytest.mark.parametrize(("loaded", "code"), [("sha256:tested", 0), ("sha256:other", 1)])
def test_only_the_image_that_was_tested_is_pushed(checkout: Path, tmp_path: Path, loaded: str, code: int) -> None:
    body = f"""case "$*" in
  *RepoDigests*) printf '%s\\n' "localhost/other@{DIGEST}" "{PINNED}" ;;
  *.Id*) echo "{loaded}" ;;
  login*) cat > {tmp_path / "password"} ;;
esac"""
    log = stand_in(tmp_path / "bin", "docker", body)
    environ = {
        "VERSION": __version__,
        "TESTED": "sha256:tested",
        "GITHUB_TOKEN": "the-token",
        "GITHUB_ACTOR": "alice",
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_REPOSITORY": "Trapgate/trapgate",
    }
    ended = execute(script("Push the image that was tested"), checkout, environ)
    assert ended.returncode == code, ended.stderr
    assert f"push ghcr.io/trapgate/trapgate:v{__version__}" in log.read_text() or code
    assert ("push" in log.read_text()) == (code == 0)
    assert "the-token" not in log.read_text()
    if code == 0:
        assert (tmp_path / "password").read_text() == "the-token"
        assert (tmp_path / "output").read_text() == f"name=ghcr.io/trapgate/trapgate\ndigest={DIGEST}\n"


def test_the_tag_names_an_action_that_runs_the_pushed_image_and_no_branch_moves(checkout: Path, tmp_path: Path) -> None:
    log = stand_in(tmp_path / "bin", "gh", "")
    origin, before = tmp_path / "origin.git", git(checkout, "rev-parse", "HEAD")
    environ = {"PINNED": PINNED, "VERSION": __version__, "GH_TOKEN": "x"}
    ended = execute(script("Pin the image, tag and release"), checkout, environ)
    assert ended.returncode == 0, ended.stderr
    refs = git(origin, "for-each-ref", "--format=%(refname)").split()
    assert refs == ["refs/heads/main", f"refs/tags/v{__version__}"]  # no tag that moves, such as v1
    assert git(origin, "rev-parse", "main") == before
    released = git(origin, "show", f"v{__version__}:action.yml")
    was = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert released == was.replace("  image: Dockerfile\n", f"  image: docker://{PINNED}\n") != was
    assert valid_action(released, tmp_path)
    assert git(origin, "diff", "--name-only", "main", f"v{__version__}").split() == ["action.yml"]
    assert (checkout / "notes.md").read_text() == f"## {__version__} - 2026-01-01\n\n- The newest.\n\n"
    assert log.read_text().splitlines()[-1].startswith(f"release create v{__version__} --verify-tag ")


def valid_action(text: str, folder: Path) -> bool:
    """Whether GitHub's schema of an action takes it, and takes it for one that runs a container."""
    file = folder / "action.yml"
    file.write_text(text, encoding="utf-8")
    command = [Path(sys.executable).with_name("check-jsonschema"), "--builtin-schema", "vendor.github-actions", file]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    runs = yaml.safe_load(text)["runs"]
    return bool(runs == {"using": "docker", "image": f"docker://{PINNED}"})


def test_an_action_yml_that_cannot_be_pinned_is_not_released(checkout: Path, tmp_path: Path) -> None:
    stand_in(tmp_path / "bin", "gh", "")
    other = (checkout / "action.yml").read_text(encoding="utf-8").replace("image: Dockerfile", "image: ./Dockerfile")
    (checkout / "action.yml").write_text(other, encoding="utf-8")
    environ = {"PINNED": PINNED, "VERSION": __version__, "GH_TOKEN": "x"}
    ended = execute(script("Pin the image, tag and release"), checkout, environ)
    assert ended.returncode != 0
    assert git(tmp_path / "origin.git", "tag") == ""


def steps_before(job: dict[str, Any], name: str) -> list[str]:
    names = [step.get("name") or step.get("uses") or step["run"] for step in job["steps"]]
    return names[: names.index(name)]


def test_nothing_is_pushed_that_the_tests_of_the_image_did_not_see() -> None:
    build, release = WORKFLOW["jobs"]["build"], WORKFLOW["jobs"]["release"]
    assert {"make test", "Build the image", "Test the image"} <= set(steps_before(build, "Save the image"))
    [tests] = [step for step in build["steps"] if step.get("name") == "Test the image"]
    assert tests["run"] == "make container"
    assert tests["env"] == {"TRAPGATE_IMAGE": "trapgate:release"}
    assert release["needs"] == "build"


def test_the_job_that_runs_tests_may_write_nothing() -> None:
    assert WORKFLOW["permissions"] == {}
    assert WORKFLOW["jobs"]["build"]["permissions"] == {"contents": "read"}
    assert set(WORKFLOW["jobs"]["release"]["permissions"]) == {"contents", "packages", "id-token", "attestations"}
