"""Our own CPU per model call: scheduler, runner, retries, journal and pricing, beyond what litellm costs by itself.

    python bench/calls.py [CALLS] [ROUNDS]

A scripted server in another process answers at once. Each round makes CALLS calls with 32 in flight twice: through
`litellm.acompletion` alone, and through our scheduler and runner. What is counted is this process's CPU time, so a busy
machine makes it slower but hardly changes it; the rounds alternate, and the median of their differences is the figure.
Goal: at most 1 ms.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from evaluator.cases import Request, Subject  # noqa: E402
from evaluator.config.types import Limits, Price  # noqa: E402
from evaluator.progress import NoProgress  # noqa: E402
from evaluator.runners import client  # noqa: E402
from evaluator.runners.calling import OfModel  # noqa: E402
from evaluator.runners.journal import Journal  # noqa: E402
from evaluator.runners.model import ModelRunner  # noqa: E402
from evaluator.runners.request import build  # noqa: E402
from evaluator.runners.schedule import Job, run  # noqa: E402
from evaluator.runners.stopping import StopSignal  # noqa: E402
from evaluator.transcript import Transcript  # noqa: E402

IN_FLIGHT = 32
GOAL_MS = 1.0
SERVER = """
import sys
from tests.servers.model_server import ModelServer, Reply
with ModelServer(Reply(text='{"name": "add", "arguments": {"a": 2, "b": 3}}')) as server:
    print(server.base_url, flush=True)
    sys.stdin.read()
"""
FUNCTION = {
    "name": "add",
    "description": "Add two numbers",
    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
}
REQUEST = Request(messages=[{"role": "user", "content": "Add 2 and 3."}], function=FUNCTION)
SUBJECT = Subject(model="openai/x", params={"temperature": 0, "max_tokens": 64}, structured="schema")


async def alone(calls: int) -> float:
    """CPU seconds of `calls` calls by litellm alone."""
    litellm = client.load()
    sent = build(SUBJECT, REQUEST).arguments()
    todo = iter(range(calls))

    async def worker() -> None:
        for _ in todo:
            await litellm.acompletion(model=SUBJECT.model, timeout=60.0, num_retries=0, max_retries=0, **sent)

    began = time.process_time()
    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))
    spent = time.process_time() - began
    await litellm.close_litellm_async_clients()
    return spent


async def ours(calls: int, journal_path: Path) -> float:
    """CPU seconds of the same calls through the scheduler and the runner, with a journal and a price."""
    price = Price(input_per_million=1.0, output_per_million=1.0)
    runner = OfModel(ModelRunner(SUBJECT, price=price, case_timeout=60.0, concurrency=IN_FLIGHT))
    plan = [Job("bench", str(number), 1, REQUEST) for number in range(calls)]
    journal = Journal.open(journal_path, plan="bench", fingerprint="bench", endpoint="bench", now=time.time())
    limits = Limits(concurrency=IN_FLIGHT)
    began = time.process_time()
    outcomes = await run(plan, runner, limits=limits, progress=NoProgress(), stop=StopSignal(), journal=journal)
    spent = time.process_time() - began
    journal.close(complete=True)
    await runner.close()
    if not all(isinstance(outcome.result, Transcript) for outcome in outcomes):
        raise SystemExit("some calls failed: the figure would mean nothing")
    return spent


def main() -> int:
    """Prints the figures; 1 where the goal is missed."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 320
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None  # noqa: S101
        os.environ["OPENAI_API_BASE"] = server.stdout.readline().strip()
        os.environ["OPENAI_API_KEY"] = "sk-bench"
        with tempfile.TemporaryDirectory() as folder:
            journal = Path(folder) / "journal.jsonl"
            asyncio.run(alone(IN_FLIGHT))
            asyncio.run(ours(IN_FLIGHT, journal))
            pairs = [(asyncio.run(alone(calls)), asyncio.run(ours(calls, journal))) for _ in range(rounds)]
    finally:
        server.terminate()
        server.wait()
    client_ms, ours_ms = (statistics.median(column) * 1000 / calls for column in zip(*pairs, strict=True))
    beyond_ms = statistics.median(after - before for before, after in pairs) * 1000 / calls
    print(f"{rounds} rounds of {calls} calls, {IN_FLIGHT} in flight, CPU per call (median):")
    print(f"  litellm alone          {client_ms:6.2f} ms")
    print(f"  scheduler and runner   {ours_ms:6.2f} ms")
    print(f"  beyond litellm         {beyond_ms:6.2f} ms   goal: at most {GOAL_MS:g} ms")
    return 0 if beyond_ms <= GOAL_MS else 1


if __name__ == "__main__":
    sys.exit(main())
