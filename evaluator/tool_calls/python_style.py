"""Python-style calls: `[f(a=1, b="x"), g()]` or `f(a=1)`. Parsed, never evaluated."""

from __future__ import annotations

import ast
import re
import threading
import warnings
from collections.abc import Collection
from math import isfinite
from typing import Any

from evaluator.tool_calls.wrappers import MOST_CALLS, arguments_text, bounded, faulty
from evaluator.transcript import Call

# A parsed text takes several hundred times its size in memory.
MOST_CHARACTERS = 200_000
MOST_DEPTH = 100

_WRAPPER = "python"
_START = re.compile(r"\[?\s*([^\W\d][\w.]{0,200})\s*\(")
_TOKEN = re.compile(
    r"'''(?:[^'\\]|\\.|'(?!''))*+'''|\"\"\"(?:[^\"\\]|\\.|\"(?!\"\"))*+\"\"\""
    r"|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'|\"[^\"\\\n]*+(?:\\.[^\"\\\n]*+)*+\""
    r"|(?P<broken>['\"].*+)|(?P<open>[(\[{])|(?P<close>[)\]}])",
    re.DOTALL,
)
# JSON's words, which models write among Python's.
_WORDS = {"true": True, "false": False, "null": None}
_WARNINGS = threading.Lock()


class _FaultError(Exception):
    def __init__(self, message: str, node: ast.AST | None = None) -> None:
        super().__init__(message)
        self.node = node


def read(text: str, tools: Collection[str]) -> list[Call] | None:
    """The calls that all of `text` is, None where it is something else.

    Without brackets around them, each function is one of `tools`. Arguments are named literals; anything else is a
    call with a fault, and so is a text that begins as a call of one of `tools` and breaks.
    """
    start = _START.match(text)
    if start is None:
        return None
    offered = start.group(1) in tools
    if not offered and not (text.startswith("[") and text.endswith("]")):
        return None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    fault = _too_large(text)
    tree = None
    if fault is None:
        try:
            tree = _parsed(text)
        except SyntaxError as error:
            fault = f"not Python: {error.msg} (line {error.lineno or 1}, column {max(error.offset or 1, 1)})"
        except (RecursionError, MemoryError, ValueError) as error:
            fault = f"not to be parsed: {error} (line 1, column 1)"
    if tree is None:
        meant = offered and _ends_with_the_call(text)
        return [faulty(text, fault or "", _WRAPPER, start.group(1))] if meant else None
    return _calls(tree, _Source(text), tools, bracketed=text.startswith("["))


def _too_large(text: str) -> str | None:
    if len(text) > MOST_CHARACTERS:
        return f"{len(text)} characters, more than the {MOST_CHARACTERS} that are read (line 1, column 1)"
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += {"open": 1, "close": -1}.get(token.lastgroup or "", 0)
        if depth > MOST_DEPTH:
            line = text.count("\n", 0, token.start()) + 1
            column = token.start() - text.rfind("\n", 0, token.start())
            return f"nested more than {MOST_DEPTH} levels deep (line {line}, column {column})"
    return None


def _ends_with_the_call(text: str) -> bool:
    """Whether nothing follows the brackets that open first, or they never close: prose goes on after them."""
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += {"open": 1, "close": -1}.get(token.lastgroup or "", 0)
        if depth == 0 and token.lastgroup == "close":
            return not text[token.end() :].strip(" \t\n,;")
    return True


def _parsed(text: str) -> ast.Module:
    if "\\" not in text:
        return ast.parse(text)
    # "\d" is a backslash and a d, of which Python warns; the filters of warnings belong to all threads.
    with _WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        return ast.parse(text)


class _Source:
    """The text that was parsed, by the places of its nodes, which count bytes."""

    def __init__(self, text: str) -> None:
        self._bytes = text.encode()
        self._lines = [0, *(newline.end() for newline in re.finditer(rb"\n", self._bytes))]

    def segment(self, node: ast.expr) -> str:
        start = self._lines[node.lineno - 1] + node.col_offset
        end = self._lines[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        return self._bytes[start:end].decode()

    def place(self, node: ast.expr, within: ast.expr) -> str:
        """Where `node` stands in the segment of `within`."""
        line_start = self._lines[node.lineno - 1]
        if node.lineno == within.lineno:
            line_start += within.col_offset
        start = self._lines[node.lineno - 1] + node.col_offset
        column = len(self._bytes[line_start:start].decode()) + 1
        return f"(line {node.lineno - within.lineno + 1}, column {column})"


def _calls(tree: ast.Module, source: _Source, tools: Collection[str], *, bracketed: bool) -> list[Call] | None:
    values = [statement.value if isinstance(statement, ast.Expr) else None for statement in tree.body]
    if bracketed:
        only = values[0] if len(values) == 1 else None
        nodes: list[Any] = list(only.elts) if isinstance(only, ast.List) else []
    else:
        nodes = list(values)
    names = [_name(node.func) if isinstance(node, ast.Call) else None for node in nodes]
    if not nodes or None in names or not (bracketed or all(name in tools for name in names)):
        return None
    pairs = zip(nodes, names, strict=True)
    calls = [_call(node, name or "", source) for node, name in list(pairs)[: MOST_CALLS + 1]]
    if any(call.fault for call in calls) and not any(name in tools for name in names):
        return None
    return bounded(calls)


def _name(node: ast.expr) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def _call(node: ast.Call, name: str, source: _Source) -> Call:
    try:
        return Call(tool=name, arguments=arguments_text(_arguments(node)), wrapper=_WRAPPER)
    except _FaultError as error:
        place = source.place(error.node if isinstance(error.node, ast.expr) else node, node)
        return faulty(source.segment(node), f"{error} {place}", _WRAPPER, name)
    except (RecursionError, ValueError) as error:
        return faulty(source.segment(node), f"{error} (line 1, column 1)", _WRAPPER, name)


def _arguments(node: ast.Call) -> dict[str, Any]:
    if node.args:
        raise _FaultError("an argument without a name", node.args[0])
    arguments: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise _FaultError("arguments behind ** are no literals", keyword.value)
        if keyword.arg in arguments:
            raise _FaultError(f"the argument {keyword.arg} stands twice", keyword.value)
        arguments[keyword.arg] = _literal(keyword.value)
    return arguments


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.List | ast.Tuple):
        return [_literal(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        return _dictionary(node)
    if isinstance(node, ast.Name) and node.id in _WORDS:
        return _WORDS[node.id]
    sign = 1
    constant: ast.expr = node
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        sign = -1 if isinstance(node.op, ast.USub) else 1
        constant = node.operand
    if not isinstance(constant, ast.Constant):
        raise _FaultError("not a literal", node)
    value = constant.value
    if constant is node and (value is None or isinstance(value, bool | str)):
        return value
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or (isinstance(value, float) and not isfinite(value))
    ):
        raise _FaultError("not a literal that JSON has", node)
    return sign * value


def _dictionary(node: ast.Dict) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise _FaultError("a key that is no string", key or value)
        if key.value in members:
            raise _FaultError("a key stands twice in one dictionary", key)
        members[key.value] = _literal(value)
    return members
