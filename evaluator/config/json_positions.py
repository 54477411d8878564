"""JSON files of the repository with positions: the counterpart of `evaluator.yaml_text` for tool specs."""

from __future__ import annotations

import bisect
import json
import re
from typing import Any

from evaluator.errors import Problem, UserError
from evaluator.json_text import JsonFault, parse_json
from evaluator.yaml_scalars import INT64, quoted
from evaluator.yaml_text import MAX_DEPTH, Document, Node

CODE = "json-invalid"

_SPACE = re.compile(r"[ \t\n\r]*")


def load(text: str, file: str) -> Document:
    """The JSON value in `text` with the position of each value and key; `file` names it in errors.

    Raises UserError `json-invalid` with line and column where the strict parser refuses the text, where it nests beyond
    `MAX_DEPTH` levels, or where a number does not fit in 64 bits.
    """
    fault = parse_json(text)
    if isinstance(fault, JsonFault):
        raise UserError(CODE, Problem(file, fault.line, fault.column, fault.message))
    walk = _Walk(text, file)
    root, _ = walk.value(walk.skip(0), 1)
    return Document(root.value, file, root)


class _Walk:
    """Finds where the values stand in a text that is known to be valid JSON without duplicate keys."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._decoder = json.JSONDecoder()
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def skip(self, offset: int) -> int:
        """The offset after white space."""
        match = _SPACE.match(self._text, offset)
        return match.end() if match else offset

    def value(self, offset: int, depth: int) -> tuple[Node, int]:
        """The value that begins at `offset`, and the offset after it."""
        if depth > MAX_DEPTH:
            raise self._refusal(offset, f"nested more than {MAX_DEPTH} levels deep")
        if self._text[offset] in "{[":
            return self._container(offset, depth)
        value, end = self._decoder.raw_decode(self._text, offset)
        if isinstance(value, int) and value not in INT64:
            raise self._refusal(offset, f"{quoted(self._text[offset:end])} does not fit in 64 bits")
        return self._node(value, offset, end), end

    def _container(self, offset: int, depth: int) -> tuple[Node, int]:
        node = self._node({} if self._text[offset] == "{" else [], offset, offset)
        offset = self.skip(offset + 1)
        while self._text[offset] not in "}]":
            if isinstance(node.value, dict):
                offset = self._member(node, offset, depth)
            else:
                child, offset = self.value(offset, depth + 1)
                node.children[len(node.value)] = child
                node.value.append(child.value)
            offset = self.skip(offset)
            if self._text[offset] == ",":
                offset = self.skip(offset + 1)
        return node, offset + 1

    def _member(self, node: Node, offset: int, depth: int) -> int:
        key, end = self._decoder.raw_decode(self._text, offset)
        colon = self.skip(end)
        child, end = self.value(self.skip(colon + 1), depth + 1)
        node.keys[key] = self._place(offset)
        node.children[key] = child
        node.value[key] = child.value
        return end

    def _node(self, value: Any, start: int, end: int) -> Node:
        return Node(value, *self._place(start), start, end)

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect.bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def _refusal(self, offset: int, message: str) -> UserError:
        return UserError(CODE, Problem(self._file, *self._place(offset), message))
