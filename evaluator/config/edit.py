"""One scalar of a YAML text replaced in place: every comment, every other key, their order and quoting stay."""

from __future__ import annotations

import json
from typing import Any

from evaluator.config.wording import place
from evaluator.errors import Problem, UserError
from evaluator.yaml_scalars import quoted
from evaluator.yaml_text import Document, Node, Path_, load

CODE = "yaml-not-editable"

Scalar = str | int | float | bool | None


def set_scalar(text: str, path: Path_, new: Scalar, file: str = "trap.yaml") -> str:
    """`text` with the scalar at `path` replaced by `new`; text stays quoted as it was where that is possible.

    Raises UserError `yaml-not-editable` where there is no scalar at `path`, or where it cannot be replaced without
    changing something else (it is a block of text, or shared through an anchor); `yaml-invalid` where `text` is not
    YAML.
    """
    document = load(text, file)
    node = document.node(path)
    if node is None or node.text is None:
        raise _refusal(document, path, "there is no single value to change")
    wanted = _replaced(document.value, path, new)
    for spelling in _spellings(node, new):
        edited = text[: node.start] + spelling + text[node.end :]
        if _reads_as(edited, wanted, file):
            return edited
    raise _refusal(document, path, "the value cannot be changed in place")


def _spellings(node: Node, new: Scalar) -> list[str]:
    """Ways to write `new`, the one nearest to how the old value was written first."""
    if not isinstance(new, str):
        return [json.dumps(new)]
    in_double = quoted(new, len(new))
    if node.style == '"':
        return [in_double]
    if node.style == "'":
        return ["'" + new.replace("'", "''") + "'", in_double]
    return [] if node.style else [new, in_double]


def _replaced(value: Any, path: Path_, new: Scalar) -> Any:
    """A copy of `value` with `new` at `path`."""
    if not path:
        return new
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _replaced(value[path[0]], path[1:], new)
    return copy


def _reads_as(text: str, wanted: Any, file: str) -> bool:
    try:
        got = load(text, file).value
    except UserError:
        return False
    # As JSON, because 1, 1.0 and True are equal to Python.
    return json.dumps(got) == json.dumps(wanted)


def _refusal(document: Document, path: Path_, why: str) -> UserError:
    line, column = document.position(path)
    mend = f"Edit {place(path)} by hand."
    return UserError(CODE, Problem(document.file, line, column, f"{place(path)}: {why}", mend))
