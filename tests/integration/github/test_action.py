"""The action against a GitHub server, with an evaluation that is given: what is published, and how the step ends."""

from __future__ import annotations

import io
import json
import re
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lxml import etree

from evaluator.baselines import Found, Missing, Unreadable
from evaluator.config.types import GateConfig
from evaluator.errors import user_error
from evaluator.github import publish
from evaluator.github.action import run
from evaluator.github.files import write_outputs
from evaluator.results import Run, VerdictWord, encode
from tests.servers.actions_runner import TOKEN, ActionsRunner
from tests.servers.github_server import Fault, GitHubServer
from tests.unit import builders

CONFIG = "model: openai/gpt-4.1-mini\ntasks:\n  refunds: {source: ./evals/refunds}\n"
KEY = "sk-0123456789abcdef"


class Evaluation:
    """Stands where the pipeline does: gives `result` and keeps what it was asked."""

    def __init__(self, result: Run | Exception) -> None:
        self.result = result
        self.asked: dict[str, Any] = {}

    def __call__(self, config: Any, **asked: Any) -> Run:
        self.asked = {"config": config, **asked}
        if isinstance(self.result, Exception):
            raise self.result
        (asked["output"] / "results.json").write_bytes(encode(self.result))
        return self.result


def a_run(verdict: VerdictWord = "pass") -> Run:
    return msgspec.structs.replace(builders.run([builders.task_result(builders.outcomes(3, 1))]), verdict=verdict)


@pytest.fixture
def runner(tmp_path: Path, server: GitHubServer) -> ActionsRunner:
    job = ActionsRunner(tmp_path, server)
    job.write({"trap.yaml": CONFIG})
    job.on_base("trap.yaml", CONFIG)
    job.on_base(".trap/baseline.json", encode(builders.found(*a_run().tasks).baseline))
    return job


def act(environ: dict[str, str], evaluation: Callable[..., Run]) -> tuple[int, str]:
    log = io.StringIO()
    return run(environ, log, evaluation), log.getvalue()


def bodies(server: GitHubServer) -> list[str]:
    return [comment["body"] for comment in server.comments.get(7, [])]


@pytest.mark.parametrize(("verdict", "code"), [("pass", 0), ("regression", 1), ("inconclusive", 3), ("drift", 4)])
def test_a_verdict_becomes_comment_summary_outputs_and_exit_code(
    runner: ActionsRunner, server: GitHubServer, verdict: VerdictWord, code: int
) -> None:
    result = a_run(verdict)
    got, _ = act(runner.environ("pull_request", runner.pull_request()), Evaluation(result))
    assert got == code
    assert verdict in bodies(server)[0].lower()
    assert verdict in runner.summary.read_text().lower()
    assert runner.outputs() == {
        "verdict": verdict,
        "layer": "",
        "exit-code": str(code),
        "results": "trapgate-results/results.json",
        "pass-rate": "0.7500",
        "baseline": "",
        "accepted-by": "",
        "coverage": "1.0000",
        "regressed": "",
        "fixed": "",
        "comment-url": server.comments[7][0]["html_url"],
        "cost-usd": "0.004000",
    }
    written = runner.workspace / "trapgate-results"
    assert sorted(path.name for path in written.iterdir()) == [
        *("comment.md", "junit.xml", "report.html", "results.json")
    ]


def test_on_a_pull_request_the_bases_rules_reach_the_evaluation(runner: ActionsRunner) -> None:
    lax = CONFIG + "gate: {rules: [{metric: pass_rate, min: 0.01}]}\nbaseline: {allow_missing: true}\n"
    runner.write({"trap.yaml": lax, ".trap/baseline.json": "of the change"})
    evaluation = Evaluation(a_run())
    act(runner.environ("pull_request", runner.pull_request()), evaluation)
    assert evaluation.asked["rules"].gate == GateConfig()
    assert isinstance(evaluation.asked["baseline"], Found)
    assert evaluation.asked["rules"].baseline.allow_missing is False
    assert [note.text for note in evaluation.asked["notes"]] == [
        "This change alters the gate, `baseline` in trap.yaml. It takes effect after the merge; this run is judged by "
        "the base's.",
        "This change alters the baseline file. It takes effect after the merge; this run is judged by the base's.",
    ]
    assert evaluation.asked["commit"] == runner.head


LAX = CONFIG + "gate: {rules: [{metric: pass_rate, min: 0.01}]}\n"


def test_the_base_is_what_the_checkout_has_merged_and_not_the_old_snapshot_in_the_event(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    event = runner.pull_request()
    event["pull_request"]["base"]["sha"] = server.commit("snapshot")
    server.add_file("trap.yaml", LAX.encode(), server.commit("snapshot"))
    evaluation = Evaluation(a_run())
    act(runner.environ("pull_request", event), evaluation)
    assert evaluation.asked["rules"].gate == GateConfig()
    assert evaluation.asked["baseline"].where == f".trap/baseline.json at {runner.base[:12]}"


def test_where_the_commit_is_no_merge_the_base_is_the_tip_of_its_branch_now(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    event = runner.pull_request()
    event["pull_request"]["base"]["sha"] = server.commit("snapshot")
    server.add_file("trap.yaml", LAX.encode(), server.commit("snapshot"))
    server.git.branches["main"] = runner.base
    evaluation = Evaluation(a_run())
    act(runner.environ("pull_request", event) | runner.at(runner.head, "refs/pull/7/merge"), evaluation)
    assert evaluation.asked["rules"].gate == GateConfig()
    assert isinstance(evaluation.asked["baseline"], Found)


def test_where_the_base_cannot_be_told_there_is_no_verdict_by_an_old_one(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    del server.git.branches["main"]
    evaluation = Evaluation(a_run())
    environ = runner.environ("pull_request", runner.pull_request())
    act(environ | runner.at(runner.head, "refs/pull/7/merge"), evaluation)
    assert evaluation.asked["baseline"] == Unreadable("the tip of main", "there is no branch main")
    assert evaluation.asked["notes"][0].text == (
        "The base's rules cannot be read (the tip of main: there is no branch main), so there is no verdict."
    )


def test_on_a_pull_request_a_checkout_of_another_commit_is_an_error_before_anything_is_paid(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    environ = runner.environ("pull_request", runner.pull_request())
    runner.check_out(runner.base)
    evaluation = Evaluation(a_run())
    code, log = act(environ, evaluation)
    assert (code, evaluation.asked) == (2, {})
    assert f"The checkout is of {runner.base[:12]}, and the event is about {runner.merge[:12]}" in log
    assert "Remove `ref:`" in bodies(server)[0]


def test_in_a_merge_queue_the_bases_rules_apply_and_nothing_is_posted(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    ref = f"refs/heads/gh-readonly-queue/main/pr-7-{runner.base}"
    group = {"base_sha": runner.base, "base_ref": "refs/heads/main", "head_sha": runner.head, "head_ref": ref}
    event = {"merge_group": group}
    evaluation = Evaluation(a_run("regression"))
    code, _ = act(runner.environ("merge_group", event), evaluation)
    assert code == 1
    assert isinstance(evaluation.asked["baseline"], Found)
    assert bodies(server) == []


def test_on_a_push_the_checkouts_own_rules_and_baseline_apply(runner: ActionsRunner, server: GitHubServer) -> None:
    evaluation = Evaluation(a_run())
    act(runner.environ("push", {"ref": "refs/heads/main"}), evaluation)
    assert evaluation.asked["rules"] is None
    assert evaluation.asked["baseline"] == Missing(".trap/baseline.json")
    assert server.requests == []


def test_a_pull_request_from_a_fork_runs_without_a_comment_and_says_so(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    evaluation = Evaluation(a_run("inconclusive"))
    event = runner.pull_request(head_repository="eve/agent")
    code, _ = act(runner.environ("pull_request", event), evaluation)
    assert code == 3
    assert [request.method for request in server.requests if request.method != "GET"] == []
    assert any("comes from a fork" in note.text for note in evaluation.asked["notes"])


def test_inputs_reach_the_evaluation(runner: ActionsRunner, server: GitHubServer) -> None:
    runner.write({"evals/trap.yaml": CONFIG})
    runner.on_base("evals/trap.yaml", CONFIG)
    runner.on_base("other.json", encode(builders.found(*a_run().tasks).baseline))
    evaluation = Evaluation(a_run())
    environ = runner.environ(
        "pull_request",
        runner.pull_request(),
        config="evals/trap.yaml",
        model="openai/other",
        tasks="refunds",
        baseline="other.json",
        comment="false",
        output="out",
    )
    act(environ, evaluation)
    asked = evaluation.asked
    assert (asked["model"], asked["tasks"]) == ("openai/other", ["refunds"])
    assert asked["folder"] == runner.workspace / "evals"
    assert asked["output"] == runner.workspace / "out"
    assert asked["baseline"].where == f"other.json at {runner.base[:12]}"
    assert bodies(server) == []
    assert runner.outputs()["results"] == "out/results.json"


def test_provider_keys_reach_the_evaluation_and_the_runners_tokens_do_not(runner: ActionsRunner) -> None:
    environ = runner.environ("push", {}) | {"OPENAI_API_KEY": KEY, "ACTIONS_RUNTIME_TOKEN": "secret-of-the-runner"}
    evaluation = Evaluation(a_run())
    act(environ, evaluation)
    assert evaluation.asked["environ"]["OPENAI_API_KEY"] == KEY
    assert TOKEN not in evaluation.asked["environ"].values()
    assert "secret-of-the-runner" not in evaluation.asked["environ"].values()


def test_without_permission_to_read_the_base_the_run_ends_before_it_starts(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    server.granted = set()
    evaluation = Evaluation(a_run())
    code, log = act(runner.environ("pull_request", runner.pull_request()), evaluation)
    assert code == 2
    assert evaluation.asked == {}
    assert "permissions: {contents: read, pull-requests: write}" in log


def test_an_unreadable_base_reaches_the_evaluation_as_unreadable(runner: ActionsRunner) -> None:
    runner.on_base(".trap/baseline.json", "{")
    evaluation = Evaluation(a_run())
    act(runner.environ("pull_request", runner.pull_request()), evaluation)
    assert isinstance(evaluation.asked["baseline"], Unreadable)


@pytest.mark.parametrize("event", ["pull_request_target", "workflow_run"])
def test_a_refused_event_ends_with_the_reason_before_anything_runs(
    runner: ActionsRunner, server: GitHubServer, event: str
) -> None:
    evaluation = Evaluation(a_run())
    code, log = act(runner.environ(event, runner.pull_request()), evaluation)
    assert code == 2
    assert evaluation.asked == {}
    assert f"on%3A {event}" in log or f"on: {event}" in log
    assert "Use `pull_request`" in runner.summary.read_text()
    assert server.requests == []


def test_every_configuration_error_is_an_annotation_on_its_line(runner: ActionsRunner) -> None:
    runner.write({"trap.yaml": CONFIG.replace("model", "modle") + "repeats: many\n"})
    code, log = act(runner.environ("pull_request", runner.pull_request()), Evaluation(a_run()))
    assert code == 2
    annotations = [line for line in log.splitlines() if line.startswith("::error file=trap.yaml,line=")]
    assert [line.split(",col=")[0] for line in annotations] == [
        "::error file=trap.yaml,line=1",
        "::error file=trap.yaml,line=4",
    ]
    summary = runner.summary.read_text()
    assert "configuration error (`config-invalid`)" in summary
    assert "    trap.yaml:1:1: " in summary
    assert runner.outputs()["exit-code"] == "2"
    assert runner.outputs()["verdict"] == ""


def test_a_bug_is_an_internal_error_that_shows_no_secret_and_reads_as_no_verdict(runner: ActionsRunner) -> None:
    environ = runner.environ("push", {}) | {"OPENAI_API_KEY": KEY}
    code, log = act(environ, Evaluation(RuntimeError(f"cannot call with {KEY}")))
    assert code == 70
    shown = [line for line in log.splitlines() if not line.startswith("::add-mask::")]
    title = "::error title=trapgate%3A internal error::"
    assert shown[-1].startswith(f"{title}Internal error: RuntimeError at test_action.py:")
    for text in ("\n".join(shown), runner.summary.read_text(), runner.output.read_text()):
        assert KEY not in text
    assert "internal error" in runner.summary.read_text()
    assert (runner.outputs()["exit-code"], runner.outputs()["verdict"]) == ("70", "")


def test_a_secret_in_an_error_is_redacted(runner: ActionsRunner) -> None:
    environ = runner.environ("push", {}) | {"OPENAI_API_KEY": KEY}
    _, log = act(environ, Evaluation(user_error("bad", f"the server said {KEY}")))
    assert f"::add-mask::{KEY}" in log
    assert KEY not in log.replace(f"::add-mask::{KEY}", "")
    assert KEY not in runner.summary.read_text()


def test_what_a_library_prints_during_the_evaluation_is_no_command_and_the_log_tells_the_verdict(
    runner: ActionsRunner,
) -> None:
    log = io.StringIO()

    def evaluate(config: Any, **asked: Any) -> Run:
        print("::error::owned", file=log)
        return a_run("regression")

    assert run(runner.environ("push", {}), log, evaluate) == 1
    lines = log.getvalue().splitlines()
    at = lines.index("::error::owned")
    token = [line for line in lines[:at] if line.startswith("::stop-commands::")][-1].removeprefix("::stop-commands::")
    assert f"::{token}::" not in lines[:at]
    assert lines[at + 1 : at + 3] == [f"::{token}::", "::endgroup::"]
    assert "regression" in "\n".join(lines[at + 3 :]).lower()


def test_a_missing_setting_of_the_runner_is_a_configuration_error(runner: ActionsRunner) -> None:
    environ = runner.environ("push", {})
    del environ["GITHUB_REPOSITORY"]
    code, log = act(environ, Evaluation(a_run()))
    assert code == 2
    assert "GITHUB_REPOSITORY: is not set" in log


def test_a_link_in_the_place_of_the_output_folder_is_refused_before_anything_is_paid(runner: ActionsRunner) -> None:
    (runner.workspace / "trapgate-results").symlink_to(runner.commands)
    evaluation = Evaluation(a_run())
    code, log = act(runner.environ("push", {}), evaluation)
    assert code == 2
    assert evaluation.asked == {}
    assert "is not a plain folder" in log


def test_a_second_run_edits_the_first_ones_comment(runner: ActionsRunner, server: GitHubServer) -> None:
    for verdict in ("regression", "pass"):
        act(runner.environ("pull_request", runner.pull_request()), Evaluation(a_run(verdict)))
    assert len(bodies(server)) == 1


def test_a_server_that_is_down_loses_neither_summary_nor_verdict(runner: ActionsRunner, server: GitHubServer) -> None:
    server.fail("POST", "comments", *[Fault(403, "rate", headers={"Retry-After": "100000"})] * 2)
    code, log = act(runner.environ("pull_request", runner.pull_request()), Evaluation(a_run("drift")))
    assert code == 4
    assert "rate limit: asked to wait 100000 s more" in log
    assert json.loads((runner.workspace / "trapgate-results" / "results.json").read_bytes())["verdict"] == "drift"


BROKEN = CONFIG.replace("model", "modle")


def with_broken_configuration(runner: ActionsRunner, **inputs: str) -> tuple[int, str]:
    runner.write({"trap.yaml": BROKEN})
    return act(runner.environ("pull_request", runner.pull_request(), **inputs), Evaluation(a_run()))


def test_a_configuration_error_takes_the_place_of_the_verdict_of_an_earlier_commit(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    act(runner.environ("pull_request", runner.pull_request()), Evaluation(a_run("pass")))
    assert "pass" in bodies(server)[0]
    code, _ = with_broken_configuration(runner)
    assert code == 2
    [body] = bodies(server)
    assert body.splitlines()[1] == f"### ⛔ trapgate: configuration error: no verdict for `{runner.head[:12]}`"
    assert '- `trap.yaml:1:1`: unknown key "modle"; did you mean "model"?' in body
    act(runner.environ("pull_request", runner.pull_request()), Evaluation(user_error("bad", "worse")))
    assert len(bodies(server)) == 1


def test_an_error_of_the_evaluation_is_told_in_the_comment_as_words_without_its_secrets(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    error = user_error("bad", f"@octocat <!-- trapgate:0 --> {KEY}", where="a|b", mend="Ask #12.")
    environ = runner.environ("pull_request", runner.pull_request()) | {"OPENAI_API_KEY": KEY}
    act(environ, Evaluation(error))
    [body] = bodies(server)
    assert "- `a|b`: `@octocat <!‑‑` trapgate:0 `--> ***`\n  Ask `#12`." in body


def test_a_bug_takes_the_place_of_the_verdict_of_an_earlier_commit(runner: ActionsRunner, server: GitHubServer) -> None:
    act(runner.environ("pull_request", runner.pull_request()), Evaluation(a_run("pass")))
    code, _ = act(runner.environ("pull_request", runner.pull_request()), Evaluation(RuntimeError("x")))
    assert code == 70
    [body] = bodies(server)
    assert f"trapgate: internal error: no verdict for `{runner.head[:12]}`" in body
    assert "RuntimeError at `test_action.py" in body


def test_a_configuration_error_is_not_told_where_no_comment_is_wanted(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    code, _ = with_broken_configuration(runner, comment="false")
    assert (code, bodies(server)) == (2, [])


def test_a_configuration_error_in_a_fork_is_not_told_in_a_comment(runner: ActionsRunner, server: GitHubServer) -> None:
    runner.write({"trap.yaml": BROKEN})
    event = runner.pull_request(head_repository="eve/agent")
    code, _ = act(runner.environ("pull_request", event), Evaluation(a_run()))
    assert (code, server.requests) == (2, [])


def test_a_configuration_error_that_cannot_be_told_in_a_comment_is_one_all_the_same(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    server.granted = {"contents: read"}
    code, log = with_broken_configuration(runner)
    assert (code, runner.outputs()["exit-code"]) == (2, "2")
    [warning] = [line for line in log.splitlines() if line.startswith("::warning title=trapgate%3A no comment::")]
    assert warning.endswith(" Add to the job: `permissions: {contents: read, pull-requests: write}`.")


def test_a_bug_in_posting_the_comment_of_a_configuration_error_is_a_warning(
    runner: ActionsRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError(KEY)

    monkeypatch.setattr("evaluator.github.comments.Sticky.post", broken)
    code, log = with_broken_configuration(runner)
    assert (code, runner.outputs()["exit-code"]) == (2, "2")
    assert "::warning title=trapgate%3A no comment::The comment could not be written: KeyError." in log


@contextmanager
def no_file_beyond(size: int) -> Iterator[None]:
    """Stands for a full disk: the kernel lets nobody write past so many bytes of a file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_on_a_full_disk_a_run_that_passed_ends_with_70_and_nothing_says_pass(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    runner.summary.write_text("x" * 900_000)
    with no_file_beyond(900_000):
        code, log = act(runner.environ("pull_request", runner.pull_request()), Evaluation(a_run("pass")))
    assert code == 70
    assert (runner.outputs()["exit-code"], runner.outputs()["verdict"]) == ("70", "")
    assert "internal error: no verdict" in bodies(server)[0]
    assert "::warning title=trapgate%3A no summary::The summary could not be written: OSError." in log


def test_outputs_that_cannot_be_taken_back_are_removed(tmp_path: Path) -> None:
    file = tmp_path / "output"
    write_outputs(file, {"padding": "x" * 900, "verdict": "pass"})
    with no_file_beyond(file.stat().st_size), pytest.raises(OSError, match="large"):
        publish.no_result(file, 70)
    assert file.read_text() == ""


def left(runner: ActionsRunner) -> list[str]:
    return sorted(path.name for path in (runner.workspace / "trapgate-results").iterdir())


def the_error(runner: ActionsRunner) -> tuple[str, str]:
    """Type and message of the one test in junit.xml, which is an error."""
    [suite] = etree.parse(str(runner.workspace / "trapgate-results" / "junit.xml")).getroot()
    assert (suite.get("tests"), suite.get("errors"), suite.get("failures")) == ("1", "1", "0")
    [error] = suite.iter("error")
    return error.get("type", ""), error.get("message", "")


PHASES = [
    "evaluator.github.settling.settle",
    "evaluator.reports.page.render",
    "evaluator.github.publish.summary_report.render",
    "evaluator.github.publish.announce",
    "evaluator.github.publish.comment_report.render",
    "evaluator.github.tracking_issue.publish",
]


@pytest.mark.parametrize("phase", PHASES)
def test_a_bug_after_the_evaluation_leaves_nothing_that_reads_as_a_pass(
    runner: ActionsRunner, server: GitHubServer, monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("x")

    monkeypatch.setattr(phase, broken)
    code, log = act(runner.environ("pull_request", runner.pull_request()), Evaluation(a_run("pass")))
    assert code == 70
    assert (runner.outputs()["exit-code"], runner.outputs()["verdict"]) == ("70", "")
    assert left(runner) == ["junit.xml"]
    kind, message = the_error(runner)
    assert kind == "internal-error"
    assert message.startswith("Internal error: RuntimeError at test_action.py:")
    assert "internal error: no verdict" in bodies(server)[0]
    summary = runner.summary.read_text()
    above, _, section = summary.partition("## trapgate: internal error\n")
    assert ("**There is no verdict: what stands above is none.**" in section) == ("trapgate: pass" in above)
    assert log.count("::group::") == log.count("::endgroup::")


def test_a_bug_is_told_in_a_summary_that_a_long_report_has_filled(
    runner: ActionsRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def long(_: Run, *, max_bytes: int) -> str:
        return "x" * max_bytes

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("x")

    monkeypatch.setattr("evaluator.github.publish.summary_report.render", long)
    monkeypatch.setattr("evaluator.github.publish.announce", broken)
    act(runner.environ("push", {}), Evaluation(a_run("pass")))
    assert "**There is no verdict: what stands above is none.**" in runner.summary.read_text()


def test_a_bug_in_one_sink_of_a_crash_takes_no_other_with_it(
    runner: ActionsRunner, server: GitHubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("x")

    monkeypatch.setattr("evaluator.github.publish.files.append_summary", broken)
    monkeypatch.setattr("evaluator.github.endings.pipeline.clear", broken)
    code, log = act(runner.environ("pull_request", runner.pull_request()), Evaluation(RuntimeError("x")))
    assert (code, runner.outputs()["exit-code"]) == (70, "70")
    assert "internal error: no verdict" in bodies(server)[0]
    for sink in ("summary", "report"):
        assert f"::warning title=trapgate%3A no {sink}::The {sink} could not be written: RuntimeError." in log


def test_a_crash_whose_log_nobody_reads_is_an_exit_code_and_outputs_all_the_same(runner: ActionsRunner) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            if "::error" in text or "::warning" in text:
                raise BrokenPipeError
            return super().write(text)

    assert run(runner.environ("push", {}), Gone(), Evaluation(RuntimeError("x"))) == 70
    assert (runner.outputs()["exit-code"], runner.outputs()["verdict"]) == ("70", "")


def test_a_configuration_error_removes_the_reports_of_an_earlier_run(runner: ActionsRunner) -> None:
    act(runner.environ("pull_request", runner.pull_request()), Evaluation(a_run("pass")))
    assert "results.json" in left(runner)
    with_broken_configuration(runner)
    assert left(runner) == ["junit.xml"]
    kind, message = the_error(runner)
    assert kind == "config-invalid"
    assert message.startswith('trap.yaml:1:1: unknown key "modle"')


def test_a_wrong_output_folder_removes_the_reports_of_no_other(runner: ActionsRunner) -> None:
    act(runner.environ("pull_request", runner.pull_request()), Evaluation(a_run("pass")))
    code, log = act(runner.environ("pull_request", runner.pull_request(), output="../x"), Evaluation(a_run()))
    assert code == 2
    assert "results.json" in left(runner)
    assert "no report" not in log


def test_of_many_configuration_errors_as_many_are_annotations_as_github_shows_and_the_rest_is_counted(
    runner: ActionsRunner,
) -> None:
    tasks = "".join(f"  t{n}: {{source: ./x, repeats: nope{n}}}\n" for n in range(30))
    runner.write({"trap.yaml": f"model: openai/gpt-4.1-mini\ntasks:\n{tasks}"})
    code, log = act(runner.environ("pull_request", runner.pull_request()), Evaluation(a_run()))
    assert code == 2
    errors = [line for line in log.splitlines() if line.startswith("::error")]
    assert [re.findall(r"tasks\.t(\d+)\.", line) for line in errors[:-1]] == [[str(n)] for n in range(7)]
    assert errors[-1] == (
        "::error title=trapgate%3A config-invalid::… and 23 more: all of them are in the log and in the job summary."
    )
    for text in (log, runner.summary.read_text()):
        assert all(f"tasks.t{number}.repeats" in text for number in range(30))


def test_a_wrong_input_leaves_the_exit_code_as_an_output(runner: ActionsRunner) -> None:
    environ = runner.environ("pull_request", runner.pull_request(), comment="yes")
    code, log = act(environ, Evaluation(a_run()))
    assert code == 2
    assert "::error title=trapgate%3A action-environment::input comment: `yes` is neither `true` nor `false`" in log
    assert (runner.outputs()["exit-code"], runner.outputs()["verdict"]) == ("2", "")


@pytest.mark.parametrize("wrong", [{"comment": "yes"}, {"tracking_issue": "yes"}, {"mode": "watch"}])
def test_a_wrong_input_takes_the_place_of_the_verdict_of_an_earlier_commit(
    runner: ActionsRunner, server: GitHubServer, wrong: dict[str, str]
) -> None:
    act(runner.environ("pull_request", runner.pull_request()), Evaluation(a_run("pass")))
    [before] = bodies(server)
    assert "pass" in before
    evaluation = Evaluation(a_run())
    code, _ = act(runner.environ("pull_request", runner.pull_request(), **wrong), evaluation)
    assert (code, evaluation.asked) == (2, {})
    [body] = bodies(server)
    assert body.splitlines()[1] == f"### ⛔ trapgate: configuration error: no verdict for `{runner.head[:12]}`"
    assert f"- `input {next(iter(wrong)).replace('_', '-')}`: " in body
    assert "configuration error (`action-environment`)" in runner.summary.read_text()
    assert runner.outputs()["comment-url"] == server.comments[7][0]["html_url"]


@pytest.mark.parametrize("event", ["{", '{"pull_request": {}}'], ids=["no JSON", "without a pull request"])
def test_a_wrong_input_is_told_where_the_event_cannot_be_read_either(
    runner: ActionsRunner, server: GitHubServer, event: str
) -> None:
    environ = runner.environ("pull_request", runner.pull_request(), comment="yes")
    runner.event_path.write_text(event)
    code, log = act(environ, Evaluation(a_run()))
    assert (code, bodies(server)) == (2, [])
    assert "input comment: `yes` is neither `true` nor `false`" in log


def test_a_wrong_input_in_the_second_stage_publishes_nothing(runner: ActionsRunner, server: GitHubServer) -> None:
    environ = runner.environ("workflow_run", {"action": "completed"}, mode="publish", comment="yes")
    code, log = act(environ, Evaluation(a_run()))
    assert (code, server.requests) == (2, [])
    assert "input comment: `yes` is neither `true` nor `false`" in log


def test_a_wrong_environment_without_a_file_for_outputs_is_told_all_the_same(runner: ActionsRunner) -> None:
    environ = runner.environ("push", {})
    del environ["GITHUB_OUTPUT"]
    code, log = act(environ, Evaluation(a_run()))
    assert code == 2
    assert "GITHUB_OUTPUT: is not set" in log


def test_a_workspace_without_a_checkout_names_the_step_that_is_missing(runner: ActionsRunner) -> None:
    (runner.workspace / "trap.yaml").unlink()
    environ = runner.environ("push", {})
    shutil.rmtree(runner.workspace / ".git")
    code, log = act(environ, Evaluation(a_run()))
    assert code == 2
    assert (
        "trap.yaml: there is no such file, and no repository in the workspace. "
        "Check it out before this step: `- uses: actions/checkout@v4`."
    ) in log


def test_a_checkout_without_a_configuration_is_told_how_to_get_one(runner: ActionsRunner) -> None:
    (runner.workspace / "trap.yaml").unlink()
    _, log = act(runner.environ("push", {}), Evaluation(a_run()))
    assert "actions/checkout" not in log
    assert "trapgate init" in log
