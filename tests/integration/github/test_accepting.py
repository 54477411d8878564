"""Acceptance by label: who may, in which run, what for, and what is left of it after the merge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evaluator import gate
from evaluator.baselines.acceptances import Kept
from evaluator.baselines.accepted import accepted
from evaluator.cases import Subject
from evaluator.comparison import pair
from evaluator.config.types import GateConfig, Rule
from evaluator.results import Acceptance, Evidence, Reason, RuleResult, Run, VerdictWord
from evaluator.rules import Facts
from tests.integration.github.evaluation import (
    CONFIG,
    DROP,
    FLOOR,
    LABEL,
    MAIN,
    MODEL,
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
from tests.unit import builders

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
    assert "nothing is accepted on a pull request from a fork" in evaluation.notes[0]
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
    [kept] = store(server).remembered(runner.head)
    assert kept.bound == (runner.head, 7, "main", "trap.yaml")
    assert kept.accepted.reasons == [("", "rule", "refunds", "pass_rate")]
    by = kept.acceptance
    assert (by.by, by.why, by.explicit) == ("alice", f"label {LABEL} on #7", True)
    assert store(server).remembered(runner.base) == []


@pytest.mark.parametrize("run", [a_regression(FLOOR), a_run()])
def test_what_was_not_accepted_is_not_kept(on_a_branch: ActionsRunner, server: GitHubServer, run: Run) -> None:
    perform(on_a_branch.environ("pull_request", labeled(on_a_branch)), Evaluation(run))
    assert store(server).remembered(on_a_branch.head) == []


def test_without_permission_to_keep_it_an_acceptance_holds_for_its_run_and_the_report_says_so(
    on_a_branch: ActionsRunner, server: GitHubServer
) -> None:
    server.granted -= {"contents: write"}
    evaluation = Evaluation(a_regression())
    code, _ = perform(on_a_branch.environ("pull_request", labeled(on_a_branch)), evaluation)
    assert code == 0
    [note] = [note for note in evaluation.notes if "cannot be kept for the merge" in note]
    assert "`permissions: {contents: write, pull-requests: write}`" in note


def remembered(server: GitHubServer, head: str, run: Run | None = None, **other: Any) -> None:
    """That alice accepted what `run` says of #7 into main."""
    by = Acceptance(by="alice", at="2026-01-02T00:00:00+00:00", why=f"label {LABEL} on #7")
    kept = Kept(
        head=head,
        pull_request=7,
        base="main",
        config="trap.yaml",
        acceptance=by,
        accepted=accepted(run or a_regression()),
    )
    store(server).remember(msgspec.structs.replace(kept, **other))


def on_merge(runner: ActionsRunner, server: GitHubServer, **inputs: str) -> dict[str, str]:
    """The environment of the push of #7's merge."""
    merge = server.commit("merge", (runner.base, runner.head))
    server.pulls[7] = {"head": runner.head, "base_ref": "main", "merge_commit": merge}
    environ = runner.environ("push", {**MAIN, "before": runner.base}, **{"move_baseline": "true", **inputs})
    return environ | runner.at(merge)


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


def in_the_queue(runner: ActionsRunner, server: GitHubServer, number: int = 7, behind: str = "") -> dict[str, str]:
    """The environment of the merge group that #`number` is the last one of; `behind`: what it was merged onto there,
    the base unless other pull requests are in the group as well."""
    server.pulls[number] = {"head": runner.head, "base_ref": "main", "merge_commit": None}
    queued = server.commit("queued", (behind or runner.base, runner.head))
    event = {
        "merge_group": {
            "base_sha": runner.base,
            "base_ref": "refs/heads/main",
            "head_sha": queued,
            "head_ref": f"refs/heads/gh-readonly-queue/main/pr-{number}-{runner.base}",
        }
    }
    return runner.environ("merge_group", event, move_baseline="true") | runner.at(queued)


def test_the_merge_queue_accepts_what_was_accepted_at_the_pull_requests_head(
    on_a_branch: ActionsRunner, server: GitHubServer
) -> None:
    runner = on_a_branch
    environ = in_the_queue(runner, server)
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


def judged(passed: int, failed: int) -> Run:
    """What the gate makes of so many cases, where 100 passed before and at least 90 % have to."""
    before = builders.task_result(builders.outcomes(100, 0), name="refunds")
    now = builders.task_result(builders.outcomes(passed, failed), name="refunds")
    rules = [Rule(metric="pass_rate", task="refunds", min=0.9), Rule(metric="pass_rate", task="refunds", max_drop=0.0)]
    facts = Facts(
        canaries=builders.GOOD_CANARIES,
        tasks=[now],
        baseline=builders.found(before),
        pairings={"refunds": pair(before, now)},
    )
    found = gate.decide(GateConfig(rules=rules), facts)
    return msgspec.structs.replace(
        builders.run([now]),
        verdict=found.verdict,
        layer=found.layer,
        reasons=found.reasons,
        warnings=found.warnings,
        rules=found.rules,
        subject=Subject(model=MODEL),
    )


def test_a_floor_that_is_hidden_under_removed_cases_is_not_accepted(runner: ActionsRunner) -> None:
    run = judged(10, 80)
    assert (run.verdict, {reason.kind for reason in run.reasons}) == ("inconclusive", {"comparison"})
    assert perform(runner.environ("pull_request", labeled(runner)), Evaluation(run))[0] == 3
    assert runner.outputs()["accepted-by"] == ""
    warnings = results(runner)["warnings"]
    assert isinstance(warnings, list)
    why = "without effect: this cannot be accepted: refunds pass_rate, min 0.9: it is 0.1111"
    assert warnings[0]["text"].startswith(f"alice accepts what the verdict says (label {LABEL} on #7), {why}")
    assert perform(runner.environ("pull_request", labeled(runner)), Evaluation(judged(90, 0)))[0] == 0


SURE = Evidence(test="mcnemar", n=4, worse=3, better=0, difference=-0.75, p=0.001, low=-0.95, high=-0.1)
FELL = RuleResult(
    rule="refunds pass_rate, max_drop 0",
    metric="pass_rate",
    outcome="fail",
    text="refunds pass_rate, max_drop 0: 1.00 → 0.25.",
    task="refunds",
    baseline=1.0,
    now=0.25,
    evidence=SURE,
)


def fallen_to(now: float) -> Run:
    rule = msgspec.structs.replace(FELL, now=now)
    return msgspec.structs.replace(a_regression(), rules=[rule])


CRITICAL = Reason(kind="critical", task="refunds", text="refunds: the critical case c0 passed and fails now.")


@pytest.mark.parametrize(
    ("run", "code", "what"),
    [
        (fallen_to(0.0), 1, "refunds pass_rate: 0, and 0.25 was accepted"),
        (a_regression(DROP, CRITICAL), 1, "refunds: the critical case c0 passed and fails now"),
        (a_run("drift", MODEL_MOVED, layer="model"), 4, "The model answers as another"),
        (a_run("inconclusive", CHANGED), 3, "refunds: 50% of the baseline's cases can be compared"),
        (
            msgspec.structs.replace(fallen_to(0.25), subject=Subject(model="openai/b")),
            1,
            "it is of openai/b, which was",
        ),
    ],
)
@pytest.mark.parametrize("event", ["push", "merge_group"])
def test_a_merge_that_does_more_than_what_was_accepted_is_not_accepted_and_the_first_line_says_what(
    on_a_branch: ActionsRunner, server: GitHubServer, event: str, run: Run, code: int, what: str
) -> None:
    remembered(server, on_a_branch.head, fallen_to(0.25))
    environ = on_merge(on_a_branch, server) if event == "push" else in_the_queue(on_a_branch, server)
    assert perform(environ, Evaluation(run))[0] == code
    first = results(on_a_branch)["warnings"]
    assert isinstance(first, list)
    assert first[0]["text"].startswith(f"Beyond what alice accepted (label {LABEL} on #7), so without effect: {what}")
    assert stored_by(server) == "carol"


def test_a_merge_that_does_as_was_accepted_is_accepted(on_a_branch: ActionsRunner, server: GitHubServer) -> None:
    remembered(server, on_a_branch.head, fallen_to(0.25))
    assert perform(in_the_queue(on_a_branch, server), Evaluation(fallen_to(0.25)))[0] == 0
    assert perform(on_merge(on_a_branch, server), Evaluation(fallen_to(0.06)))[0] == 0
    assert stored_by(server) == "alice"


def test_a_merge_that_passes_while_the_model_moves_is_nobodys(on_a_branch: ActionsRunner, server: GitHubServer) -> None:
    remembered(server, on_a_branch.head)
    moved = msgspec.structs.replace(a_run(layer="model"), warnings=[MODEL_MOVED])
    assert perform(on_merge(on_a_branch, server), Evaluation(moved))[0] == 0
    assert stored_by(server) == "carol"
    assert "Beyond what alice accepted" in on_a_branch.summary.read_text()


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"pull_request": 8}, "that was #8 into main by trap.yaml"),
        ({"base": "dev"}, "that was #7 into dev by trap.yaml"),
        ({"config": "evals/trap.yaml"}, "that was #7 into main by evals/trap.yaml"),
    ],
)
@pytest.mark.parametrize("event", ["push", "merge_group"])
def test_an_acceptance_of_another_pull_request_branch_or_configuration_does_not_count(
    on_a_branch: ActionsRunner, server: GitHubServer, event: str, other: dict[str, Any], words: str
) -> None:
    remembered(server, on_a_branch.head, **other)
    environ = on_merge(on_a_branch, server) if event == "push" else in_the_queue(on_a_branch, server)
    evaluation = Evaluation(a_regression())
    assert perform(environ, evaluation)[0] == 1
    assert evaluation.notes == [
        f"What alice accepted does not count here: {words}, and this is #7 into main by trap.yaml."
    ]
    assert stored_by(server) == "carol"


def test_an_acceptance_does_not_count_in_a_merge_group_that_holds_other_pull_requests(
    on_a_branch: ActionsRunner, server: GitHubServer
) -> None:
    remembered(server, on_a_branch.head)
    environ = in_the_queue(on_a_branch, server, behind=server.commit("#6 in the queue"))
    evaluation = Evaluation(a_regression())
    assert perform(environ, evaluation)[0] == 1
    [note] = evaluation.notes
    assert note.startswith("What alice accepted of #7 does not count here: ")
    assert note.endswith("so other changes may have come with it.")


@pytest.mark.parametrize("before", ["", "0" * 40, "another"])
def test_an_acceptance_does_not_count_in_a_push_that_brings_more_than_the_merge(
    on_a_branch: ActionsRunner, server: GitHubServer, before: str
) -> None:
    remembered(server, on_a_branch.head)
    environ = on_merge(on_a_branch, server)
    event = {**MAIN, "before": server.commit(before) if before == "another" else before}
    on_a_branch.event_path.write_text(json.dumps(event), encoding="utf-8")
    assert perform(environ, Evaluation(a_regression()))[0] == 1
    assert stored_by(server) == "carol"


def test_a_label_on_a_checkout_of_another_commit_accepts_nothing(runner: ActionsRunner, server: GitHubServer) -> None:
    environ = runner.environ("pull_request", labeled(runner))
    runner.check_out(server.commit("elsewhere"))
    evaluation = Evaluation(a_regression())
    assert perform(environ, evaluation)[0] == 2
    assert evaluation.asked == {}


def stored_by(server: GitHubServer) -> str:
    """Who made the newest baseline of main one."""
    baseline = stored(server)
    assert baseline is not None
    return baseline.accepted.by
