"""From trap.yaml to a verdict, as a user runs it: the command line as a process, a model server on a socket."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.repository import (
    ROOT,
    TRAP,
    answering,
    call,
    only_seeded,
    order_of,
    seeded,
    trapgate,
    write_task,
)
from tests.servers.model_server import ModelServer, Reply
from tests.unit.reports.rendered import page

KEY = "sk-scripted-0123456789abcdef"


@pytest.fixture
def repository(tmp_path):
    write_task(tmp_path / "task")
    (tmp_path / "trap.yaml").write_text(TRAP)
    return tmp_path


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A repository with the baseline of a model that gets everything right; made once, since a run takes seconds."""
    folder = tmp_path_factory.mktemp("template")
    write_task(folder / "task")
    (folder / "trap.yaml").write_text(TRAP)
    with ModelServer(answering()) as server:
        done = trapgate(folder, "run", base_url=server.base_url)
    assert done.returncode == 3, done.stdout + done.stderr
    done = trapgate(folder, "baseline", "accept", "--why", "first")
    assert done.returncode == 0, done.stderr
    shutil.rmtree(folder / "trapgate-results")
    return folder


@pytest.fixture
def accepted(template, tmp_path):
    return shutil.copytree(template, tmp_path, dirs_exist_ok=True)


def run(repository, script, *arguments):
    with ModelServer(script) as server:
        done = trapgate(repository, "run", *arguments, base_url=server.base_url)
    path = repository / "trapgate-results" / "results.json"
    return done, json.loads(path.read_text()) if path.exists() else None


def test_without_a_baseline_a_relative_rule_is_inconclusive_and_says_how_to_get_one(repository):
    done, results = run(repository, answering())
    assert (done.returncode, results["verdict"]) == (3, "inconclusive")
    assert "no baseline at .trap/baseline.json" in done.stdout
    assert "trapgate baseline accept" in done.stdout


def test_an_unchanged_model_passes(accepted):
    done, results = run(accepted, answering())
    assert (done.returncode, results["verdict"]) == (0, "pass"), done.stdout
    task = results["tasks"][0]
    assert (task["planned"], task["scored"], task["metrics"]["pass_rate"]["value"]) == (10, 10, 1.0)
    assert results["totals"]["cost_state"] == "known"
    assert results["totals"]["cost_usd"] == pytest.approx(10 * (11 * 1e-6 + 7 * 2e-6))


def test_a_wrong_amount_in_many_cases_blocks_and_names_the_argument(accepted):
    seeded(accepted)
    done, results = run(accepted, only_seeded(answering(wrong=range(8))))
    assert (done.returncode, results["verdict"]) == (1, "regression")
    finding = results["comparison"]["tasks"][0]["regressed"][0]["findings"][0]
    assert (finding["path"], finding["wanted"], finding["got"]) == ("$.amount", 24.5, 49.0)
    comment = (accepted / "trapgate-results" / "comment.md").read_text()
    assert comment.splitlines()[0].startswith(
        "### ❌ trapgate (refunds): regression — the change is the cause: refunds `pass_rate` fell 1.00 → 0.20"
    )
    assert "| `$.amount`" in comment


def test_one_wrong_case_of_ten_is_a_possible_drop_not_a_blocked_merge(accepted):
    done, results = run(accepted, answering(wrong=[3]))
    assert (done.returncode, results["verdict"]) == (0, "pass")
    assert "possible drop" in done.stdout


def test_a_server_that_fails_is_inconclusive_not_a_worse_model(accepted):
    def script(request):
        return Reply(status=400, error="no") if order_of(request) else Reply(text=call(0))

    done, results = run(accepted, script)
    assert (done.returncode, results["verdict"]) == (3, "inconclusive")
    assert results["tasks"][0]["scored"] == 1
    assert results["totals"]["infrastructure"] == {"refused_request": 9}
    assert "1 of 10 planned attempts" in done.stdout


def test_a_refused_key_stops_at_once_and_the_key_is_nowhere(accepted):
    done, results = run(accepted, Reply(status=401, error=f"bad key {KEY}"))
    assert (done.returncode, results["verdict"]) == (3, "inconclusive")
    for file in (accepted / "trapgate-results").iterdir():
        assert KEY not in file.read_text()
    assert KEY not in done.stdout + done.stderr


def test_an_answer_that_says_a_key_is_thrown_away_and_the_key_is_in_no_file(accepted):
    done, results = run(accepted, lambda request: Reply(text=f"the key is {KEY}" + call(order_of(request))))
    assert (done.returncode, results["tasks"][0]["scored"]) == (3, 0)
    assert "the answer held the value of OPENAI_API_KEY, so it was thrown away" in done.stdout
    for file in (accepted / "trapgate-results").iterdir():
        assert KEY not in file.read_text()
        assert KEY[:12] not in file.read_text()
    assert KEY[:12] not in done.stdout + done.stderr


def test_a_case_that_the_change_removes_is_missing(accepted):
    write_task(accepted / "smaller", cases=8)
    (accepted / "trap.yaml").write_text(TRAP.replace("./task", "./smaller"))
    done, _ = run(accepted, answering())
    assert done.returncode == 3
    assert "2 of the missing ones are of cases of the baseline that the change removed" in done.stdout


def test_a_broken_baseline_is_inconclusive(accepted):
    (accepted / ".trap" / "baseline.json").write_text("{")
    done, results = run(accepted, answering())
    assert (done.returncode, results["verdict"]) == (3, "inconclusive")
    assert "baseline .trap/baseline.json cannot be read" in done.stdout


def test_a_baseline_of_another_schema_version_is_inconclusive(accepted):
    path = accepted / ".trap" / "baseline.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": 0}))
    done, _ = run(accepted, answering())
    assert done.returncode == 3
    assert "written with schema version 0" in done.stdout


def test_a_baseline_whose_stored_verdicts_no_longer_hold_is_drift(accepted):
    path = accepted / ".trap" / "baseline.json"
    document = json.loads(path.read_text())
    attempt = document["run"]["tasks"][0]["cases"][0]["attempts"][0]
    attempt["passed"], attempt["failure_mode"] = False, "wrong_value"
    path.write_text(json.dumps(document))
    done, results = run(accepted, answering())
    assert (done.returncode, results["verdict"]) == (4, "drift")
    assert "refunds/r00 attempt 1: failed (wrong_value) → passed" in done.stdout


def test_an_own_canary_that_is_scored_otherwise_is_drift_and_no_call_is_made(accepted):
    own = accepted / "own-canaries"
    own.mkdir()
    wrong = {
        "id": "own/amount",
        "matchers": [{"kind": "numeric", "value": 24.5}],
        "text": "49.00",
        "verdict": "passed score=1",
    }
    (own / "own.json").write_text(json.dumps({"score": [wrong]}))
    (own / "manifest.json").write_text(json.dumps({"version": "own-1", "files": {"own.json": 1}}))
    (accepted / "trap.yaml").write_text("canaries: ./own-canaries\n" + TRAP)
    with ModelServer(answering()) as server:
        done = trapgate(accepted, "run", base_url=server.base_url)
        assert server.requests == []
    assert done.returncode == 4, done.stdout + done.stderr
    assert "canary own/amount is judged failed (wrong_value), must" in done.stdout


def test_an_unknown_price_under_a_cost_limit_is_refused_before_the_first_call(repository):
    text = TRAP.replace("price: {input_per_million: 1.0, output_per_million: 2.0}\n", "")
    (repository / "trap.yaml").write_text(text.replace("limits: {", "limits: {max_cost_usd: 1.0, "))
    with ModelServer(answering()) as server:
        done = trapgate(repository, "run", base_url=server.base_url)
        assert server.requests == []
    assert done.returncode == 2
    assert "limits.max_cost_usd cannot be kept: the price of openai/scripted is unknown" in done.stderr


def test_an_unknown_price_without_such_a_limit_is_unknown_and_never_zero(repository):
    (repository / "trap.yaml").write_text(
        TRAP.replace("price: {input_per_million: 1.0, output_per_million: 2.0}\n", "")
    )
    done, results = run(repository, answering())
    assert results["totals"]["cost_usd"] is None
    assert "cost unknown" in done.stdout
    assert "$0" not in done.stdout


def test_the_cost_limit_stops_new_attempts_and_says_what_was_not_run(accepted):
    (accepted / "trap.yaml").write_text(
        TRAP.replace("limits: {concurrency: 4}", "limits: {concurrency: 1, max_cost_usd: 6.0e-5}")
    )
    done, results = run(accepted, answering())
    assert done.returncode == 3
    assert results["tasks"][0]["scored"] == 3
    assert results["totals"]["infrastructure"] == {"cost_limit": 7}


def test_a_killed_run_is_resumed_without_paying_twice(accepted):
    """kill -9 after some answers, then a second start: every attempt reaches the server once."""
    (accepted / "trap.yaml").write_text(TRAP.replace("concurrency: 4", "concurrency: 1"))
    seen: list[int] = []

    def script(request):
        seen.append(order_of(request))
        return Reply(text=call(order_of(request)), delay=0.15)

    with ModelServer(script) as server:
        process = _started(accepted, server)
        _wait(lambda: len(_journal(accepted)) > 3)
        process.kill()
        process.communicate()
        done_before = len(_journal(accepted)) - 1
        done = trapgate(accepted, "run", base_url=server.base_url)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{done_before} attempts were taken from" in done.stdout
    # The attempt in flight when the process died may be asked again; no finished one is.
    assert len(seen) in (10, 11)
    assert set(seen) == set(range(10))
    assert _journal(accepted) == []


def test_a_case_that_is_always_refused_does_not_make_old_answers_stand_for_ever(accepted):
    def script(wrong):
        good = answering(wrong)
        return lambda request: Reply(status=400, error="too long") if order_of(request) == 9 else good(request)

    for wrong, passed in [((), 9), (range(9), 0)]:
        with ModelServer(script(wrong)) as server:
            trapgate(accepted, "run", base_url=server.base_url)
            assert len(server.requests) == 10
        results = json.loads((accepted / "trapgate-results" / "results.json").read_text())
        attempts = [attempt for case in results["tasks"][0]["cases"] for attempt in case["attempts"]]
        assert sum(attempt["passed"] is True for attempt in attempts) == passed
        assert _journal(accepted) == []


def test_the_answers_of_another_server_are_not_taken_up(accepted):
    (accepted / "trap.yaml").write_text(TRAP.replace("concurrency: 4", "concurrency: 1"))
    with ModelServer(lambda request: Reply(text=call(order_of(request)), delay=0.15)) as server:
        process = _started(accepted, server)
        _wait(lambda: len(_journal(accepted)) > 3)
        process.kill()
        process.communicate()
        with ModelServer(answering(range(10))) as other:
            done = trapgate(accepted, "run", base_url=other.base_url)
            assert len(other.requests) == 10
    assert done.returncode == 4, done.stdout + done.stderr
    assert "belongs to another plan, fingerprint or endpoint and was set aside" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_cancelled_run_keeps_what_it_has_reports_and_is_inconclusive(accepted, number):
    (accepted / "trap.yaml").write_text(TRAP.replace("concurrency: 4", "concurrency: 1"))
    with ModelServer(lambda request: Reply(text=call(order_of(request)), delay=0.15)) as server:
        process = _started(accepted, server)
        _wait(lambda: len(_journal(accepted)) > 3)
        process.send_signal(number)
        out, _ = process.communicate(timeout=20)
    assert process.returncode == 3, out
    results = json.loads((accepted / "trapgate-results" / "results.json").read_text())
    assert 0 < results["tasks"][0]["scored"] < 10
    assert results["totals"]["infrastructure"].keys() == {"cancelled"}
    assert "stopped by" in out


def _journal(folder):
    """The lines of the journal of the run that `folder` is the home of."""
    files = list((folder / ".home" / ".cache" / "trapgate" / "journals").glob("*.jsonl"))
    return files[0].read_bytes().splitlines() if files else []


def _started(folder, server):
    environ = {
        **os.environ,
        "HOME": str(folder / ".home"),
        "PYTHONPATH": str(ROOT),
        "OPENAI_API_KEY": KEY,
        "OPENAI_API_BASE": server.base_url,
    }
    return subprocess.Popen(
        [sys.executable, "-m", "evaluator", "run"],
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _wait(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not happen"
        time.sleep(0.02)


def test_on_request_the_same_requests_are_not_paid_for_twice_and_old_answers_are_marked(accepted):
    with ModelServer(answering(wrong=[0])) as server:
        first = trapgate(accepted, "run", "--cache", base_url=server.base_url)
        again = trapgate(accepted, "run", "--cache", base_url=server.base_url)
        assert len(server.requests) == 10
        refused = trapgate(accepted, "baseline", "accept")
        other = trapgate(accepted, "run", base_url=server.base_url)
        assert len(server.requests) == 20
    assert (first.returncode, again.returncode, other.returncode) == (0, 0, 0)
    assert "10 answers came from the cache" in again.stdout
    assert refused.returncode == 2
    assert "some of its answers come from the cache" in refused.stderr
    assert "from the cache" not in first.stdout + other.stdout


def test_the_cache_keeps_no_failures_no_cut_answers_and_no_other_request(accepted):
    def script(request):
        order = order_of(request)
        if order == 0:
            return Reply(status=400, error="no")
        return Reply(text=call(order), finish_reason="length" if order == 1 else None)

    with ModelServer(script) as server:
        trapgate(accepted, "run", "--cache", base_url=server.base_url)
        trapgate(accepted, "run", "--cache", base_url=server.base_url)
        assert sorted(map(order_of, server.requests))[:4] == [0, 0, 1, 1]
        assert len(server.requests) == 12
        (accepted / "trap.yaml").write_text(TRAP.replace("temperature: 0", "temperature: 0.5"))
        trapgate(accepted, "run", "--cache", base_url=server.base_url)
        assert len(server.requests) == 22
    results = json.loads((accepted / "trapgate-results" / "results.json").read_text())
    assert not any(
        "cached" in a["transcript"] for c in results["tasks"][0]["cases"] for a in c["attempts"] if a["transcript"]
    )


HOSTILE = [
    "x" * 5_000_000,
    "",
    '{"a":' * 100_000,
    "::error::owned\n::set-output name=verdict::pass\n##[error]owned",
    "@everyone <!-- trapgate: --> ![x](http://evil/x.png) | a | b |\n# heading",
    "\ud83d lone \x00 \x1b[31m",
]


def test_hostile_answers_are_failures_of_the_model_and_harm_nothing(accepted):
    def script(request):
        order = order_of(request)
        return Reply(text=HOSTILE[order]) if order < len(HOSTILE) else Reply(text=call(order))

    seeded(accepted)
    done, results = run(accepted, only_seeded(script))
    assert done.returncode == 1, done.stdout + done.stderr
    assert results["tasks"][0]["scored"] == 10
    comment = (accepted / "trapgate-results" / "comment.md").read_text()
    assert len(comment) < 65_536
    assert "<!-- trapgate" not in comment
    # The answers are quoted, so it is the rendered page that must have nothing of theirs.
    assert not {"img", "a", "h1"} & set(page(comment).tags)
    for line in done.stdout.splitlines():
        assert not line.lstrip().startswith("::")
        assert "##[" not in line
    assert "\x1b" not in done.stdout


def test_a_chosen_task_leaves_the_others_out_by_name(accepted):
    write_task(accepted / "other", cases=3)
    (accepted / "trap.yaml").write_text(TRAP.replace("baseline:", "  other:\n    source: ./other\nbaseline:"))
    done, results = run(accepted, answering(), "--task", "refunds")
    assert done.returncode == 0, done.stdout
    assert results["selection"] == ["refunds"]
    done, _ = run(accepted, answering(), "--task", "refund")
    assert done.returncode == 2
    assert "there is no task 'refund'" in done.stderr


def test_json_output_is_the_result_file(accepted):
    done, results = run(accepted, answering(), "--json")
    assert json.loads(done.stdout) == results


def test_the_module_of_a_users_repository_never_shadows_ours(accepted):
    (accepted / "yaml.py").write_text("raise SystemExit(0)")
    (accepted / "evaluator").mkdir()
    (accepted / "evaluator" / "__init__.py").write_text("raise SystemExit(0)")
    entry = "import sys; sys.path.insert(0, sys.argv.pop(1)); from evaluator.cli import console; console()"
    done = subprocess.run(
        [sys.executable, "-I", "-c", entry, str(ROOT), "validate"],
        cwd=accepted,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "trap.yaml: valid" in done.stdout


def test_what_is_missing_in_the_test_folder_is_not_what_runs(tmp_path: Path):
    done = trapgate(tmp_path, "run")
    assert done.returncode == 2
    assert done.stderr.startswith("trap.yaml: there is no such file")
    assert "trapgate init" in done.stderr
