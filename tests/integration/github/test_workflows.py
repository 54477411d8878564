"""Each example workflow, with its own inputs and permissions, on a real evaluation against a scripted model."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluator.results import Acceptance, decode_run
from tests.integration.github import agent
from tests.integration.github.evaluation import labeled, place, store, stored
from tests.integration.github.test_entrypoint import Script, act
from tests.integration.github.workflow import Workflow, example
from tests.servers.actions_runner import ActionsRunner
from tests.servers.github_server import GitHubServer
from tests.servers.model_server import ModelServer

ON_A_BRANCH = "baseline: {store: branch}\n"
MAIN = {"ref": "refs/heads/main", "repository": {"default_branch": "main"}}


@pytest.fixture(scope="module")
def good_run(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What the agent does when its answers are good."""
    with GitHubServer() as server, ModelServer(agent.good) as model:
        runner = ActionsRunner(tmp_path_factory.mktemp("first"), server)
        runner.write(agent.files())
        environ = runner.environ("push", MAIN) | runner.at(server.commit("first"))
        ended = act(runner, environ | agent.provider(model))
        assert ended.returncode == 3, ended.stdout + ended.stderr  # there is nothing to compare with yet
        return (runner.workspace / "trapgate-results" / "results.json").read_bytes()


@pytest.fixture
def server(good_run: bytes) -> Iterator[GitHubServer]:
    """A repository whose branch of baselines has one that somebody accepted."""
    with GitHubServer() as running:
        running.roles = {"alice": "maintain", "bob": "triage"}
        running.granted |= {"contents: write"}
        accepted = Acceptance(by="carol", at="2026-01-01T00:00:00+00:00", why="first")
        store(running).write(decode_run(good_run, "results.json"), accepted, place())
        yield running


@pytest.fixture
def runner(tmp_path: Path, server: GitHubServer) -> ActionsRunner:
    job = ActionsRunner(tmp_path, server)
    job.write(agent.files() | {"trap.yaml": agent.CONFIG + ON_A_BRANCH})
    job.on_base("trap.yaml", agent.CONFIG + ON_A_BRANCH)
    return job


class Job:
    """Runs of one workflow in one checkout."""

    def __init__(self, workflow: Workflow, runner: ActionsRunner, server: GitHubServer) -> None:
        self.workflow, self.runner, self.server = workflow, runner, server

    def __call__(self, name: str, event: dict[str, Any], script: Script, *, sha: str = "") -> int:
        """The exit code of a run on the event, with a model that answers by `script`."""
        environ = self.workflow.environ(self.runner, self.server, name, event, sha=sha)
        with ModelServer(script) as model:
            self.ended: subprocess.CompletedProcess[str] = act(self.runner, environ | agent.provider(model))
        return self.ended.returncode

    def by(self) -> str:
        """Who made the newest baseline of main one."""
        baseline = stored(self.server)
        assert baseline is not None
        return baseline.accepted.by


def test_pull_request_yml_passes_a_change_that_does_as_well_and_blocks_one_that_does_worse(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    job = Job(example("pull-request.yml"), runner, server)
    assert job("pull_request", runner.pull_request(), agent.good) == 0, job.ended.stdout
    runner.write(agent.GENEROUS_FILES)
    assert job("pull_request", runner.pull_request(), agent.worse_when_generous) == 1, job.ended.stdout
    assert runner.outputs()["layer"] == "change"
    assert len(server.comments[7]) == 1
    assert job.by() == "carol"


def test_nightly_yml_moves_the_baseline_each_night_that_passes_and_says_drift_on_one_that_does_not(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    job = Job(example("nightly.yml"), runner, server)
    night = {"schedule": "17 3 * * *", "repository": {"default_branch": "main"}}
    assert job("schedule", night, agent.good, sha=server.commit("one")) == 0, job.ended.stdout
    assert runner.outputs()["verdict"] == "pass"
    assert runner.outputs()["baseline"].startswith("trapgate-baselines: main at ")
    assert job("workflow_dispatch", {"inputs": None, **MAIN}, agent.good, sha=server.commit("two")) == 0
    assert job("schedule", night, agent.bad, sha=server.commit("two")) == 4, job.ended.stdout
    assert (runner.outputs()["verdict"], runner.outputs()["layer"]) == ("drift", "model")
    assert "drift" in runner.summary.read_text()
    entries = store(server).history(place())
    assert [entry.by for entry in entries] == ["trapgate", "trapgate", "carol"]
    baseline = stored(server)
    assert baseline is not None
    assert baseline.anchor is not None
    assert baseline.anchor.accepted.by == "carol"
    assert server.comments == {}


def test_new_model_yml_shows_a_model_beside_that_of_the_baseline_and_moves_nothing(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    job = Job(example("new-model.yml"), runner, server)
    event = {"inputs": {"model": "openai/scripted-2"}, **MAIN}
    assert job("workflow_dispatch", event, agent.good) == 0, job.ended.stdout
    summary = runner.summary.read_text()
    assert "openai/scripted-2" in summary
    assert "openai/scripted-1" in summary
    assert [request.method for request in server.requests if request.path.startswith("/repos")][-1] == "GET"
    assert job.by() == "carol"
    assert server.comments == {}


def test_accept_by_label_yml_accepts_for_the_run_of_the_label_and_the_push_of_the_merge(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    job = Job(example("accept-by-label.yml"), runner, server)
    runner.write(agent.GENEROUS_FILES | {"trap.yaml": agent.GENEROUS_CONFIG + ON_A_BRANCH})
    worse = agent.worse_when_generous

    assert job("pull_request", labeled(runner, sender="bob"), worse) == 1, job.ended.stdout
    assert "set by bob, who may not write" in server.comments[7][0]["body"]
    assert job("pull_request", labeled(runner), worse) == 0, job.ended.stdout
    assert (runner.outputs()["verdict"], runner.outputs()["accepted-by"]) == ("regression", "alice")
    assert job.by() == "carol"

    merge = server.commit("merge", (runner.base, runner.head))
    server.pulls[7] = {"head": runner.head, "base_ref": "main", "merge_commit": merge}
    assert job("push", {**MAIN, "before": runner.base}, worse, sha=merge) == 0, job.ended.stdout
    assert job.by() == "alice"

    nightly = Job(example("nightly.yml"), runner, server)
    assert nightly("schedule", {}, worse, sha=merge) == 0, nightly.ended.stdout
    assert runner.outputs()["verdict"] == "pass"


def test_argument_score_yml_blocks_on_the_argument_score_of_its_comments_trap_yaml(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    workflow = example("argument-score.yml")
    rules = "".join(line[6:] + "\n" for line in workflow.text.splitlines() if line.startswith("#     "))
    assert "argument_score" in rules
    config = f"{agent.CONFIG}{ON_A_BRANCH}{rules}"
    runner.write({"trap.yaml": config})
    runner.on_base("trap.yaml", config)
    job = Job(workflow, runner, server)
    assert job("pull_request", runner.pull_request(), agent.good) == 0, job.ended.stdout
    runner.write(agent.GENEROUS_FILES | {"trap.yaml": config + "system: prompts/system.md\n"})
    assert job("pull_request", runner.pull_request(), agent.worse_when_generous) == 1, job.ended.stdout
    [comment] = server.comments[7]
    assert "`argument_score` fell" in comment["body"].splitlines()[1]


def test_matrix_yml_compares_each_model_with_itself_and_leaves_a_comment_of_each(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    models = ["openai/scripted-1", "openai/scripted-2"]
    config = agent.CONFIG.replace("model: openai/scripted-1", f"models: {json.dumps(models)}") + ON_A_BRANCH
    runner.write({"trap.yaml": config})
    runner.on_base("trap.yaml", config)
    with ModelServer(agent.good) as model:
        act(runner, runner.environ("push", MAIN) | runner.at(server.commit("both")) | agent.provider(model))
    both = decode_run((runner.workspace / "trapgate-results" / "results.json").read_bytes(), "results.json")
    store(server).write(both, Acceptance(by="carol", at="2026-01-02T00:00:00+00:00", why="both"), place())
    for name in models:
        job = Job(example("matrix.yml", {"model": name}), runner, server)
        assert job("pull_request", runner.pull_request(), agent.good) == 0, job.ended.stdout
        assert "the model" not in server.comments[7][-1]["body"].splitlines()[3]  # it is the baseline's own
    first, second = server.comments[7]
    assert "model `openai/scripted-1`" in first["body"]
    assert "model `openai/scripted-2`" in second["body"]


def test_monorepo_yml_judges_each_agent_by_its_own_files_and_asks_nothing_for_the_one_that_is_unchanged(
    runner: ActionsRunner, server: GitHubServer, good_run: bytes
) -> None:
    baseline = agent.accepted(good_run)
    for name in ("booking", "refunds"):
        folder = f"agents/{name}/"
        runner.write({folder + path: text for path, text in agent.files().items()})
        runner.write({f"{folder}.trap/baseline.json": baseline.decode()})
        runner.on_base(f"{folder}trap.yaml", agent.CONFIG)
        runner.on_base(f"{folder}.trap/baseline.json", baseline)
    runner.write({f"agents/refunds/{path}": text for path, text in agent.GENEROUS_FILES.items()})
    codes = {}
    for name in ("booking", "refunds"):
        job = Job(example("monorepo.yml", {"agent": name}), runner, server)
        codes[name] = job("pull_request", runner.pull_request(), agent.worse_when_generous)
    assert codes == {"booking": 0, "refunds": 1}
    booking, refunds = server.comments[7]
    assert "no model was asked" in booking["body"]
    assert "the change is the cause" in refunds["body"]
