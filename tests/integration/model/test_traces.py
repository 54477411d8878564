"""Conversations on frozen tools with the real small model: it calls in text, is answered, and answers.

A model of this size calls a tool because it was shown how, so each case shows it. What it calls is its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.model

SYSTEM = """You answer with one line of JSON that calls a tool, and nothing else.
Tools: refund(order_id, amount), track(order_id).
When you get a tool_response, answer with: Done.
"""
SHOWN = [
    ("Please refund 12.00 of order 7001.", "refund", {"order_id": "7001", "amount": 12.0}, {"ok": True}),
    ("Where is order 7002?", "track", {"order_id": "7002"}, {"status": "on its way"}),
]
TRAP = """
model: openai/smollm2-135m-instruct
params: {temperature: 0, seed: 42, max_tokens: 60}
system: system.md
tools: tools.json
tasks:
  orders: {source: ./evals}
baseline: {allow_missing: true}
gate:
  rules:
    - {task: orders, metric: argument_score, max_drop: 0.02, on_noise: fail}
limits: {concurrency: 2}
"""
TOOLS = [
    {
        "name": "refund",
        "description": "Pay money back.",
        "input_schema": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}, "amount": {"type": "number"}},
            "required": ["order_id", "amount"],
        },
    },
    {
        "name": "track",
        "description": "Where an order is.",
        "inputSchema": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}},
            "required": ["order_id"],
        },
        "annotations": {"readOnlyHint": True},
    },
]
ASKED = {
    "refund-part": ("Please refund 24.50 of order 4821.", {"order_id": "4821", "amount": 24.5}),
    "refund-whole": ("Refund order 6001, 9.99 please.", {"order_id": "6001", "amount": 9.99}),
    "refund-more": ("Please refund 30.00 of order 5555.", {"order_id": "5555", "amount": 30}),
}


def messages(question: str) -> list[dict[str, str]]:
    shown = []
    for asked, tool, arguments, result in SHOWN:
        call = json.dumps({"name": tool, "arguments": arguments})
        shown += [
            {"role": "user", "content": asked},
            {"role": "assistant", "content": call},
            {"role": "user", "content": f"<tool_response>\n{json.dumps(result)}\n</tool_response>"},
            {"role": "assistant", "content": f"Done: {arguments['order_id']}."},
        ]
    return [*shown, {"role": "user", "content": question}]


def fixture(task_id: str) -> dict[str, Any]:
    question, wanted = ASKED[task_id]
    return {
        "task_id": task_id,
        "input": messages(question),
        "expected_invocations": [{"tool": "refund", "args": wanted}],
        "mocks": [{"tool": "refund", "result": {"ok": True}}, {"tool": "track", "result": {"status": "on its way"}}],
        "max_turns": 4,
    }


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "evals").mkdir(parents=True)
    (folder / "trap.yaml").write_text(TRAP)
    (folder / "system.md").write_text(SYSTEM)
    (folder / "tools.json").write_text(json.dumps({"tools": TOOLS}))
    for task_id in ASKED:
        (folder / "evals" / f"{task_id}.json").write_text(json.dumps(fixture(task_id)))
    return folder


def trapgate(shop: Path, model: Any, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "OPENAI_API_BASE": model.base_url,
        "OPENAI_API_KEY": "not-needed",
        "NO_PROXY": "127.0.0.1",
        "XDG_CACHE_HOME": str(shop.parent / "cache"),
        "PYTHONPATH": str(Path(__file__).parents[3]),
    }
    return subprocess.run(
        [sys.executable, "-m", "evaluator", *arguments],
        cwd=shop,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def attempts(shop: Path) -> dict[str, dict[str, Any]]:
    results = json.loads((shop / "trapgate-results" / "results.json").read_text())
    return {case["id"]: case["attempts"][0] for case in results["tasks"][0]["cases"]}


def test_a_conversation_with_the_real_model_is_scored_recorded_and_held_to_its_tree(shop: Path, model: Any) -> None:
    done = trapgate(shop, model, "run")
    assert done.returncode == 0, done.stdout + done.stderr
    live = attempts(shop)
    for task_id, attempt in live.items():
        calls = attempt["transcript"]["calls"]
        assert attempt["status"] == "scored", task_id
        assert [(call["tool"], call["wrapper"], call.get("turn", 1)) for call in calls] == [("refund", "json", 1)], (
            task_id
        )
        assert calls[0]["result"] == {"ok": True}
        assert attempt["transcript"]["text"].startswith("Done"), task_id
        assert attempt["values"]["schema_valid"] == 1.0
    assert [live[task_id]["values"]["argument_score"] for task_id in ASKED] == [1.0, 1.0, 1.0]
    assert trapgate(shop, model, "baseline", "accept", "--why", "first").returncode == 0

    recorded = trapgate(shop, model, "record")
    assert recorded.returncode == 0, recorded.stdout + recorded.stderr
    scored = trapgate(shop, model, "score", "./evals", "--config", "trap.yaml")
    assert scored.returncode == 0, scored.stdout + scored.stderr
    again = attempts(shop)
    assert {name: each["values"] for name, each in again.items()} == {
        name: each["values"] for name, each in live.items()
    }

    (shop / "system.md").write_text(SYSTEM + "Answer with two words.\n")
    stale = trapgate(shop, model, "score", "./evals", "--config", "trap.yaml")
    assert stale.returncode == 3, stale.stdout + stale.stderr
    assert {each["status"] for each in attempts(shop).values()} == {"stale"}
