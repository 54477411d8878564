"""The image, built and run as a GitHub runner builds and runs it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.container.engine import Engine
from tests.integration.github import agent
from tests.servers.actions_runner import ActionsRunner
from tests.servers.github_server import GitHubServer
from tests.servers.model_server import ModelServer, Received

pytestmark = pytest.mark.container

# Who owns the workspace on GitHub's own runners.
OWNER = os.geteuid() or 1001

Script = Callable[[Received], object]


def act(engine: Engine, image: str, runner: ActionsRunner, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Starts the action's container with the mounts, the folder and the variables that the runner gives it."""
    mounts = {
        runner.workspace: "/github/workspace",
        runner.home: "/github/home",
        runner.event_path.parent: "/github/workflow",
        runner.commands: "/github/file_commands",
        runner.temp: "/github/runner_temp",
    }
    # The runner translates a variable only where its whole value is a path on the host.
    inside = {str(outside): path for outside, path in mounts.items()}
    inside |= {str(file): f"{inside[str(file.parent)]}/{file.name}" for file in (runner.event_path, runner.output)}
    inside |= {str(runner.summary): f"/github/file_commands/{runner.summary.name}"}
    translated = {name: inside.get(value, value) for name, value in environ.items()}
    for path in [runner.workspace, *runner.workspace.rglob("*")]:
        os.chown(path, OWNER, OWNER)
    return engine.run(image, environ={**translated, "HOME": "/github/home"}, mounts=mounts, workdir="/github/workspace")


@pytest.fixture(scope="module")
def baseline(engine: Engine, image: str, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    with GitHubServer() as server, ModelServer(agent.good) as model:
        runner = ActionsRunner(tmp_path_factory.mktemp("first"), server)
        runner.write(agent.files())
        ended = act(engine, image, runner, runner.environ("push", {"ref": "refs/heads/main"}) | agent.provider(model))
        assert ended.returncode == 3, ended.stdout + ended.stderr
        return agent.accepted((runner.workspace / "trapgate-results" / "results.json").read_bytes())


@pytest.fixture
def runner(tmp_path: Path, baseline: bytes) -> Iterator[ActionsRunner]:
    with GitHubServer() as server:
        job = ActionsRunner(tmp_path, server)
        job.write(agent.files())
        job.on_base("trap.yaml", agent.CONFIG)
        job.on_base(".trap/baseline.json", baseline)
        yield job


@pytest.mark.parametrize(
    ("script", "verdict", "code"),
    [(agent.worse_when_generous, "regression", 1), (agent.bad, "drift", 4), (agent.refusing, "inconclusive", 3)],
    ids=["regression", "drift", "inconclusive"],
)
def test_the_containers_exit_code_is_the_verdicts(
    engine: Engine, image: str, runner: ActionsRunner, script: Script, verdict: str, code: int
) -> None:
    runner.write(agent.GENEROUS_FILES)
    with ModelServer(script) as model:  # type: ignore[arg-type]
        environ = runner.environ("pull_request", runner.pull_request()) | agent.provider(model)
        ended = act(engine, image, runner, environ)
    assert ended.returncode == code, ended.stdout + ended.stderr
    assert runner.outputs()["verdict"] == verdict
    assert verdict in runner.summary.read_text().lower()
    assert verdict in runner.server.comments[7][0]["body"].lower()


def test_validator_drift_ends_with_4(engine: Engine, image: str, runner: ActionsRunner, baseline: bytes) -> None:
    runner.on_base(".trap/baseline.json", agent.with_other_verdict(baseline))
    with ModelServer(agent.good) as model:
        environ = runner.environ("pull_request", runner.pull_request()) | agent.provider(model)
        ended = act(engine, image, runner, environ)
    assert ended.returncode == 4, ended.stdout + ended.stderr


def test_a_hostile_repository_and_environment_change_nothing_and_root_leaves_nothing_behind(
    engine: Engine, image: str, runner: ActionsRunner
) -> None:
    poison = "raise SystemExit('imported from the workspace')\n"
    modules = ("evaluator/__init__.py", "yaml.py", "requests.py", "sitecustomize.py", "encodings/__init__.py")
    runner.write(dict.fromkeys(modules, poison))
    with ModelServer(agent.good) as model:
        environ = runner.environ("pull_request", runner.pull_request()) | agent.provider(model)
        before = set(runner.workspace.rglob("*"))
        environ |= {
            "PYTHONPATH": "/github/workspace",
            "PYTHONHOME": "/github/workspace",
            "PYTHONSTARTUP": "/github/workspace/yaml.py",
            "PYTHONUSERBASE": "/github/workspace",
            "PYTHONWARNINGS": "error",
        }
        ended = act(engine, image, runner, environ)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert runner.outputs()["verdict"] == "pass"
    left = set(runner.workspace.rglob("*")) - before
    assert {path.relative_to(runner.workspace).parts[0] for path in left} == {"trapgate-results"}
    assert {path.stat().st_uid for path in (*left, *runner.temp.rglob("*"))} == {OWNER}


def test_a_configuration_error_ends_with_2(engine: Engine, image: str, runner: ActionsRunner) -> None:
    runner.write({"trap.yaml": "modle: x\n" + agent.CONFIG})
    ended = act(engine, image, runner, runner.environ("pull_request", runner.pull_request()))
    assert ended.returncode == 2, ended.stdout + ended.stderr
    assert "::error file=trap.yaml,line=1,col=1," in ended.stdout


def test_outside_of_a_workflow_it_names_what_is_missing(engine: Engine, image: str) -> None:
    ended = engine.run(image)
    assert ended.returncode == 2
    assert "GITHUB_REPOSITORY: is not set" in ended.stdout


def test_git_serves_a_workspace_of_another_owner(engine: Engine, image: str, runner: ActionsRunner) -> None:
    subprocess.run(["git", "init", "--quiet", str(runner.workspace)], check=True)
    for path in [runner.workspace, *runner.workspace.rglob("*")]:
        os.chown(path, OWNER, OWNER)
    mounts = {runner.workspace: "/github/workspace"}
    ended = engine.run(
        image, "status", "--short", mounts=mounts, workdir="/github/workspace", entrypoint="/usr/bin/git"
    )
    assert ended.returncode == 0, ended.stderr


def test_the_installation_has_no_installer_and_its_bytecode_is_complete(engine: Engine, image: str) -> None:
    look = (
        "import importlib.util, pathlib, sys, evaluator\n"
        "assert importlib.util.find_spec('pip') is None\n"
        "sources = list(pathlib.Path(evaluator.__file__).parent.rglob('*.py'))\n"
        "assert sources\n"
        "assert all(pathlib.Path(importlib.util.cache_from_source(str(file))).exists() for file in sources)\n"
        "assert (pathlib.Path(evaluator.__file__).parent / 'builtin_canaries').is_dir()\n"
    )
    ended = engine.run(image, "-I", "-c", look, entrypoint="/opt/trapgate/bin/python")
    assert ended.returncode == 0, ended.stderr
