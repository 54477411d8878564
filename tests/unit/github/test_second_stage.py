"""The second stage, rule by rule, against the test server."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from evaluator.errors import UserError
from evaluator.github import artifacts, environment, second_stage
from evaluator.github.client import Client
from evaluator.github.commands import Log
from evaluator.github.comments import marker
from evaluator.redaction import Redactor
from evaluator.results import Reason, Run, encode
from tests.servers.actions_runner import TOKEN, ActionsRunner, parse_outputs
from tests.servers.github_actions import add_artifact, workflow_run_event, zipped
from tests.servers.github_server import Fault, GitHubServer
from tests.unit.github.test_foreign_result import mutated
from tests.unit.reports import builders
from tests.unit.reports.rendered import LINKED_BY_GITHUB, page

NUMBER = 7
TITLE = "reported by the fork's own run; nothing of it was checked here"


class Stage:
    """A fork's pull request whose run has ended, and the job that publishes it."""

    def __init__(self, root: Path, server: GitHubServer) -> None:
        self.server, self.runner = server, ActionsRunner(root, server)
        self.head = self.runner.head
        server.granted = {"actions: read", "pull-requests: write", "metadata: read"}
        server.pulls = {NUMBER: self.pull()}
        self.event = workflow_run_event(server, head=self.head)
        self.stream = io.StringIO()
        self.secrets: dict[str, str] = {}

    def pull(self, **more: Any) -> dict[str, Any]:
        fork = {"head": self.head, "head_ref": "change", "head_repository": "stranger/agent"}
        return {"base_ref": "main", "merge_commit": None, **fork, **more}

    def result(self, run: Run | None = None) -> Run:
        return replace(run or builders.regressing(), commit=self.head)

    def upload(self, data: bytes | Run | None = None, name: str = "trapgate-results", **more: Any) -> None:
        data = self.result() if data is None else data
        data = encode(data) if isinstance(data, Run) else data
        add_artifact(self.server, zipped({"results.json": data, "comment.md": b"x"}), name, **more)

    def publish(self, name: str = "workflow_run", **inputs: str) -> int:
        environ = self.runner.environ(name, self.event, mode="publish", **inputs)
        settings = environment.read(environ)
        client = Client(settings.api_url, settings.inputs.token, sleep=lambda _: None)
        return second_stage.publish(settings, self.event, client, Log(self.stream), Redactor(environ | self.secrets))

    @property
    def bodies(self) -> list[str]:
        return [comment["body"] for comments in self.server.comments.values() for comment in comments]

    @property
    def said(self) -> str:
        return self.stream.getvalue()

    @property
    def summary(self) -> str:
        return self.runner.summary.read_text(encoding="utf-8")

    @property
    def writes(self) -> list[str]:
        return [f"{one.method} {one.path}" for one in self.server.requests if one.method != "GET"]

    def assert_nothing_done(self, why: str, *, warned: bool) -> None:
        assert self.writes == []
        assert why in self.summary.replace("`", "")
        assert (f"::warning title={second_stage._TITLE.replace(':', '%3A')}::" in self.said) == warned
        assert self.runner.outputs()["comment-url"] == ""


@pytest.fixture
def stage(tmp_path: Path, server: GitHubServer) -> Stage:
    return Stage(tmp_path, server)


def test_what_the_forks_run_reports_is_commented_under_its_label(stage: Stage) -> None:
    stage.upload()
    assert stage.publish() == 0
    [comment] = stage.server.comments[NUMBER]
    first, title, *_ = comment["body"].split("\n")
    assert first.startswith(marker("publish:trapgate-results", "evals"))
    assert title == f"### 📨 trapgate: “regression” — {TITLE}"
    assert stage.summary.startswith(title)
    assert f"- `trapgate-results`: Published on pull request {NUMBER}." in stage.summary
    assert stage.runner.outputs()["comment-url"] == comment["html_url"]
    assert stage.said == f"Artifact trapgate-results: Published on pull request {NUMBER}. {comment['html_url']}\n"


def test_a_forks_pass_is_no_verdict_of_ours(stage: Stage) -> None:
    stage.upload(stage.result(builders.passing()))
    assert stage.publish() == 0
    outputs = stage.runner.outputs()
    assert {name: value for name, value in outputs.items() if value} == {
        "exit-code": "0",
        "comment-url": outputs["comment-url"],
    }
    assert "✅" not in stage.bodies[0] + stage.summary + stage.said
    assert [one for one in stage.writes if "/issues/" not in one] == []  # no check, no status


def test_nothing_but_the_artifact_is_fetched_and_the_store_gets_no_token(stage: Stage) -> None:
    stage.upload()
    stage.publish()
    read = {one.path for one in stage.server.requests if one.method == "GET"}
    repo = "/repos/octo/agent"
    assert read == {
        f"{repo}/pulls",
        f"{repo}/actions/runs/42/artifacts",
        f"{repo}/actions/artifacts/500/zip",
        f"{repo}/issues/7/comments",
    }
    [headers] = stage.server.storage.headers
    assert TOKEN not in str(headers)
    assert not (stage.runner.workspace / "trapgate-results").exists()


def test_a_second_run_edits_the_comment_and_leaves_that_of_the_first_stage_alone(stage: Stage) -> None:
    other = stage.server.add_comment(
        NUMBER, marker("trap.yaml", "evals") + "\nours", login="github-actions[bot]", kind="Bot"
    )
    stage.upload()
    stage.publish()
    stage.upload(stage.result(builders.passing()))
    stage.publish()
    comments = stage.server.comments[NUMBER]
    assert comments[0]["id"] == other
    assert comments[0]["body"].endswith("\nours")
    assert "“pass”" in comments[1]["body"]
    assert len(comments) == 2


def test_the_number_comes_from_the_api_and_never_from_the_artifact_or_the_event(stage: Stage) -> None:
    document = json.loads(encode(stage.result())) | {"pull_request": 1, "number": 1}
    stage.event["workflow_run"]["pull_requests"] = [{"number": 1}]
    stage.server.pulls[1] = {"head": "b" * 40, "base_ref": "main", "merge_commit": None}
    stage.upload(json.dumps(document).encode())
    assert stage.publish() == 0
    assert list(stage.server.comments) == [NUMBER]


@pytest.mark.parametrize(
    "pulls",
    [
        lambda stage: {},
        lambda stage: {NUMBER: stage.pull(head="b" * 40)},
        lambda stage: {NUMBER: stage.pull(merge_commit="b" * 40)},
        lambda stage: {NUMBER: stage.pull(head_ref="other")},
        lambda stage: {NUMBER: stage.pull(head_repository="stranger/fork-of-it")},
        lambda stage: {NUMBER: stage.pull(head_repository="else/agent")},
    ],
    ids=["none", "newer commit", "closed", "another branch", "another fork of the owner", "another owner"],
)
def test_without_an_open_pull_request_of_that_commit_nothing_is_done(
    stage: Stage, pulls: Callable[[Stage], dict[int, dict[str, Any]]]
) -> None:
    stage.upload()
    stage.server.pulls = pulls(stage)
    assert stage.publish() == 0
    stage.assert_nothing_done(f"No open pull request has the commit {stage.head[:12]} as its head", warned=False)


def test_of_two_pull_requests_with_the_commit_neither_is_commented(stage: Stage) -> None:
    stage.upload()
    stage.server.pulls[8] = stage.pull(base_ref="release")
    assert stage.publish() == 0
    stage.assert_nothing_done("GitHub does not say which one the run was of", warned=True)


def test_the_pull_request_is_found_beyond_the_first_page(stage: Stage) -> None:
    stage.upload()
    stage.server.pulls = {n: stage.pull(head="b" * 40) for n in range(100, 250)} | {NUMBER: stage.pull()}
    assert stage.publish() == 0
    assert list(stage.server.comments) == [NUMBER]


def test_a_commit_pushed_while_the_artifact_is_read_stops_the_comment(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.upload()
    real = second_stage.downloads.fetch

    def fetch(*arguments: Any, **named: Any) -> Any:
        stage.server.pulls[NUMBER] = stage.pull(head="b" * 40)
        return real(*arguments, **named)

    monkeypatch.setattr(second_stage.downloads, "fetch", fetch)
    assert stage.publish() == 0
    stage.assert_nothing_done("a newer one was pushed", warned=False)


def test_a_run_of_a_branch_of_this_repository_is_left_to_comment_itself(stage: Stage) -> None:
    stage.event = workflow_run_event(stage.server, head=stage.head, head_repository="octo/agent")
    assert stage.publish() == 0
    stage.assert_nothing_done("its own run comments", warned=False)
    assert stage.server.requests == []


def test_dependabots_run_is_published_as_dependabots(stage: Stage) -> None:
    stage.upload()
    stage.server.pulls[NUMBER] = stage.pull(head_repository="")
    stage.event = workflow_run_event(
        stage.server, head=stage.head, head_repository="octo/agent", actor="dependabot[bot]"
    )
    assert stage.publish() == 0
    assert "reported by Dependabot's own run; nothing of it was checked here" in stage.bodies[0]


def test_a_run_without_such_an_artifact_is_warned_of_and_a_cancelled_one_is_not(stage: Stage) -> None:
    stage.upload(name="logs")
    stage.upload(run_id=43)
    assert stage.publish() == 0
    stage.assert_nothing_done("which ended as failure, has left no artifact trapgate-results", warned=True)
    stage.event["workflow_run"]["conclusion"] = "cancelled"
    stage.stream.truncate(0)
    assert stage.publish() == 0
    stage.assert_nothing_done("which ended as cancelled, has left no artifact", warned=False)


def test_a_star_publishes_every_artifact_of_that_beginning_as_a_comment_of_its_own(stage: Stage) -> None:
    stage.upload(stage.result(builders.passing()), "trapgate-results-a")
    stage.upload(stage.result(), "trapgate-results-b")
    stage.upload(name="other")
    assert stage.publish(artifact="trapgate-results-*") == 0
    assert [re.search("“(.*?)”", body)[1] for body in stage.bodies] == ["pass", "regression"]  # type: ignore[index]
    assert len({body.partition("\n")[0] for body in stage.bodies}) == 2


def test_at_most_twenty_artifacts_are_read_and_more_are_said(stage: Stage) -> None:
    for number in range(23):
        stage.upload(name=f"r{number:02}")
    assert stage.publish(artifact="r*") == 0
    assert len(stage.bodies) == 20
    assert "3 more artifacts are left out: at most 20 are read." in stage.summary
    assert "3 more artifacts are left out" in stage.said


def test_an_artifact_that_has_expired_is_not_downloaded(stage: Stage) -> None:
    stage.upload(expired=True)
    assert stage.publish() == 0
    stage.assert_nothing_done("Nothing of it is used: it has expired.", warned=True)
    assert stage.server.storage.headers == []


def test_an_artifact_too_large_is_not_downloaded(stage: Stage) -> None:
    stage.upload()
    stage.server.artifacts[0].size = 100 << 20
    assert stage.publish() == 0
    stage.assert_nothing_done("it has 104,857,600 bytes, more than the 33,554,432 that are read", warned=True)
    assert stage.server.storage.headers == []


def test_an_artifact_larger_than_it_is_said_to_be_is_not_read_to_its_end(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(second_stage, "MOST_ARCHIVE_BYTES", 5000)
    add_artifact(stage.server, b"x" * 9000)
    stage.server.artifacts[0].size = 10
    assert stage.publish() == 0
    stage.assert_nothing_done("cannot be downloaded (the file is larger than 5,000 bytes)", warned=True)


def test_an_artifact_that_is_deleted_meanwhile_is_said_to_be_gone(stage: Stage) -> None:
    stage.upload()
    stage.server.storage.files.clear()
    assert stage.publish() == 0
    stage.assert_nothing_done("cannot be downloaded (the server of the file answers HTTP 404)", warned=True)


@pytest.mark.parametrize(
    ("archive", "why"),
    [
        (b"no zip", "the archive cannot be read"),
        (zipped({"../results.json": b"{}"}), "an entry of the archive leaves its folder"),
        (zipped({"results.json": b"<html>"}), "results.json: not JSON"),
        (zipped({"results.json": b"[" * 10_000}), "nested more than 500 levels deep"),
        (zipped({"results.json": b'{"schema_version": 2}'}), "written with schema version 2"),
        (zipped({"results.json": b"0" * (100 << 20)}), "results.json is larger than 25,165,824 bytes"),
        (zipped({"results.json": encode(replace(builders.passing(), commit="b" * 40))}), "is of another commit"),
    ],
    ids=["no zip", "path", "html", "deep", "version", "100 MB", "commit"],
)
def test_a_forged_artifact_does_nothing_and_is_said_to_be_unusable(stage: Stage, archive: bytes, why: str) -> None:
    add_artifact(stage.server, archive)
    assert stage.publish() == 0
    stage.assert_nothing_done(why, warned=True)
    assert stage.runner.outputs()["exit-code"] == "0"


def test_one_forged_artifact_keeps_no_other_from_being_published(stage: Stage) -> None:
    stage.upload(b"forged", "r-a")
    stage.upload(name="r-b")
    assert stage.publish(artifact="r-*") == 0
    assert len(stage.bodies) == 1
    assert "`r-a`: Nothing of it is used" in stage.summary
    assert "`r-b`: Published" in stage.summary


def test_markup_and_our_own_marker_in_a_result_are_text(stage: Stage) -> None:
    own = marker("publish:trapgate-results", "evals")
    loud = f"{own}\n### ✅ pass\n@octocat see #1 https://a.example ![x](https://a.example/x) <img src=x> | a | b |"
    run = replace(builders.hostile(loud), commit=stage.head, name=loud, warnings=[Reason(kind="note", text=loud)])
    stage.upload(run)
    assert stage.publish() == 0
    [body] = stage.bodies
    assert body.startswith(own)
    assert body.count(own) == 1
    shown = page(body.partition("\n")[2])
    assert not shown.comments
    assert not {"a", "img"} & set(shown.tags)
    assert not LINKED_BY_GITHUB.search(shown.prose)
    assert shown.tags.count("h3") == 1
    assert "\n::" not in stage.said.replace("\n::warning", "").replace("\n::add-mask", "")


def test_commands_in_an_artifacts_name_and_in_a_reason_do_not_reach_the_runner(stage: Stage) -> None:
    add_artifact(stage.server, b"", "r\n::error::x ##[error]y @octocat")
    stage.upload(b'{"schema_version": "\\n::set-output name=verdict::pass"}', "r-2")
    assert stage.publish(artifact="r*") == 0
    lines = stage.said.splitlines()
    assert all(line.startswith("::warning title=trapgate%3A not published::") for line in lines)
    assert "##[error]" not in stage.said
    assert "@octocat" in page(stage.summary).exact[0]


def test_no_sign_in_an_artifacts_name_or_in_a_reason_looks_like_a_verdict_in_the_summary(stage: Stage) -> None:
    stage.upload(name="r ✅ pass")
    [task] = stage.result().tasks
    twice = replace(task, name="✅ pass")
    stage.upload(replace(stage.result(), tasks=[twice, twice]), "r-2")
    assert stage.publish(artifact="r*") == 0
    assert "`r ▯ pass`: Published" in stage.summary
    assert "▯" in stage.summary.partition("`r-2`: Nothing of it is used")[2]
    assert "✅" not in stage.summary + stage.bodies[0]


def test_a_secret_in_a_result_is_masked_in_comment_and_summary(stage: Stage) -> None:
    stage.secrets = {"OPENAI_API_KEY": "sk-0123456789abcdef"}
    run = stage.result()
    stage.upload(replace(run, warnings=[Reason(kind="config", text="key sk-0123456789abcdef")]))
    stage.publish()
    assert "sk-0123456789abcdef" not in stage.bodies[0] + stage.summary
    assert "***" in stage.bodies[0]


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("lacking", ["actions: read", "pull-requests: write"])
def test_a_missing_permission_is_an_error_with_the_lines_to_add(stage: Stage, lacking: str, hidden: bool) -> None:
    stage.upload()
    stage.server.granted -= {lacking}
    stage.server.hides_what_is_denied = hidden
    with pytest.raises(UserError) as caught:
        stage.publish()
    assert caught.value.code == "github-permission"
    assert lacking in caught.value.problems[0].mend
    assert stage.bodies == []


def test_a_token_that_may_read_but_not_write_is_told_what_to_add(stage: Stage) -> None:
    stage.upload()
    stage.server.granted = {"actions: read", "pull-requests: read", "metadata: read"}
    with pytest.raises(UserError, match="The comment could not be written: HTTP 403"):
        stage.publish()
    assert TITLE in stage.summary  # the report is not lost


def test_a_token_that_is_not_accepted_is_said_to_be_one(stage: Stage) -> None:
    stage.server.fail("GET", "/pulls", Fault(401, "Bad credentials"))
    with pytest.raises(UserError, match="does not accept the token") as caught:
        stage.publish()
    assert caught.value.problems[0].mend == (
        "Leave the input `github-token` out, so that it is the job's own token, or renew it."
    )


@pytest.mark.parametrize("what", ["/pulls$", "/artifacts$", "/zip$", "/comments$"])
def test_a_server_that_is_down_leaves_the_run_unpublished_and_says_so(stage: Stage, what: str) -> None:
    stage.upload()
    stage.server.fail("GET", what, *[Fault(503)] * 20)
    assert stage.publish() == 3
    assert stage.writes == []
    assert "::error title=trapgate%3A not published::" in stage.said
    assert "HTTP 503" in stage.summary
    assert stage.runner.outputs()["exit-code"] == "3"


def test_a_conversation_that_takes_no_comment_leaves_the_run_unpublished(stage: Stage) -> None:
    stage.upload()
    stage.server.locked.add(NUMBER)
    assert stage.publish() == 3
    assert stage.bodies == []
    assert "The comment could not be written" in stage.summary


def test_comment_false_leaves_the_report_in_the_summary(stage: Stage) -> None:
    stage.upload()
    assert stage.publish(comment="false") == 0
    assert stage.writes == []
    assert TITLE in stage.summary
    assert "The report is in this summary alone" in stage.summary


def test_a_comment_that_another_job_wrote_on_a_newer_commit_is_left_as_it_is(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = "b" * 40
    mark = marker("publish:trapgate-results", "evals")
    body = f"{mark}<!-- {newer} -->\nnewer"
    stage.server.add_comment(NUMBER, body, login="github-actions[bot]", kind="Bot")
    stage.upload()
    real = second_stage.Sticky

    def sticky(*arguments: Any) -> Any:
        stage.server.pulls[NUMBER] = stage.pull(head=newer)  # pushed after the last look
        return real(*arguments)

    monkeypatch.setattr(second_stage, "Sticky", sticky)
    assert stage.publish() == 0
    assert stage.bodies == [body]
    assert f"The comment tells of {newer[:12]}, the head of the pull request by now, and stays" in prose_of(stage)


@pytest.mark.parametrize("told", [True, False])
def test_of_two_runs_of_one_commit_the_report_of_the_one_that_began_later_stays(stage: Stage, told: bool) -> None:
    """Whichever of their second stages ends last. A run of which nobody says when it began began now."""
    stage.upload()
    stage.event["workflow_run"] |= {"run_started_at": "2026-11-30T18:00:00Z" if told else None, "created_at": None}
    assert stage.publish() == 0
    stage.event["workflow_run"]["run_started_at"] = "2026-11-30T17:59:59Z"
    before = stage.bodies
    assert stage.publish() == 0
    assert stage.bodies == before
    assert f"The comment is of a later run, on {stage.head[:12]}, and stays as it is." in prose_of(stage)


def prose_of(stage: Stage) -> str:
    return stage.summary.replace("`", "")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with GitHubServer() as server:
        yield Stage(tmp_path_factory.mktemp("shared"), server)


def cleared(stage: Stage) -> Stage:
    stage.server.artifacts.clear()
    stage.server.comments.clear()
    stage.server.requests.clear()
    stage.runner.summary.write_text("")
    stage.runner.output.write_text("")
    return stage


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300), st.sampled_from(["archive", "results.json"]))
def test_random_bytes_end_well_and_comment_nothing(shared: Stage, data: bytes, where: str) -> None:
    stage = cleared(shared)
    add_artifact(stage.server, data if where == "archive" else zipped({artifacts.FILE: data}))
    assert stage.publish() == 0
    assert stage.writes == []


@settings(max_examples=40, deadline=None)
@given(mutated())
def test_a_changed_result_ends_well_and_is_commented_under_its_label_or_not_at_all(
    shared: Stage, document: dict[str, Any]
) -> None:
    stage = cleared(shared)
    if document.get("commit") == "c" * 40:
        document["commit"] = stage.head
    stage.upload(json.dumps(document).encode())
    assert stage.publish() == 0
    assert parse_outputs(stage.runner.output.read_text())["verdict"] == ""
    for body in stage.bodies:
        assert document["commit"] == stage.head
        assert body.split("\n")[1].endswith(TITLE)
