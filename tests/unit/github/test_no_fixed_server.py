"""Which server is GitHub is said by the environment: no module takes github.com for granted."""

from __future__ import annotations

import re
from pathlib import Path

import evaluator

PACKAGE = Path(evaluator.__file__).parent
SERVER = re.compile(r"\b(?:api\.)?github\.com\b|githubusercontent\.com")

# Each file that names it all the same, and why that is right.
ALLOWED = {
    "cli.py": "an example of a task's source, in the help",
    "config/starter.py": "where an editor finds the schema of trap.yaml",
    "config/trap.schema.json": "the name of that schema, which is never fetched",
    "formats/trace.schema.json": "the name of a schema, which is never fetched",
    "baselines/origin.py": "in a terminal, the server of a clone where GITHUB_SERVER_URL is not set",
    "sources/environment.py": "in a terminal, the server that GITHUB_TOKEN is for where GITHUB_SERVER_URL is not set",
}


def mentions() -> dict[str, list[str]]:
    """The lines that name the server, by file."""
    found: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*")):
        if not path.is_file() or path.suffix == ".pyc":
            continue
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if SERVER.search(line)]
        if lines:
            found[path.relative_to(PACKAGE).as_posix()] = lines
    return found


def test_github_com_is_named_where_it_is_listed_here_and_nowhere_else() -> None:
    assert mentions().keys() == ALLOWED.keys()


def test_no_module_of_the_action_names_it() -> None:
    assert [path for path in mentions() if path.startswith("github/")] == []
