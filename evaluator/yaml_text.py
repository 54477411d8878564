"""YAML from outside, with positions: text → plain values, and where in the text each of them stands.

Built on the events of PyYAML's safe loader instead of its composer, which recurses in C without a bound and keeps
neither duplicate keys nor positions. What comes out is what JSON can hold: mappings with text keys, lists, text, finite
numbers, booleans and null. Scalars are resolved as YAML 1.1 (as `yaml.safe_load` does) with three exceptions, because
they surprise: timestamps, base-60 numbers (`12:30`) and numbers with a leading zero (`007`) stay the text they are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import yaml

from evaluator.errors import Problem, UserError
from evaluator.yaml_scalars import TAG, UnkeptError, quoted, resolved

CODE = "yaml-invalid"
MAX_BYTES = 1024 * 1024
MAX_DEPTH = 100
MAX_NODES = 200_000  # after aliases are expanded
MAX_PROBLEMS = 50

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_UNPRINTABLE = yaml.reader.Reader.NON_PRINTABLE

Path_ = tuple[str | int, ...]


@dataclass(slots=True)
class Node:
    """One value of the document. `line` and `column` count from 1.

    Of a scalar: `start` and `end` are character offsets, `text` is what it was before it was resolved, `style` how it
    is written: `'`, `"`, `|`, `>` or empty for plain.
    `size` counts the nodes below and including this one with aliases expanded. Aliases share one Node.
    """

    value: Any
    line: int
    column: int
    start: int
    end: int
    text: str | None = None
    style: str = ""
    size: int = 1
    children: dict[str | int, Node] = field(default_factory=dict)
    keys: dict[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """A loaded document. A path is a tuple of keys and list indexes; `()` is the document itself."""

    value: Any
    file: str
    root: Node

    def node(self, path: Path_) -> Node | None:
        """The node at `path`, None where there is none."""
        node: Node | None = self.root
        for step in path:
            if node is None:
                return None
            node = node.children.get(step)
        return node

    def position(self, path: Path_) -> tuple[int, int]:
        """Line and column of the value at `path`, or of the nearest value above it that exists."""
        node = self.root
        for step in path:
            child = node.children.get(step)
            if child is None:
                break
            node = child
        return node.line, node.column

    def key_position(self, path: Path_) -> tuple[int, int]:
        """Line and column of the key that ends `path`; of the value where it ends in a list index or does not exist."""
        parent = self.node(path[:-1]) if path else None
        found = parent.keys.get(str(path[-1])) if parent else None
        return found or self.position(path)

    def problem(self, path: Path_, message: str, mend: str = "", *, key: bool = False) -> Problem:
        """A Problem at the value (or, with `key`, at the key) of `path`."""
        line, column = self.key_position(path) if key else self.position(path)
        return Problem(self.file, line, column, message, mend)


def load(text: str, file: str) -> Document:
    """The one document in `text`; `file` names it in errors. An empty document has the value None.

    Raises UserError `yaml-invalid` with line and column: of the first fault of syntax, or of all duplicate keys, keys
    that are not text, and values that cannot be kept.
    """
    _check_text(text, file)
    reader = _Reader(text, file)
    try:
        root = reader.document()
    except yaml.YAMLError as error:
        raise UserError(CODE, _syntax_problem(error, file)) from error
    finally:
        reader.close()
    if reader.problems:
        raise UserError(CODE, *reader.problems)
    return Document(root.value, file, root)


def read(path: Path, file: str) -> str:
    """The text of a file, bounded and decoded as UTF-8; OSError is the caller's to explain.

    Raises UserError `yaml-invalid` where it is too large or not UTF-8.
    """
    with path.open("rb") as stream:
        data = stream.read(MAX_BYTES + 1)
    return decode(data, file)


def decode(data: bytes, file: str) -> str:
    """`data` as text. Raises UserError `yaml-invalid` where it is too large or not UTF-8."""
    if len(data) > MAX_BYTES:
        raise UserError(CODE, _too_large(file))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        line, column = _place(before, len(before))
        raise UserError(
            CODE, Problem(file, line, column, "not UTF-8 text", "Save the file in the encoding UTF-8.")
        ) from error


def _check_text(text: str, file: str) -> None:
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise UserError(CODE, _too_large(file))
    if text.startswith("\ufeff"):
        mend = "Save the file as UTF-8 without it."
        raise UserError(CODE, Problem(file, 1, 1, "the file begins with a byte-order mark", mend))
    if bad := _UNPRINTABLE.search(text):
        line, column = _place(text, bad.start())
        message = f"control character U+{ord(bad.group()):04X}"
        raise UserError(CODE, Problem(file, line, column, message, "Remove it, or write it as an escape in quotes."))


def _too_large(file: str) -> Problem:
    return Problem(file, 0, 0, f"larger than {MAX_BYTES // 1024} KiB, the most that is read of such a file")


def _place(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1


def _syntax_problem(error: yaml.YAMLError, file: str) -> Problem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    what = " ".join(part for part in (getattr(error, "context", None), getattr(error, "problem", None)) if part)
    mend = ""
    if "'\\t'" in what or "that cannot start any token" in what:
        mend = "YAML is indented with spaces, never with tabs; text that begins with @, ` or % needs quotes."
    elif "mapping values are not allowed" in what:
        mend = 'Text that contains ": " needs quotes; else the indentation of this line or the one above is off.'
    line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
    return Problem(file, line, column, f"not valid YAML: {what or str(error)}", mend)


class _Reader:
    """Events to nodes. Faults that leave the structure readable are collected, so that all are reported at once."""

    def __init__(self, text: str, file: str) -> None:
        self._loader = _LOADER(text)
        self._file = file
        self._anchors: dict[str, Node | None] = {}
        self._nodes = 0
        self.problems: list[Problem] = []

    def close(self) -> None:
        self._loader.dispose()

    def document(self) -> Node:
        self._loader.get_event()  # start of stream
        if self._loader.check_event(yaml.StreamEndEvent):
            return Node(None, 1, 1, 0, 0)
        self._loader.get_event()  # start of document
        root = self._node(self._loader.get_event(), 1)
        self._loader.get_event()  # end of document
        following = self._loader.get_event()
        if not isinstance(following, yaml.StreamEndEvent):
            self._stop(following.start_mark, "a second document begins here; one is read", "Remove the line `---`.")
        return root

    def _node(self, event: Any, depth: int) -> Node:
        if depth > MAX_DEPTH:
            self._stop(event.start_mark, f"nested more than {MAX_DEPTH} levels deep")
        if isinstance(event, yaml.AliasEvent):
            return self._aliased(event)
        anchor: str | None = event.anchor
        if anchor is not None:
            self._anchors[anchor] = None
        if isinstance(event, yaml.ScalarEvent):
            node = self._scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self._sequence(event, depth)
        else:
            node = self._mapping(event, depth)
        if anchor is not None:
            self._anchors[anchor] = node
        return node

    def _aliased(self, event: Any) -> Node:
        name = event.anchor
        if name not in self._anchors:
            self._stop(event.start_mark, f"alias *{name} has no anchor &{name} before it")
        node = self._anchors[name]
        if node is None:
            self._stop(event.start_mark, f"alias *{name} contains itself")
        self._count(node.size, event.start_mark)
        return node

    def _count(self, nodes: int, mark: Any) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            self._stop(mark, f"more than {MAX_NODES} values once aliases are expanded")

    def _scalar(self, event: Any) -> Node:
        node = self._start(event, None)
        node.text, node.style = event.value, event.style or ""
        node.end = event.end_mark.index
        try:
            node.value = resolved(self._loader, event)
        except UnkeptError as error:
            self._report(event.start_mark, str(error))
        return node

    def _sequence(self, event: Any, depth: int) -> Node:
        node = self._start(event, [])
        self._refuse_tag(event, "seq")
        while not isinstance(following := self._loader.get_event(), yaml.SequenceEndEvent):
            child = self._node(following, depth + 1)
            node.children[len(node.value)] = child
            node.value.append(child.value)
            node.size += child.size
        return node

    def _mapping(self, event: Any, depth: int) -> Node:
        node = self._start(event, {})
        self._refuse_tag(event, "map")
        merged: list[Node] = []
        while not isinstance(following := self._loader.get_event(), yaml.MappingEndEvent):
            key = self._node(following, depth + 1)
            child = self._node(self._loader.get_event(), depth + 1)
            node.size += child.size
            if key.text == "<<" and not key.style:
                merged += self._merge_sources(child)
            elif self._acceptable(key, node):
                node.keys[key.value] = (key.line, key.column)
                node.children[key.value] = child
                node.value[key.value] = child.value
        for source in merged:
            _merge(source, node)
        return node

    def _acceptable(self, key: Node, into: Node) -> bool:
        if not isinstance(key.value, str):
            self._report(key, *_key_refusal(key))
        elif key.value in into.keys:
            first = into.keys[key.value][0]
            self._report(key, f"key {quoted(key.value)} appears twice, first in line {first}")
        else:
            return True
        return False

    def _merge_sources(self, child: Node) -> list[Node]:
        sources = list(child.children.values()) if isinstance(child.value, list) else [child]
        for source in sources:
            if not isinstance(source.value, dict):
                self._report(source, "<< merges mappings, and this is none")
        return [source for source in sources if isinstance(source.value, dict)]

    def _start(self, event: Any, value: Any) -> Node:
        mark = event.start_mark
        self._count(1, mark)
        return Node(value, mark.line + 1, mark.column + 1, mark.index, mark.index)

    def _refuse_tag(self, event: Any, kind: str) -> None:
        if event.tag not in (None, "!", TAG + kind):
            self._report(event.start_mark, f"tag {quoted(event.tag)} is not supported", "Write the plain value.")

    def _problem(self, place: Any, message: str, mend: str = "") -> Problem:
        if isinstance(place, Node):
            return Problem(self._file, place.line, place.column, message, mend)
        return Problem(self._file, place.line + 1, place.column + 1, message, mend)

    def _report(self, place: Any, message: str, mend: str = "") -> None:
        self.problems.append(self._problem(place, message, mend))
        if len(self.problems) >= MAX_PROBLEMS:
            raise UserError(CODE, *self.problems)

    def _stop(self, mark: Any, message: str, mend: str = "") -> NoReturn:
        raise UserError(CODE, *self.problems, self._problem(mark, message, mend))


def _merge(source: Node, into: Node) -> None:
    for key, child in source.children.items():
        if key not in into.children:
            into.children[key] = child
            into.value[key] = child.value
            into.keys[str(key)] = source.keys[str(key)]


def _key_refusal(key: Node) -> tuple[str, str]:
    if key.text is None:
        return "a key must be text, and this one is a list or mapping", ""
    if key.value is None:
        return "a key must be text, and this one is empty", "Write the key before the colon."
    read_as = json.dumps(key.value)
    return f"key {key.text} is read as {read_as}, not as text", f'Put it in quotes: "{key.text}".'
