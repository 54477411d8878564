"""Nights that do not pass keep one issue, and the first that passes closes it. The verdict is none of its business."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from evaluator.results import Reason, Run, VerdictWord
from tests.integration.github.evaluation import CONFIG, MAIN, Evaluation, a_run, of_config, perform
from tests.servers.actions_runner import ActionsRunner
from tests.servers.github_server import Fault, GitHubServer

KEY = "sk-0123456789abcdef"
MOVED = Reason(kind="model", task="refunds", metric="pass_rate", text="The model moved: pass_rate fell to 0.25.")


@pytest.fixture
def server() -> Iterator[GitHubServer]:
    with GitHubServer() as running:
        running.granted |= {"issues: write"}
        yield running


@pytest.fixture
def runner(tmp_path: Path, server: GitHubServer) -> ActionsRunner:
    job = ActionsRunner(tmp_path, server)
    of_config(job, CONFIG)
    return job


def drift(text: str = MOVED.text) -> Run:
    return a_run("drift", msgspec.structs.replace(MOVED, text=text), layer="model", passed=1)


def night(runner: ActionsRunner, result: Run, event: str = "schedule", **inputs: str) -> tuple[int, str]:
    environ = runner.environ(event, MAIN, **{"tracking_issue": "true", **inputs}) | runner.at(runner.head)
    return perform(environ | {"OPENAI_API_KEY": KEY}, Evaluation(result))


def states(server: GitHubServer) -> list[str]:
    return [issue["state"] for issue in server.issues.values()]


@pytest.mark.parametrize(("verdict", "code"), [("regression", 1), ("inconclusive", 3), ("drift", 4)])
def test_a_night_that_does_not_pass_opens_an_issue_with_the_report(
    runner: ActionsRunner, server: GitHubServer, verdict: VerdictWord, code: int
) -> None:
    got, log = night(runner, a_run(verdict, MOVED, layer="model", passed=1))
    assert got == code
    [issue] = server.issues.values()
    assert issue["title"].startswith(f"trapgate: {verdict} — ")
    assert issue["body"].startswith("<!-- trapgate:")
    assert runner.head[:12] in issue["body"]
    assert verdict in issue["body"].lower()
    assert f"Tracking issue: {issue['html_url']}" in log


def test_the_next_nights_write_the_same_issue_anew_and_one_that_passes_closes_it(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    night(runner, a_run("inconclusive"))
    night(runner, drift())
    [issue] = server.issues.values()
    assert issue["title"].startswith("trapgate: drift — ")
    assert night(runner, a_run())[0] == 0
    assert states(server) == ["closed"]
    [comments] = server.comments.values()
    assert [comment["body"] for comment in comments] == [f"A scheduled run of `{runner.head[:12]}` passes."]
    assert night(runner, a_run())[0] == 0
    assert len(comments) == 1
    night(runner, drift())
    assert states(server) == ["closed", "open"]


def test_each_job_configuration_model_and_choice_of_tasks_has_its_issue(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    for leg in ({}, {"model": "openai/b"}, {"tasks": "refunds"}):
        night(runner, drift(), **leg)
    assert states(server) == ["open"] * 3
    night(runner, a_run(), model="openai/b")
    assert states(server) == ["open", "closed", "open"]


@pytest.mark.parametrize("event", ["push", "workflow_dispatch"])
def test_other_events_keep_no_issue_and_need_no_permission(
    runner: ActionsRunner, server: GitHubServer, event: str
) -> None:
    server.granted -= {"issues: write"}
    assert night(runner, drift(), event)[0] == 4
    assert server.issues == {}


def test_without_the_input_a_night_asks_nothing_about_issues(runner: ActionsRunner, server: GitHubServer) -> None:
    assert night(runner, drift(), tracking_issue="")[0] == 4
    assert [request for request in server.requests if "/issues" in request.path] == []


@pytest.mark.parametrize("hidden", [False, True])
def test_without_permission_a_night_ends_before_it_begins_with_the_lines_to_add(
    runner: ActionsRunner, server: GitHubServer, hidden: bool
) -> None:
    server.granted -= {"issues: write"}
    server.hides_what_is_denied = hidden
    evaluation = Evaluation(drift())
    environ = runner.environ("schedule", MAIN, tracking_issue="true") | runner.at(runner.head)
    code, log = perform(environ, evaluation)
    assert (code, evaluation.asked) == (2, {})
    assert "::error title=trapgate%3A github-permission::input tracking-issue: " in log
    assert (
        "Add to the job: `permissions: {contents: read, issues: write}`; or do without one: `tracking-issue: false`."
    ) in log
    assert "    permissions:\n      contents: read\n      issues: write\n" in runner.summary.read_text()


@pytest.mark.parametrize(
    "fault",
    [
        Fault(410, "Issues are disabled for this repo"),
        Fault(403, "Repository was archived so is read-only."),
        Fault(403, "slow down", headers={"Retry-After": "100000"}),
    ],
)
def test_what_else_fails_is_a_warning_and_changes_neither_verdict_nor_exit_code(
    runner: ActionsRunner, server: GitHubServer, fault: Fault
) -> None:
    server.fail("POST", "/issues$", fault, fault)
    code, log = night(runner, drift())
    assert (code, runner.outputs()["verdict"]) == (4, "drift")
    [warning] = [line for line in log.splitlines() if line.startswith("::warning")]
    assert warning.startswith(
        "::warning title=trapgate%3A no tracking issue::The tracking issue could not be written: "
    )
    assert "permissions:" not in warning
    summary = runner.summary.read_text()
    assert "## Tracking issue\n\n    The tracking issue could not be written: " in summary
    assert "drift" in summary


def test_a_permission_that_goes_during_the_run_is_named_in_the_warning(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    def revoke() -> None:
        server.granted -= {"issues: write"}

    environ = runner.environ("schedule", MAIN, tracking_issue="true") | runner.at(runner.head)
    code, log = perform(environ, Evaluation(drift(), before_end=revoke))
    assert code == 4
    [warning] = [line for line in log.splitlines() if line.startswith("::warning")]
    assert warning.endswith(" Add to the job: `permissions: {contents: read, issues: write}`.")


def test_no_key_gets_into_the_issue_and_title_and_body_fit(runner: ActionsRunner, server: GitHubServer) -> None:
    night(runner, drift(f"The server said {KEY}. " + "é" * 500 + "\n::error::x" * 9_000))
    [issue] = server.issues.values()
    assert KEY not in issue["title"] + issue["body"]
    assert "\n" not in issue["title"]
    assert len(issue["title"]) <= 256
    assert len(issue["body"]) <= 65_536


def test_a_night_without_a_verdict_leaves_the_issue_as_it_is(runner: ActionsRunner, server: GitHubServer) -> None:
    night(runner, drift())
    [before] = [dict(issue) for issue in server.issues.values()]
    of_config(runner, CONFIG.replace("model", "modle"))
    assert night(runner, a_run())[0] == 2
    assert list(server.issues.values()) == [before]


def test_a_token_that_is_not_accepted_is_told_with_how_to_mend_that(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    server.fail("POST", "/issues$", *[Fault(401, "Bad credentials")] * 2)
    code, log = night(runner, drift())
    assert code == 4
    [warning] = [
        line for line in log.splitlines() if line.startswith("::warning title=trapgate%3A no tracking issue::")
    ]
    assert warning.endswith(
        "(Bad credentials). Leave the input `github-token` out, so that it is the job's own token, or renew it."
    )
