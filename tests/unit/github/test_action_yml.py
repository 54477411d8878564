"""action.yml, the code that reads the inputs, and the tables in the documentation say the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from evaluator import __version__
from evaluator.github import environment, publish

ROOT = Path(__file__).parents[3]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def table(document: str, heading: str) -> dict[str, list[str]]:
    """Rows of the first table after the line that ends in `heading`: first cell, bare → the other cells."""
    text = (ROOT / document).read_text(encoding="utf-8")
    match = re.search(rf"^#+ {heading}\n.*?\n(\|.*?)\n(?!\|)", text, re.MULTILINE | re.DOTALL)
    if match is None:
        return {}
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in match[1].splitlines()[2:]]
    return {row[0].strip("`"): row[1:] for row in rows}


def documents(heading: str) -> list[str]:
    """docs/github.md always, the README where it has such a table."""
    return ["docs/github.md", *(["README.md"] if table("README.md", heading) else [])]


@pytest.mark.parametrize("document", documents("Inputs"))
def test_the_table_of_inputs_is_that_of_action_yml(document: str) -> None:
    described = {
        name: [spec["description"], f"`{spec['default']}`" if spec.get("default") else ""]
        for name, spec in ACTION["inputs"].items()
    }
    assert table(document, "Inputs") == described


@pytest.mark.parametrize("document", documents("Outputs"))
def test_the_table_of_outputs_is_that_of_action_yml(document: str) -> None:
    assert table(document, "Outputs") == {name: [spec["description"]] for name, spec in ACTION["outputs"].items()}


def test_every_output_that_is_declared_is_written() -> None:
    assert set(ACTION["outputs"]) == set(publish.OUTPUTS)


def test_every_input_that_is_declared_is_read_and_has_the_default_that_the_code_has() -> None:
    read = {name.replace("token", "github-token").replace("_", "-") for name in environment.Inputs.__dataclass_fields__}
    assert set(ACTION["inputs"]) == read
    assert ACTION["inputs"]["config"]["default"] == environment.DEFAULT_CONFIG
    assert ACTION["inputs"]["output"]["default"] == environment.DEFAULT_OUTPUT
    assert ACTION["inputs"]["comment"]["default"] == "true"
    for switch in ("unsafe-judges", "move-baseline", "skip-unchanged"):
        assert ACTION["inputs"][switch]["default"] == "false"
    assert ACTION["inputs"]["accept-label"]["default"] == environment.DEFAULT_LABEL
    assert ACTION["inputs"]["github-token"]["default"] == "${{ github.token }}"


def test_the_action_works_from_a_plain_checkout() -> None:
    assert ACTION["runs"] == {"using": "docker", "image": "Dockerfile"}
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert '"/opt/trapgate/bin/python", "-I", "-B", "/opt/trapgate/entrypoint.py"]\n' in dockerfile
    assert not re.search(r"^(USER|WORKDIR /github)", dockerfile, re.MULTILINE)


def test_the_version_is_one_that_a_release_can_be_named_by() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)


def test_everything_that_the_image_is_made_of_is_let_into_its_context() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    copied = {
        name for line in re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, re.MULTILINE) for name in line.split()
    }
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert copied == allowed
    assert all((ROOT / name).exists() for name in copied)


def test_every_action_in_the_workflows_is_pinned_by_a_commit() -> None:
    workflows = list((ROOT / ".github" / "workflows").glob("*.yml"))
    uses = [match for file in workflows for match in re.findall(r"uses: (\S+)", file.read_text(encoding="utf-8"))]
    assert uses
    assert [use for use in uses if not re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", use)] == []
