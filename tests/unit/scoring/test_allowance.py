"""One attempt cannot hold the scorer for long, whatever its calls and the task's patterns make of each other."""

from __future__ import annotations

import time

from evaluator.cases import Case, Request
from evaluator.scoring import allowance, prepare
from evaluator.scoring.patterns import compile_pattern
from evaluator.transcript import Call, Infrastructure, Transcript


def test_many_slow_searches_of_one_attempt_end_and_are_nobodys_failure(monkeypatch):
    monkeypatch.setattr(allowance, "SECONDS", 0.5)
    rule = {"$.note": {"regex": "^(a|a)*$"}}
    steps = [{"turn": 1, "tool": "note", "rules": rule} for _ in range(4)]
    calls = [Call(tool="note", arguments=f'{{"note": "{"a" * (22 + place % 3)}!"}}') for place in range(64)]
    case = Case(id="a", request=Request(messages=[]), expected={"paths": [steps]})
    began = time.perf_counter()
    score = prepare("trace", case)(Transcript(text="Done.", calls=calls))
    assert time.perf_counter() - began < 5
    assert isinstance(score, Infrastructure)
    assert score.kind == "pattern_timeout"


def test_a_schema_that_branches_at_each_level_ends(monkeypatch):
    monkeypatch.setattr(allowance, "SECONDS", 0.5)
    tree = {
        "anyOf": [{"type": "array", "items": {"$ref": "#/$defs/t"}}, {"type": "array", "items": {"$ref": "#/$defs/t"}}]
    }
    parameters = {"type": "object", "properties": {"t": {"$ref": "#/$defs/t"}}, "$defs": {"t": tree}}
    case = Case(
        id="a",
        request=Request(messages=[], tools=[{"name": "note", "parameters": parameters}]),
        expected={"paths": [[{"turn": 1, "tool": "note"}]]},
    )
    deep = "[" * 18 + "1" + "]" * 18
    calls = [Call(tool="note", arguments=f'{{"t": {deep}}}') for _ in range(64)]
    began = time.perf_counter()
    prepare("trace", case)(Transcript(text="Done.", calls=calls))
    assert time.perf_counter() - began < 10


def test_outside_an_attempt_there_is_no_such_end():
    assert compile_pattern("a").found_in("a")
    with allowance.ALLOWANCE.of_one_attempt():
        assert 0 < allowance.ALLOWANCE.left() <= allowance.SECONDS
    assert allowance.ALLOWANCE.left() > 1e9
