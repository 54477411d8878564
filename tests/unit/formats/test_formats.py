from pathlib import Path
from typing import Any

import pytest

from evaluator import formats
from evaluator.cases import SourceRef
from evaluator.config.types import TaskConfig
from evaluator.errors import UserError


def load(directory: Path, **config: Any) -> Any:
    return formats.load(TaskConfig(name="t", source="./t", **config), directory, SourceRef(location="./t"))


@pytest.mark.parametrize("name", ["vibes", "traces"])
def test_a_format_that_is_not_there_is_refused_with_what_is(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError) as refused:
        load(tmp_path, format=name)
    assert refused.value.code == "format-unsupported"
    assert str(refused.value) == (
        f"tasks.t: the format {name} is not supported; supported: {', '.join(formats.FORMATS)}\n"
        "    Name a supported format, or leave `format` out to have it detected."
    )


def test_a_directory_that_looks_like_no_task_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"\./t looks like no task: there is no traptask\.yaml, no folder inputs/, no fixture"
    ):
        load(tmp_path)


@pytest.mark.parametrize("judge", ["task", "both"])
def test_a_judge_that_the_source_does_not_have_is_not_replaced_in_silence(tmp_path: Path, judge: str) -> None:
    (tmp_path / "inputs").mkdir()
    with pytest.raises(UserError, match=f"judge: {judge}, but the task has no judge of its own") as refused:
        load(tmp_path, judge=judge)
    assert refused.value.code == "judge-missing"


def test_the_format_is_detected(tmp_path: Path) -> None:
    (tmp_path / "inputs" / "a").mkdir(parents=True)
    (tmp_path / "inputs" / "a" / "q.txt").write_text("Say hello.")
    assert load(tmp_path).format == "trapstreet"


@pytest.mark.parametrize("judge", ["task", "both"])
def test_a_judge_is_refused_on_a_format_whose_tasks_have_none(tmp_path: Path, judge: str) -> None:
    (tmp_path / "a.json").write_text('{"task_id": "a", "input": "x"}')
    with pytest.raises(UserError) as refused:
        load(tmp_path, judge=judge)
    assert refused.value.code == "judge-unsupported"
    assert str(refused.value) == (
        f"tasks.t: judge: {judge} on the format trace, whose tasks bring no judge of their own\n"
        "    Write `judge: builtin`, or leave it out."
    )
