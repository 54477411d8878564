"""Runs to look at, judged by the real scorers."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from evaluator import scoring
from evaluator.cases import Case, Request, SourceRef, Task
from evaluator.config.types import Rule
from evaluator.metrics import summarize
from evaluator.results import Attempt, Run, Score, TaskResult
from evaluator.transcript import Call, Transcript
from tests.unit.reports.builders import broken, build

ASKED = "Order 4821 came with a broken lamp. Half of the price, please."


def case(name: str, expected: dict[str, Any], *, slices: Sequence[str] = (), **request: Any) -> Case:
    asked = Request(messages=[{"role": "user", "content": ASKED}], **request)
    return Case(id=name, request=asked, expected=expected, slices=list(slices))


def attempts(scorer: str, of: Case, said: Sequence[Transcript | None]) -> list[Attempt]:
    """One attempt of each transcript; None is one that the provider refused."""
    score = scoring.prepare(scorer, of)
    made = []
    for number, transcript in enumerate(said, start=1):
        if transcript is None:
            made.append(broken(number))
            continue
        found = score(transcript)
        assert isinstance(found, Score)
        made.append(
            Attempt(
                number=number,
                status="scored",
                passed=found.passed,
                failure_mode=found.failure_mode,
                values=found.values,
                findings=found.findings,
                scorer=scoring.version_of(scorer),
                transcript=transcript,
            )
        )
    return made


def result(name: str, scorer: str, said: Mapping[str, tuple[Case, Sequence[Transcript | None]]]) -> TaskResult:
    cases = [of for of, _ in said.values()]
    task = Task(name=name, format=scorer, source=SourceRef(location="./evals"), scorer=scorer, cases=cases)
    repeats = max(len(transcripts) for _, transcripts in said.values())
    return summarize(
        task,
        {of.id: attempts(scorer, of, transcripts) for of, transcripts in said.values()},
        repeats=repeats,
        planned_per_case={of.id: len(transcripts) for of, transcripts in said.values()},
        deterministic=False,
        faults={},
    )


def call(tool: str, arguments: Mapping[str, Any] | str, result: Any = None) -> Call:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return Call(tool=tool, arguments=text, result={"ok": True} if result is None else result)


STEPS = [
    {"turn": 1, "tool": "lookup_order", "args": {"order_id": "4821"}},
    {"turn": 2, "tool": "check_policy", "args": {"order_id": "4821", "reason": "damaged"}},
    {"turn": 3, "tool": "refund", "args": {"order_id": "4821", "amount": 24.5, "note": {"lines": [1], "to": "card"}}},
]
GOOD = [call(str(step["tool"]), step["args"]) for step in STEPS]
PAID_TOO_MUCH = call("refund", {"order_id": "4821", "amount": 49.0, "note": {"lines": [1], "to": "bank"}})


def said(*calls: Call, text: str = "The refund is on its way.") -> Transcript:
    return Transcript(text=text, calls=list(calls), stop_reason="stop")


RIGHT = said(*GOOD)
WRONG = said(GOOD[0], GOOD[1], PAID_TOO_MUCH)
SKIPPED = said(GOOD[0], call("cancel_order", {"order_id": "4821"}), GOOD[2])


def refunds(*, worse: bool, refused: bool) -> TaskResult:
    """`refused`: with a case that the provider did not answer."""

    def of(name: str, *slices: str) -> Case:
        return case(name, {"paths": [STEPS]}, slices=slices)

    now: dict[str, list[Transcript | None]] = {
        "half-price": [WRONG, WRONG, RIGHT] if worse else [RIGHT] * 3,
        "no-policy": [SKIPPED] * 3 if worse else [RIGHT] * 3,
        "mended": [RIGHT] * 3 if worse else [WRONG] * 3,
        "whole-price": [RIGHT] * 3,
        "always-wrong": [WRONG] * 3,
    }
    if refused:
        now["refused"] = [None] * 3 if worse else [RIGHT] * 3
    slices = {"half-price": ["partial"], "no-policy": ["partial", "policy"], "whole-price": ["easy"]}
    names = {**now, "brand-new": [RIGHT] * 3} if worse else now
    return result("refunds", "trace", {name: (of(name, *slices.get(name, ())), names[name]) for name in names})


MATCHER = {"kind": "json_call", "function_name": "transfer"}
ACCEPTED = {"amount": [24.5], "currency": ["USD", "EUR"], "urgent": [True, ""]}
TRANSFER = {"name": "transfer", "parameters": {"type": "object", "properties": {"amount": {"type": "number"}}}}


def answers(*, worse: bool) -> TaskResult:
    called = case("transfer", {"matchers": [{**MATCHER, "args_accepted": ACCEPTED}]}, function=TRANSFER)
    worded = case("in-words", {"matchers": [{"kind": "numeric", "value": 42}, {"kind": "min_words", "value": 2}]})
    right = json.dumps({"name": "transfer", "arguments": {"amount": 24.5, "currency": "USD"}})
    wrong = json.dumps({"name": "transfer", "arguments": {"amount": 24.5, "currency": "Dollars"}})
    return result(
        "answers",
        "trapstreet",
        {
            "transfer": (called, [Transcript(text=wrong if worse else right)]),
            "in-words": (worded, [Transcript(text="It is 41, I think." if worse else "It is 42.")]),
        },
    )


@cache
def regressing() -> Run:
    """Two tasks; of their eight cases four fell."""
    return _compared(refused=False)


@cache
def mixed() -> Run:
    """The same and a case without a verdict, so that each way is there in which a case can come out and stand to the
    baseline."""
    return _compared(refused=True)


def _compared(*, refused: bool) -> Run:
    return build(
        [refunds(worse=True, refused=refused), answers(worse=True)],
        [refunds(worse=False, refused=refused), answers(worse=False)],
        rules=[Rule(metric="argument_score", task="refunds", max_drop=0.0, on_noise="fail")],
        name="refund-agent",
    )


@cache
def large(cases: int = 3000) -> Run:
    """Cases with three attempts of three calls; one in ten attempts pays too much."""
    draw = random.Random(7)

    def of(number: int) -> tuple[Case, list[Transcript | None]]:
        order = f"{number:05}"
        steps = [{**step, "args": {**step["args"], "order_id": order}} for step in STEPS]  # type: ignore[dict-item]
        made: list[Transcript | None] = []
        for _ in range(3):
            amount = 49.0 if draw.random() < 0.1 else 24.5
            last = {**steps[2]["args"], "amount": amount}
            calls = [*(call(str(step["tool"]), step["args"], {"order": order}) for step in steps[:2])]
            text = f"Refunded {amount} of order {order}, try {draw.random()}."
            made.append(said(*calls, call("refund", last, {"order": order}), text=text))
        return case(f"order-{order}", {"paths": [steps]}, slices=[f"part-{number % 7}"]), made

    task = result("refunds", "trace", {str(number): of(number) for number in range(cases)})
    return build([task], [task])
