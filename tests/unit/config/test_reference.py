"""The schema, the types and the page docs/trap-yaml.md say the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from evaluator import config
from evaluator.config.shape import SCHEMA_FILE, schema
from evaluator.config.starter import SCHEMA_ADDRESS
from evaluator.config.types import (
    BaselineConfig,
    Config,
    DriftConfig,
    GateConfig,
    Include,
    Limits,
    Price,
    Retry,
    Rule,
    TaskConfig,
)
from evaluator.vocabulary import known_metrics

PAGE = Path(__file__).parents[3] / "docs" / "trap-yaml.md"


def resolved(part: dict[str, Any]) -> dict[str, Any]:
    reference = part.get("$ref")
    return schema()["$defs"][reference.rpartition("/")[2]] if reference else part


def settings(part: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every key of the schema as the page writes it, with its part of the schema."""
    for key, value in part.get("properties", {}).items():
        path = f"{prefix}{key}"
        yield path, value
        yield from settings(resolved(value), f"{path}.")
        if value.get("type") == "array" and "$ref" in value["items"]:
            yield from settings(resolved(value["items"]), f"{path}[].")
        if isinstance(value.get("additionalProperties"), dict):
            yield from settings(resolved(value["additionalProperties"]), f"{path}.*.")


SETTINGS = dict(settings(schema()))


def rows() -> dict[str, str]:
    """Key → last cell of its row, for each row of the tables that have a column of defaults."""
    found: dict[str, str] = {}
    for table in re.findall(r"\| key \| what it is \| default \|\n\|[-|]+\|\n((?:\|.*\n)+)", PAGE.read_text()):
        for line in table.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            found[cells[0].strip("`")] = cells[-1].strip("`")
    return found


def test_the_schema_is_a_json_schema_of_which_every_key_is_described() -> None:
    Draft202012Validator.check_schema(json.loads(SCHEMA_FILE.read_text()))
    assert [path for path, part in SETTINGS.items() if not part.get("description")] == []


def test_no_mapping_of_the_schema_takes_unknown_keys() -> None:
    free = {"params.tool_choice", "params.logit_bias", "params.extra_body", "tasks", "extra"}
    objects = {path: part for path, part in SETTINGS.items() if "object" in part.get("type", ())}
    parts = [part for path, part in objects.items() if path not in free]
    parts += [schema(), *schema()["$defs"].values()]
    assert all(part["additionalProperties"] is False for part in parts)


@pytest.mark.parametrize("path", list(SETTINGS))
def test_the_page_names_every_key_of_the_schema(path: str) -> None:
    assert f"`{path}`" in PAGE.read_text() or any(key.startswith(f"{path}.") for key in SETTINGS)


def test_the_page_names_no_key_that_the_schema_lacks() -> None:
    assert set(rows()) - set(SETTINGS) == set()


@pytest.mark.parametrize(("path", "default"), [(p, s["default"]) for p, s in SETTINGS.items() if "default" in s])
def test_the_page_gives_the_default_of_the_schema(path: str, default: Any) -> None:
    assert json.loads(rows()[path]) == default


def test_the_page_gives_no_default_that_the_schema_lacks() -> None:
    assert {path for path, default in rows().items() if default and "default" not in SETTINGS[path]} == set()


@pytest.mark.parametrize(
    ("struct", "prefix"),
    [
        (Config, ""),
        (TaskConfig, "tasks.*."),
        (Include, "tasks.*.include."),
        (BaselineConfig, "baseline."),
        (GateConfig, "gate."),
        (DriftConfig, "drift."),
        (Rule, "gate.rules[]."),
        (Limits, "limits."),
        (Price, "price."),
        (Retry, "retry."),
    ],
)
def test_the_types_have_the_keys_and_defaults_of_the_schema(struct: type[msgspec.Struct], prefix: str) -> None:
    for field in msgspec.structs.fields(struct):
        part = SETTINGS.get(prefix + field.name)
        if part is None:
            unwritten = ("path", "digest", "notes", "line", "command")
            assert field.name in unwritten or (struct, field.name) == (TaskConfig, "name")
        elif "default" in part and part["default"] != "builtin":
            default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
            assert default == part["default"]


def test_every_example_of_the_schema_is_valid_by_it() -> None:
    for path, part in SETTINGS.items():
        for example in part.get("examples", []):
            whole = {**part, "$defs": schema()["$defs"]}
            assert list(Draft202012Validator(whole).iter_errors(example)) == [], path


def test_the_example_of_the_page_loads() -> None:
    [example] = [text for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL) if "tasks:" in text]
    assert config.parse(example, "trap.yaml").notes == []


def test_the_page_gives_the_address_of_the_schema() -> None:
    assert f"$schema={SCHEMA_ADDRESS}\n" in PAGE.read_text()


def test_the_page_names_every_metric() -> None:
    text = PAGE.read_text()
    assert [metric for metric in known_metrics() if f"`{metric}`" not in text] == []
