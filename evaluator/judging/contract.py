"""What a task's judge and grader find in their environment: the manifest, and the payload of older tasks.

Source: trapstreet's documents on `traptask.yaml`. Both are JSON in a variable, and both hold paths, never contents.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MANIFEST = "TRAPTASK_MANIFEST"
PAYLOAD = "TRAPTASK_PAYLOAD"


@dataclass(frozen=True)
class Places:
    """Where the files of one judged answer stand; all absolute. `expected` None: the case has no such folder."""

    inputs: Path
    expected: Path | None
    outputs: Path
    stdout: Path
    stderr: Path
    meta: Path


def for_judge(places: Places, envvar: str | None) -> dict[str, str]:
    """The variables of a judge: the one that its task names, else both, of which it reads the one that it knows."""
    if envvar is None:
        return {MANIFEST: json.dumps(_manifest(places)), PAYLOAD: json.dumps(_payload(places))}
    return {envvar: json.dumps(_payload(places) if envvar == PAYLOAD else _manifest(places))}


def for_grader(rows: Sequence[Mapping[str, Any]], envvar: str | None) -> dict[str, str]:
    """The variables of a grader, whose manifest has one form under either name."""
    text = json.dumps(list(rows))
    return dict.fromkeys((MANIFEST, PAYLOAD) if envvar is None else (envvar,), text)


def _manifest(places: Places) -> dict[str, Any]:
    return {
        "inputs_dir": str(places.inputs),
        "expected_dir": None if places.expected is None else str(places.expected),
        "outputs_dir": str(places.outputs),
        "run": {"stdout": str(places.stdout), "stderr": str(places.stderr), "meta": str(places.meta)},
    }


def _payload(places: Places) -> dict[str, Any]:
    captured = {"case_stdout": places.stdout, "case_stderr": places.stderr, "case_meta.json": places.meta}
    return {
        "inputs": _files(places.inputs),
        "outputs": _files(places.outputs) | {name: str(path) for name, path in captured.items()},
        "expected": {} if places.expected is None else _files(places.expected),
    }


def _files(folder: Path) -> dict[str, str]:
    """Name below `folder` → path, for each file in it."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): str(path) for path in found}
