"""Acceptance by label: who may, in which run, what for, and what is left of it after the merge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.results import Acceptance, Reason, Run, VerdictWord
from tests.integration.github.evaluation import (
    CONFIG,
    DROP,
    FLOOR,
    LABEL,
    MAIN,
    ON_A_BRANCH,
    Evaluation,
    a_regression,
    a_run,
    accepted_before,
    labeled,
    of_config,
    perform,
    store,
    stored,
)
from tests.servers.actions_runner import ActionsRunner
from tests.servers.github_server import Fault, GitHubServer

COVERAGE = Reason(kind="coverage", task="refunds", text="refunds: 3 of 4 planned attempts were scored.")
CHANGED = Reason(kind="comparison", task="refunds", text="refunds: 50% of the baseline's cases can be compared.")
MODEL_MOVED = Reason(kind="model", text="The model answers as another.")
CANARY = Reason(kind="canary", text="Canary c: expected pass, got fail.")


@pytest.fixture
def server() -> Iterator[GitHubServer]:
    with GitHubServer() as running:
        running.roles = {"alice": "write", "bob": "triage"}
        yield running


@pytest.fixture
def runner(tmp_path: Path, server: GitHubServer) -> ActionsRunner:
    job = ActionsRunner(tmp_path, server)
    of_config(job, CONFIG)
    return job


def results(runner: ActionsRunner) -> dict[str, object]:
    read = json.loads((runner.workspace / "trapgate-results" / "results.json").read_bytes())
    assert isinstance(read, dict)
    return read


def test_a_label_set_by_somebody_who_may_write_accepts_a_regression_which_stays_one(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    code, _ = perform(runner.environ("pull_request", labeled(runner)), Evaluation(a_regression()))
    assert code == 0
    outputs = runner.outputs()
    assert (outputs["verdict"], outputs["layer"], outputs["exit-code"]) == ("regression", "change", "0")
    assert outputs["accepted-by"] == "alice"
    accepted = results(runner)["accepted"]
    assert isinstance(accepted, dict)
    assert (accepted["by"], accepted["why"]) == ("alice", f"label {LABEL} on #7")
    assert "alice" in server.comments[7][0]["body"]
    assert "alice" in runner.summary.read_text()


def test_a_label_set_by_somebody_who_may_not_write_is_named_and_the_regression_stands(runner: ActionsRunner) -> None:
    evaluation = Evaluation(a_regression())
    code, _ = perform(runner.environ("pull_request", labeled(runner, sender="bob")), evaluation)
    assert code == 1
    note = f"The label `{LABEL}` does not count: it was set by bob, who may not write to this repository."
    assert evaluation.notes == [note]
    assert runner.outputs()["accepted-by"] == ""


def test_a_label_that_is_still_there_when_a_commit_is_pushed_accepts_nothing(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    event = runner.pull_request()
    event["pull_request"]["labels"] = [{"name": LABEL}]
    code, _ = perform(runner.environ("pull_request", event), Evaluation(a_regression()))
    assert code == 1
    assert [request for request in server.requests if "collaborators" in request.path] == []


def test_another_label_accepts_nothing(runner: ActionsRunner) -> None:
    code, _ = perform(runner.environ("pull_request", labeled(runner, "bug")), Evaluation(a_regression()))
    assert code == 1


def test_the_label_that_accepts_may_be_another(runner: ActionsRunner) -> None:
    environ = runner.environ("pull_request", labeled(runner, "evals: meant"), accept_label="evals: meant")
    assert perform(environ, Evaluation(a_regression()))[0] == 0


def test_where_the_api_does_not_say_who_may_write_the_label_does_not_count(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    server.granted -= {"metadata: read"}
    evaluation = Evaluation(a_regression())
    assert perform(runner.environ("pull_request", labeled(runner)), evaluation)[0] == 1
    assert "the token needs the permission `metadata: read`" in evaluation.notes[0]


@pytest.mark.parametrize(
    ("run", "code"),
    [
        (a_regression(DROP), 0),
        (a_regression(Reason(kind="critical", task="refunds", text="refunds: c1 fails now.")), 0),
        (a_run("inconclusive", CHANGED), 0),
        (a_run("drift", MODEL_MOVED, layer="model"), 0),
        (a_regression(FLOOR), 1),
        (a_regression(DROP, FLOOR), 1),
        (a_run("inconclusive", COVERAGE), 3),
        (a_run("inconclusive", CHANGED, COVERAGE), 3),
        (a_run("drift", CANARY, layer="validator"), 4),
    ],
)
def test_a_label_accepts_what_a_change_or_a_model_does_and_not_what_was_never_seen_or_is_broken(
    runner: ActionsRunner, run: Run, code: int
) -> None:
    assert perform(runner.environ("pull_request", labeled(runner)), Evaluation(run))[0] == code
    summary = runner.summary.read_text()
    assert ("without effect" in summary) == (code != 0)
    assert runner.outputs()["accepted-by"] == ("alice" if code == 0 else "")


def test_a_label_on_a_pass_changes_nothing(runner: ActionsRunner) -> None:
    assert perform(runner.environ("pull_request", labeled(runner)), Evaluation(a_run()))[0] == 0
    assert runner.outputs()["accepted-by"] == ""
    assert results(runner).get("accepted") is None


def test_a_label_on_a_pull_request_of_a_fork_accepts_nothing_and_asks_nobody(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    evaluation = Evaluation(a_regression())
    event = labeled(runner, head_repository="eve/agent")
    assert perform(runner.environ("pull_request", event), evaluation)[0] == 1
    assert "what a token that can only read did not run cannot be accepted" in evaluation.notes[0]
    assert [request for request in server.requests if "collaborators" in request.path] == []
    assert [request.method for request in server.requests if request.method != "GET"] == []


@pytest.fixture
def on_a_branch(runner: ActionsRunner, server: GitHubServer) -> ActionsRunner:
    """The same job where the baselines are on a branch, which has one."""
    of_config(runner, ON_A_BRANCH)
    accepted_before(server, runner.base)
    return runner


def test_an_acceptance_is_kept_under_the_head_commit(on_a_branch: ActionsRunner, server: GitHubServer) -> None:
    runner = on_a_branch
    assert perform(runner.environ("pull_request", labeled(runner)), Evaluation(a_regression()))[0] == 0
    kept = store(server).remembered(runner.head)
    assert kept is not None
    assert (kept.by, kept.why, kept.explicit) == ("alice", f"label {LABEL} on #7", True)
    assert store(server).remembered(runner.base) is None


@pytest.mark.parametrize("run", [a_regression(FLOOR), a_run()])
def test_what_was_not_accepted_is_not_kept(on_a_branch: ActionsRunner, server: GitHubServer, run: Run) -> None:
    perform(on_a_branch.environ("pull_request", labeled(on_a_branch)), Evaluation(run))
    assert store(server).remembered(on_a_branch.head) is None


def test_without_permission_to_keep_it_an_acceptance_holds_for_its_run_and_the_report_says_so(
    on_a_branch: ActionsRunner, server: GitHubServer
) -> None:
    server.granted -= {"contents: write"}
    evaluation = Evaluation(a_regression())
    code, _ = perform(on_a_branch.environ("pull_request", labeled(on_a_branch)), evaluation)
    assert code == 0
    [note] = [note for note in evaluation.notes if "cannot be kept for the merge" in note]
    assert "`permissions: {contents: write}`" in note


def remembered(server: GitHubServer, head: str) -> None:
    accepted = Acceptance(by="alice", at="2026-01-02T00:00:00+00:00", why=f"label {LABEL} on #7")
    store(server).remember(head, accepted)


def on_merge(runner: ActionsRunner, server: GitHubServer, **inputs: str) -> dict[str, str]:
    """The environment of the push of #7's merge."""
    merge = server.commit("merge")
    server.pulls[7] = {"head": runner.head, "base_ref": "main", "merge_commit": merge}
    environ = runner.environ("push", MAIN, **{"move_baseline": "true", **inputs})
    return environ | {"GITHUB_SHA": merge, "GITHUB_REF": "refs/heads/main"}


def test_the_push_of_the_merge_moves_the_baseline_in_the_name_of_who_accepted_it(
    on_a_branch: ActionsRunner, server: GitHubServer
) -> None:
    remembered(server, on_a_branch.head)
    code, _ = perform(on_merge(on_a_branch, server), Evaluation(a_regression()))
    assert code == 0
    assert on_a_branch.outputs()["verdict"] == "regression"
    assert on_a_branch.outputs()["accepted-by"] == "alice"
    baseline = stored(server)
    assert baseline is not None
    assert (baseline.accepted.by, baseline.accepted.explicit) == ("alice", True)
    assert baseline.run.commit == server.commit("merge")
    assert baseline.anchor is None
    assert "This run is the new baseline, in the name of alice" in on_a_branch.summary.read_text()


def test_an_accepted_change_that_passes_after_the_merge_moves_the_baseline_in_the_same_name(
    on_a_branch: ActionsRunner, server: GitHubServer
) -> None:
    remembered(server, on_a_branch.head)
    assert perform(on_merge(on_a_branch, server), Evaluation(a_run()))[0] == 0
    baseline = stored(server)
    assert baseline is not None
    assert (baseline.accepted.by, baseline.accepted.explicit) == ("alice", True)


@pytest.mark.parametrize(("reason", "verdict", "code"), [(FLOOR, "regression", 1), (COVERAGE, "inconclusive", 3)])
def test_a_merge_that_does_what_nobody_can_accept_moves_nothing(
    on_a_branch: ActionsRunner, server: GitHubServer, reason: Reason, verdict: VerdictWord, code: int
) -> None:
    remembered(server, on_a_branch.head)
    assert perform(on_merge(on_a_branch, server), Evaluation(a_run(verdict, reason)))[0] == code
    baseline = stored(server)
    assert baseline is not None
    assert baseline.accepted.by == "carol"


def test_a_merge_that_nobody_accepted_is_a_regression_and_moves_nothing(
    on_a_branch: ActionsRunner, server: GitHubServer
) -> None:
    assert perform(on_merge(on_a_branch, server), Evaluation(a_regression()))[0] == 1
    baseline = stored(server)
    assert baseline is not None
    assert baseline.accepted.by == "carol"


def test_an_acceptance_of_an_earlier_commit_of_the_pull_request_is_none_of_its_merge(
    on_a_branch: ActionsRunner, server: GitHubServer
) -> None:
    remembered(server, server.commit("before the last push"))
    assert perform(on_merge(on_a_branch, server), Evaluation(a_regression()))[0] == 1


def test_where_the_merged_pull_request_cannot_be_read_nobody_accepted_it_and_the_report_says_so(
    on_a_branch: ActionsRunner, server: GitHubServer
) -> None:
    remembered(server, on_a_branch.head)
    server.granted -= {"pull-requests: write"}
    evaluation = Evaluation(a_regression())
    assert perform(on_merge(on_a_branch, server), evaluation)[0] == 1
    [note] = evaluation.notes
    assert note.startswith("Whether the merged pull request was accepted cannot be told: HTTP 403")
    assert "`pull-requests: read`" in note


def test_a_job_that_does_not_move_the_baseline_asks_nobody_who_accepted_the_merge(
    on_a_branch: ActionsRunner, server: GitHubServer
) -> None:
    remembered(server, on_a_branch.head)
    assert perform(on_merge(on_a_branch, server, move_baseline=""), Evaluation(a_regression()))[0] == 1


def test_the_merge_queue_accepts_what_was_accepted_at_the_pull_requests_head(
    on_a_branch: ActionsRunner, server: GitHubServer
) -> None:
    runner = on_a_branch
    server.pulls[7] = {"head": runner.head, "base_ref": "main", "merge_commit": None}
    queued = server.commit("queued")
    event = {
        "merge_group": {
            "base_sha": runner.base,
            "base_ref": "refs/heads/main",
            "head_sha": queued,
            "head_ref": f"refs/heads/gh-readonly-queue/main/pr-7-{runner.base}",
        }
    }
    environ = runner.environ("merge_group", event, move_baseline="true") | {"GITHUB_SHA": queued}
    assert perform(environ, Evaluation(a_regression()))[0] == 1
    remembered(server, runner.head)
    assert perform(environ, Evaluation(a_regression()))[0] == 0
    assert perform(environ, Evaluation(a_regression(FLOOR)))[0] == 1
    baseline = stored(server)
    assert baseline is not None
    assert baseline.accepted.by == "carol"


def test_a_broken_memory_of_acceptances_accepts_nothing(on_a_branch: ActionsRunner, server: GitHubServer) -> None:
    remembered(server, on_a_branch.head)
    server.fail("GET", "/git/blobs/", *[Fault(200, body=b"{")] * 5)
    evaluation = Evaluation(a_regression())
    assert perform(on_merge(on_a_branch, server), evaluation)[0] == 1
    assert evaluation.notes[0].startswith("Whether the merged pull request was accepted cannot be told: ")
