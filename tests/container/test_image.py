"""The image, built and run as a GitHub runner builds and runs it."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.results import decode_run
from tests.container.engine import Engine
from tests.container.step import OWNER, step
from tests.integration.github import agent
from tests.integration.judging.tasks import CAPITALS, MANIFEST_JUDGE, write_task, write_trap
from tests.servers.actions_runner import ActionsRunner
from tests.servers.github_server import GitHubServer
from tests.servers.model_server import ModelServer, Received, Reply

pytestmark = pytest.mark.container

Script = Callable[[Received], object]


def act(engine: Engine, image: str, runner: ActionsRunner, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs the action's container as the runner does, to its end."""
    prepared = step(runner, environ)
    return engine.run(image, environ=prepared.environ, mounts=prepared.mounts, workdir=prepared.workdir)


# How many of the sixteen cases are answered before the run is cancelled.
ANSWERED = 5
FIND_PYTHON = "pidof python | tr ' ' '\\n' | sort -n | head -n 1"

# Judges rightly as long as nothing can be reached.
NOSY_JUDGE = """\
import socket

reached = []
for path in ("/var/run/docker.sock", "/run/docker.sock"):
    try:
        socket.socket(socket.AF_UNIX).connect(path)
        reached.append(path)
    except OSError:
        pass
for path in ("/proc/1/environ", "/proc/1/mem", "/github/workspace/trap.yaml", "/github/file_commands/output"):
    try:
        open(path, "rb").close()
        reached.append(path)
    except OSError:
        pass
""" + MANIFEST_JUDGE.replace("right = ", "right = not reached and ")


@contextmanager
def half_way(
    engine: Engine, image: str, runner: ActionsRunner, more: Mapping[str, str] | None = None
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A run of which some cases are answered and the others are not: the container's name and the engine's client."""
    asked = threading.Event()

    def slow(request: Received) -> Reply:
        if request.number <= ANSWERED:
            return agent.good(request)
        asked.set()
        return replace(agent.good(request), delay=120.0)

    name = f"trapgate-{secrets.token_hex(4)}"
    with ModelServer(slow) as model:
        variables = runner.environ("pull_request", runner.pull_request()) | agent.provider(model) | (more or {})
        prepared = step(runner, variables)
        process = engine.start(image, name, environ=prepared.environ, mounts=prepared.mounts, workdir=prepared.workdir)
        try:
            assert asked.wait(timeout=120)
            time.sleep(1)
            yield name, process
        finally:
            engine.call("rm", "--force", name)
            process.communicate(timeout=60)


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
    steal = "#!/bin/sh\ntouch /github/workspace/stolen\nexit 1\n"
    programs = [f"bin/{name}" for name in ("git", "rm", "sh", "chmod", "ssh", "python3", "python", "hook")]
    libraries = [f"lib/{name}" for name in ("libc.so.6", "libz.so.1", "libm.so.6", "libseccomp.so.2", "own.so")]
    runner.write(dict.fromkeys(modules, poison) | dict.fromkeys(programs, steal) | dict.fromkeys(libraries, "no ELF"))
    for name in programs:
        (runner.workspace / name).chmod(0o755)
    with ModelServer(agent.good) as model:
        environ = runner.environ("pull_request", runner.pull_request()) | agent.provider(model)
        before = set(runner.workspace.rglob("*"))
        environ |= {
            "PYTHONPATH": "/github/workspace",
            "PYTHONHOME": "/github/workspace",
            "PYTHONSTARTUP": "/github/workspace/yaml.py",
            "PYTHONUSERBASE": "/github/workspace",
            "PYTHONWARNINGS": "error",
            "PATH": "/github/workspace/bin:bin:/usr/bin:/bin",
            "LD_LIBRARY_PATH": "/github/workspace/lib",
            "LD_PRELOAD": "/github/workspace/lib/own.so",
            "LD_AUDIT": "/github/workspace/lib/own.so",
            "GIT_DIR": "/nowhere",
            "GIT_EXEC_PATH": "/github/workspace/bin",
            "GIT_SSH_COMMAND": "/github/workspace/bin/hook",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "core.fsmonitor",
            "GIT_CONFIG_VALUE_0": "/github/workspace/bin/hook",
        }
        ended = act(engine, image, runner, environ)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert runner.outputs()["verdict"] == "pass"
    assert ended.stderr == ""  # where the loader says which library it could not load
    left = set(runner.workspace.rglob("*")) - before
    assert {path.relative_to(runner.workspace).parts[0] for path in left} == {"trapgate-results"}
    assert {path.stat().st_uid for path in (*left, *runner.temp.rglob("*"))} == {OWNER}
    assert list(runner.home.rglob("*")) == []


def test_what_makes_a_program_load_code_does_not_reach_the_evaluation(
    engine: Engine, image: str, runner: ActionsRunner
) -> None:
    hostile = {
        name: f"/github/workspace/{name}"
        for name in (
            *("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "GCONV_PATH"),
            *("OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES"),
        )
    }
    with half_way(engine, image, runner, hostile) as (name, _):
        seen = engine.call("exec", name, "/bin/busybox", "sh", "-c", f"tr '\\0' '\\n' < /proc/$({FIND_PYTHON})/environ")
        assert seen.returncode == 0, seen.stderr
    lines = seen.stdout.splitlines()
    assert "GITHUB_ACTIONS=true" in lines
    assert [line for line in lines if line.partition("=")[0] in hostile] == []


def test_the_workspace_may_be_anywhere(engine: Engine, image: str, runner: ActionsRunner) -> None:
    place = "/home/runner/work/repository/repository"
    with ModelServer(agent.good) as model:
        environ = runner.environ("pull_request", runner.pull_request()) | agent.provider(model)
        prepared = step(runner, environ, workspace=place)
        ended = engine.run(image, environ=prepared.environ, mounts=prepared.mounts, workdir=place)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert runner.outputs()["results"] == "trapgate-results/results.json"
    assert (runner.workspace / "trapgate-results" / "results.json").is_file()


def test_a_tasks_own_judge_reaches_neither_the_engines_socket_nor_the_keys_of_process_1(
    engine: Engine, image: str, runner: ActionsRunner, tmp_path: Path
) -> None:
    write_task(runner.workspace / "task", NOSY_JUDGE)
    runner.on_base("trap.yaml", write_trap(runner.workspace).read_bytes())

    def answer(request: Received) -> Reply:
        asked = re.search(r"capital of \.(\w+)", json.dumps(request.body["messages"]))
        assert asked is not None
        return Reply(text=CAPITALS[asked[1]])

    with socket.socket(socket.AF_UNIX) as listening, ModelServer(answer) as model:
        listening.bind(str(tmp_path / "engine.sock"))
        listening.listen()
        listening.setblocking(False)
        (tmp_path / "engine.sock").chmod(0o777)
        prepared = step(runner, runner.environ("pull_request", runner.pull_request()) | agent.provider(model))
        mounts = prepared.mounts | {tmp_path / "engine.sock": "/var/run/docker.sock"}
        ended = engine.run(image, environ=prepared.environ, mounts=mounts, workdir=prepared.workdir)
        with pytest.raises(BlockingIOError):
            listening.accept()
    results = (runner.workspace / "trapgate-results" / "results.json").read_text()
    judged = decode_run(results.encode(), "results.json").tasks[0].cases
    assert len(judged) == len(CAPITALS), ended.stdout + ended.stderr
    assert {case.attempts[0].passed for case in judged} == {True}, results
    assert "sk-0123456789abcdef" not in results


@pytest.mark.parametrize("how", ["stop", "SIGINT", "SIGTERM"])
def test_cancelled_half_way_it_publishes_what_is_there_before_it_is_killed(
    engine: Engine, image: str, runner: ActionsRunner, how: str
) -> None:
    with half_way(engine, image, runner) as (name, process):
        began = time.monotonic()
        if how == "stop":
            assert engine.call("stop", "--time", "10", name).returncode == 0
        else:
            process.send_signal(getattr(signal, how))  # as the runner does, to the engine's client
        stdout, _ = process.communicate(timeout=60)
        took = time.monotonic() - began
    assert process.returncode == 3, stdout
    assert took < 10
    assert runner.outputs()["verdict"] == "inconclusive"
    assert runner.outputs()["exit-code"] == "3"
    assert "inconclusive" in runner.summary.read_text()
    assert "inconclusive" in runner.server.comments[7][0]["body"]
    signalled = "SIGINT" if how == "SIGINT" else "SIGTERM"
    run = decode_run((runner.workspace / "trapgate-results" / "results.json").read_bytes(), "results.json")
    assert run.totals.scored == ANSWERED
    failures = [case.attempts[0].infrastructure for case in run.tasks[0].cases]
    assert sum(f is not None and f.kind == "cancelled" and signalled in f.message for f in failures) == (
        agent.CASES - ANSWERED
    )
    assert {path.stat().st_uid for path in (runner.workspace / "trapgate-results").rglob("*")} == {OWNER}


def test_orphans_are_reaped(engine: Engine, image: str, runner: ActionsRunner) -> None:
    with half_way(engine, image, runner) as (name, _):
        orphans = "for n in 1 2 3 4 5; do (sleep 0.$n &) ; done"
        assert engine.call("exec", name, "/bin/busybox", "sh", "-c", orphans).returncode == 0
        time.sleep(1.5)
        states = engine.call("exec", name, "/bin/busybox", "sh", "-c", "cat /proc/[0-9]*/stat")
    rows = [re.match(r"(\d+) \((.*)\) (\S) (\d+)", line) for line in states.stdout.splitlines()]
    processes = {row[1]: (row[2], row[3]) for row in rows if row}
    assert processes["1"][0] == "tini-static"
    assert [process for process in processes.values() if process[1] == "Z" or process[0] == "sleep"] == []


def test_where_it_is_not_process_1_it_runs_all_the_same(engine: Engine, image: str) -> None:
    ended = engine.run(image, options=("--pid", "host"))
    assert ended.returncode == 2
    assert "GITHUB_REPOSITORY: is not set" in ended.stdout
    assert ended.stderr == ""


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
