"""Structure closure: 14,784 recorded continuations scored from rows to reports, as a whole process.

    python -m bench.closure [--data FOLDER] [--processes N]

The rows are 704 calls × 21 groups (the split of the value and escape groups is ours). The calls come from the golds of
the Berkeley Function Calling Leaderboard where the package `bfcl-eval` is installed, or from `--data`, its folder
`possible_answer`; where neither is there, from made-up calls of the same number, which is said. A third of the
continuations is right; the others lack their end, trail prose, or change a character.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evaluator.closure.suite import Suite, build, files

TASKS, CASES = 704, 14_784
CATEGORIES = ("simple_python", "multiple", "parallel", "parallel_multiple", "live_simple", "live_multiple")
SECONDS, MEGABYTES = 5.0, 300

# In a process of its own, so that the peak is that of the command alone.
_MEASURED = """\
import resource, subprocess, sys, time
start = time.perf_counter()
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
wall = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def golds(folder: Path) -> Iterator[dict[str, Any]]:
    """The calls of the leaderboard's golds, each argument with the first value that is accepted and not left out."""
    for category in CATEGORIES:
        for line in (folder / f"BFCL_v4_{category}.json").read_text(encoding="utf-8").splitlines():
            for call in json.loads(line)["ground_truth"]:
                for name, accepted in call.items():
                    firsts = {key: next((v for v in values if v != ""), None) for key, values in accepted.items()}
                    arguments = {key: value for key, value in firsts.items() if value is not None}
                    if arguments:
                        yield {"name": name, "arguments": arguments}


def made_up() -> list[dict[str, Any]]:
    return [
        {
            "name": f"service_{number % 90}.action",
            "arguments": {
                "order": f"{4000 + number}",
                "lines": [{"item": "glass", "count": number % 7}],
                "note": "late",
            },
        }
        for number in range(2 * TASKS)
    ]


def calls(data: Path | None) -> tuple[str, list[dict[str, Any]]]:
    found = importlib.util.find_spec("bfcl_eval")
    if data is None and found is not None and found.submodule_search_locations:
        data = Path(found.submodule_search_locations[0]) / "data" / "possible_answer"
    return ("golds of bfcl-eval", list(golds(data))) if data is not None else ("made-up calls", made_up())


def outputs(suite: Suite) -> Iterator[str]:
    chance = random.Random(1)
    for rows in suite.rows.values():
        for row in rows:
            rest = row["expected"][len(row["prefix"]) :]
            rest = chance.choice([rest, rest[:-1], rest + "\n\nThat is it.", rest.replace("a", "b", 1)])
            yield json.dumps({"case_id": row["case_id"], "text": rest, "stop_reason": "stop"}) + "\n"


def measured(command: list[str]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak megabytes of a command."""
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, *command], capture_output=True, text=True, check=True, env=environment
    )
    code, wall, cpu, peak = done.stdout.split()
    assert code == "0", done.stderr  # noqa: S101
    return float(wall), float(cpu), float(peak)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder possible_answer of the leaderboard")
    parser.add_argument("--processes", type=int, default=5, help="how many are measured [5]")
    options = parser.parse_args()
    what, records = calls(options.data)
    start = time.perf_counter()
    suite = build(records, tasks=TASKS)
    seconds = time.perf_counter() - start
    count = sum(map(len, suite.rows.values()))
    assert count == CASES, f"{count} rows; left out: {suite.left_out}"  # noqa: S101
    print(f"{count:,} rows of {TASKS} {what} built in {seconds:.1f} s")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "suite"
        folder.mkdir()
        for file, text in files(suite):
            (folder / file).write_text(text, encoding="utf-8")
        (Path(name) / "outputs.jsonl").write_text("".join(outputs(suite)), encoding="utf-8")
        command = [sys.executable, "-m", "evaluator", "score", str(folder)]
        command += ["--outputs", str(Path(name) / "outputs.jsonl"), "--output", str(Path(name) / "out")]
        runs = [measured(command) for _ in range(options.processes)]
    walls, cpus, peaks = (sorted(column) for column in zip(*runs, strict=True))
    middle = len(walls) // 2
    print(
        f"{count:,} cases scored, whole process: median {walls[middle]:.2f} s wall ({walls[0]:.2f}–{walls[-1]:.2f}), "
        f"{cpus[middle]:.2f} s CPU, {peaks[-1]:.0f} MB at the peak (goal: under {SECONDS:g} s, {MEGABYTES} MB)"
    )


if __name__ == "__main__":
    main()
