"""What a job's token may not do: said before anything is paid for, with the lines to add, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.baselines import Unreadable
from evaluator.results import encode
from tests.integration.github.evaluation import (
    CONFIG,
    MAIN,
    ON_A_BRANCH,
    Evaluation,
    a_regression,
    a_run,
    accepted_before,
    of_config,
    perform,
)
from tests.servers.actions_runner import ActionsRunner
from tests.servers.github_server import ACTIONS_BOT, Fault, GitHubServer
from tests.unit import builders

BLOCK = "    permissions:\n      contents: read\n      pull-requests: write\n"


@pytest.fixture
def runner(tmp_path: Path, server: GitHubServer) -> ActionsRunner:
    job = ActionsRunner(tmp_path, server)
    of_config(job, CONFIG)
    job.on_base(".trap/baseline.json", encode(builders.found(*a_run().tasks).baseline))
    return job


def on_pull_request(runner: ActionsRunner, evaluation: Evaluation, **inputs: str) -> tuple[int, str]:
    return perform(runner.environ("pull_request", runner.pull_request(), **inputs), evaluation)


def body(server: GitHubServer) -> str:
    [comment] = server.comments[7]
    return str(comment["body"])


def test_without_permission_to_comment_a_run_ends_before_it_begins_with_the_lines_to_add(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    server.granted = {"contents: read"}
    evaluation = Evaluation(a_run())
    code, log = on_pull_request(runner, evaluation)
    assert (code, evaluation.asked) == (2, {})
    assert (
        "::error title=trapgate%3A github-permission::input comment: The comment could not be written: HTTP 403 "
        "(Resource not accessible by integration): the token needs the permission `pull-requests: write`. "
        "Add to the job: `permissions: {contents: read, pull-requests: write}`; "
        "or do without one: `comment: false`."
    ) in log
    assert f"Add to the job:\n\n{BLOCK}" in runner.summary.read_text()
    assert (runner.outputs()["exit-code"], runner.outputs()["verdict"]) == ("2", "")


def test_in_a_private_repository_it_is_the_same_where_github_hides_what_is_denied(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    server.granted, server.hides_what_is_denied = {"contents: read"}, True
    evaluation = Evaluation(a_run())
    code, log = on_pull_request(runner, evaluation)
    assert (code, evaluation.asked) == (2, {})
    assert "HTTP 404" in log
    assert BLOCK in runner.summary.read_text()


def test_without_a_comment_no_permission_to_comment_is_needed(runner: ActionsRunner, server: GitHubServer) -> None:
    server.granted = {"contents: read"}
    assert on_pull_request(runner, Evaluation(a_run()), comment="false")[0] == 0


def test_everything_that_is_missing_is_one_error(runner: ActionsRunner, server: GitHubServer) -> None:
    server.granted = set()
    evaluation = Evaluation(a_run())
    code, log = on_pull_request(runner, evaluation)
    assert (code, evaluation.asked) == (2, {})
    errors = [line for line in log.splitlines() if line.startswith("::error title=trapgate%3A github-permission::")]
    assert ["needs the permission `pull-requests: write`" in error for error in errors] == [True, False]
    assert ["needs the permission `contents: read`" in error for error in errors] == [False, True]
    added = "Add to the job: `permissions: {contents: read, pull-requests: write}`"
    assert [added in error for error in errors] == [True, True]
    assert BLOCK in runner.summary.read_text()


def test_what_a_scheduled_run_lacks_is_one_error_too_and_is_never_an_issue(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    of_config(runner, ON_A_BRANCH)
    accepted_before(server, runner.base)
    server.granted = {"contents: read", "metadata: read"}
    evaluation = Evaluation(a_run())
    inputs = {"move_baseline": "true", "tracking_issue": "true"}
    environ = runner.environ("schedule", MAIN, **inputs) | runner.at(runner.head)
    code, log = perform(environ, evaluation)
    assert (code, evaluation.asked) == (2, {})
    assert log.count("Add to the job: `permissions: {contents: write, issues: write}`; ") == 2
    assert "    permissions:\n      contents: write\n      issues: write\n" in runner.summary.read_text()
    server.granted |= {"contents: write", "issues: write"}
    assert perform(environ, evaluation)[0] == 0
    assert server.issues == {}


def test_while_a_run_goes_on_the_comment_names_its_commit_and_no_verdict(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    seen: list[str] = []
    assert on_pull_request(runner, Evaluation(a_run()))[0] == 0
    assert "pass" in body(server).lower()
    again = Evaluation(a_regression(), before_end=lambda: seen.append(body(server)))
    assert on_pull_request(runner, again)[0] == 1
    [meanwhile] = seen
    assert meanwhile.splitlines()[1] == f"### ⏳ trapgate: evaluating `{runner.head[:12]}`: no verdict yet"
    assert "The verdict will stand here." in meanwhile
    assert "pass" not in meanwhile.lower()
    assert "regression" in body(server).lower()


def test_in_a_locked_conversation_the_run_goes_on_and_the_report_is_in_the_summary(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    server.locked = {7}
    code, log = on_pull_request(runner, Evaluation(a_regression()))
    assert code == 1
    [warning] = [line for line in log.splitlines() if line.startswith("::warning title=trapgate%3A no comment::")]
    assert warning.endswith("(Unable to create comment because issue is locked.).")
    summary = runner.summary.read_text()
    assert "regression" in summary
    assert "permissions:" not in summary


def test_a_server_that_is_down_at_the_beginning_is_asked_again_at_the_end(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    server.fail("POST", "comments", Fault(403, "rate", headers={"Retry-After": "100000"}))
    code, log = on_pull_request(runner, Evaluation(a_run()))
    assert code == 0
    assert "::warning" not in log
    assert "pass" in body(server).lower()


def test_a_permission_that_goes_during_the_run_takes_nothing_with_it(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    def revoke() -> None:
        server.granted = {"contents: read"}

    code, log = on_pull_request(runner, Evaluation(a_regression(), before_end=revoke))
    assert code == 1
    assert runner.outputs()["verdict"] == "regression"
    summary = runner.summary.read_text()
    assert "regression" in summary
    assert BLOCK in summary
    assert (runner.workspace / "trapgate-results" / "comment.md").is_file()
    [warning] = [line for line in log.splitlines() if line.startswith("::warning title=trapgate%3A no comment::")]
    assert warning.endswith(" Add to the job: `permissions: {contents: read, pull-requests: write}`.")


def another_commit(runner: ActionsRunner, server: GitHubServer) -> str:
    """A commit that will be pushed to the pull request."""
    server.pulls[7] = {"head": runner.head, "base_ref": "main", "merge_commit": None}
    return server.commit("pushed meanwhile")


def of_commit(runner: ActionsRunner, server: GitHubServer, commit: str, evaluation: Evaluation) -> int:
    """Exit code of a run of `commit`, which is pushed to the pull request, from its beginning to its end."""
    server.pulls[7]["head"] = commit
    event = runner.pull_request()
    event["pull_request"]["head"]["sha"] = commit
    environ = runner.environ("pull_request", event)
    return perform(environ | {"GITHUB_SHA": runner.merge}, evaluation)[0]


def test_a_run_of_an_older_commit_that_ends_later_leaves_the_verdict_of_the_newer_one(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    newer = another_commit(runner, server)

    def overtaken() -> None:
        assert of_commit(runner, server, newer, Evaluation(a_run())) == 0

    code, log = on_pull_request(runner, Evaluation(a_regression(), before_end=overtaken))
    assert code == 1
    assert f"<!-- {newer} " in body(server)
    assert "pass" in body(server).lower()
    told = f"The comment tells of {newer[:12]}, the head of the pull request by now, and stays as it is."
    assert told in log
    assert told in runner.summary.read_text()


def test_an_earlier_run_of_the_same_commit_that_ends_later_leaves_the_verdict_of_the_later_one(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    """As of one that the base's branch being changed to a stricter one has started."""
    environ = runner.environ("pull_request", runner.pull_request())

    def overtaken() -> None:
        assert perform(environ, Evaluation(a_regression()))[0] == 1

    code, log = perform(environ, Evaluation(a_run(), before_end=overtaken))
    assert code == 0
    assert "regression" in body(server).lower()
    told = f"The comment is of a later run, on {runner.head[:12]}, and stays as it is."
    assert told in log
    assert told in runner.summary.read_text()


def test_an_older_run_that_cannot_ask_for_the_head_leaves_the_verdict_of_another_commit(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    newer = another_commit(runner, server)

    def overtaken() -> None:
        assert of_commit(runner, server, newer, Evaluation(a_regression())) == 1
        spent = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9999999999"}
        server.fail("GET", "/pulls/7$", Fault(403, "API rate limit exceeded", headers=spent))

    code, log = on_pull_request(runner, Evaluation(a_run(), before_end=overtaken))
    assert code == 0
    assert f"<!-- {newer} " in body(server)
    assert "regression" in body(server).lower()
    told = f"it tells of {newer[:12]}, and which commit is the head of the pull request cannot be told (rate limit"
    assert told in log
    assert told in runner.summary.read_text()


NOT_ACCEPTED = (
    "::error title=trapgate%3A github-permission::input github-token: the base's rules cannot be read: the server does "
    "not accept the token of `github-token` (Bad credentials). Leave the input `github-token` out, so that it is the "
    "job's own token, or renew it."
)


def test_a_token_that_is_not_accepted_ends_the_run_before_it_begins_and_no_permission_is_named(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    for method in ("GET", "POST"):
        server.fail(method, ".", *[Fault(401, "Bad credentials")] * 20)
    evaluation = Evaluation(a_run())
    code, log = on_pull_request(runner, evaluation)
    assert (code, evaluation.asked) == (2, {})
    assert NOT_ACCEPTED in log.splitlines()
    for text in (log, runner.summary.read_text()):
        assert "permissions:" not in text
        assert "or renew it." in text


@pytest.mark.parametrize(
    "words",
    [
        "Although you appear to have the correct authorization credentials, the `octo` organization has an IP allow "
        "list enabled, and your IP address is not permitted to access this resource.",
        "Resource protected by organization SAML enforcement.",
        "Repository access blocked",
    ],
)
def test_a_refusal_that_no_permission_mends_leaves_the_base_unreadable_in_the_servers_words(
    runner: ActionsRunner, server: GitHubServer, words: str
) -> None:
    for method in ("GET", "POST"):
        server.fail(method, ".", *[Fault(403, words)] * 20)
    evaluation = Evaluation(a_run("inconclusive"))
    code, log = on_pull_request(runner, evaluation)
    assert code == 3
    assert isinstance(evaluation.asked["baseline"], Unreadable)
    assert "yet" not in " ".join(evaluation.notes)
    assert f"HTTP 403 ({words})" in log.replace("%3A", ":")
    for text in (log, runner.summary.read_text()):
        assert "permissions:" not in text


def test_the_legs_of_a_matrix_leave_each_other_their_comments(runner: ActionsRunner, server: GitHubServer) -> None:
    for leg in ({"model": "openai/a"}, {"model": "openai/b"}, {"tasks": "refunds"}, {}):
        assert on_pull_request(runner, Evaluation(a_run()), **leg)[0] == 0
    assert len(server.comments[7]) == 4
    assert on_pull_request(runner, Evaluation(a_run()), model="openai/b")[0] == 0
    assert len(server.comments[7]) == 4


def test_somebody_elses_comment_with_our_marker_is_left_alone(runner: ActionsRunner, server: GitHubServer) -> None:
    on_pull_request(runner, Evaluation(a_run()))
    forged = server.add_comment(7, body(server), login="eve")
    server.comments[7] = [comment for comment in server.comments[7] if comment["id"] == forged]
    on_pull_request(runner, Evaluation(a_regression()))
    assert [comment["user"]["login"] for comment in server.comments[7]] == ["eve", ACTIONS_BOT[0]]
    assert "pass" in server.comments[7][0]["body"].lower()


def test_a_task_outside_of_the_repository_ends_the_run_before_anything_is_asked(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    runner.write({"trap.yaml": CONFIG.replace("./evals/refunds", "/etc")})
    runner.on_base("trap.yaml", CONFIG)
    evaluation = Evaluation(a_run())
    code, log = perform(runner.environ("pull_request", runner.pull_request()), evaluation)
    assert (code, evaluation.asked) == (2, {})
    assert "/etc lies outside of the repository" in log
    assert "no verdict" in server.comments[7][0]["body"]
