"""The example workflows ask for nothing that the action does not have, and for no more than they use."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
INPUTS = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
WORKFLOWS = [
    *sorted((ROOT / "examples" / "workflows").glob("*.yml")),
    ROOT / "examples" / "refund-agent" / "workflow.yml",
]


def jobs(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values())


def our_inputs(job: dict[str, Any]) -> dict[str, Any]:
    [step] = [step for step in job["steps"] if step["uses"].startswith("trapgate/trapgate@")]
    given: dict[str, Any] = step.get("with", {})
    return given


def test_there_are_examples_of_each_use() -> None:
    names = {path.name for path in WORKFLOWS}
    assert {"pull-request.yml", "accept-by-label.yml", "nightly.yml", "new-model.yml"} <= names


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_input_of_an_example_is_one_of_the_action(path: Path) -> None:
    for job in jobs(path):
        assert set(our_inputs(job)) <= set(INPUTS)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_an_example_may_write_the_repository_only_where_it_moves_the_baseline(path: Path) -> None:
    assert yaml.safe_load(path.read_text(encoding="utf-8"))["permissions"] == {}
    for job in jobs(path):
        moves = our_inputs(job).get("move-baseline", False)
        assert job["permissions"]["contents"] == ("write" if moves else "read")
        assert set(job["permissions"]) <= {"contents", "pull-requests"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_an_example_is_never_skipped_since_a_skipped_job_counts_as_a_success(path: Path) -> None:
    for job in jobs(path):
        assert "if" not in job
        assert [step for step in job["steps"] if "if" in step] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_the_actions_of_others_are_pinned_by_commit(path: Path) -> None:
    uses = re.findall(r"uses: (\S+)", path.read_text(encoding="utf-8"))
    others = [use for use in uses if not use.startswith("trapgate/trapgate@")]
    assert others
    assert [use for use in others if not re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", use)] == []


def test_no_other_label_cancels_a_run_of_the_label_that_waits() -> None:
    read = yaml.safe_load((ROOT / "examples" / "workflows" / "accept-by-label.yml").read_text(encoding="utf-8"))
    assert "${{ github.event.label.name }}" in read["concurrency"]["group"]
    assert read["concurrency"]["cancel-in-progress"] == "${{ github.event.action == 'synchronize' }}"


def test_the_label_of_the_example_starts_a_run() -> None:
    read = yaml.safe_load((ROOT / "examples" / "workflows" / "accept-by-label.yml").read_text(encoding="utf-8"))
    assert "labeled" in read[True]["pull_request"]["types"]
    assert our_inputs(read["jobs"]["evaluate"])["accept-label"] == INPUTS["accept-label"]["default"]
