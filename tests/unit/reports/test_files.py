from __future__ import annotations

import json
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from evaluator import commands, pipeline
from evaluator.github import publish
from evaluator.reports import comment, files, junit, page
from tests.unit.reports import builders

LOADED = (
    "import sys, json, evaluator.pipeline; from pathlib import Path; evaluator.pipeline.clear(Path(sys.argv[1])); "
    "print(json.dumps(sorted(sys.modules)))"
)


@pytest.fixture
def another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A report that is one module and one line of the registry."""
    (tmp_path / "a_new_report.py").write_text("def render(run):\n    return f'{run.verdict} sk-0123456789\\n'\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(files.FILES, "verdict.txt", "a_new_report")
    return "verdict.txt"


def test_each_file_is_what_its_module_renders(tmp_path: Path) -> None:
    run = builders.regressing()
    files.write(tmp_path, run)
    texts = {"comment.md": comment.render(run), "report.html": page.render(run), "junit.xml": junit.render(run)}
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == texts


def test_the_terminal_writes_and_names_a_new_report(
    tmp_path: Path, another: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"
    output.mkdir()
    assert commands._report(builders.passing(), Namespace(output=output, json=False)) == 0
    assert (output / another).read_text().startswith("pass ")
    assert (
        f"written to {output}: results.json, comment.md, report.html, junit.xml, {another}" in capsys.readouterr().out
    )


def test_the_action_writes_a_new_report(tmp_path: Path, another: str) -> None:
    output = tmp_path / "out"
    output.mkdir()
    publish.reports(output, builders.passing())
    assert (output / another).read_text().startswith("pass ")


def test_a_run_begins_without_the_files_of_the_last_one(tmp_path: Path, another: str) -> None:
    names = [pipeline.RESULTS, *files.FILES]
    for name in (*names, "mine.txt"):
        (tmp_path / name).write_text("of the last run")
    pipeline.clear(tmp_path)
    assert another in names
    assert not any((tmp_path / name).exists() for name in names)
    assert (tmp_path / "mine.txt").exists()


def test_to_remove_the_files_nothing_is_imported_that_renders_them(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", LOADED, str(tmp_path)], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert not loaded & {"jinja2", "rich", "xml.etree.ElementTree", *files.FILES.values()}
