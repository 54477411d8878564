"""The documents say what the code does."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "evaluator").rglob("*.py"))


def test_every_error_code_is_documented_and_no_other():
    written = set()
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        written |= set(re.findall(r'(?:user_error|UserError|Unfit)\(\s*"([a-z-]+)"', text))
        written |= set(re.findall(r'^_?(?:CODE|MALFORMED) = "([a-z-]+)"', text, re.MULTILINE))
    documented = set()
    for row in re.findall(r"^\| (`.*?) \|", (ROOT / "docs" / "errors.md").read_text(encoding="utf-8"), re.MULTILINE):
        documented |= set(re.findall(r"`([a-z-]+)`", row))
    assert written == documented


def test_the_documents_link_to_what_exists():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_runtime_dependency_has_its_reason():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    reasons = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    for requirement in project["dependencies"]:
        name = re.match(r"[A-Za-z0-9-]+", requirement).group()
        assert f"| {name} |" in reasons
