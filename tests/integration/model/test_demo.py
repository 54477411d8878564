"""The demo's whole story with the real model, on eight of its cases: the command line, git, baseline, comment, page."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from tests.integration.model.conftest import EXAMPLE, EXAMPLES

SOURCE = "    source: ./evals/function-calls\n"
# Cases that the model passes with the schema. Six that regress are the fewest that can be significant at 0.02.
INCLUDED = (
    "calendar-free",
    "currency-convert",
    "price-change",
    "refund-full",
    "shipping-track",
    "stock-move",
    "ticket-assign",
    "ticket-close",
)

pytestmark = pytest.mark.model


@pytest.fixture
def demo(local_model) -> ModuleType:
    """examples/demo.py, which imports the local model by that name."""
    spec = importlib.util.spec_from_file_location("demo", EXAMPLES / "demo.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def shop(tmp_path) -> Path:
    """The example repository with fewer cases."""
    folder = tmp_path / "shop"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("trapgate-results", ".trap"))
    trap = folder / "trap.yaml"
    text = trap.read_text()
    assert text.count(SOURCE) == 1
    trap.write_text(text.replace(SOURCE, f"{SOURCE}    include: {{ids: [{', '.join(INCLUDED)}]}}\n"))
    return folder


def test_a_pull_request_that_drops_the_schema_is_called_a_regression_of_the_real_model(
    demo, shop, model, tmp_path, capfd
):
    output = tmp_path / "results"
    demo.tell(demo.Repository(shop, tmp_path / "repository", model.base_url), output)

    base, changed = (json.loads((output / name / "results.json").read_text()) for name in ("base", "pull-request"))
    assert (base["verdict"], changed["verdict"]) == ("pass", "regression")
    assert changed["tasks"][0]["planned"] == changed["tasks"][0]["scored"] == len(INCLUDED)
    assert len(changed["comparison"]["tasks"][0]["regressed"]) >= 6
    assert changed["comparison"]["tasks"][0]["fixed"] == []
    assert changed["comparison"]["fingerprint"] == ["structured schema → prompt"]
    assert any(reason["kind"] == "rule" and reason["metric"] == "pass_rate" for reason in changed["reasons"])

    comment = (output / "pull-request" / "comment.md").read_text()
    assert "regression" in comment.splitlines()[0]
    assert "`pass_rate` fell" in comment.splitlines()[0]
    said = capfd.readouterr().out
    assert comment.splitlines()[0] in said
    assert (output / "pull-request" / "report.html").as_uri() in said


def test_a_run_that_ends_otherwise_than_the_story_is_reported_with_both_exit_codes(demo, shop, model, tmp_path, capfd):
    repository = demo.Repository(shop, tmp_path / "repository", model.base_url)
    with pytest.raises(demo.DemoError, match=r"`trapgate run --task none` ended with exit code 2, 0 was expected"):
        repository.trapgate("run", "--task", "none", wanted=0)
    assert "there is no task 'none'" in capfd.readouterr().err
