"""Whole-process time of the commands that need no model: `python bench/commands.py [runs]`.

Each runs as a user runs it, one at a time; the median is what to quote. `true` is the floor of this machine.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from evaluator.results import SCHEMA_VERSION, Acceptance, Attempt, Baseline, encode
from evaluator.transcript import Transcript
from tests.unit.builders import run, scored, task_result

ROOT = Path(__file__).parents[1]


def stored(cases: int) -> tuple[bytes, bytes]:
    """A baseline and a results file of `cases` cases that fail the same way on both sides."""
    attempts: dict[str, list[Attempt]] = {}
    for number in range(cases):
        transcript = Transcript(text="49.00")
        attempts[f"c{number:04}"] = [msgspec.structs.replace(scored(False), transcript=transcript)]
    document = run([task_result(attempts)])
    accepted = Acceptance(by="bench", at=document.started, why="bench")
    return encode(Baseline(schema_version=SCHEMA_VERSION, accepted=accepted, run=document)), encode(document)


def timed(arguments: list[str], runs: int) -> tuple[float, float, float]:
    """Wall seconds of `runs` processes after one that is not counted: least, median, most."""
    seconds = []
    for _ in range(runs + 1):
        began = time.perf_counter()
        subprocess.run(arguments, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        seconds.append(time.perf_counter() - began)
    return min(seconds[1:]), statistics.median(seconds[1:]), max(seconds[1:])


def main() -> None:
    """Print a line for each command."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    trapgate = [sys.executable, "-m", "evaluator"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for cases in (20, 1000):
            baseline, results = stored(cases)
            (folder / f"baseline{cases}.json").write_bytes(baseline)
            (folder / f"results{cases}.json").write_bytes(results)
        commands = {
            "true": ["true"],
            "python -c pass": [sys.executable, "-c", "pass"],
            "trapgate --help": [*trapgate, "--help"],
            "trapgate canaries": [*trapgate, "canaries"],
            "trapgate compare, 20 cases": [
                *trapgate, "compare", str(folder / "baseline20.json"), str(folder / "results20.json")
            ],
            "trapgate compare, 1000 cases": [
                *trapgate, "compare", str(folder / "baseline1000.json"), str(folder / "results1000.json")
            ],
        }  # fmt: skip
        print(f"{'command':30} {'least':>8} {'median':>8} {'most':>8}   seconds, {runs} runs, {os.cpu_count()} cores")
        for label, arguments in commands.items():
            print(f"{label:30} " + " ".join(f"{value:8.3f}" for value in timed(arguments, runs)))


if __name__ == "__main__":
    main()
