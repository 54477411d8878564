"""examples/refund-agent: its fixtures are sound, its recordings are what the loop makes, and its story ends as told."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from evaluator.results import decode_run
from tests.integration.repository import ROOT, trapgate

EXAMPLE = ROOT / "examples" / "refund-agent"
FIXTURES = sorted((EXAMPLE / "evals" / "refunds").iterdir())
# What the scripts let go wrong with either prompt, because attempts of a real agent differ.
FLIPS = {("outside-window", 3): "wrong_arguments", ("wrong-order-number", 2): "missing_call"}


def fixture(path: Path) -> dict:
    return yaml.safe_load(path.read_text())


@pytest.fixture
def agent(tmp_path):
    """A copy of the example, as a user's repository."""
    folder = tmp_path / "refund-agent"
    return Path(shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("trapgate-results", ".trap")))


def score(folder, name):
    """The exit code, and the run, of the recordings `name`."""
    outputs = f"recordings/{name}.jsonl"
    done = trapgate(folder, "score", "./evals/refunds", "--config", "trap.yaml", "--outputs", outputs)
    results = folder / "trapgate-results" / "results.json"
    assert results.exists(), done.stdout + done.stderr
    return done.returncode, decode_run(results.read_bytes(), name)


def accept(folder):
    assert score(folder, "good")[0] == 0
    assert trapgate(folder, "baseline", "accept", "--why", "first").returncode == 0


def use_the_worse_prompt(folder):
    shutil.copy(folder / "prompts" / "system-worse.md", folder / "prompts" / "system.md")


def attempts(run):
    return {(case.id, attempt.number): attempt for case in run.tasks[0].cases for attempt in case.attempts}


def failed(run):
    return {key: attempt.failure_mode for key, attempt in attempts(run).items() if not attempt.passed}


# The fixtures


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_a_fixture_is_named_as_its_file_and_its_orders_add_up(path):
    case = fixture(path)
    assert case["task_id"] == path.stem
    orders = [mock["result"] for mock in case.get("mocks", []) if "lines" in mock["result"]]
    for order in orders:
        goods = sum(line["quantity"] * line["unit_price"] for line in order["lines"])
        assert order["total"] == pytest.approx(goods + order["shipping_fee"])
    paid = [step["args"]["amount"] for step in case.get("expected_invocations", []) if step["tool"] == "issue_refund"]
    assert case["tags"].count("partial") == bool(paid)
    assert case.get("critical", False) or not paid
    assert not set(paid) & {order["total"] for order in orders}


def test_the_example_is_valid_and_every_expected_answer_passes_its_own_scorer(agent):
    done = trapgate(agent, "validate")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(FIXTURES)} cases" in done.stdout
    assert "could not be tried" not in done.stdout + done.stderr


def test_the_prompts_differ_in_the_rule_on_partial_refunds_alone():
    good, worse = ((EXAMPLE / "prompts" / name).read_text().splitlines() for name in ("system.md", "system-worse.md"))
    lost = [line for line in good if line not in worse]
    added = [line for line in worse if line not in good]
    assert lost[0].startswith("3. Refund what the policy allows for the damaged part, not the order total.")
    assert len(lost) == 3
    assert added[0].startswith("3. Refund the customer quickly")
    assert len(added) == 1


# The recordings


def test_the_recordings_are_what_the_conversation_loop_makes_of_the_scripts(tmp_path):
    command = [sys.executable, str(EXAMPLE / "play.py"), "--output", str(tmp_path)]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in ("good.jsonl", "worse.jsonl"):
        assert (tmp_path / name).read_text() == (EXAMPLE / "recordings" / name).read_text()


def test_the_good_recordings_pass_but_for_two_flips(agent):
    code, run = score(agent, "good")
    assert (code, run.verdict) == (0, "pass")
    assert len(attempts(run)) == 3 * len(FIXTURES)
    assert failed(run) == FLIPS
    assert run.tasks[0].metrics["all_k_pass_rate"].value == pytest.approx(1 - 2 / len(FIXTURES))


def test_the_worse_recordings_differ_in_the_amounts_alone(agent):
    _, good = score(agent, "good")
    use_the_worse_prompt(agent)
    _, worse = score(agent, "worse")
    before, now = attempts(good), attempts(worse)
    dearer = [key for key in now if now[key].findings != before[key].findings]
    assert len(dearer) == 3 * sum("partial" in fixture(path)["tags"] for path in FIXTURES) - 2
    for key in dearer:
        new = [finding for finding in now[key].findings if finding not in before[key].findings]
        assert {finding.path for finding in new} == {"$.amount"}
        assert all(finding.got > finding.wanted for finding in new)
    for figure in ("tool_score", "order_score", "missing_calls", "extra_calls"):
        assert {key: each.values[figure] for key, each in before.items() if figure in each.values} == {
            key: each.values[figure] for key, each in now.items() if figure in each.values
        }


def test_a_recording_does_not_answer_for_a_changed_prompt(agent):
    accept(agent)
    use_the_worse_prompt(agent)
    code, run = score(agent, "good")
    assert (code, run.verdict) == (3, "inconclusive")
    assert {attempt.status for attempt in attempts(run).values()} == {"stale"}
    assert [(reason.kind, reason.text) for reason in run.reasons] == [
        (
            "stale",
            f"refunds: all {3 * len(FIXTURES)} recordings are stale, "
            "recorded before a change of system: a recording cannot answer for it.",
        )
    ]


def test_the_argument_score_alone_blocks_the_worse_prompt(agent):
    trap = agent / "trap.yaml"
    text = trap.read_text()
    other = next(line for line in text.splitlines(keepends=True) if "all_k_pass_rate" in line)
    trap.write_text(text.replace(other, ""))
    for path in (agent / "evals" / "refunds").iterdir():
        path.write_text(path.read_text().replace("critical: true\n", "").replace('  "critical": true,\n', ""))
    accept(agent)
    use_the_worse_prompt(agent)
    code, run = score(agent, "worse")
    assert (code, run.verdict) == (1, "regression")
    assert [(rule.metric, rule.outcome) for rule in run.rules] == [("argument_score", "fail")]
    assert sorted(run.rules[0].worse) == [path.stem for path in FIXTURES if "partial" in fixture(path)["tags"]]


# The story


def test_the_story_ends_with_the_comment_and_a_blocked_merge():
    done = subprocess.run([sys.executable, str(EXAMPLE / "show.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    comment = done.stdout.partition("The comment on the pull request:")[2]
    assert "trapgate (refund-agent): regression" in comment
    row = next(line for line in comment.splitlines() if line.startswith("| `damaged-lamp`"))
    assert [part for part in ("`step 3 issue_refund $.amount`", "`24.5`", "`49.0`") if part not in row] == []
    assert "excused_call" not in comment
    assert comment.count("passed in the baseline and fail now.") == 1
    assert "Exit code 1: the merge is blocked." in comment


def test_a_story_that_ends_otherwise_is_reported_with_both_exit_codes(tmp_path):
    broken = Path(shutil.copytree(EXAMPLE, tmp_path / "examples" / "refund-agent"))
    shutil.copytree(ROOT / "evaluator", tmp_path / "evaluator")
    shutil.copytree(ROOT / "canaries", tmp_path / "canaries")
    shutil.copy(broken / "recordings" / "worse.jsonl", broken / "recordings" / "good.jsonl")
    done = subprocess.run([sys.executable, str(broken / "show.py")], capture_output=True, text=True)
    assert done.returncode == 1
    assert "ended with exit code 3, 0 was expected" in done.stderr


def test_every_row_says_that_no_model_made_it():
    for name in ("good", "worse"):
        rows = [json.loads(line) for line in (EXAMPLE / "recordings" / f"{name}.jsonl").read_text().splitlines()]
        assert {row["model"] for row in rows} == {"written by hand, no model"}
