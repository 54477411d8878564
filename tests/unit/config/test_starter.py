from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from evaluator import __version__, config, formats
from evaluator.cases import SourceRef, Task
from evaluator.config import starter
from evaluator.config.edit import set_scalar
from evaluator.config.subject import load_subject
from evaluator.scoring import prepare
from evaluator.scoring.self_check import self_check
from evaluator.transcript import Transcript


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name, text in starter.missing(tmp_path).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def task(repository: Path) -> Task:
    [settings] = config.load(repository / "trap.yaml").tasks
    return formats.load(settings, repository / settings.source, SourceRef(location=settings.source))


def test_the_configuration_is_valid_and_has_no_notes(repository: Path) -> None:
    loaded = config.load(repository / "trap.yaml")
    assert loaded.notes == []
    assert loaded.baseline.allow_missing
    subject = load_subject(loaded, repository)
    assert subject.model == starter.DEFAULT_MODEL
    assert subject.system


def test_a_drop_of_the_few_first_cases_fails_without_being_significant(repository: Path) -> None:
    [rule] = config.load(repository / "trap.yaml").gate.rules or []
    assert (rule.max_drop, rule.on_noise) == (0.05, "fail")


@pytest.mark.parametrize("git", ["none", "here"])
def test_a_new_repository_gets_every_file(tmp_path: Path, git: str) -> None:
    if git == "here":
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert starter.missing(tmp_path) == without()
    inside = starter.missing(tmp_path / "folder-that-is-not-there-yet")
    assert inside == (without() if git == "none" else without(starter.WORKFLOW))


def without(*names: str) -> dict[str, str]:
    every = starter.files() | {".gitignore": "/trapgate-results/\n"}
    return {name: text for name, text in every.items() if name not in names}


@pytest.mark.parametrize("marker", ["file", "folder"])
def test_a_folder_within_a_repository_gets_no_workflow_that_github_would_not_read(tmp_path: Path, marker: str) -> None:
    git = tmp_path / ".git"
    git.write_text("gitdir: elsewhere") if marker == "file" else git.mkdir()
    (tmp_path / "agents").mkdir()
    assert starter.missing(tmp_path / "agents") == without(starter.WORKFLOW)


def test_files_that_exist_are_left_out(tmp_path: Path) -> None:
    for name in (".gitignore", "prompts/system.md"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    assert starter.missing(tmp_path) == without(".gitignore", "prompts/system.md")


def test_results_are_not_committed(repository: Path) -> None:
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    command = ["git", "-C", str(repository), "check-ignore", "-q", "trapgate-results/results.json"]
    assert subprocess.run(command, check=False).returncode == 0


def test_the_model_can_be_chosen() -> None:
    text = starter.files(model='odd "name": x # y')["trap.yaml"]
    assert config.parse(text, "trap.yaml").model == 'odd "name": x # y'


def test_the_first_task_has_three_cases_whose_expected_answers_pass(task: Task) -> None:
    assert [case.id for case in task.cases] == ["ticket", "total", "policy"]
    assert task.notes == []
    assert self_check(task) == {}
    assert all(case.golds for case in task.cases)


def test_the_first_task_fails_a_wrong_answer_in_every_case(task: Task) -> None:
    for case in task.cases:
        score = prepare(task.scorer, case)(Transcript(text="no 17"))
        assert score.passed is False  # type: ignore[union-attr]


def test_a_function_call_can_be_asked_for_by_its_schema(task: Task) -> None:
    function = task.cases[0].request.function
    assert function is not None
    assert function["name"] == "open_ticket"


def test_accepting_a_baseline_turns_the_allowance_off(repository: Path) -> None:
    text = (repository / "trap.yaml").read_text()
    edited = set_scalar(text, ("baseline", "allow_missing"), False)
    assert config.parse(edited, "trap.yaml").baseline.allow_missing is False
    assert len(edited.splitlines()) == len(text.splitlines())


def test_the_workflow_is_valid_and_asks_for_the_least(repository: Path) -> None:
    path = repository / ".github/workflows/trapgate.yml"
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(path)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    workflow = yaml.safe_load(path.read_text())
    [job] = workflow["jobs"].values()
    # YAML 1.1 reads the key `on` as true. A label that accepts counts in the run that it starts; a merge queue waits.
    types = ["opened", "synchronize", "reopened", "labeled"]
    assert workflow[True] == {"pull_request": {"types": types}, "merge_group": None}
    assert workflow["permissions"] == {}
    assert job["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert [step["uses"] for step in job["steps"]] == [
        "actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683",
        starter.ACTION_REFERENCE,
        "actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02",
    ]


def test_the_workflow_is_the_example_for_pull_requests_under_a_name_of_its_own(repository: Path) -> None:
    example = Path(__file__).parents[3] / "examples" / "workflows" / "pull-request.yml"
    own = yaml.safe_load((repository / starter.WORKFLOW).read_text())
    assert own == yaml.safe_load(example.read_text()) | {"name": "trapgate"}


def test_the_references_name_this_version(repository: Path) -> None:
    assert f"trapgate/trapgate@v{__version__}" == starter.ACTION_REFERENCE
    first = (repository / "trap.yaml").read_text().splitlines()[0]
    assert re.fullmatch(r"# yaml-language-server: \$schema=https://\S+/trap\.schema\.json", first)
    assert f"/v{__version__}/" in first
