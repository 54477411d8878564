"""Events on which less is handed out, or more, than on a pull request of one's own: the action's process, whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration import agents
from tests.integration.github import agent
from tests.integration.github.test_entrypoint import act
from tests.servers.actions_runner import ActionsRunner
from tests.servers.github_server import GitHubServer
from tests.servers.model_server import ModelServer, Script

CASES = 8
ON_FORK = "gate:\n  on_fork: [refunds]\n"
KEY = {"OPENAI_API_KEY": "sk-0123456789abcdef"}
BOT = {"sender": {"login": "dependabot[bot]"}}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An agent with recordings and a live run of the same tree as its baseline."""
    folder = agents.write_repository(tmp_path_factory.mktemp("recorded"), CASES, agents.trap())
    for command in ("record", "run"):
        done, _ = agents.run(folder, agents.playing(agents.right), command=command)
        assert done.returncode == 0, done.stdout + done.stderr
    agents.accept(folder)
    return folder


@pytest.fixture
def runner(tmp_path: Path, server: GitHubServer, recorded: Path) -> ActionsRunner:
    job = ActionsRunner(tmp_path, server)
    job.workspace.rmdir()
    agents.copy(recorded, job.workspace)
    for name in ("trap.yaml", ".trap/baseline.json"):
        job.on_base(name, (recorded / name).read_bytes())
    return job


def base_lets_recordings_decide(runner: ActionsRunner) -> None:
    text = (runner.workspace / "trap.yaml").read_text().replace("gate:\n", ON_FORK)
    runner.write({"trap.yaml": text})
    runner.on_base("trap.yaml", text)


def ended(
    runner: ActionsRunner,
    name: str,
    event: dict[str, Any],
    environ: dict[str, str] | None = None,
    **inputs: str,
) -> tuple[int, str, int]:
    """Exit code, log, and how many requests the model's server saw."""
    with ModelServer(agents.playing(agents.right)) as model:
        address = {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_BASE": model.base_url}
        done = act(runner, runner.environ(name, event, **inputs) | address | (environ or {}))
        return done.returncode, done.stdout + done.stderr, len(model.requests)


def first_lines(runner: ActionsRunner) -> str:
    """The notes of the result, a line each."""
    found = json.loads((runner.workspace / "trapgate-results" / "results.json").read_bytes())
    return "\n".join(each["text"] for each in found["warnings"] if each["kind"] == "note")


@pytest.mark.parametrize("empty", [{}, {"OPENAI_API_KEY": ""}], ids=["no secret", "empty secret"])
def test_a_fork_is_judged_by_nothing_but_is_shown_what_its_recordings_are_worth(
    runner: ActionsRunner, server: GitHubServer, empty: dict[str, str]
) -> None:
    event = runner.pull_request(head_repository="eve/agent")
    code, log, requests = ended(runner, "pull_request", event, environ=empty)
    assert (code, requests) == (3, 0), log
    assert (runner.outputs()["verdict"], runner.outputs()["pass-rate"]) == ("inconclusive", "1.0000")
    assert "8 cases were judged by recordings that the change itself brings" in first_lines(runner)
    assert "No model was asked" in runner.summary.read_text()
    assert "This pull request comes from a fork" in runner.summary.read_text()
    assert {request.method for request in server.requests} == {"GET"}
    assert server.comments == {}


@pytest.mark.parametrize("which", ["fork", "Dependabot"])
def test_where_the_base_lets_recordings_decide_they_do_without_a_key(runner: ActionsRunner, which: str) -> None:
    base_lets_recordings_decide(runner)
    event = runner.pull_request(head_repository="eve/agent") if which == "fork" else runner.pull_request() | BOT
    code, log, requests = ended(runner, "pull_request", event)
    assert (code, requests) == (0, 0), log
    assert (runner.outputs()["verdict"], runner.outputs()["coverage"]) == ("pass", "1.0000")


def test_a_fork_cannot_let_its_own_recordings_decide(runner: ActionsRunner) -> None:
    text = (runner.workspace / "trap.yaml").read_text()
    runner.write({"trap.yaml": text.replace("gate:\n", ON_FORK)})
    code, log, requests = ended(runner, "pull_request", runner.pull_request(head_repository="eve/agent"))
    assert (code, requests) == (3, 0), log
    assert "This change alters the gate in trap.yaml" in first_lines(runner)


def test_dependabot_with_a_secret_of_its_own_has_the_model_asked(runner: ActionsRunner, server: GitHubServer) -> None:
    base_lets_recordings_decide(runner)
    code, log, requests = ended(runner, "pull_request", runner.pull_request() | BOT, environ=KEY)
    assert (code, runner.outputs()["verdict"]) == (0, "pass"), log
    assert requests >= CASES
    assert "No model was asked" not in first_lines(runner)
    assert server.comments == {}


def test_a_change_of_the_same_repository_without_a_key_is_no_fork(runner: ActionsRunner) -> None:
    base_lets_recordings_decide(runner)
    code, log, requests = ended(runner, "pull_request", runner.pull_request())
    assert (code, requests) == (3, 0), log
    assert runner.outputs()["coverage"] == "0.0000"


def of_target(runner: ActionsRunner, checked_out: str, **inputs: str) -> tuple[int, str, int]:
    """A run on `pull_request_target` of a fork, whose commit is the tip of the base."""
    runner.server.git.branches["main"] = runner.base
    event = runner.pull_request(head_repository="eve/agent")
    with ModelServer(agents.playing(agents.right)) as model:
        environ = runner.environ("pull_request_target", event, **inputs) | KEY | {"OPENAI_BASE_URL": model.base_url}
        environ |= {"GITHUB_SHA": runner.base, "GITHUB_REF": "refs/heads/main"}
        runner.check_out(checked_out)
        done = act(runner, environ)
        return done.returncode, done.stdout + done.stderr, len(model.requests)


ASKED_FOR = {"allow_pull_request_target": "true"}


def test_pull_request_target_is_refused_with_the_reason_unless_it_is_asked_for(runner: ActionsRunner) -> None:
    code, log, requests = of_target(runner, runner.head)
    assert (code, requests) == (2, 0)
    assert "hands this repository's secrets to a run on code that a stranger wrote" in log
    assert runner.outputs()["exit-code"] == "2"


def test_pull_request_target_with_the_base_checked_out_is_never_a_pass(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    code, log, requests = of_target(runner, runner.base, **ASKED_FOR)
    assert (code, requests) == (2, 0)
    assert "on pull_request_target it has to be the head of the pull request" in log
    assert (runner.outputs()["verdict"], runner.outputs()["exit-code"]) == ("", "2")
    assert "ref: ${{ github.event.pull_request.head.sha }}" in server.comments[7][0]["body"]


def test_pull_request_target_of_a_fork_that_is_asked_for_is_evaluated_by_the_bases_rules_and_commented(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    lax = (runner.workspace / "trap.yaml").read_text().replace("max_drop: 0.05", "max_drop: 1.0")
    runner.write({"trap.yaml": lax})
    code, log, requests = of_target(runner, runner.head, **ASKED_FOR)
    assert code == 0, log
    assert requests >= CASES
    assert "This run had this repository's secrets (`pull_request_target`)" in first_lines(runner)
    assert "This change alters the gate" in first_lines(runner)
    assert runner.outputs()["baseline"].startswith(f".trap/baseline.json at {runner.base[:12]}")
    [comment] = server.comments[7]
    assert "pass" in comment["body"]


def test_pull_request_target_never_runs_a_strangers_judge_without_isolation(runner: ActionsRunner) -> None:
    code, log, requests = of_target(runner, runner.head, unsafe_judges="true", **ASKED_FOR)
    assert (code, requests) == (2, 0)
    assert "would run that code without isolation" in log


def test_pull_request_target_never_runs_a_command_of_the_change(runner: ActionsRunner) -> None:
    runner.write({"trap.yaml": "cmd: ./steal\nenv: [OPENAI_API_KEY]\ntasks: {refunds: {source: ./evals/refunds}}\n"})
    code, log, requests = of_target(runner, runner.head, **ASKED_FOR)
    assert (code, requests) == (2, 0)
    assert "could send this repository's secrets anywhere" in log


class Queue:
    """A merge group with the agent of sixteen function calls in it."""

    def __init__(self, root: Path, server: GitHubServer) -> None:
        self.runner = ActionsRunner(root, server)
        self.runner.write(agent.files())
        self.runner.on_base("trap.yaml", agent.CONFIG)

    def ended(self, script: Script) -> tuple[int, str]:
        """Exit code and log of its run."""
        runner = self.runner
        ref = f"refs/heads/gh-readonly-queue/main/pr-7-{runner.base}"
        group = {"base_sha": runner.base, "base_ref": "refs/heads/main", "head_sha": runner.head, "head_ref": ref}
        with ModelServer(script) as model:
            done = act(runner, runner.environ("merge_group", {"merge_group": group}) | agent.provider(model))
        return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What the agent of function calls did when its answers were good."""
    with GitHubServer() as server:
        queue = Queue(tmp_path_factory.mktemp("first"), server)
        code, log = queue.ended(agent.good)
        assert code == 3, log  # there is nothing to compare with yet
        return agent.accepted((queue.runner.workspace / "trapgate-results" / "results.json").read_bytes())


@pytest.mark.parametrize(
    ("what", "code", "verdict"),
    [
        ("passes", 0, "pass"),
        ("regresses", 1, "regression"),
        ("drifts", 4, "drift"),
        ("is badly configured", 2, ""),
        ("has no baseline", 3, "inconclusive"),
        ("has an unreadable baseline", 3, "inconclusive"),
        ("may not read the base", 2, ""),
        ("is refused by the provider", 3, "inconclusive"),
    ],
)
def test_a_merge_group_always_ends_with_an_exit_code_and_outputs_and_comments_nothing(
    tmp_path: Path, server: GitHubServer, baseline: bytes, what: str, code: int, verdict: str
) -> None:
    queue = Queue(tmp_path, server)
    if what != "has no baseline":
        queue.runner.on_base(".trap/baseline.json", b"{" if "unreadable" in what else baseline)
    script: Script = agent.good
    if what == "regresses":
        queue.runner.write(agent.GENEROUS_FILES)
        script = agent.worse_when_generous
    elif what == "drifts":
        queue.runner.on_base(".trap/baseline.json", agent.with_other_verdict(baseline))
    elif what == "is badly configured":
        queue.runner.write({"trap.yaml": "modle: x\n" + agent.CONFIG})
    elif what == "may not read the base":
        server.granted = set()
    elif what == "is refused by the provider":
        script = agent.refusing
    got, log = queue.ended(script)
    assert got == code, log
    assert (queue.runner.outputs()["exit-code"], queue.runner.outputs()["verdict"]) == (str(code), verdict)
    assert queue.runner.summary.read_text() != ""
    assert {request.method for request in server.requests} <= {"GET"}
