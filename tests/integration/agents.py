"""A user's repository with an agent in it: tools, a system prompt, fixtures of refunds, and a server that plays it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from evaluator.results import Run, decode_run
from tests.integration.repository import ROOT, trapgate
from tests.servers.model_server import ModelServer, Received, Reply, Script

MODEL = "openai/scripted"
PRICE = "price: {input_per_million: 1.0, output_per_million: 2.0}"
LOOKUP, REFUND, EMAIL, CANCEL = "lookup_order", "issue_refund", "send_email", "cancel_order"
# One call is its tool and arguments; a message of the model has some, and a conversation is a list of messages.
Called = tuple[str, Any]
Plan = Sequence[Sequence[Called]]


def parameters(**properties: str) -> dict[str, Any]:
    """An object schema of required properties by their types."""
    listed = {name: {"type": kind} for name, kind in properties.items()}
    return {"type": "object", "properties": listed, "required": list(listed)}


TOOLS = {
    LOOKUP: parameters(order_id="integer"),
    REFUND: parameters(order_id="integer", amount="number"),
    EMAIL: parameters(order_id="integer", template="string"),
    CANCEL: parameters(order_id="integer"),
}


def trap(*rules: str, model: str = f"model: {MODEL}\n{PRICE}", repeats: int = 1, more: str = "") -> str:
    """A trap.yaml whose gate has these rules on the task `refunds`; `more` are further lines of it."""
    lines = [
        model,
        "params: {temperature: 0}",
        "system: prompts/system.md",
        "tools: tools/",
        f"repeats: {repeats}",
        "tasks:",
        "  refunds:",
        "    source: ./evals/refunds",
        "baseline: {path: .trap/baseline.json, allow_missing: true}",
        "drift: {live_canaries: false}",
        "gate:",
        "  rules:",
        *(f"    - {{task: refunds, {rule}}}" for rule in rules or ("metric: pass_rate, max_drop: 0.05",)),
        *([more] if more else []),
    ]
    return "\n".join(lines) + "\n"


def write_repository(folder: Path, cases: int, trap_yaml: str) -> Path:
    """`folder` with everything that `trap_yaml` names and so many fixtures r00, r01, …"""
    write(folder / "trap.yaml", trap_yaml)
    write(folder / "prompts" / "system.md", "You refund what arrived broken.\n")
    for name, schema in TOOLS.items():
        write_json(folder / "tools" / f"{name}.json", spec(name, f"Does {name}.", schema))
    for order in range(cases):
        write_json(fixture_path(folder, order), fixture(order))
    return folder


def spec(name: str, description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """A tool as OpenAI writes it."""
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def fixture(order: int) -> dict[str, Any]:
    """A case: half of order `order`, 24.50 of 49.00, goes back, and the customer is told."""
    return {
        "task_id": f"r{order:02}",
        "input": f"One of two glasses of order {order} is broken.",
        "expected_invocations": [
            {"turn": number, "tool": tool, "args": args}
            for number, message in enumerate(right(order), 1)
            for tool, args in message
        ],
        "mocks": [
            {"tool": LOOKUP, "args": {"order_id": order}, "result": {"order_id": order, "total": 49.0}},
            {"tool": REFUND, "result": {"ok": True}},
            {"tool": EMAIL, "result": {"ok": True}},
            {"tool": CANCEL, "result": {"ok": True}},
        ],
    }


def fixture_path(folder: Path, order: int) -> Path:
    """Where the fixture of an order lies."""
    return folder / "evals" / "refunds" / f"r{order:02}.json"


def right(order: int, amount: float = 24.5) -> list[list[Called]]:
    """The conversation that is right where the amount is."""
    return [
        [(LOOKUP, {"order_id": order})],
        [(REFUND, {"order_id": order, "amount": amount}), (EMAIL, {"order_id": order, "template": "refunded"})],
    ]


def write(path: Path, text: str) -> None:
    """Writes a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_json(path: Path, value: Any) -> None:
    """Writes a JSON file and the folders above it."""
    write(path, json.dumps(value, indent=2) + "\n")


def order_of(request: Received) -> int:
    """Which order a request is about."""
    asked = next(message for message in request.body["messages"] if message["role"] == "user")
    found = re.search(r"order (\d+)", asked["content"])
    assert found is not None
    return int(found.group(1))


def playing(plan: Callable[[int], Plan], final: str = "Half of it is on its way.") -> Script:
    """A script that goes through `plan(order)` and then answers `final`."""
    return lambda request: turn(request, plan(order_of(request)), final)


def turn(request: Received, plan: Plan, final: str = "Half of it is on its way.", **reply: Any) -> Reply:
    """The next message of a conversation that goes by `plan`."""
    said = sum(message["role"] == "assistant" for message in request.body["messages"])
    if said >= len(plan):
        return Reply(text=final, **reply)
    calls = [(tool, args if isinstance(args, str) else json.dumps(args)) for tool, args in plan[said]]
    return Reply(tool_calls=calls, **reply)


def hasty(folder: Path) -> None:
    """A change of the prompt, which a script of `only_hasty` answers to."""
    write(folder / "prompts" / "system.md", "Refund hastily.\n")


def only_hasty(script: Callable[[Received], Reply]) -> Callable[[Received], Reply]:
    """Plays `script` where the prompt asks for haste, and does everything right where it does not: then it is the
    change that makes the difference, and not the model."""

    def reply(request: Received) -> Reply:
        asked = " ".join(str(message.get("content")) for message in request.body["messages"])
        return script(request) if "hastily" in asked else turn(request, right(order_of(request)))

    return reply


class InTurns:
    """`alternate(order)`: 0, 1, 2, …, how often it was asked about the order before, whoever asks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: Counter[Any] = Counter()

    def __call__(self, key: Any) -> int:
        with self._lock:
            self._asked[key] += 1
            return self._asked[key] - 1


def run(folder: Path, script: Script, *arguments: str, command: str = "run", **environ: str) -> tuple[Any, Run | None]:
    """The command against a server that plays `script`; what became of the process, and its results."""
    with ModelServer(script) as server:
        done = trapgate(folder, command, *arguments, base_url=server.base_url, **environ)
    return done, results_of(folder)


def interrupted(folder: Path, server: ModelServer, command: str, requests: int) -> tuple[int, str]:
    """Starts the command, sends it SIGTERM once the server has seen so many requests; its exit code and output."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder / ".home"),
        "PYTHONPATH": str(ROOT),
        "OPENAI_API_KEY": "sk-scripted-0123456789abcdef",
        "OPENAI_API_BASE": server.base_url,
    }
    with subprocess.Popen(
        [sys.executable, "-m", "evaluator", command],
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            deadline = time.monotonic() + 60
            while process.poll() is None and len(server.requests) < requests and time.monotonic() < deadline:
                time.sleep(0.02)
            process.send_signal(signal.SIGTERM)
            said, _ = process.communicate(timeout=20)
        finally:
            process.kill()
    return process.returncode, said


def results_of(folder: Path) -> Run | None:
    """The last results of a repository."""
    path = folder / "trapgate-results" / "results.json"
    return decode_run(path.read_bytes(), str(path)) if path.exists() else None


def accept(folder: Path) -> None:
    """Makes the last results the baseline."""
    done = trapgate(folder, "baseline", "accept", "--why", "first")
    assert done.returncode == 0, done.stdout + done.stderr


def copy(template: Path, folder: Path) -> Path:
    """A repository like `template`, with its baseline."""
    return Path(shutil.copytree(template, folder, ignore=shutil.ignore_patterns("trapgate-results", ".home")))


def at_once(jobs: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """What each job gives, two at a time: most of a process's time is its imports."""
    with ThreadPoolExecutor(2) as pool:
        running = {name: pool.submit(job) for name, job in jobs.items()}
        return {name: each.result() for name, each in running.items()}


def edited(path: Path, **changes: Any) -> None:
    """Changes keys of a JSON file."""
    write_json(path, json.loads(path.read_text()) | changes)


def attempts(found: Run | None) -> dict[tuple[str, int], Any]:
    """The attempts of a run's first task by case id and number."""
    assert found is not None
    return {(case.id, attempt.number): attempt for case in found.tasks[0].cases for attempt in case.attempts}


def texts(reasons: Iterable[Any]) -> str:
    """The texts of reasons, a line each."""
    return "\n".join(reason.text for reason in reasons)
