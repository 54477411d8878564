"""Whole documents without secrets: a run as it is stored, and everything that is rendered from it."""

from __future__ import annotations

import json
import typing
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar

import msgspec

from evaluator.redaction import Redactor
from evaluator.results import Baseline, Run, encode
from evaluator.transcript import Transcript

_Document = TypeVar("_Document", Run, Baseline)
_Struct = TypeVar("_Struct", bound=msgspec.Struct)


def redacted(document: _Document, redactor: Redactor) -> tuple[_Document, bytes]:
    """`document` and its JSON, both without secrets.

    Its strings are cleaned one by one, before any report cuts or escapes one of them: half a secret and one between
    backslashes are not known by their value.
    """
    data = encode(document)
    if not redactor.finds(data.decode()):
        return document, data
    document = _cleaned(document, redactor)
    return document, encode(document)


def redacted_transcript(transcript: Transcript, redactor: Redactor) -> Transcript:
    """`transcript` without secrets, before it is scored, stored or compared; itself where it holds none."""
    if not redactor.finds(msgspec.json.encode(transcript).decode()):
        return transcript
    return _cleaned(transcript, redactor)


def redacted_json(text: str, redactor: Redactor) -> str:
    """A JSON document without secrets, in the same lines where it holds none."""
    if not redactor.finds(text):
        return text
    return json.dumps(redactor.clean_value(json.loads(text), _words()), ensure_ascii=False, indent=1)


def _cleaned(document: _Struct, redactor: Redactor) -> _Struct:
    # Bytes stay bytes: files of a solution, which in JSON would be base64.
    plain = msgspec.to_builtins(document, builtin_types=(bytes,))
    return msgspec.convert(redactor.clean_value(plain, _words()), type(document), builtin_types=(bytes,))


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
