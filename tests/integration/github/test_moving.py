"""A run that becomes the baseline of its branch: on which events, when it is fit, and what is left where that fails."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evaluator.baselines import Found, Missing, Unreadable
from evaluator.results import Acceptance, Run
from tests.integration.github.evaluation import (
    CONFIG,
    MAIN,
    MODEL,
    ON_A_BRANCH,
    Evaluation,
    a_regression,
    a_run,
    accepted_before,
    moved_before,
    of_config,
    perform,
    place,
    store,
    stored,
)
from tests.servers.actions_runner import ActionsRunner
from tests.servers.github_server import Fault, GitHubServer
from tests.unit import builders

BRANCH = {"GITHUB_REF": "refs/heads/main"}


@pytest.fixture
def runner(tmp_path: Path, server: GitHubServer) -> ActionsRunner:
    """A job on a repository whose branch of baselines has one."""
    job = ActionsRunner(tmp_path, server)
    of_config(job, ON_A_BRANCH)
    accepted_before(server, job.base)
    return job


def environ(runner: ActionsRunner, name: str = "push", event: dict[str, Any] = MAIN, **inputs: str) -> dict[str, str]:
    return runner.environ(name, event, **{"move_baseline": "true", **inputs}) | BRANCH


def by(server: GitHubServer, branch: str = "main") -> str:
    """Who made the newest baseline of `branch` one."""
    baseline = stored(server, branch)
    return baseline.accepted.by if baseline is not None else ""


@pytest.mark.parametrize("name", ["push", "schedule", "workflow_dispatch"])
def test_a_run_that_passes_in_full_becomes_the_baseline_and_keeps_the_accepted_one_as_its_anchor(
    runner: ActionsRunner, server: GitHubServer, name: str
) -> None:
    assert perform(environ(runner, name), Evaluation(a_run()))[0] == 0
    baseline = stored(server)
    assert baseline is not None
    assert (baseline.accepted.by, baseline.accepted.explicit) == ("trapgate", False)
    assert baseline.run.commit == runner.head
    assert baseline.anchor is not None
    assert baseline.anchor.accepted.by == "carol"
    assert "This run is the new baseline: trapgate-baselines: main at " in runner.summary.read_text()


@pytest.mark.parametrize(
    ("name", "event", "ref"),
    [
        ("push", {"ref": "refs/tags/v1"}, "refs/tags/v1"),
        ("workflow_dispatch", {}, "refs/tags/v1"),
        ("repository_dispatch", {}, "refs/heads/main"),
    ],
)
def test_on_other_events_nothing_moves(
    runner: ActionsRunner, server: GitHubServer, name: str, event: dict[str, Any], ref: str
) -> None:
    assert perform(environ(runner, name, event) | {"GITHUB_REF": ref}, Evaluation(a_run()))[0] == 0
    assert by(server) == "carol"


def test_on_a_pull_request_nothing_moves_though_the_input_says_so(runner: ActionsRunner, server: GitHubServer) -> None:
    assert perform(environ(runner, "pull_request", runner.pull_request()), Evaluation(a_run()))[0] == 0
    assert by(server) == "carol"


def test_without_the_input_nothing_moves_and_nothing_is_written(runner: ActionsRunner, server: GitHubServer) -> None:
    server.requests.clear()
    assert perform(environ(runner, move_baseline=""), Evaluation(a_run()))[0] == 0
    assert [request.method for request in server.requests if request.method != "GET"] == []
    assert by(server) == "carol"


def test_each_branch_has_its_own_baseline_is_compared_with_that_of_the_default_branch_and_begins_by_an_acceptance(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    evaluation = Evaluation(a_run())
    event = {**MAIN, "ref": "refs/heads/release/v2"}
    server.git.branches["release/v2"] = runner.head
    assert perform(environ(runner, "push", event), evaluation)[0] == 0
    compared = evaluation.asked["baseline"]
    assert isinstance(compared, Found)
    assert compared.where.startswith("trapgate-baselines: main at ")
    assert (by(server, "release/v2"), by(server)) == ("", "carol")
    summary = runner.summary.read_text()
    assert "The baseline was not moved: " in summary
    assert "somebody has to accept the first one" in summary
    accepted = Acceptance(by="dave", at="2026-01-02T00:00:00+00:00", why="a release")
    store(server).write(msgspec.structs.replace(a_run(), commit=runner.base), accepted, place(branch="release/v2"))
    assert perform(environ(runner, "push", event), Evaluation(a_run()))[0] == 0
    assert (by(server, "release/v2"), by(server)) == ("trapgate", "carol")


def test_a_run_is_compared_with_the_newest_baseline_of_its_branch(runner: ActionsRunner, server: GitHubServer) -> None:
    moved_before(server, server.commit("later"))
    evaluation = Evaluation(a_run())
    perform(environ(runner), evaluation)
    compared = evaluation.asked["baseline"]
    assert isinstance(compared, Found)
    assert compared.baseline.run.commit == server.commit("later")
    assert compared.baseline.anchor is not None


def test_without_any_baseline_the_evaluation_is_told_that_there_is_none(tmp_path: Path, server: GitHubServer) -> None:
    runner = ActionsRunner(tmp_path, server)
    of_config(runner, ON_A_BRANCH)
    evaluation = Evaluation(a_run("inconclusive"))
    perform(environ(runner, move_baseline=""), evaluation)
    assert evaluation.asked["baseline"] == Missing("trapgate-baselines: main")


def test_a_pull_request_is_judged_by_the_baseline_of_its_base(runner: ActionsRunner, server: GitHubServer) -> None:
    evaluation = Evaluation(a_run())
    perform(runner.environ("pull_request", runner.pull_request()), evaluation)
    compared = evaluation.asked["baseline"]
    assert isinstance(compared, Found)
    assert compared.where.endswith(f"{runner.base[:12]}, of this very commit")


def partly_scored() -> Run:
    attempts = {"c000": [builders.scored(True)], "c001": [builders.failed_call()]}
    return msgspec.structs.replace(a_run(), tasks=[builders.task_result(attempts, name="refunds")])


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (partly_scored(), "not every planned attempt was scored (refunds 1 of 2)"),
        (msgspec.structs.replace(a_run(), unchanged=True), "no model was asked"),
        (msgspec.structs.replace(a_run(), selection=["refunds"]), "it holds the tasks refunds"),
        (msgspec.structs.replace(a_run(), layer="provider"), "it passed with a warning that the provider moved"),
    ],
)
def test_a_pass_that_is_not_whole_moves_nothing_and_says_why(
    runner: ActionsRunner, server: GitHubServer, run: Run, why: str
) -> None:
    assert perform(environ(runner), Evaluation(run))[0] == 0
    assert by(server) == "carol"
    assert f"The baseline was not moved: {why}" in runner.summary.read_text()


def test_a_regression_moves_nothing(runner: ActionsRunner, server: GitHubServer) -> None:
    assert perform(environ(runner), Evaluation(a_regression()))[0] == 1
    assert by(server) == "carol"


def test_another_model_than_that_of_trap_yaml_moves_nothing(runner: ActionsRunner, server: GitHubServer) -> None:
    evaluation = Evaluation(a_run())
    assert perform(environ(runner, "workflow_dispatch", model="openai/other"), evaluation)[0] == 0
    assert by(server) == "carol"
    assert evaluation.notes == [f"The baseline stays that of {MODEL}: the input `model` names another one."]
    perform(environ(runner, "workflow_dispatch", model=MODEL), evaluation)
    assert by(server) == "trapgate"


@pytest.mark.parametrize(
    ("whom", "whose"),
    [
        ("cmd: ./solve", "trap.yaml"),
        (f"models: [{MODEL}, openai/b]", f"{MODEL}, openai/b"),
    ],
)
@pytest.mark.parametrize("model", [MODEL, "openai/other"])
def test_a_model_in_the_place_of_a_command_or_of_several_moves_nothing_and_asks_for_no_acceptance(
    runner: ActionsRunner, server: GitHubServer, whom: str, whose: str, model: str
) -> None:
    of_config(runner, ON_A_BRANCH.replace(f"model: {MODEL}", whom))
    evaluation = Evaluation(a_run())
    assert perform(environ(runner, model=model), evaluation)[0] == 0
    assert by(server) == "carol"
    assert evaluation.notes == [f"The baseline stays that of {whose}: the input `model` names another one."]
    assert [request.path for request in server.requests if request.path.endswith("/pulls")] == []


def test_a_run_of_another_checkout_than_that_of_the_event_moves_nothing_and_says_so(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    settings = environ(runner)
    elsewhere = server.commit("elsewhere")
    runner.check_out(elsewhere)
    evaluation = Evaluation(a_run())
    assert perform(settings, evaluation)[0] == 0
    assert by(server) == "carol"
    found = f"The checkout is of {elsewhere[:12]}, and the event is about {runner.head[:12]}"
    assert evaluation.notes == [f"{found}: nothing is accepted and no baseline is moved."]


def test_a_run_without_a_repository_moves_the_baseline_and_says_that_nothing_vouches_for_its_files(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    settings = environ(runner)
    shutil.rmtree(runner.workspace / ".git")
    evaluation = Evaluation(a_run())
    assert perform(settings, evaluation)[0] == 0
    assert by(server) == "trapgate"
    assert evaluation.notes == [
        "There is no repository in the workspace: nothing shows that its files are the event's."
    ]


@pytest.mark.parametrize(
    ("text", "inputs", "why"),
    [
        (CONFIG, {}, "trap.yaml keeps it in a file"),
        (ON_A_BRANCH, {"baseline": "other.json"}, "the input `baseline` names a file"),
    ],
)
def test_a_baseline_that_is_a_file_cannot_be_moved_and_the_error_names_the_command_that_accepts(
    runner: ActionsRunner, server: GitHubServer, text: str, inputs: dict[str, str], why: str
) -> None:
    of_config(runner, text)
    evaluation = Evaluation(a_run())
    code, log = perform(environ(runner, **inputs), evaluation)
    assert (code, evaluation.asked) == (2, {})
    assert f"the baseline cannot be moved by a run: {why}, which only a commit can change" in log
    assert "`trapgate baseline accept`" in log


@pytest.mark.parametrize("inputs", [{}, {"baseline": "other.json"}])
@pytest.mark.parametrize("name", ["pull_request", "repository_dispatch"])
def test_where_nothing_would_move_a_baseline_that_is_a_file_is_no_error(
    runner: ActionsRunner, name: str, inputs: dict[str, str]
) -> None:
    of_config(runner, CONFIG)
    event = runner.pull_request() if name == "pull_request" else {}
    assert perform(environ(runner, name, event, **inputs), Evaluation(a_run()))[0] == 0


def test_the_pull_request_that_puts_the_baseline_on_a_branch_is_judged_as_any_other(runner: ActionsRunner) -> None:
    of_config(runner, CONFIG)
    runner.write({"trap.yaml": ON_A_BRANCH})
    evaluation = Evaluation(a_run())
    assert perform(environ(runner, "pull_request", runner.pull_request()), evaluation)[0] == 0
    assert evaluation.notes == [
        "This change alters `baseline` in trap.yaml. It takes effect after the merge; this run is judged by the base's."
    ]


def test_a_missing_permission_is_named_before_anything_is_paid_for(runner: ActionsRunner, server: GitHubServer) -> None:
    server.granted -= {"contents: write"}
    evaluation = Evaluation(a_run())
    code, log = perform(environ(runner), evaluation)
    assert (code, evaluation.asked) == (2, {})
    assert "`permissions: {contents: write}`" in log
    assert (runner.outputs()["verdict"], runner.outputs()["exit-code"]) == ("", "2")


def test_a_permission_that_is_lost_during_the_run_ends_with_2_and_keeps_the_report(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    evaluation = Evaluation(a_run(), before_end=lambda: server.granted.discard("contents: write"))
    code, log = perform(environ(runner), evaluation)
    assert code == 2
    assert (runner.outputs()["verdict"], runner.outputs()["exit-code"]) == ("pass", "2")
    assert "The baseline was not moved: " in runner.summary.read_text()
    [error] = [line for line in log.splitlines() if line.startswith("::error")]
    assert error.startswith("::error title=trapgate%3A baseline not moved::")
    assert "`permissions: {contents: write}`" in error


def test_a_rule_that_protects_the_branch_of_baselines_takes_nothing_from_the_verdict(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    server.fail("PATCH", "/git/refs", Fault(422, "Changes must be made through a pull request."))
    code, log = perform(environ(runner), Evaluation(a_run()))
    assert code == 0
    assert (runner.outputs()["verdict"], runner.outputs()["exit-code"]) == ("pass", "0")
    assert "The baseline was not moved: " in runner.summary.read_text()
    assert "::error title=trapgate%3A baseline not moved::" in log
    assert by(server) == "carol"


def test_a_server_that_fails_before_the_run_is_asked_again_after_it(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    server.fail("POST", "/git/blobs", Fault(422, "not now"))
    assert perform(environ(runner), Evaluation(a_run()))[0] == 0
    assert by(server) == "trapgate"


def test_what_the_report_says_of_the_move_is_in_the_results_too(runner: ActionsRunner) -> None:
    perform(environ(runner), Evaluation(a_run()))
    written = (runner.workspace / "trapgate-results" / "results.json").read_text()
    assert "This run is the new baseline" in written


def test_the_history_of_a_branch_has_each_night(runner: ActionsRunner, server: GitHubServer) -> None:
    for night in ("one", "two"):
        assert perform(environ(runner, "schedule") | runner.at(server.commit(night)), Evaluation(a_run()))[0] == 0
    entries = store(server).history(place())
    assert [(entry.by, entry.explicit) for entry in entries] == [
        ("trapgate", False),
        ("trapgate", False),
        ("carol", True),
    ]


def test_skip_unchanged_reaches_the_evaluation(runner: ActionsRunner) -> None:
    evaluation = Evaluation(a_run())
    perform(environ(runner, skip_unchanged="true"), evaluation)
    assert evaluation.asked["skip_unchanged"] is True
    perform(environ(runner), evaluation)
    assert evaluation.asked["skip_unchanged"] is False


def test_two_configurations_have_baselines_of_their_own(runner: ActionsRunner, server: GitHubServer) -> None:
    runner.write({"evals/trap.yaml": ON_A_BRANCH + "  # another\n"})
    evaluation = Evaluation(a_run())
    assert perform(environ(runner, config="evals/trap.yaml"), evaluation)[0] == 0
    compared = evaluation.asked["baseline"]
    assert isinstance(compared, Unreadable)
    assert "there is none for main by evals/trap.yaml while there are others (baselines/trap.yaml)" in compared.why
    assert by(server) == "carol"
