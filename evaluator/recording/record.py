"""Logs of other programs → files of fixtures."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.errors import Problem, UserError
from evaluator.json_text import parse_json
from evaluator.recording import log_files
from evaluator.recording.conversations import Conversation, Message, UnreadableRecordError, conversation_of
from evaluator.recording.drafts import draft_of
from evaluator.recording.log_files import MOST_PROBLEMS, Record
from evaluator.recording.scrub import Scrubber
from evaluator.recording.write import write_fixture

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_ID = 80


@dataclass(frozen=True)
class Imported:
    """`written`: the fixtures, one to a file. `notes`: what was odd or left out, with its place. `masked`: secrets."""

    written: list[Path]
    notes: list[str]
    masked: int


def import_logs(path: Path, output_folder: Path, environ: Mapping[str, str]) -> Imported:
    """Writes a draft of a fixture to `output_folder` for each conversation of the log at `path`.

    Secrets are masked first: those of `environ` by value, others by shape. Nothing is written where something cannot be
    read. Raises UserError `import-unreadable`, `import-exists` or `not-writable`.
    """
    scrubber = Scrubber(environ)
    conversations = _conversations(log_files.read(path), scrubber)
    notes: list[str] = []
    drafts = _drafts(path, _joined(conversations, path, notes), notes)
    if not drafts:
        problem = Problem(
            str(path), 0, 0, "no conversation to make a fixture of", " ".join([*notes[:3], log_files.MEND])
        )
        raise UserError("import-unreadable", problem)
    targets = {output_folder / f"{fixture['task_id']}.json": fixture for fixture in drafts}
    existing = [target for target in targets if os.path.lexists(target)]
    if existing:
        mend = "Choose another folder, or move the file away: it may have been edited."
        problems = [Problem(str(target), 0, 0, "a fixture is there already", mend) for target in existing]
        raise UserError("import-exists", *problems[:MOST_PROBLEMS])
    for target, fixture in targets.items():
        write_fixture(target, fixture)
    return Imported(list(targets), notes, scrubber.masked)


def _conversations(records: list[Record], scrubber: Scrubber) -> list[Conversation]:
    conversations: list[Conversation] = []
    problems: list[Problem] = []
    for record in records:
        record.value = scrubber.value(record.value)
        try:
            conversations.append(conversation_of(record))
        except UnreadableRecordError as error:
            problems.append(error.problem)
    if problems:
        raise UserError("import-unreadable", *problems[:MOST_PROBLEMS])
    return conversations


def _joined(conversations: list[Conversation], path: Path, notes: list[str]) -> list[Conversation]:
    """Without those that a later record goes on with: a log of requests repeats the conversation so far in each."""
    chains = [_chain(conversation.messages) for conversation in conversations]
    ends: dict[str, list[int]] = {}
    for place, chain in enumerate(chains):
        ends.setdefault(chain[-1] if chain else "", []).append(place)
    continued: dict[int, int] = {}
    for place, chain in enumerate(chains):
        for digest in chain[:-1]:
            continued |= {earlier: place for earlier in ends.get(digest, []) if earlier != place}
    for earlier in sorted(continued):
        whole = earlier
        while whole in continued:
            whole = continued[whole]
        found, goes_on = conversations[earlier], conversations[whole]
        goes_on.usages = [*found.usages, *goes_on.usages]
        notes.append(f"{_place(path, found)}: goes on in line {goes_on.record.line}, one fixture for both")
    return [conversation for place, conversation in enumerate(conversations) if place not in continued]


def _chain(messages: list[Message]) -> list[str]:
    """For each message a digest of it and all before it."""
    chain: list[str] = []
    digest = b""
    for message in messages:
        calls = [[call.tool, _canonical(call.arguments)] for call in message.calls]
        results = [[result.id, result.value] for result in message.results]
        said = json.dumps([message.role, message.text.strip(), calls, results], sort_keys=True)
        digest = hashlib.sha256(digest + said.encode()).digest()
        chain.append(digest.hex())
    return chain


def _canonical(arguments: str) -> Any:
    value = parse_json(arguments)
    return value if isinstance(value, dict | list) else arguments


def _drafts(path: Path, conversations: list[Conversation], notes: list[str]) -> list[dict[str, Any]]:
    drafts = []
    used: set[str] = set()
    for number, conversation in enumerate(conversations, 1):
        origin = f"{path.name}, line {conversation.record.line}"
        task_id = _task_id(conversation.id, path.stem, number, used)
        fixture, found = draft_of(conversation, task_id, origin)
        notes += [f"{_place(path, conversation)}: {note}" for note in found]
        if fixture is not None:
            used.add(task_id.lower())
            drafts.append(fixture)
    return drafts


def _task_id(given: str | None, stem: str, number: int, used: set[str]) -> str:
    """A name for the case and its file, free on file systems that ignore case as well."""
    name = _UNSAFE.sub("-", given or "").strip("-.")[:_LONGEST_ID]
    name = name or f"{_UNSAFE.sub('-', stem).strip('-.')[:_LONGEST_ID] or 'log'}-{number:03}"
    free, again = name, 1
    while free.lower() in used:
        again += 1
        free = f"{name}-{again}"
    return free


def _place(path: Path, conversation: Conversation) -> str:
    return f"{path}:{conversation.record.line}"
