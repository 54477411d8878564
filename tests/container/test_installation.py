"""What is in the image: every locked distribution, whole as far as a run can tell, and what it says it is."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from evaluator import __version__
from tests.container.engine import Engine

pytestmark = pytest.mark.container

ROOT = Path(__file__).parents[2]
PYTHON = "/opt/trapgate/bin/python"


@pytest.fixture(scope="module")
def report(engine: Engine, image: str) -> dict[str, Any]:
    script = Path(__file__).with_name("installation.py")
    ended = engine.run(
        image,
        *("-I", "-B", "/installation.py", "/requirements.lock"),
        mounts={script: "/installation.py", ROOT / "requirements.lock": "/requirements.lock"},
        entrypoint=PYTHON,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def test_every_distribution_of_the_lock_is_installed_in_its_version(report: dict[str, Any]) -> None:
    assert report["requirements"] > 50
    assert report["not installed"] == []


def test_every_top_level_module_can_be_imported(report: dict[str, Any]) -> None:
    assert report["top level not importable"] == []


def test_every_module_of_the_client_of_models_can_be_imported(report: dict[str, Any]) -> None:
    assert report["client modules"] > 1000
    assert report["client not importable"] == []


def test_a_run_compiles_nothing(report: dict[str, Any]) -> None:
    assert report["compiled during a run"] == []
    assert report["unchecked"]


def test_neither_an_installer_nor_packages_own_tests_are_there(report: dict[str, Any]) -> None:
    assert not report["pip"]
    assert report["left"] == []


def test_the_labels_say_what_it_is(engine: Engine, image: str) -> None:
    [about] = json.loads(engine.call("image", "inspect", image).stdout)
    prefix = "org.opencontainers.image."
    labels = {name.removeprefix(prefix): value for name, value in about["Config"]["Labels"].items()}
    assert labels["version"] == __version__
    assert labels["title"] == "trapgate"
    assert labels["licenses"] == "Apache-2.0"
    assert labels["description"] in (ROOT / "action.yml").read_text(encoding="utf-8")
    for name in ("url", "source", "documentation"):
        assert labels[name].startswith("https://github.com/")


def trapgate(engine: Engine, image: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command in the image, as docs/container.md says."""
    return engine.run(image, *arguments, entrypoint="/opt/trapgate/bin/trapgate", **options)


def test_the_command_of_the_image_says_its_version(engine: Engine, image: str) -> None:
    ended = trapgate(engine, image, "--version")
    assert (ended.returncode, ended.stdout) == (0, f"trapgate {__version__}\n")


def test_every_canary_is_judged_in_the_image_as_it_must_be(engine: Engine, image: str) -> None:
    ended = trapgate(engine, image, "canaries")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_command_works_for_another_user_than_root(engine: Engine, image: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    options = ("--user", "1234:1234")
    mounts = {tmp_path: "/work"}
    started = trapgate(engine, image, "init", mounts=mounts, workdir="/work", options=options)
    assert started.returncode == 0, started.stdout + started.stderr
    ended = trapgate(engine, image, "validate", mounts=mounts, workdir="/work", options=options)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert {path.stat().st_uid for path in tmp_path.rglob("*")} == {1234}
