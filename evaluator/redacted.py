"""Whole documents without secrets: a run as it is stored, and everything that is rendered from it."""

from __future__ import annotations

import json
import typing
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, cast

import msgspec

from evaluator.cases import SourceRef, Subject
from evaluator.redaction import Redactor
from evaluator.results import Baseline, CaseResult, Run, TaskResult, encode

_Document = TypeVar("_Document", Run, Baseline)
_T = TypeVar("_T")

# What was asked, and of which case an answer is. `evaluator.leaks` has refused it where it holds a secret, and to mask
# a part of it would make it another case.
_KEPT = (Subject, SourceRef)
_KEPT_FIELDS = {
    CaseResult: {"id", "digest", "request", "expected", "options", "golds", "slices", "cluster", "origin"},
    TaskResult: {"name", "tools"},
}


def redacted(document: _Document, redactor: Redactor) -> tuple[_Document, bytes]:
    """`document` and its JSON, both without secrets in what anybody has said of it: messages, findings, notes.

    Its strings are cleaned one by one, before any report cuts or escapes one of them: half a secret and one between
    backslashes are not known by their value.
    """
    data = encode(document)
    if not redactor.finds(data.decode()):
        return document, data
    document = _cleaned(document, redactor)
    return document, encode(document)


def redacted_json(text: str, redactor: Redactor) -> str:
    """A JSON document without secrets, in the same lines where it holds none."""
    if not redactor.finds(text):
        return text
    return json.dumps(redactor.clean_value(json.loads(text), _words()), ensure_ascii=False, indent=1)


def _cleaned(value: _T, redactor: Redactor) -> _T:
    if isinstance(value, _KEPT):
        return value
    if isinstance(value, msgspec.Struct):
        kept = _KEPT_FIELDS.get(type(value), set())
        fields = {name: getattr(value, name) for name in value.__struct_fields__ if name not in kept}
        changed = {name: _cleaned(old, redactor) for name, old in fields.items()}
        return msgspec.structs.replace(value, **changed)
    if isinstance(value, list):
        return cast(_T, [_cleaned(item, redactor) for item in value])
    return cast(_T, redactor.clean_value(value, _words()))


@cache
def _words() -> frozenset[str]:
    """The words of our own vocabulary: `scored` is a status even where somebody chose it as a password."""
    words: set[str] = set()
    seen: set[Any] = set()
    waiting: list[Any] = [Run, Baseline]
    while waiting:
        kind = waiting.pop()
        if kind in seen:
            continue
        seen.add(kind)
        if typing.get_origin(kind) is Literal:
            words |= {word for word in typing.get_args(kind) if isinstance(word, str)}
        elif isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            names = msgspec.structs.fields(kind)
            words |= {field.encode_name for field in names}
            waiting += [field.type for field in names]
        elif typing.get_origin(kind) is not None or isinstance(kind, UnionType):
            waiting += [part for part in typing.get_args(kind) if not isinstance(part, str)]
    return frozenset(words)
