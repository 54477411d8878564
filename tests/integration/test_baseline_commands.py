"""`trapgate baseline …` as a user runs it: a git repository, a model server, a GitHub whose branch has baselines."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.repository import TRAP, answering, trapgate, write_task
from tests.servers.github_server import Fault, GitHubServer
from tests.servers.model_server import ModelServer

ON_A_BRANCH = TRAP.replace("baseline: {path: .trap/baseline.json}", "baseline: {store: branch}")
TOKEN = "ghp_0123456789abcdef"

Trapgate = Callable[..., Any]


def git(folder: Path, *arguments: str) -> str:
    options = ("-c", "user.name=Olga", "-c", "user.email=o@example.com", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *options, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A committed repository with the results of a run that got everything right."""
    folder = tmp_path_factory.mktemp("template")
    write_task(folder / "task")
    (folder / "trap.yaml").write_text(TRAP)
    git(folder, "init", "--quiet")
    git(folder, "config", "user.name", "Olga")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "first")
    with ModelServer(answering()) as server:
        done = trapgate(folder, "run", base_url=server.base_url)
    assert done.returncode == 3, done.stdout + done.stderr
    return folder


@pytest.fixture
def server() -> Iterator[GitHubServer]:
    with GitHubServer() as running:
        running.granted |= {"contents: write"}
        yield running


@pytest.fixture
def repository(template: Path, tmp_path: Path) -> Path:
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    (tmp_path / "trap.yaml").write_text(ON_A_BRANCH)
    return tmp_path


@pytest.fixture
def call(repository: Path, server: GitHubServer) -> Trapgate:
    """The command line with a token for the server, and a model that refunds wrong amounts for the orders `wrong`."""

    def run(*arguments: str, wrong: range = range(0), **environ: str) -> Any:
        variables = {
            "GITHUB_API_URL": server.api_url,
            "GITHUB_REPOSITORY": server.repository,
            "GITHUB_TOKEN": TOKEN,
            **environ,
        }
        with ModelServer(answering(wrong=wrong)) as model:
            return trapgate(repository, *arguments, base_url=model.base_url, **variables)

    return run


@pytest.fixture
def push(repository: Path, server: GitHubServer) -> Callable[[], None]:
    """The commit that is checked out becomes that of main on GitHub."""

    def run() -> None:
        server.git.branches["main"] = git(repository, "rev-parse", "HEAD")

    return run


def test_a_run_is_accepted_into_the_branch_compared_with_and_shown(repository: Path, call: Trapgate) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    done = call("baseline", "accept", "--why", "first")
    assert done.returncode == 0, done.stderr
    assert f"baseline written to trapgate-baselines: main at {commit[:12]}, the newest" in done.stdout
    assert git(repository, "status", "--porcelain", "--", ".trap", "task") == ""
    done = call("run")
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((repository / "trapgate-results" / "results.json").read_text())
    assert f"trapgate-baselines: main at {commit[:12]}, of this very commit" in results["comparison"]["baseline"]
    shown = call("baseline", "show")
    assert f"main at {commit[:12]}, of this very commit: accepted " in shown.stdout
    assert "by Olga: first" in shown.stdout
    assert "refunds: 10 cases × 1, 10 attempts scored, pass_rate 1.00" in shown.stdout
    assert TOKEN not in done.stdout + done.stderr + shown.stdout


def test_a_run_that_passed_moves_the_baseline_and_the_accepted_one_stays_the_anchor(
    repository: Path, call: Trapgate, push: Callable[[], None]
) -> None:
    call("baseline", "accept", "--why", "first")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "second")
    assert call("run").returncode == 0
    second = git(repository, "rev-parse", "HEAD")
    early = call("baseline", "move")
    assert (early.returncode, early.stdout) == (
        3,
        "trapgate-results/results.json does not move the baseline: there is no branch main on GitHub\n",
    )
    push()
    done = call("baseline", "move")
    assert f"main at {second[:12]}" in done.stdout
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("baseline moved to trapgate-baselines: main at ")
    shown = call("baseline", "show")
    assert "moved by itself" in shown.stdout
    assert "small drops add up from the one that was accepted" in shown.stdout
    again = call("baseline", "move")
    assert (again.returncode, again.stdout) == (
        3,
        "trapgate-results/results.json does not move the baseline: it is the baseline already\n",
    )


def test_a_run_that_did_not_pass_does_not_move_the_baseline_and_says_why(repository: Path, call: Trapgate) -> None:
    call("baseline", "accept", "--why", "first")
    assert call("run", wrong=range(8)).returncode != 0
    verdict = json.loads((repository / "trapgate-results" / "results.json").read_text())["verdict"]
    done = call("baseline", "move")
    assert (done.returncode, done.stdout) == (
        3,
        f"trapgate-results/results.json does not move the baseline: its verdict is {verdict}\n",
    )


def test_the_history_lists_who_when_and_how(repository: Path, call: Trapgate, push: Callable[[], None]) -> None:
    first = git(repository, "rev-parse", "HEAD")
    assert call("baseline", "history").stdout == "there is no baseline yet\n"
    call("baseline", "accept", "--why", "the first | of all")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "second")
    second = git(repository, "rev-parse", "HEAD")
    call("run")
    push()
    call("baseline", "move")
    done = call("baseline", "history")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["when", "commit", "by", "how", "verdict", "figures"]
    assert [line[1:3] for line in lines[1:]] == [[second[:12], "trapgate"], [first[:12], "Olga"]]
    assert "by itself" in done.stdout
    assert "accepted: the first | of all" in done.stdout
    assert "refunds pass_rate 1.00 (10 cases)" in done.stdout
    entries = json.loads(call("baseline", "history", "--json").stdout)
    assert [(entry["commit"], entry["explicit"], entry["verdict"]) for entry in entries] == [
        (second, False, "pass"),
        (first, True, "inconclusive"),
    ]
    assert entries[0]["figures"][0]["metrics"]["pass_rate"] == 1.0
    assert json.loads(call("baseline", "history", "--branch", "other", "--json").stdout) == []


def test_another_branch_is_named_with_an_option(call: Trapgate) -> None:
    done = call("baseline", "accept", "--why", "first", "--branch", "release/2")
    assert "trapgate-baselines: release/2 at " in done.stdout
    assert call("baseline", "show").returncode == 2
    assert call("baseline", "show", "--branch", "release/2").returncode == 0


def test_a_feature_branch_is_compared_with_the_default_branch(repository: Path, call: Trapgate) -> None:
    call("baseline", "accept", "--why", "first")
    git(repository, "update-ref", "refs/remotes/origin/main", "HEAD")
    git(repository, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    git(repository, "checkout", "--quiet", "-b", "feature")
    assert "trapgate-baselines: main at " in call("baseline", "show").stdout


PULL_REQUEST = {"GITHUB_ACTIONS": "true", "GITHUB_REF": "refs/pull/7/merge", "GITHUB_BASE_REF": "main"}
QUEUE = {"GITHUB_ACTIONS": "true", "GITHUB_REF": "refs/heads/gh-readonly-queue/main/pr-7-0a1b2c"}


@pytest.mark.parametrize(("environ", "what"), [(PULL_REQUEST, "a pull request"), (QUEUE, "a merge queue")])
def test_a_job_on_what_is_not_merged_compares_with_the_base_and_replaces_nothing(
    repository: Path, call: Trapgate, push: Callable[[], None], environ: dict[str, str], what: str
) -> None:
    call("baseline", "accept", "--why", "first")
    push()
    assert "trapgate-baselines: main at " in call("baseline", "show", **environ).stdout
    assert call("run", **environ).returncode == 0
    for arguments in ([], ["--branch", "main"]):
        done = call("baseline", "move", *arguments, **environ)
        assert (done.returncode, done.stdout) == (
            3,
            f"trapgate-results/results.json does not move the baseline: this job is about {what}, and what it "
            "evaluates is not merged yet\n",
        )
    done = call("baseline", "accept", "--why", "no", **environ)
    assert done.returncode == 2
    assert f"this job is about {what}: its base only says with which baseline to compare" in done.stderr
    assert "`--branch main`" in done.stderr
    assert len(json.loads(call("baseline", "history", "--json").stdout)) == 1
    assert call("baseline", "accept", "--why", "meant", "--branch", "release", **environ).returncode == 0


def test_a_job_on_a_feature_branch_is_compared_with_the_default_branch_that_its_event_or_github_names(
    repository: Path, call: Trapgate, server: GitHubServer, tmp_path: Path
) -> None:
    call("baseline", "accept", "--why", "first")
    job = {"GITHUB_ACTIONS": "true", "GITHUB_REF": "refs/heads/feature"}
    assert "trapgate-baselines: main at " in call("baseline", "show", **job).stdout
    (tmp_path / "event.json").write_text('{"repository": {"default_branch": "main"}}')
    server.fail("GET", "/repos/octo/agent$", *[Fault(404)] * 5)
    told = {**job, "GITHUB_EVENT_PATH": str(tmp_path / "event.json")}
    assert "trapgate-baselines: main at " in call("baseline", "show", **told).stdout
    done = call("baseline", "show", **job)
    assert done.returncode == 2
    assert "which branch is the default one could not be told either" in done.stderr


def test_allow_missing_does_not_let_a_run_pass_whose_baseline_was_renamed_away(
    repository: Path, call: Trapgate, server: GitHubServer
) -> None:
    (repository / "trap.yaml").write_text(
        ON_A_BRANCH.replace("{store: branch}", "{store: branch, allow_missing: true}")
    )
    assert call("run").returncode == 0, "none yet"
    call("baseline", "accept", "--why", "first")
    text = (repository / "trap.yaml").read_text()
    assert "allow_missing: false" in text
    (repository / "trap.yaml").write_text(text.replace("allow_missing: false", "allow_missing: true"))
    done = call("run")
    assert done.returncode == 0
    assert "There is a baseline, and `baseline.allow_missing` is still true" in done.stdout
    git(repository, "branch", "--move", "trunk")
    server.default_branch = "trunk"
    done = call("run")
    assert done.returncode == 3, done.stdout
    assert "there is none for trunk by trap.yaml while there are others (baselines/trap.yaml/main)" in done.stdout


def test_what_others_wrote_is_printed_on_one_line_and_is_no_command_of_the_runner(
    repository: Path, call: Trapgate
) -> None:
    why = "ok\n::error::forged\n##[add-mask]a \x1b[2J \u202e \udcff"
    done = call("baseline", "accept", "--why", why.encode("utf-8", "surrogateescape"), GITHUB_ACTOR="eve\n::warning::x")
    assert done.returncode == 0, done.stderr
    shown = call("baseline", "show")
    assert shown.returncode == 0, shown.stderr
    said = shown.stdout + call("baseline", "history").stdout
    assert not any(line.startswith("::") for line in said.splitlines())
    assert "ok\\n: :error: :forged" in said
    assert not any(raw in said for raw in ("##[", "\x1b", "\u202e"))
    broken = (repository / "trapgate-results" / "results.json").read_text().replace('"refunds"', '"re\\n::error::f"')
    (repository / "trapgate-results" / "results.json").write_text(broken)
    refused = call("baseline", "accept", "--why", "x")
    assert refused.returncode == 2
    assert "re\\n: :error: :f" in refused.stderr


def test_a_run_of_another_model_than_that_of_trap_yaml_is_not_accepted(repository: Path, call: Trapgate) -> None:
    results = repository / "trapgate-results" / "results.json"
    run = json.loads(results.read_text())
    run["subject"]["model"] = "openai/another"
    results.write_text(json.dumps(run))
    done = call("baseline", "accept", "--why", "the new one")
    assert done.returncode == 2
    assert "it is of openai/another, and trap.yaml has " in done.stderr
    assert "Change the model in trap.yaml first, and run again." in done.stderr
    assert "(accept-model)" in done.stderr


@pytest.mark.parametrize(
    ("environ", "code", "what"),
    [
        ({"GITHUB_TOKEN": ""}, "baseline-no-token", "there is no token to ask GitHub with"),
        ({"GITHUB_REPOSITORY": ""}, "baseline-no-repository", "the work folder has no remote `origin`"),
    ],
)
def test_what_is_missing_is_named_before_any_model_is_asked(
    call: Trapgate, environ: dict[str, str], code: str, what: str
) -> None:
    for command in (["run"], ["baseline", "accept"], ["baseline", "history"]):
        done = call(*command, **environ)
        assert done.returncode == 2
        assert what in done.stderr
        assert f"({code})" in done.stderr


def test_a_token_that_may_not_write_is_told_which_permission_it_needs(server: GitHubServer, call: Trapgate) -> None:
    server.granted -= {"contents: write"}
    done = call("baseline", "accept", "--why", "first")
    assert done.returncode == 2
    assert (
        "HTTP 403 (Resource not accessible by integration): the token needs the permission `contents: write`"
        in done.stderr
    )
    assert "(github-permission)" in done.stderr


def test_with_a_file_the_history_is_that_of_the_repository_and_a_move_keeps_the_anchor(
    repository: Path, call: Trapgate
) -> None:
    (repository / "trap.yaml").write_text(TRAP)
    assert call("baseline", "accept", "--why", "first").returncode == 0
    assert call("run").returncode == 0
    assert call("baseline", "move").stdout == "baseline moved to .trap/baseline.json\n"
    stored = json.loads((repository / ".trap" / "baseline.json").read_text())
    assert (stored["accepted"]["by"], stored["anchor"]["accepted"]["by"]) == ("trapgate", "Olga")
    done = call("baseline", "history")
    assert done.stdout.endswith("older ones: git log -p -- .trap/baseline.json\n")
    assert len(done.stdout.splitlines()) == 4
