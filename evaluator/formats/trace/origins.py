"""Where a fixture was written, and in which line each part of its expected calls: for faults that show up later."""

from __future__ import annotations

from collections.abc import Iterator

from evaluator.cases import Origin
from evaluator.formats.trace.files import Entry
from evaluator.formats.trace.rules import field_of
from evaluator.scoring.bounds import json_path
from evaluator.yaml_text import Node, Path_


def origin_of(entry: Entry) -> Origin:
    """The file of a fixture without a fault, and lines by their path in `Case.expected`.

    In JSON positions are too slow to be looked up before there is something to explain: then only that of the line in
    *.jsonl is known.
    """
    line = entry.line if entry.path.suffix == ".jsonl" else 0
    document = entry.positions
    return Origin(file=entry.file, line=line, lines=_lines(document.root) if document else {})


def _lines(fixture: Node) -> dict[str, int]:
    sequences = [fixture.children[key] for key in ("expected_invocations",) if key in fixture.children]
    if "expected_paths" in fixture.children:
        sequences = list(fixture.children["expected_paths"].children.values())
    lines: dict[str, int] = {}
    for path, steps in enumerate(sequences):
        for place, step in steps.children.items():
            lines.update(_of_call(step, ("paths", path, place)))
    return lines


def _of_call(call: Node, here: Path_) -> Iterator[tuple[str, int]]:
    yield json_path(here), call.line
    for key in ("tool", "args"):
        if key in call.children:
            yield from _below(call.children[key], (*here, key))
    for path, rule in _members(call, "rules"):
        yield from _below(rule, (*here, "rules", json_path(field_of(str(path)))))
    for place, other in _members(call, "alternatives"):
        yield from _of_call(other, (*here, "alternatives", place))


def _members(node: Node, key: str) -> Iterator[tuple[str | int, Node]]:
    yield from node.children[key].children.items() if key in node.children else ()


def _below(node: Node, here: Path_) -> Iterator[tuple[str, int]]:
    yield json_path(here), node.line
    for key, child in node.children.items():
        yield from _below(child, (*here, key))
