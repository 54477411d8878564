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
    uses = {"pull-request", "argument-score", "accept-by-label", "nightly", "new-model", "matrix", "monorepo"}
    assert names == {f"{use}.yml" for use in (*uses, "fork-evaluate", "fork-publish")} | {"workflow.yml"}


def test_the_readme_of_the_examples_names_each_workflow() -> None:
    readme = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in WORKFLOWS if f"workflows/{path.name}" not in readme] == ["workflow.yml"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_input_of_an_example_is_one_of_the_action(path: Path) -> None:
    for job in jobs(path):
        assert set(our_inputs(job)) <= set(INPUTS)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_an_example_may_write_the_repository_only_where_it_moves_the_baseline(path: Path) -> None:
    assert yaml.safe_load(path.read_text(encoding="utf-8"))["permissions"] == {}
    for job in jobs(path):
        inputs = our_inputs(job)
        if inputs.get("mode") == "publish":
            assert job["permissions"] == {"actions": "read", "pull-requests": "write"}
        else:
            assert job["permissions"]["contents"] == ("write" if inputs.get("move-baseline") else "read")
            assert ("issues" in job["permissions"]) == bool(inputs.get("tracking-issue"))
            assert set(job["permissions"]) <= {"contents", "pull-requests", "issues"}


EVALUATING = [path for path in WORKFLOWS if path.name != "fork-publish.yml"]
FOR_PULL_REQUESTS = [path for path in EVALUATING if path.name not in ("nightly.yml", "new-model.yml")]


@pytest.mark.parametrize("path", EVALUATING, ids=lambda path: path.name)
def test_an_example_is_never_skipped_since_a_skipped_job_counts_as_a_success(path: Path) -> None:
    for job in jobs(path):
        assert "if" not in job
        conditions = [step["if"] for step in job["steps"] if "if" in step]
        assert set(conditions) <= {"always()"}


@pytest.mark.parametrize("path", FOR_PULL_REQUESTS, ids=lambda path: path.name)
def test_an_example_for_pull_requests_reports_to_a_merge_queue_too_and_filters_no_paths(path: Path) -> None:
    on = yaml.safe_load(path.read_text(encoding="utf-8"))[True]
    assert {"pull_request", "merge_group"} <= set(on)
    assert [event for event in on.values() if event and {"paths", "paths-ignore"} & set(event)] == []


def test_the_second_stage_checks_nothing_out_and_waits_for_the_first_by_its_name() -> None:
    folder = ROOT / "examples" / "workflows"
    first, second = (
        yaml.safe_load((folder / name).read_text(encoding="utf-8"))
        for name in ("fork-evaluate.yml", "fork-publish.yml")
    )
    assert second[True] == {"workflow_run": {"workflows": [first["name"]], "types": ["completed"]}}
    [step] = second["jobs"]["publish"]["steps"]
    assert step["with"] == {"mode": "publish"}
    [upload] = [step for step in first["jobs"]["evaluate"]["steps"] if "upload-artifact" in step["uses"]]
    assert upload["with"]["name"] == INPUTS["artifact"]["default"]
    assert upload["with"]["path"] == INPUTS["output"]["default"]
    assert upload["if"] == "always()"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_the_actions_of_others_are_pinned_by_commit(path: Path) -> None:
    uses = re.findall(r"uses: (\S+)", path.read_text(encoding="utf-8"))
    others = [use for use in uses if not use.startswith("trapgate/trapgate@")]
    assert others or path.name == "fork-publish.yml"
    assert [use for use in others if not re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", use)] == []


@pytest.mark.parametrize("path", FOR_PULL_REQUESTS, ids=lambda path: path.name)
def test_no_other_label_cancels_a_run_of_the_label_that_waits(path: Path) -> None:
    read = yaml.safe_load(path.read_text(encoding="utf-8"))
    ends = "-${{ github.event.pull_request.number || github.sha }}-${{ github.event.label.name }}"
    assert read["concurrency"]["group"].endswith(ends)
    assert read["concurrency"]["cancel-in-progress"] == "${{ github.event.action == 'synchronize' }}"


@pytest.mark.parametrize("path", FOR_PULL_REQUESTS, ids=lambda path: path.name)
def test_the_label_that_reports_speak_of_starts_a_run(path: Path) -> None:
    read = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert read[True]["pull_request"]["types"] == ["opened", "synchronize", "reopened", "labeled"]
    for job in read["jobs"].values():
        assert our_inputs(job).get("accept-label", INPUTS["accept-label"]["default"]) == "trapgate:accept"


@pytest.mark.parametrize("document", ["README.md", "docs/github.md"])
def test_the_documents_show_the_job_of_the_example(document: str) -> None:
    [shown] = re.findall(r"```yaml\n((?:name: |on:).*?)```", (ROOT / document).read_text(encoding="utf-8"), re.DOTALL)
    example = yaml.safe_load((ROOT / "examples" / "workflows" / "pull-request.yml").read_text(encoding="utf-8"))
    read = yaml.safe_load(shown)
    assert {key: example[key] for key in read} == read
    assert {True, "permissions", "jobs"} <= set(read)
