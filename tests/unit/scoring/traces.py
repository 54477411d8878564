"""Short ways to write a trace case, an attempt at it and its score, through the registry as a run does it."""

from __future__ import annotations

import json
from typing import Any

from evaluator import scoring
from evaluator.cases import Case, Request
from evaluator.results import Finding, Score
from evaluator.transcript import Call, Infrastructure, Transcript


def step(tool: str, /, *, turn: int | None = None, args: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "tool": tool,
        **({} if turn is None else {"turn": turn}),
        **({} if args is None else {"args": args}),
        **more,
    }


def spec(name: str, read_only: bool = False, **properties: str) -> dict[str, Any]:
    """A tool whose arguments all are required, by their types."""
    parameters = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"name": name, "parameters": parameters, **({"read_only": True} if read_only else {})}


def case(*steps: Any, tools: Any = (), paths: Any = None, **expected: Any) -> Case:
    request = Request(messages=[], tools=list(tools))
    return Case(id="c", request=request, expected={"paths": [list(steps)] if paths is None else paths, **expected})


def call(tool: str, arguments: Any = None, **more: Any) -> Call:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return Call(tool=tool, arguments=text, **{"result": {"ok": True}, **more})


def judge(the_case: Case, *calls: Call, text: str | None = "Done.", **transcript: Any) -> Score | Infrastructure:
    return scoring.prepare("trace", the_case)(Transcript(text=text, calls=list(calls), **transcript))


def score(the_case: Case, *calls: Call, text: str | None = "Done.", **transcript: Any) -> Score:
    found = judge(the_case, *calls, text=text, **transcript)
    assert isinstance(found, Score), found
    return found


def infrastructure(the_case: Case, *calls: Call) -> Infrastructure:
    found = judge(the_case, *calls)
    assert isinstance(found, Infrastructure), found
    return found


def brief(findings: list[Finding]) -> list[tuple[int | None, str, str]]:
    return [(finding.step, finding.path, finding.keyword) for finding in findings]
