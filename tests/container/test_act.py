"""The example workflows, run by act in an engine's containers, against servers of GitHub's API and of a model.

The workflow files are those of examples/, and the action is the image with an action.yml that names it, as that of a
release does. tests/container/act.py says what stands in for the rest of GitHub.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evaluator.results import Acceptance, Run, decode_run
from tests.container.act import Act, Ended, checkout, released
from tests.container.engine import Engine
from tests.container.repository import BRANCH, NUMBER, Repository
from tests.integration.github import agent
from tests.integration.github.evaluation import place, store
from tests.integration.github.workflow import EXAMPLES, Workflow
from tests.servers.actions_runner import TOKEN
from tests.servers.github_actions import add_artifact, workflow_run_event, zipped
from tests.servers.github_server import GitHubServer
from tests.servers.model_server import ModelServer, Received, Reply

pytestmark = pytest.mark.container

ROOT = Path(__file__).parents[2]
CASES = 6
ON_A_BRANCH = "baseline: {store: branch}\n"
GENEROUS = agent.GENEROUS_FILES | {"trap.yaml": agent.GENEROUS_CONFIG + ON_A_BRANCH}
REPOSITORY = {"repository": {"default_branch": "main"}}
FORK = "stranger/agent"
NIGHT = {"schedule": "17 3 * * *", **REPOSITORY}
ADVICE = """\
on: pull_request
jobs:
  advice:
    runs-on: ubuntu-latest
    permissions: {contents: read, pull-requests: write}
    steps:
      - uses: actions/checkout@v4
      - uses: trapgate/trapgate@v0.1.0
        id: trapgate
        continue-on-error: true
        env:
          OPENAI_API_KEY: ${{ secrets.OPENAI_API_KEY }}
      - run: echo "the step ended as $ENDED, with $VERDICT of $LAYER and $CODE"
        env:
          ENDED: ${{ steps.trapgate.outcome }}
          VERDICT: ${{ steps.trapgate.outputs.verdict }}
          LAYER: ${{ steps.trapgate.outputs.layer }}
          CODE: ${{ steps.trapgate.outputs.exit-code }}
"""

Script = Callable[[Received], Reply]


class GitHub:
    """A repository with a task of six cases, whose workflows act runs."""

    def __init__(self, folder: Path, docker_host: str, action: Path, server: GitHubServer) -> None:
        self.act, self.server = Act(folder, docker_host, action), server
        self.asked: set[str] = set()
        self.repository = Repository(
            folder / "repository", server, agent.files(CASES) | {"trap.yaml": agent.CONFIG + ON_A_BRANCH}
        )

    def run(
        self, workflow: str | Path, name: str, event: Mapping[str, Any], script: Script, *, fork: bool = False
    ) -> Ended:
        """The run of an example, or of a workflow file, on an event. `fork`: its token only reads, and there is no key.
        `asked` has the models that were asked for afterwards."""
        path = EXAMPLES / "workflows" / workflow
        grants = Workflow(path).grants()
        self.server.granted = {grant for grant in grants if grant.endswith(": read")} if fork else grants
        with ModelServer(script) as model:
            provider = agent.provider(model)
            key = {"OPENAI_API_KEY": provider.pop("OPENAI_API_KEY")}
            ended = self.act.run(
                path,
                self.repository.folder,
                name,
                event,
                environ=provider | {"GITHUB_API_URL": self.server.api_url, "GITHUB_SERVER_URL": self.server.root},
                secrets={"GITHUB_TOKEN": TOKEN} | ({} if fork else key),
            )
        self.asked = {body["model"] for body in model.bodies}
        return ended

    def result(self) -> Run:
        """What the last run left in the workspace."""
        file = self.repository.folder / "trapgate-results" / "results.json"
        return decode_run(file.read_bytes(), "results.json")

    def accept(self, run: Run) -> None:
        """`run` as the baseline of main."""
        accepted = Acceptance(by="carol", at="2026-01-01T00:00:00+00:00", why="first")
        self.server.granted |= {"contents: write"}
        store(self.server).write(msgspec.structs.replace(run, commit=self.repository.base), accepted, place())

    def moves(self) -> list[str]:
        """Who made the baselines of main what they were, the newest first."""
        return [entry.by for entry in store(self.server).history(place())]


@pytest.fixture(scope="module")
def docker_host(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with engine.api(tmp_path_factory.mktemp("engine")) as address:
        yield address


@pytest.fixture(scope="module")
def release(image: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return released(tmp_path_factory.mktemp("release") / "action", ROOT / "action.yml", image)


@pytest.fixture(scope="module")
def good_run(docker_host: str, release: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """What the agent does when its answers are good, as the first night finds out."""
    with GitHubServer() as server:
        github = GitHub(tmp_path_factory.mktemp("first"), docker_host, release, server)
        ended = github.run("nightly.yml", "schedule", NIGHT, agent.good)
        assert ended.code == 1, ended.log  # there is nothing to compare with yet
        assert ended.outputs["verdict"] == "inconclusive", ended.log
        return github.result()


@pytest.fixture
def github(tmp_path: Path, docker_host: str, release: Path, good_run: Run) -> Iterator[GitHub]:
    """With a baseline that somebody accepted."""
    with GitHubServer() as server:
        made = GitHub(tmp_path, docker_host, release, server)
        made.accept(good_run)
        server.requests.clear()
        yield made


def test_pull_request_yml_succeeds_on_a_change_that_does_as_well(github: GitHub) -> None:
    event = github.repository.pull_request(GENEROUS)
    ended = github.run("pull-request.yml", "pull_request", event, agent.good)
    assert ended.code == 0, ended.log
    assert (ended.outputs["verdict"], ended.outputs["exit-code"]) == ("pass", "0")
    [comment] = github.server.comments[NUMBER]
    assert "trapgate: pass" in comment["body"]
    assert ended.outputs["comment-url"] == comment["html_url"]


def test_pull_request_yml_blocks_a_change_that_does_worse(github: GitHub) -> None:
    event = github.repository.pull_request(GENEROUS)
    ended = github.run("pull-request.yml", "pull_request", event, agent.worse_when_generous)
    assert ended.code == 1, ended.log
    assert "exit with `FAILURE`: 1" in ended.log
    assert {name: ended.outputs[name] for name in ("verdict", "layer", "exit-code", "regressed", "pass-rate")} == {
        "verdict": "regression",
        "layer": "change",
        "exit-code": "1",
        "regressed": str(CASES),
        "pass-rate": "0.0000",
    }
    [comment] = github.server.comments[NUMBER]
    assert "regression — the change is the cause" in comment["body"]
    assert "table_05" in comment["body"]


def test_pull_request_yml_ends_with_4_where_the_model_does_worse_without_the_change_too(github: GitHub) -> None:
    event = github.repository.pull_request(GENEROUS)
    ended = github.run("pull-request.yml", "pull_request", event, agent.bad)
    assert ended.code == 1, ended.log
    assert "exit with `FAILURE`: 4" in ended.log
    assert (ended.outputs["verdict"], ended.outputs["layer"]) == ("drift", "model")
    [comment] = github.server.comments[NUMBER]
    assert "trapgate: drift" in comment["body"]


def test_fork_publish_yml_comments_what_fork_evaluate_yml_left_of_a_fork_without_a_key(github: GitHub) -> None:
    event = github.repository.pull_request(GENEROUS, head_repository=FORK)
    first = github.run("fork-evaluate.yml", "pull_request", event, agent.good, fork=True)
    assert first.code == 1, first.log
    assert (first.outputs["verdict"], first.outputs["exit-code"]) == ("inconclusive", "3")
    assert github.server.comments == {}
    assert {request.method for request in github.server.requests} == {"GET"}
    assert github.asked == set()

    left = github.act.artifacts / "trapgate-results"
    add_artifact(github.server, zipped({path.name: path.read_bytes() for path in left.iterdir()}))
    head = event["pull_request"]["head"]["sha"]
    completed = workflow_run_event(github.server, head=head, branch=BRANCH, head_repository=FORK)
    second = github.run("fork-publish.yml", "workflow_run", completed, agent.good)
    assert second.code == 0, second.log
    [comment] = github.server.comments[NUMBER]
    assert second.outputs["comment-url"] == comment["html_url"]
    assert second.outputs["verdict"] == ""
    assert "“inconclusive” — reported by the fork's own run" in comment["body"]
    assert "0 of 6 planned attempts were scored" in comment["body"]


def test_nightly_yml_makes_a_night_that_passes_the_baseline(github: GitHub) -> None:
    github.repository.push({"README.md": "An agent.\n"})
    ended = github.run("nightly.yml", "schedule", NIGHT, agent.good)
    assert ended.code == 0, ended.log
    assert ended.outputs["verdict"] == "pass"
    assert github.moves() == ["trapgate", "carol"]
    assert github.server.comments == {}


def test_new_model_yml_evaluates_the_model_that_it_is_started_with_and_moves_nothing(github: GitHub) -> None:
    event = {"ref": "refs/heads/main", "inputs": {"model": "openai/scripted-2"}, **REPOSITORY}
    ended = github.run("new-model.yml", "workflow_dispatch", event, agent.good)
    assert ended.code == 0, ended.log
    assert "scripted-2" in github.asked
    assert github.result().subject.model == "openai/scripted-2"
    assert github.moves() == ["carol"]


def test_a_later_step_reads_the_verdict_of_the_action_that_is_built_from_its_checkout(
    github: GitHub, docker_host: str, tmp_path: Path
) -> None:
    github.act = Act(tmp_path / "built", docker_host, checkout(ROOT, tmp_path / "action"))
    workflow = tmp_path / "advice.yml"
    workflow.write_text(ADVICE, encoding="utf-8")
    event = github.repository.pull_request(GENEROUS)
    ended = github.run(workflow, "pull_request", event, agent.worse_when_generous)
    assert ended.code == 0, ended.log
    assert "the step ended as failure, with regression of change and 1" in ended.log
