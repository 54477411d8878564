"""What a live recording says of its calls."""

from __future__ import annotations

import pytest

from evaluator.cases import Case, Request
from evaluator.recording.live import _schema_checks
from evaluator.transcript import Call, Transcript

ANYTHING = {"name": "note", "parameters": {}}
CASE = Case(id="a", request=Request(messages=[], tools=[ANYTHING]))


@pytest.mark.parametrize(
    ("call", "valid"),
    [
        (Call(tool="note", arguments='{"a": 1}'), True),
        (Call(tool="note", arguments='{"a": '), False),
        (Call(tool="note", arguments="[1]"), False),
        (Call(tool="note", arguments="{}", fault="cut off"), False),
    ],
)
def test_arguments_that_are_no_object_are_valid_by_no_schema(call, valid):
    assert _schema_checks(Transcript(calls=[call]), CASE) == [{"step": 1, "valid": valid}]
