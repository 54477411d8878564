import json
from typing import Any

from evaluator.cases import Case, Origin, Request, SourceRef, Task
from evaluator.scoring.self_check import self_check
from evaluator.transcript import Transcript

FUNCTION = {"name": "f", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}


def faults(gold: str | None, accepted: Any = 5, kind: str = "json_call") -> dict[str, str]:
    matcher = {"kind": kind, "function_name": "f", "args_accepted": {"n": [accepted]}}
    case = Case(
        id="c1",
        request=Request(messages=[], function=FUNCTION),
        expected={"matchers": [matcher]},
        golds=[] if gold is None else [Transcript(text=gold)],
    )
    return self_check(Task(name="t", format="f", source=SourceRef(location="."), scorer="trapstreet", cases=[case]))


def call(value: Any) -> str:
    return json.dumps({"name": "f", "arguments": {"n": value}})


def test_a_task_whose_golds_pass_has_no_faults() -> None:
    assert faults(call(5)) == {}
    assert faults(None) == {}


def test_a_gold_that_its_own_scorer_refuses_is_named_with_the_place() -> None:
    assert faults(call(6)) == {
        "c1": "the expected answer fails its own scorer as wrong_value: $.n (value): wanted 5, got 6"
    }


def test_a_gold_that_its_own_function_spec_refuses_is_named() -> None:
    assert faults(call("x"), accepted="x") == {
        "c1": "the expected answer passes but is not valid by the case's function spec: "
        '$.n (type): wanted "integer", got "x"'
    }


def test_a_gold_that_cannot_be_scored_is_named() -> None:
    fault = faults(call(5), kind="vibes")["c1"]
    assert fault.startswith("the expected answer cannot be scored (unknown_matcher): matchers[0]: unknown kind")


def test_the_place_in_the_source_is_named_where_it_is_known() -> None:
    expected = {"paths": [[{"turn": 1, "tool": "f", "args": {"n": "5"}}], [{"turn": 1, "tool": "f", "args": {"n": 6}}]]}
    case = Case(
        id="c1",
        request=Request(messages=[], tools=[FUNCTION]),
        expected=expected,
        origin=Origin(file="a.yaml", line=2, lines={"$.paths[0][0]": 7, "$.paths[1][0].args.n": 9}),
    )
    said = self_check(Task(name="t", format="f", source=SourceRef(location="."), scorer="trace", cases=[case]))
    assert said["c1"].startswith("a.yaml:7: path 1, step 1 f $.n: the tool's schema wants a whole number")


def test_a_trace_that_expects_nothing_has_no_fault() -> None:
    case = Case(id="c1", request=Request(messages=[], tools=[FUNCTION]))
    assert self_check(Task(name="t", format="f", source=SourceRef(location="."), scorer="trace", cases=[case])) == {}


def test_a_trace_that_cannot_be_scored_is_named_before_its_tools_are_looked_at() -> None:
    expected = {"paths": [[{"turn": 1, "tool": "g", "rules": {"n": {"any": True}}}]]}
    case = Case(
        id="c1", request=Request(messages=[], tools=[FUNCTION]), expected=expected, origin=Origin(file="a.yaml")
    )
    said = self_check(Task(name="t", format="f", source=SourceRef(location="."), scorer="trace", cases=[case]))
    assert said["c1"].startswith("a.yaml: the case cannot be scored (malformed_expected): paths[0][0]: the path of a")
