"""Cases that hang together count as one: where a cluster comes from, and what it does to the evidence."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from evaluator import formats
from evaluator.cases import SourceRef, Task
from evaluator.comparison import at_level, difference, pair
from evaluator.config.types import TaskConfig
from evaluator.formats import labels
from evaluator.results import TaskResult
from tests.unit.builders import outcomes, task_result


def clustered(result: TaskResult, size: int) -> TaskResult:
    """The cases of a task in clusters of so many, in their order."""
    cases = [msgspec.structs.replace(case, cluster=f"k{place // size}") for place, case in enumerate(result.cases)]
    return msgspec.structs.replace(result, cases=cases)


def evidence(before: TaskResult, now: TaskResult):
    change = difference("pass_rate", pair(before, now), alpha=0.02, higher_is_better=True)
    assert change is not None
    return change


def test_cases_of_one_cluster_are_flipped_together():
    before, now = task_result(outcomes(24, 0)), task_result(outcomes(16, 8))
    apart = evidence(before, now).evidence
    together = evidence(clustered(before, 4), now).evidence
    assert (apart.test, apart.p, apart.clusters) == ("mcnemar", 1 / 256, None)
    assert (together.test, together.p, together.clusters) == ("sign-flip", 1 / 4, 6)
    assert together.underpowered
    assert (together.worse, together.better, together.n) == (8, 0, 24)
    assert apart.low is not None
    assert together.low is not None
    assert together.low < apart.low


def test_clusters_of_one_case_change_nothing():
    before, now = task_result(outcomes(24, 0)), task_result(outcomes(16, 8))
    assert evidence(clustered(before, 1), now) == evidence(before, now)


def test_a_change_that_puts_all_its_cases_into_one_cluster_is_still_seen():
    before, now = task_result(outcomes(24, 0)), task_result(outcomes(16, 8))
    assert evidence(before, clustered(now, 24)).evidence.p == 1 / 256


def test_what_clusters_can_show_is_less_than_their_cases_could():
    before, now = task_result(outcomes(40, 0)), task_result(outcomes(30, 10))
    apart, together = evidence(before, now), evidence(clustered(before, 2), now)
    for alpha in (0.02, 0.005):
        one, other = (at_level(change, "pass_rate", alpha).detectable for change in (apart, together))
        assert one is not None
        assert other is not None
        assert other > one


@pytest.mark.parametrize(
    ("tags", "slices", "cluster"),
    [
        (["smoke", "cluster:order 7", "smoke"], ["smoke"], "order 7"),
        (["cluster: a", "cluster:b"], [], "a"),
        (["clusters"], ["clusters"], ""),
        ([], [], ""),
    ],
)
def test_a_tag_names_the_cluster_and_is_no_slice(tags: list[str], slices: list[str], cluster: str):
    assert (labels.slices(tags), labels.cluster(tags)) == (slices, cluster)


def loaded(folder: Path) -> Task:
    return formats.load(TaskConfig(name="t", source="."), folder, SourceRef(location=".", digest="0"))


def test_a_fixture_names_its_cluster_by_a_tag_that_is_not_in_its_digest(tmp_path):
    fixture = {"task_id": "a", "input": "hello", "tools": [], "expected_invocations": []}
    (tmp_path / "a.json").write_text(json.dumps(fixture))
    plain = loaded(tmp_path).cases[0]
    (tmp_path / "a.json").write_text(json.dumps(fixture | {"tags": ["smoke", "cluster:order-7"]}))
    tagged = loaded(tmp_path).cases[0]
    assert (tagged.slices, tagged.cluster) == (["smoke"], "order-7")
    assert tagged.digest() == plain.digest()


def test_rows_of_one_closure_task_are_one_cluster(tmp_path):
    rows = [
        {
            "case_id": f"{task}-{number}",
            "task_id": task,
            "family": "json_object",
            "control": "close_required",
            "format": "json",
            "instruction": "Go on.",
            "prefix": '{"a": 1',
            "expected": '{"a": 1}',
        }
        for task in ("one", "two")
        for number in range(2)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [case.cluster for case in loaded(tmp_path).cases] == ["one", "one", "two", "two"]
