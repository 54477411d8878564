"""Tool-call traces: rate of the scorer, a folder of recordings end to end, and two other tools on the same cases.

`python -m bench.traces [--seconds N]`. The peers are measured where they are installed (`pip install deepeval
agentevals`), each as its documentation says for tool calls with their arguments; deepeval wants a key to be set, which
it does not use here. What they give for a case is printed too: a rate says little of a verdict.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.scoring import ROUNDS, rates
from evaluator.cases import Case, Request
from evaluator.scoring import prepare
from evaluator.transcript import Call, Transcript

CASES = 200
FIXTURES, ATTEMPTS, PROCESSES = 120, 5, 7

TOOLS = [
    {
        "name": "lookup_order",
        "description": "An order by its number.",
        "parameters": {
            "type": "object",
            "properties": {"order_id": {"type": "string", "pattern": "^[0-9]{4}$"}},
            "required": ["order_id"],
            "additionalProperties": False,
        },
    },
    {
        "name": "issue_refund",
        "description": "Pays money back.",
        "parameters": {
            "type": "object",
            "properties": {
                "order_id": {"type": "string", "pattern": "^[0-9]{4}$"},
                "amount": {"type": "number", "minimum": 0},
                "reason": {"type": "string", "enum": ["damaged", "late", "missing"]},
            },
            "required": ["order_id", "amount", "reason"],
            "additionalProperties": False,
        },
    },
]


def expected(number: int) -> list[dict[str, Any]]:
    order = f"{1000 + number}"
    return [
        {"turn": 1, "tool": "lookup_order", "args": {"order_id": order}},
        {"turn": 2, "tool": "issue_refund", "args": {"order_id": order, "amount": 24.5, "reason": "damaged"}},
    ]


def made(number: int, *, right: bool) -> list[dict[str, Any]]:
    calls = [{**step, "result": {"ok": True}} for step in expected(number)]
    if not right:
        calls[1] = {**calls[1], "args": {**calls[1]["args"], "amount": 49.0}}
    return calls


def case(number: int) -> Case:
    return Case(
        id=f"case_{number}",
        request=Request(messages=[], tools=TOOLS, max_turns=16),
        expected={"paths": [expected(number)]},
    )


def transcript(number: int, *, right: bool) -> Transcript:
    calls = [
        Call(tool=call["tool"], arguments=json.dumps(call["args"]), turn=call["turn"], result=call["result"])
        for call in made(number, right=right)
    ]
    return Transcript(text="Your refund is on its way.", calls=calls, stop_reason="stop")


def trapgate_rate(*, right: bool, seconds: float) -> tuple[float, float]:
    pairs = [(prepare("trace", case(number)), transcript(number, right=right)) for number in range(CASES)]
    assert all(score(each).passed == right for score, each in pairs)  # noqa: S101

    def score_all() -> None:
        for score, each in pairs:
            score(each)

    return rates(score_all, len(pairs), seconds)


def deepeval_rate(*, right: bool, seconds: float) -> tuple[float, float]:
    os.environ.setdefault("OPENAI_API_KEY", "unused")
    os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
    from deepeval.metrics import ToolCorrectnessMetric  # type: ignore[import-not-found]
    from deepeval.test_case import LLMTestCase, ToolCall, ToolCallParams  # type: ignore[import-not-found]

    def tool_calls(calls: list[dict[str, Any]]) -> list[Any]:
        return [ToolCall(name=call["tool"], input_parameters=call["args"], output=call.get("result")) for call in calls]

    metric = ToolCorrectnessMetric(
        evaluation_params=[ToolCallParams.INPUT_PARAMETERS], async_mode=False, include_reason=True
    )
    tests = [
        LLMTestCase(
            input="refund",
            actual_output="Your refund is on its way.",
            tools_called=tool_calls(made(number, right=right)),
            expected_tools=tool_calls(expected(number)),
        )
        for number in range(CASES)
    ]

    def score_all() -> None:
        for test in tests:
            metric.measure(test, _show_indicator=False)

    measured = rates(score_all, len(tests), seconds)
    print(f"  deepeval gives {metric.score:.2f} for {'a right' if right else 'a wrong'} trace")
    return measured


def agentevals_rate(*, right: bool, seconds: float) -> tuple[float, float]:
    from agentevals.trajectory.match import create_trajectory_match_evaluator  # type: ignore[import-not-found]

    def messages(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        said: list[dict[str, Any]] = [{"role": "user", "content": "refund"}]
        for number, call in enumerate(calls):
            function = {"name": call["tool"], "arguments": json.dumps(call["args"])}
            said.append({"role": "assistant", "content": "", "tool_calls": [{"id": str(number), "function": function}]})
            said.append({"role": "tool", "tool_call_id": str(number), "content": '{"ok": true}'})
        return said

    evaluate = create_trajectory_match_evaluator(trajectory_match_mode="strict")
    pairs = [(messages(made(number, right=right)), messages(expected(number))) for number in range(CASES)]

    def score_all() -> None:
        for outputs, reference in pairs:
            evaluate(outputs=outputs, reference_outputs=reference)

    measured = rates(score_all, len(pairs), seconds)
    score = evaluate(outputs=pairs[0][0], reference_outputs=pairs[0][1])["score"]
    print(f"  agentevals gives {score} for {'a right' if right else 'a wrong'} trace")
    return measured


PEERS: dict[str, Callable[..., tuple[float, float]]] = {"deepeval": deepeval_rate, "agentevals": agentevals_rate}


def folder_seconds() -> list[float]:
    """Wall times of whole processes that score a folder of recordings."""
    seconds = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "refunds"
        folder.mkdir()
        for number in range(FIXTURES):
            recordings = [
                {
                    "attempt": attempt,
                    "actual_invocations": made(number, right=attempt % 2 == 1),
                    "final_answer": "Done.",
                }
                for attempt in range(1, ATTEMPTS + 1)
            ]
            fixture = {
                "task_id": f"refund-{number}",
                "input": "It arrived damaged.",
                "tools": TOOLS,
                "expected_invocations": expected(number),
                "recordings": recordings,
            }
            (folder / f"refund-{number}.json").write_text(json.dumps(fixture, indent=2), encoding="utf-8")
        command = [sys.executable, "-m", "evaluator", "score", str(folder), "--format", "trace"]
        environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
        for _ in range(PROCESSES):
            start = time.perf_counter()
            done = subprocess.run(
                [*command, "--output", str(Path(name) / "out")], capture_output=True, check=False, env=environment
            )
            seconds.append(time.perf_counter() - start)
            assert done.returncode == 0, done.stderr.decode()  # noqa: S101
    return sorted(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0, help="time for each line [2]")
    seconds = parser.parse_args().seconds
    print(f"two-call traces scored, {CASES} cases in turn, best of {ROUNDS} rounds")
    print(f"{'traces per second':55} {'wall':>10} {'CPU':>10}")
    for right in (True, False):
        kind = "right traces" if right else "wrong traces (an amount)"
        wall, cpu = trapgate_rate(right=right, seconds=seconds)
        print(f"{f'trapgate, {kind}':55} {wall:>10,.0f} {cpu:>10,.0f}")
        for name, rate in PEERS.items():
            if importlib.util.find_spec(name) is None:
                print(f"{name} is not installed")
                continue
            wall, cpu = rate(right=right, seconds=seconds)
            print(f"{f'{name}, {kind}':55} {wall:>10,.0f} {cpu:>10,.0f}")
    times = folder_seconds()
    print(
        f"{FIXTURES} fixtures × {ATTEMPTS} recorded attempts, whole process: median {times[len(times) // 2]:.2f} s "
        f"({times[0]:.2f}–{times[-1]:.2f})"
    )


if __name__ == "__main__":
    main()
