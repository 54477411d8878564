import json
from typing import Any

from evaluator.cases import Case, Request, SourceRef, Task
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
    assert faults(call(6)) == {"c1": "the expected answer fails its own scorer as wrong_value: $.n (value)"}


def test_a_gold_that_its_own_function_spec_refuses_is_named() -> None:
    assert faults(call("x"), accepted="x") == {
        "c1": "the expected answer passes but is not valid by the case's function spec: $.n (type)"
    }


def test_a_gold_that_cannot_be_scored_is_named() -> None:
    fault = faults(call(5), kind="vibes")["c1"]
    assert fault.startswith("the expected answer cannot be scored (unknown_matcher): matchers[0]: unknown kind")
