"""The judge, grader and set-up command that a trapstreet task brings along (docs/judges.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evaluator.cases import OwnJudge, digest_of
from evaluator.config.types import TaskConfig
from evaluator.errors import UserError, user_error
from evaluator.formats.confined import TaskFolder
from evaluator.formats.traptask import FILE, TrapTask
from evaluator.json_text import JsonFault, parse_json
from evaluator.sources.content import hash_files
from evaluator.sources.location import is_git
from evaluator.transcript import Transcript

# Where a task's expected answer stands, the first of them that is there.
_ANSWERS = ("answer.json", "expected.json", "answer.txt")


def read(config: TaskConfig, folder: TaskFolder, traptask: TrapTask) -> OwnJudge:
    """The judge of the task in `folder`. Raises UserError: `judge-missing` where it has none, `judge-untrusted` where
    its source is another's and `trust: true` does not let it run."""
    where = f"tasks.{config.name}"
    if traptask.judge is None:
        mend = f"Give {FILE} a `judge: {{cmd: …}}`, or take the built-in one with `judge: builtin`."
        raise user_error(
            "judge-missing", f"judge: {config.judge}, but the task has no judge of its own", where=where, mend=mend
        )
    if is_git(config.source) and not config.trust:
        raise untrusted(where)
    return OwnJudge(
        directory=str(folder.directory),
        inputs=traptask.inputs,
        expected=traptask.expected,
        judge=traptask.judge,
        grader=traptask.grader,
        setup=traptask.setup,
        version=_version(folder.directory, folder.shown_as, traptask),
        decides=config.judge == "task",
    )


def untrusted(where: str) -> UserError:
    """The refusal to run what a remote source brings."""
    return user_error(
        "judge-untrusted",
        "the judge comes from another's source, and nothing of that is run without `trust: true`",
        where=where,
        mend="Read its judge, grader and setup_cmd at that commit, then set `trust: true`; or write `judge: builtin`.",
    )


def expected_files(folder: TaskFolder, traptask: TrapTask, case_id: str) -> dict[str, str]:
    """Name → SHA-256 of what the task expects of a case: any file may be what its judge goes by."""
    path = folder.directory / traptask.expected / case_id
    if not path.is_dir() or not folder.inside(path):
        return {}
    return hash_files(path, folder.show(path))


def gold(folder: TaskFolder, traptask: TrapTask, case_id: str) -> Transcript | None:
    """The answer that the case's own judge must accept: member `answer` of answer.json or expected.json, or the text of
    answer.txt. None where there is none of them, or it is in no such form."""
    for name in _ANSWERS:
        path = folder.directory / traptask.expected / case_id / name
        if path.is_file() and folder.inside(path):
            text = folder.read(path)
            answer = None if text is None else text if name.endswith(".txt") else _member(text)
            if answer is not None:
                return Transcript(text=answer)
    return None


def _member(text: str) -> str | None:
    value: Any = parse_json(text)
    if isinstance(value, JsonFault) or not isinstance(value, dict) or value.get("answer") is None:
        return None
    answer = value["answer"]
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def _version(directory: Path, shown: str, traptask: TrapTask) -> str:
    """Twelve digits that stand for the commands and for every file that belongs to no case."""
    cases = tuple(f"{name.rstrip('/')}/" for name in (traptask.inputs, traptask.expected))
    files = {name: digest for name, digest in hash_files(directory, shown).items() if not name.startswith(cases)}
    files.pop(FILE, None)  # what of it counts is in the commands
    commands = [[each.cmd, each.envvar] if each else None for each in (traptask.judge, traptask.grader, traptask.setup)]
    return digest_of([files, commands])[:12]
