"""What one move of a baseline on a branch costs: bytes of the document, of the index, and of the repository after gc.

python -m bench.baseline_size    # needs git

A run is made up of refunds as tests and examples have them: a question, the spec of one tool, a call with two
arguments, and findings where it is wrong. Nine in ten attempts are right, and which ones differs from run to run.
"""

from __future__ import annotations

import random
import subprocess
import tempfile
from pathlib import Path

from evaluator.baselines import document, index
from evaluator.baselines.history import entry
from evaluator.cases import Case, Request, SourceRef, Task
from evaluator.metrics import summarize, totals
from evaluator.results import (
    SCHEMA_VERSION,
    Acceptance,
    Attempt,
    CanaryResult,
    CanaryResults,
    Finding,
    Fingerprint,
    Run,
)
from evaluator.results import encode as encode_run
from evaluator.transcript import Call, Transcript, Usage

MOVES = 30
SPEC = {
    "type": "function",
    "function": {
        "name": "refund",
        "description": "Refund a part of an order to the way it was paid",
        "parameters": {
            "type": "object",
            "properties": {"order": {"type": "integer"}, "amount": {"type": "number"}},
            "required": ["order", "amount"],
            "additionalProperties": False,
        },
    },
}


def a_case(number: int) -> Case:
    question = (
        f"Customer {number * 7919 % 100_000} writes: the parcel of order {number} came broken. Refund 24.50 of it."
    )
    return Case(
        id=f"r{number:05}",
        request=Request(messages=[{"role": "user", "content": question}], tools=[SPEC]),
        expected={"matchers": [{"kind": "json_call", "function_name": "refund", "args_accepted": {"order": [number]}}]},
    )


def an_attempt(draw: random.Random, case: int, number: int) -> Attempt:
    right = draw.random() < 0.9
    arguments = {"order": case, "amount": 24.5 if right else 49.0}
    call = Call(turn=1, tool="refund", arguments=arguments, id=f"call_{draw.getrandbits(96):024x}")
    usage = Usage(input_tokens=180 + draw.randrange(9), output_tokens=20 + draw.randrange(9), cost_usd=0.0001)
    return Attempt(
        number=number,
        status="scored",
        passed=right,
        failure_mode=None if right else "wrong_arguments",
        values={"score": float(right)},
        scorer="trapstreet@1",
        findings=[] if right else [Finding(path="$.amount", keyword="value", wanted=24.5, got=49.0)],
        transcript=Transcript(text="", calls=[call], stop_reason="tool_calls", usage=usage),
    )


def a_run(cases: int, attempts: int, seed: int) -> Run:
    draw = random.Random(seed)
    listed = [a_case(number) for number in range(cases)]
    made = {case.id: [an_attempt(draw, n, k + 1) for k in range(attempts)] for n, case in enumerate(listed)}
    source = SourceRef(location="./evals/refunds", digest="0" * 64)
    task = Task(name="refunds", format="trapstreet", source=source, scorer="trapstreet", cases=listed)
    result = summarize(
        task, made, repeats=attempts, planned_per_case=dict.fromkeys(made, attempts), deterministic=False, faults={}
    )
    return Run(
        schema_version=SCHEMA_VERSION,
        evaluator="0",
        started=f"2026-01-01T00:00:{seed:02}+00:00",
        verdict="pass",
        reasons=[],
        fingerprint=Fingerprint(packages={}, scorers={}, subject={}, sources={}),
        canaries=CanaryResults(version="1", cases=[CanaryResult(id="c", expected="pass", got="pass", ok=True)]),
        tasks=[result],
        totals=totals([result], 1.0),
        commit=f"{seed:040x}",
    )


def measure(cases: int, attempts: int) -> str:
    accepted = Acceptance(by="trapgate", at="2026-01-01T00:00:00+00:00", why="passed", explicit=False)
    with tempfile.TemporaryDirectory() as folder:
        root, state = Path(folder), None
        git(root, "init", "--quiet")
        for seed in range(MOVES):
            run = a_run(cases, attempts, seed)
            name, data = document.encode(run, accepted, run.commit or "")
            line = entry(run, accepted, file=name)
            state = index.insert(
                state, line, len(data), 0, config="trap.yaml", branch="main", keep=20, most_bytes=200 << 20
            )
            (root / name).write_bytes(data)
            (root / "index.json").write_bytes(index.encode(state))
            for path in root.glob("*.json.gz"):
                if path.name not in state.bytes:
                    path.unlink()
            git(root, "add", "--all")
            git(root, "commit", "--quiet", "-m", name)
        git(root, "gc", "--quiet", "--aggressive", "--prune=now")
        packed = sum(path.stat().st_size for path in (root / ".git" / "objects").rglob("*") if path.is_file())
    plain, small, listed = len(encode_run(run)), len(data), len(index.encode(state)) // len(state.entries)
    figures = (cases, attempts, plain, small, listed, packed // MOVES)
    return "| " + " | ".join(f"{figure:,}" for figure in figures) + " |"


def git(folder: Path, *arguments: str) -> None:
    options = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")
    subprocess.run(["git", *options, *arguments], cwd=folder, check=True, capture_output=True)


if __name__ == "__main__":
    print(
        "| cases | attempts a case | results, bytes | document, bytes | line of the index, bytes | repository a move |"
    )
    print("|---|---|---|---|---|---|")
    for size in ((100, 1), (1000, 1), (1000, 3), (5000, 3)):
        print(measure(*size), flush=True)
