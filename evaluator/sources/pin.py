"""`trapgate pin`: branches and tags in trap.yaml become full commit ids, in place.

Only the characters of the source strings are replaced: comments, order, quoting and line ends stay as they are.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluator.errors import Problem, UserError, user_error
from evaluator.sources.git import PAUSES
from evaluator.sources.location import Reference, is_git, parse_reference
from evaluator.sources.refs import UnresolvedError, list_refs
from evaluator.yaml_text import Document, Node, load, read

_CODE = "pin-unresolved"


@dataclass(frozen=True)
class Pinned:
    """One source that was rewritten: its line (from 1), the text before and after."""

    line: int
    before: str
    after: str


@dataclass(frozen=True)
class _Place:
    """A git source in the file that is not pinned yet: its characters begin at `start`, quotes included."""

    node: Node
    start: int
    before: str
    reference: Reference


def pin(path: Path, environ: Mapping[str, str], pauses: Sequence[float] = PAUSES) -> list[Pinned]:
    """Pin every git source of the file at `path` that is not pinned yet: `tasks.*.source` and `canaries`.

    A branch or tag becomes the commit that it names now, an annotated tag the commit that it is on; where no name is
    given, HEAD. Returns what was rewritten, in the order of the file. The file is replaced in one step, and not at all
    if any source cannot be resolved.

    Raises UserError `pin-unresolved` that lists all of these, and `config-missing`, `config-unreadable`,
    `config-unwritable` or `yaml-invalid` for the file.
    """
    shown = str(path)
    text = _text(path, shown)
    places = _unpinned(load(text, shown), text)
    commits = _commits(places, shown, environ, pauses)
    pinned = []
    for place, commit in sorted(zip(places, commits, strict=True), key=lambda pair: -pair[0].node.start):
        node, after = place.node, place.reference.pinned(commit)
        text = text[: place.start] + node.style + after + node.style + text[node.end :]
        pinned.append(Pinned(node.line, place.before, after))
    if pinned:
        _replace(path, text)
    return pinned[::-1]


def _text(path: Path, shown: str) -> str:
    if not path.is_file():
        raise user_error("config-missing", "there is no such file", where=shown, mend="Name the file to pin.")
    try:
        return read(path, shown)
    except OSError as error:
        raise user_error("config-unreadable", f"cannot be read: {error.strerror}", where=shown) from error


def _unpinned(document: Document, text: str) -> list[_Place]:
    places: list[_Place] = []
    problems: list[Problem] = []
    for node in _git_sources(document):
        try:
            reference = parse_reference(str(node.value))
        except UserError as error:
            problems += [Problem(document.file, node.line, node.column, p.message, p.mend) for p in error.problems]
            continue
        if reference.commit is not None:
            continue
        written = f"{node.style}{node.value}{node.style}"
        start = node.end - len(written)  # an anchor may stand before it
        if start < node.start or text[start : node.end] != written:
            mend = "Write the source on one line and without escapes."
            message = "the source is written in a way that cannot be replaced in place"
            problems.append(Problem(document.file, node.line, node.column, message, mend))
        places.append(_Place(node, start, str(node.value), reference))
    if problems:
        raise UserError(_CODE, *problems)
    return places


def _git_sources(document: Document) -> Iterator[Node]:
    tasks = document.node(("tasks",))
    nodes = [task.children.get("source") for task in tasks.children.values()] if tasks else []
    nodes.append(document.node(("canaries",)))
    # Anchored text that is used in several places is one node and is rewritten once.
    found = {node.start: node for node in nodes if node and isinstance(node.value, str) and is_git(node.value)}
    yield from found.values()


def _commits(places: Sequence[_Place], file: str, environ: Mapping[str, str], pauses: Sequence[float]) -> list[str]:
    urls = dict.fromkeys(place.reference.url for place in places)
    listed = {url: list_refs(url, environ, pauses) for url in urls}
    commits, problems = [], []
    for place in places:
        try:
            commits.append(listed[place.reference.url].commit(place.reference))
        except UnresolvedError as error:
            problems.append(Problem(file, place.node.line, place.node.column, error.message, error.mend))
    if problems:
        raise UserError(_CODE, *problems)
    return commits


def _replace(path: Path, text: str) -> None:
    target = path.resolve()  # a link stays a link
    try:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        written = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(descriptor)
            written.chmod(target.stat().st_mode & 0o7777)
            written.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                written.unlink()
            raise
    except OSError as error:
        message = f"cannot be written: {error.strerror}"
        raise user_error("config-unwritable", message, where=str(path), mend="Look at the permissions.") from error
