"""The action's process, as the container starts it, on a real evaluation against a scripted model."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integration.github import agent
from tests.servers.actions_runner import TOKEN, ActionsRunner
from tests.servers.github_actions import workflow_run_event
from tests.servers.github_server import Fault, GitHubServer
from tests.servers.model_server import ModelServer, Received, Reply

ROOT = Path(__file__).parents[3]

# The image has the package installed; a checkout has it beside entrypoint.py, where an isolated Python does not look.
START = (
    f"import runpy, sys; sys.path.insert(0, {str(ROOT)!r}); "
    f"runpy.run_path({str(ROOT / 'entrypoint.py')!r}, run_name='__main__')"
)

Script = Callable[[Received], Reply]


def start(runner: ActionsRunner, environ: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-I", "-B", "-c", START],
        env={"PATH": os.environ["PATH"], **environ},
        cwd=runner.workspace,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def act(runner: ActionsRunner, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    process = start(runner, environ)
    stdout, stderr = process.communicate(timeout=180)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What the agent did when its answers were good."""
    with GitHubServer() as server, ModelServer(agent.good) as model:
        runner = ActionsRunner(tmp_path_factory.mktemp("first"), server)
        runner.write(agent.files())
        ended = act(runner, runner.environ("push", {"ref": "refs/heads/main"}) | agent.provider(model))
        assert ended.returncode == 3, ended.stdout + ended.stderr  # there is nothing to compare with yet
        return agent.accepted((runner.workspace / "trapgate-results" / "results.json").read_bytes())


@pytest.fixture
def runner(tmp_path: Path, server: GitHubServer, baseline: bytes) -> ActionsRunner:
    job = ActionsRunner(tmp_path, server)
    job.write(agent.files())
    job.on_base("trap.yaml", agent.CONFIG)
    job.on_base(".trap/baseline.json", baseline)
    return job


def on_pull_request(runner: ActionsRunner, script: Script, **more: str) -> subprocess.CompletedProcess[str]:
    with ModelServer(script) as model:
        environ = runner.environ("pull_request", runner.pull_request()) | agent.provider(model) | more
        return act(runner, environ)


def test_a_change_that_does_as_well_passes_and_modules_of_its_repository_are_not_imported(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    poison = "raise SystemExit('imported from the workspace')\n"
    runner.write(dict.fromkeys(("evaluator/__init__.py", "yaml.py", "requests.py", "sitecustomize.py"), poison))
    ended = on_pull_request(runner, agent.good, PYTHONPATH=str(runner.workspace), PYTHONSTARTUP="yaml.py")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert runner.outputs()["verdict"] == "pass"
    assert runner.outputs()["pass-rate"] == "1.0000"
    assert len(server.comments[7]) == 1


def test_a_change_that_does_worse_is_a_regression_even_where_it_loosens_its_own_gate(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    loose = "gate: {rules: [{metric: pass_rate, min: 0.01}]}\n"
    runner.write({**agent.GENEROUS_FILES, "trap.yaml": agent.GENEROUS_CONFIG + loose})
    ended = on_pull_request(runner, agent.worse_when_generous)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert (runner.outputs()["regressed"], runner.outputs()["layer"]) == ("10", "change")
    body = server.comments[7][0]["body"]
    assert "regression" in body.lower()
    assert "table_00" in body
    assert "This change alters the gate" in body
    assert TOKEN not in body + ended.stdout.replace(f"::add-mask::{TOKEN}", "") + ended.stderr


def test_a_model_that_does_worse_for_the_unchanged_base_as_well_is_drift(runner: ActionsRunner) -> None:
    runner.write(agent.GENEROUS_FILES)
    ended = on_pull_request(runner, agent.bad)
    assert ended.returncode == 4, ended.stdout + ended.stderr
    assert (runner.outputs()["verdict"], runner.outputs()["layer"]) == ("drift", "model")


def test_a_provider_that_refuses_leaves_the_run_inconclusive(runner: ActionsRunner) -> None:
    ended = on_pull_request(runner, agent.refusing)
    assert ended.returncode == 3, ended.stdout + ended.stderr
    assert runner.outputs()["verdict"] == "inconclusive"
    assert runner.outputs()["coverage"] == "0.6250"


def test_a_baseline_that_is_scored_otherwise_today_is_drift(runner: ActionsRunner, baseline: bytes) -> None:
    runner.on_base(".trap/baseline.json", agent.with_other_verdict(baseline))
    ended = on_pull_request(runner, agent.good)
    assert ended.returncode == 4, ended.stdout + ended.stderr
    assert runner.outputs()["verdict"] == "drift"


def test_a_configuration_error_ends_with_2_and_calls_no_model(runner: ActionsRunner) -> None:
    runner.write({"trap.yaml": "modle: x\n" + agent.CONFIG})
    with ModelServer(agent.good) as model:
        ended = act(runner, runner.environ("pull_request", runner.pull_request()) | agent.provider(model))
        assert model.requests == []
    assert ended.returncode == 2
    assert "::error file=trap.yaml,line=1,col=1," in ended.stdout


def test_a_model_that_writes_commands_and_markers_reaches_neither_log_nor_comment_with_them(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    evil = "\n::error::owned\n##[error]owned\n<!-- trapgate:0000000000000000 -->\n@octocat | x |\n"
    runner.write(agent.GENEROUS_FILES)

    def script(request: Received) -> Reply:
        return Reply(text=evil) if agent.is_generous(request) else agent.good(request)

    ended = on_pull_request(runner, script)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    lines = (ended.stdout + ended.stderr).splitlines()
    assert not [line for line in lines if "##[" in line]
    annotations = [line for line in lines if line.lstrip().startswith("::error")]
    assert annotations
    assert [line for line in annotations if not re.match(r"::error [^:]*title=trapgate%3A", line)] == []
    body = server.comments[7][0]["body"]
    assert "<!-- trapgate:0000000000000000 -->" not in body
    assert "| x |" not in body


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_cancelled_job_publishes_what_it_has_and_is_no_pass(
    runner: ActionsRunner, server: GitHubServer, sent: signal.Signals
) -> None:
    asked = threading.Event()

    def slow(request: Received) -> Reply:
        asked.set()
        return replace(agent.good(request), delay=30.0)

    with ModelServer(slow) as model:
        process = start(runner, runner.environ("pull_request", runner.pull_request()) | agent.provider(model))
        assert asked.wait(timeout=120)
        assert "no verdict yet" in server.comments[7][0]["body"]
        process.send_signal(sent)
        stdout, stderr = process.communicate(timeout=20)
    assert process.returncode == 3, stdout + stderr
    assert runner.outputs()["verdict"] == "inconclusive"
    [comment] = server.comments[7]
    assert "inconclusive" in comment["body"].lower()
    assert "no verdict yet" not in comment["body"]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("what", ["issues/7/comments", "contents/trap.yaml"], ids=["the comment", "the rules"])
def test_a_job_that_is_cancelled_while_it_waits_for_github_calls_no_model_and_says_so_at_once(
    runner: ActionsRunner, server: GitHubServer, sent: signal.Signals, what: str
) -> None:
    server.fail("GET", what, Fault(429, headers={"Retry-After": "25"}))
    with ModelServer(agent.good) as model:
        process = start(runner, runner.environ("pull_request", runner.pull_request()) | agent.provider(model))
        wait_for_request(server, what)
        process.send_signal(sent)
        began = time.monotonic()
        stdout, stderr = process.communicate(timeout=60)
        took = time.monotonic() - began
        assert model.requests == []
    assert process.returncode == 3, stdout + stderr
    assert took < 4.0  # of the 7.5 s until the next signal
    assert (runner.outputs()["exit-code"], runner.outputs()["verdict"]) == ("3", "")
    assert f"Cancelled ({sent.name}) before anything was evaluated." in runner.summary.read_text()
    [comment] = server.comments[7]
    assert "trapgate: cancelled: no verdict for" in comment["body"]
    lines = stdout.splitlines()
    [token] = [line.removeprefix("::stop-commands::") for line in lines if line.startswith("::stop-commands::")]
    assert lines.index(f"::{token}::") < lines.index("::endgroup::")
    assert f"::warning title=trapgate%3A cancelled::Cancelled ({sent.name})" in stdout


def test_a_second_stage_that_is_cancelled_while_it_waits_ends_at_once_with_3(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    server.fail("GET", "/pulls$", Fault(429, headers={"Retry-After": "25"}))
    event = workflow_run_event(server, head=runner.head)
    process = start(runner, runner.environ("workflow_run", event, mode="publish"))
    wait_for_request(server, "/pulls")
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    stdout, stderr = process.communicate(timeout=60)
    assert time.monotonic() - began < 4.0
    assert process.returncode == 3, stdout + stderr
    assert runner.outputs()["exit-code"] == "3"
    assert "given up since the run was stopped (SIGINT)" in stdout


def wait_for_request(server: GitHubServer, path: str) -> None:
    """Returns when `path` was asked for and answered."""
    until = time.monotonic() + 60
    while not any(path in request.path for request in server.requests) and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.3)


def test_an_installation_that_cannot_be_imported_is_no_regression(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-I", "-S", str(ROOT / "entrypoint.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 70
    assert ended.stdout == "::error title=trapgate%3A internal error::ModuleNotFoundError (evaluator)\n"
    assert ended.stderr == ""
