"""docs/traces.md names every key, and its example is a fixture."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from evaluator.formats.trace.shape import SCHEMA_FILE
from evaluator.scoring.field_rules import RULES
from evaluator.scoring.normalizers import NORMALIZERS
from evaluator.scoring.self_check import self_check
from tests.unit.formats.trace_fixtures import load, write

PAGE = (Path(__file__).parents[3] / "docs" / "traces.md").read_text(encoding="utf-8")
SCHEMA = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def keys_of(text: str) -> set[str]:
    """The names in the first column of the tables of a section."""
    rows = re.findall(r"^\| (`[^|]+`) \|", text, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}


@pytest.mark.parametrize(
    ("title", "parts"),
    [
        ("Keys of a fixture", [SCHEMA]),
        ("Steps", [SCHEMA["$defs"]["step"]]),
        ("Mocks", [SCHEMA["$defs"]["mock"]]),
        ("Recordings", [SCHEMA["$defs"]["recording"], SCHEMA["$defs"]["invocation"]]),
    ],
)
def test_every_key_of_the_schema_is_in_its_table_and_no_other(
    title: str, parts: list[dict[str, dict[str, str]]]
) -> None:
    known = {key for part in parts for key in part["properties"]} - {"$schema"}
    assert keys_of(section(title)) == known


def test_every_rule_and_normalizer_is_in_its_table() -> None:
    words = set(re.findall(r"^\| `\{?([a-z_]+)[`:]", section("Rules"), re.MULTILINE))
    assert words == set(RULES)
    assert set(re.findall(r"^\| `([a-z]+@[0-9]+)`", section("Rules"), re.MULTILINE)) == set(NORMALIZERS)


def test_the_example_loads_and_its_right_answer_passes(tmp_path: Path) -> None:
    write(tmp_path, PAGE.partition("```json\n")[2].partition("```")[0])
    task = load(tmp_path)
    assert len(task.cases[0].golds) == 1
    assert self_check(task) == {}
