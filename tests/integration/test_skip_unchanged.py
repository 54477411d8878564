"""`--skip-unchanged`: a run that need not ask, what it is judged by, and what stands in its way."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.integration.repository import TRAP, answering, trapgate, write_task
from tests.servers.model_server import ModelServer


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A repository with a baseline of which two of ten cases fail."""
    folder = tmp_path_factory.mktemp("template")
    write_task(folder / "task")
    (folder / "system.md").write_text("Answer by a call.\n")
    (folder / "trap.yaml").write_text("system: system.md\n" + TRAP)
    with ModelServer(answering(wrong=[1, 2])) as server:
        trapgate(folder, "run", base_url=server.base_url)
    done = trapgate(folder, "baseline", "accept", "--why", "first")
    assert done.returncode == 0, done.stderr
    shutil.rmtree(folder / "trapgate-results")
    return folder


@pytest.fixture
def repository(template, tmp_path):
    return shutil.copytree(template, tmp_path, dirs_exist_ok=True)


def run(repository, *arguments):
    with ModelServer(answering()) as server:
        done = trapgate(repository, "run", *arguments, base_url=server.base_url)
    results = json.loads((repository / "trapgate-results" / "results.json").read_text())
    return done, results, len(server.requests)


def test_a_run_in_which_nothing_differs_asks_nothing_and_says_so(repository):
    done, results, requests = run(repository, "--skip-unchanged")
    assert (done.returncode, results["verdict"], results["unchanged"], requests) == (0, "pass", True, 0)
    assert results["tasks"][0]["metrics"]["pass_rate"]["value"] == 0.8
    assert results["totals"]["cost_usd"] == 0.0
    comment = (repository / "trapgate-results" / "comment.md").read_text()
    assert "no model was asked" in comment
    witnesses = {each["name"]: each["state"] for each in results["witnesses"]}
    assert witnesses == {
        "replay_canaries": "steady",
        "baseline_rescored": "steady",
        "live_canaries": "silent",
        "control_arm": "silent",
    }


def test_todays_rules_hold_for_the_old_answers(repository):
    trap = repository / "trap.yaml"
    trap.write_text(trap.read_text().replace("max_drop: 0.05", "min: 0.99, on_noise: fail"))
    done, results, requests = run(repository, "--skip-unchanged")
    assert (done.returncode, results["verdict"], requests) == (1, "regression", 0)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda folder: (folder / "system.md").write_text("Be brief.\n"), "the subject differs from the baseline's"),
        (
            lambda folder: (folder / "task" / "inputs" / "r00" / "question.txt").write_text("Refund 24.50 of order 0."),
            "the task sources differ from the baseline's",
        ),
        (
            lambda folder: (folder / "trap.yaml").write_text(
                (folder / "trap.yaml").read_text().replace("tasks:", "repeats: 2\ntasks:", 1)
            ),
            "the baseline has not as many answers of refunds as are wanted",
        ),
        (lambda folder: (folder / ".trap" / "baseline.json").unlink(), "there is no baseline"),
    ],
)
def test_what_differs_is_asked_about_and_named(repository, change, why):
    change(repository)
    _, results, requests = run(repository, "--skip-unchanged")
    assert requests > 0
    assert not results["unchanged"]
    assert f"Not skipped: {why}." in [each["text"] for each in results["warnings"]]


def test_a_baseline_of_other_validators_is_no_reason_to_skip(repository):
    path = repository / ".trap" / "baseline.json"
    stored = json.loads(path.read_text())
    stored["run"]["fingerprint"]["packages"]["jsonschema"] = "4.0.0"
    path.write_text(json.dumps(stored))
    _, results, requests = run(repository, "--skip-unchanged")
    assert requests == 10
    assert "Not skipped: the validators differ from the baseline's." in [each["text"] for each in results["warnings"]]


def test_such_a_run_is_no_baseline(repository):
    run(repository, "--skip-unchanged")
    done = trapgate(repository, "baseline", "accept", "--why", "again")
    assert done.returncode == 2
    assert "accept-unchanged" in done.stderr


def test_without_the_option_every_run_asks(repository):
    _, results, requests = run(repository)
    assert requests == 10
    assert not results["unchanged"]
