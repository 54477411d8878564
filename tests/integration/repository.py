"""A user's repository in a folder: a task of function calls in the trapstreet format, and its trap.yaml."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.servers.model_server import Received, Reply

ROOT = Path(__file__).parents[2]
SPEC = {
    "name": "refund",
    "description": "Refund a part of an order",
    "parameters": {
        "type": "dict",
        "properties": {"order": {"type": "integer"}, "amount": {"type": "float"}},
        "required": ["order", "amount"],
    },
}
TRAP = """\
# yaml-language-server: $schema=trap.schema.json
name: refunds
model: openai/scripted
params: {temperature: 0}
structured: schema
price: {input_per_million: 1.0, output_per_million: 2.0}
tasks:
  refunds:
    source: ./task
baseline: {path: .trap/baseline.json}
gate:
  rules:
    - {task: refunds, metric: pass_rate, max_drop: 0.05}
drift: {live_canaries: false}
limits: {concurrency: 4}
"""


def write_task(folder: Path, cases: int = 10) -> None:
    """`cases` cases r00, r01, …: refund 24.50 of order 0, 1, …; the first two are tagged `easy`."""
    listed = []
    for number in range(cases):
        case_id = f"r{number:02}"
        question = folder / "inputs" / case_id / "question.txt"
        question.parent.mkdir(parents=True)
        question.write_text(
            f"USER REQUEST:\nRefund 24.50 of order {number}.\n\nFUNCTION SPEC (JSON):\n{json.dumps(SPEC)}\n"
        )
        matcher = {
            "kind": "json_call",
            "function_name": "refund",
            "args_accepted": {"order": [number], "amount": [24.5]},
        }
        answer = folder / "expected" / case_id / "answer.json"
        answer.parent.mkdir(parents=True)
        answer.write_text(json.dumps({"id": case_id, "answer": call(number), "matchers": [matcher]}))
        listed.append({"id": case_id, "tags": ["easy"] if number < 2 else []})
    (folder / "traptask.yaml").write_text(json.dumps({"cases": listed}))


def call(order: int, amount: float = 24.5) -> str:
    """The answer that refunds `amount` of `order`."""
    return json.dumps({"name": "refund", "arguments": {"order": order, "amount": amount}})


def order_of(request: Received) -> int:
    """Which order a request is about."""
    asked = re.search(r"order (\d+)", request.body["messages"][-1]["content"])
    assert asked is not None
    return int(asked.group(1))


def answering(wrong: Sequence[int] = ()) -> Callable[[Received], Reply]:
    """A script that answers every case right, but refunds 49.00 for the orders in `wrong`."""

    def script(request: Received) -> Reply:
        order = order_of(request)
        return Reply(text=call(order, 49.0 if order in wrong else 24.5))

    return script


def only_seeded(script: Callable[[Received], Reply]) -> Callable[[Received], Reply]:
    """Plays `script` where the change of `seeded` is, and is right where it is not: then it is the change that makes
    the difference, and not the model."""
    return lambda request: (script if "seed" in request.body else answering())(request)


def seeded(folder: Path) -> None:
    """A change of the parameters."""
    path = folder / "trap.yaml"
    text = path.read_text()
    path.write_text(text.replace("params: {temperature: 0}", "params: {temperature: 0, seed: 1}"))


def trapgate(
    folder: Path, *arguments: str, base_url: str = "http://127.0.0.1:9/v1", seconds: int = 120, **environ: str
) -> Any:
    """The command line as a process of its own, with `folder` as work folder; a CompletedProcess of text. `seconds`:
    after which it has failed."""
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder / ".home"),
        "PYTHONPATH": str(ROOT),
        "OPENAI_API_KEY": "sk-scripted-0123456789abcdef",
        "OPENAI_API_BASE": base_url,
        **environ,
    }
    return subprocess.run(
        [sys.executable, "-m", "evaluator", *arguments],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
