"""What a trapstreet task says of its own judge, before anything of it runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluator import formats
from evaluator.cases import SourceRef, Task
from evaluator.config.types import TaskConfig
from evaluator.errors import UserError
from evaluator.transcript import Transcript


def write(folder: Path, judge: Any = "python3 judge.py", expected: dict[str, str] | None = None, **keys: Any) -> None:
    judge = {"cmd": judge} if isinstance(judge, str | list) else judge
    files = {
        "traptask.yaml": json.dumps({"cases": [{"id": "a"}], "judge": judge, **keys}),
        "judge.py": "print(1)\n",
        "inputs/a/question.txt": "?",
        **{f"expected/a/{name}": text for name, text in (expected or {}).items()},
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def load(folder: Path, source: str = "./t", judge: str = "task", **config: Any) -> Task:
    wanted = TaskConfig(name="t", source=source, judge=judge, **config)  # type: ignore[arg-type]
    return formats.load(wanted, folder, SourceRef(location="./t"))


def test_the_commands_of_the_task_are_split_and_have_trapstreet_s_time_limits(tmp_path: Path) -> None:
    write(tmp_path, "python3 judge.py 'a b'", grader={"cmd": ["./grade"], "timeout": 5}, setup_cmd="make all")
    own = load(tmp_path).own_judge
    assert own is not None
    assert (own.judge.cmd, own.judge.timeout, own.judge.envvar) == (["python3", "judge.py", "a b"], 300.0, None)
    assert own.grader is not None
    assert (own.grader.cmd, own.grader.timeout) == (["./grade"], 5.0)
    assert own.setup is not None
    assert own.setup.cmd == ["make", "all"]


@pytest.mark.parametrize(
    ("files", "gold"),
    [
        ({"answer.json": '{"answer": "Paris"}'}, "Paris"),
        ({"answer.json": '{"answer": 42}'}, "42"),
        ({"expected.json": '{"answer": {"a": "é"}}'}, '{"a": "é"}'),
        ({"answer.txt": "Paris\n"}, "Paris\n"),
        ({"answer.json": '{"accepted": ["x"]}', "answer.txt": "Paris"}, "Paris"),
        ({"answer.json": "not json"}, None),
        ({"keyword.txt": "Paris"}, None),
        ({}, None),
    ],
)
def test_the_expected_answer_is_found_in_the_files_that_tasks_have_it_in(
    tmp_path: Path, files: dict[str, str], gold: str | None
) -> None:
    write(tmp_path, expected=files)
    case = load(tmp_path).cases[0]
    assert case.golds == ([] if gold is None else [Transcript(text=gold)])
    assert case.expected is not None
    assert set(case.expected["files"]) == set(files)


def test_the_digest_of_a_case_changes_with_its_expected_files_and_not_with_the_judge(tmp_path: Path) -> None:
    write(tmp_path, expected={"answer.json": '{"answer": "x"}', "table.csv": "1,2"})
    before = load(tmp_path)
    (tmp_path / "judge.py").write_text("print(2)\n")
    other_judge = load(tmp_path)
    (tmp_path / "expected/a/table.csv").write_text("1,3")
    other_case = load(tmp_path)
    assert before.own_judge is not None
    assert other_judge.own_judge is not None
    assert other_case.own_judge is not None
    assert before.cases[0].digest() == other_judge.cases[0].digest() != other_case.cases[0].digest()
    assert before.own_judge.version != other_judge.own_judge.version == other_case.own_judge.version


def test_a_pinned_source_needs_trust(tmp_path: Path) -> None:
    write(tmp_path)
    source = f"git+https://host/owner/repo@{'a' * 40}"
    with pytest.raises(UserError, match="nothing of that is run without `trust: true`") as refused:
        load(tmp_path, source)
    assert refused.value.code == "judge-untrusted"
    assert load(tmp_path, source, trust=True).own_judge is not None


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"judge": 3}, "judge is a mapping with cmd"),
        ({"judge": {"cmd": ""}}, "judge.cmd is a command line"),
        ({"judge": {"cmd": "python3 'judge.py"}}, "judge.cmd cannot be split into arguments: No closing quotation"),
        ({"judge": {"cmd": "./j", "timeout": 0}}, "judge.timeout is a number of seconds above 0 and at most 86400"),
        ({"judge": {"cmd": "./j", "timeout": True}}, "judge.timeout is a number of seconds above 0 and at most 86400"),
        (
            {"judge": {"cmd": "./j", "manifest_envvar": "LD-X"}},
            "judge.manifest_envvar is the name of an environment variable",
        ),
        ({"judge": {"cmd": "./j"}, "setup_cmd": {"a": 1}}, "setup_cmd is a command line"),
        ({"judge": {"cmd": "./j"}, "grader": {"timeout": 3}}, "grader.cmd is a command line"),
    ],
)
def test_a_malformed_command_is_named_with_its_place(tmp_path: Path, keys: dict[str, Any], message: str) -> None:
    write(tmp_path, **{"judge": {"cmd": "./j"}, **keys})
    with pytest.raises(UserError) as refused:
        load(tmp_path)
    assert refused.value.code == "task-malformed"
    assert "traptask.yaml:1:" in str(refused.value)
    assert message in str(refused.value)
