"""What isolation costs: `python -m bench.isolation [RUNS]`.

One line for each way to run `true`, one at a time: the median of RUNS (51), and what it adds to a plain subprocess.
Then 20 cases by a judge in Python that reads an answer and prints a score, as many at once as there are processors.
Goal: the 20 cases in under 3 s on two cores.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from evaluator.isolation.available import available
from evaluator.isolation.command import Command, Isolation, Refusal
from evaluator.isolation.folders import collect, copy, scratch
from evaluator.isolation.unsafe import Unsafe

CASES = 20
GOAL_SECONDS = 3.0
ENVIRON = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
JUDGE = """
import json, os, pathlib, re
answer = pathlib.Path("answer.txt").read_text()
score = float(bool(re.search(r"\\b49[.]00\\b", answer)))
pathlib.Path(os.environ["OUTPUT"], "notes.txt").write_text("judged")
print(json.dumps({"score": score}))
"""


def median_ms(run: Callable[[], object], runs: int) -> float:
    """Of `runs` runs, after one that is not counted."""
    run()
    seconds = []
    for _ in range(runs):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return 1000 * statistics.median(seconds)


def judged(isolation: Isolation, folder: Path, number: int) -> None:
    """One case as a judge gets it: a folder of its own to write, the task's to read."""
    output = folder / f"output{number}"
    output.mkdir()
    finished = isolation.run(
        Command(
            ("python3", "judge.py"),
            cwd=folder / "task",
            environ={**ENVIRON, "OUTPUT": str(output)},
            readable=(folder / "task",),
            writable=(output,),
        )
    )
    assert finished.stdout == b'{"score": 1.0}\n', finished  # noqa: S101
    assert collect(output) == {"notes.txt": b"judged"}  # noqa: S101


def cases_seconds(isolation: Isolation) -> float:
    """All cases, with the copy of the task folder."""
    with scratch() as folder:
        began = time.perf_counter()
        source = folder / "source"
        source.mkdir()
        (source / "judge.py").write_text(JUDGE, "utf-8")
        (source / "answer.txt").write_text("The refund is 49.00 dollars.", "utf-8")
        copy(source, folder / "task")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda number: judged(isolation, folder, number), range(CASES)))
        return time.perf_counter() - began


def main() -> None:
    """Print the figures; exit code 1 when the goal is missed."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 51
    began = time.perf_counter()
    isolation = available(os.environ, Path.cwd())
    if isinstance(isolation, Refusal):
        sys.exit(f"no isolation here: {isolation}")
    print(f"means: {', '.join(isolation.means)}; found in {1000 * (time.perf_counter() - began):.0f} ms")
    plain = median_ms(lambda: subprocess.run(["true"], check=True), runs)
    python = median_ms(lambda: subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True), runs)
    print(f"{'subprocess true':24}{plain:7.1f} ms\n{'python -I -S -c pass':24}{python:7.1f} ms")
    with scratch() as folder:
        for name, means in (("isolated true", isolation), ("bounded only, true", Unsafe())):
            command = Command(("true",), folder, ENVIRON, writable=(folder,))
            cost = median_ms(lambda means=means, command=command: means.run(command), runs)  # type: ignore[misc]
            print(f"{name:24}{cost:7.1f} ms  (+{cost - plain:.1f})")
    seconds = statistics.median(cases_seconds(isolation) for _ in range(5))
    print(f"{CASES} cases, {os.cpu_count()} at once: {seconds:.2f} s (goal {GOAL_SECONDS:.0f} s)")
    sys.exit(seconds > GOAL_SECONDS)


if __name__ == "__main__":
    main()
