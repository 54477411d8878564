"""What a task's own judge costs: `python -m bench.judging [RUNS]`.

A task of 20 cases with a judge in Python, as `trapgate score` judges it: the witnesses (60 answers that it must know)
and then one answer a case; and the same by plain subprocesses, for what isolation adds to a judged answer.
Goal: 20 answers in under 3 s on two cores.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from evaluator import foreign, formats
from evaluator.cases import SourceRef, Task
from evaluator.config.types import TaskConfig
from evaluator.isolation.command import Command, Finished
from evaluator.judging.bench import Asked, open_bench
from evaluator.transcript import Transcript

CASES = 20
GOAL_SECONDS = 3.0
JUDGE = """
import json, os, pathlib
manifest = json.loads(os.environ["TRAPTASK_MANIFEST"])
said = pathlib.Path(manifest["run"]["stdout"]).read_text()
wanted = json.loads(pathlib.Path(manifest["expected_dir"], "answer.json").read_text())["answer"]
print(json.dumps({"score": float(wanted in said)}))
"""


class Plain:
    """No isolation and no bounds: what a judge costs by itself."""

    means = ()

    def run(self, command: Command, _: object) -> Finished:
        began = time.perf_counter()
        done = subprocess.run(
            command.argv, cwd=command.cwd, env=dict(command.environ), capture_output=True, check=False
        )
        return Finished(done.returncode, done.stdout, done.stderr, 0, 0, time.perf_counter() - began, None)


def task(folder: Path) -> Task:
    ids = [f"case-{number:02}" for number in range(CASES)]
    (folder / "judge.py").write_text(JUDGE)
    (folder / "traptask.yaml").write_text(
        json.dumps({"cases": [{"id": case_id} for case_id in ids], "judge": {"cmd": "python3 judge.py"}})
    )
    for number, case_id in enumerate(ids):
        for name, text in (
            (f"inputs/{case_id}/question.txt", "How much is the refund?"),
            (f"expected/{case_id}/answer.json", json.dumps({"answer": f"{number}.50 dollars"})),
        ):
            (folder / name).parent.mkdir(parents=True)
            (folder / name).write_text(text)
    config = TaskConfig(name="refunds", source=str(folder), judge="task")
    return formats.load(config, folder, SourceRef(location=str(folder)))


def seconds(judged: Task) -> tuple[float, float]:
    """For the witnesses with all that goes before them, and for one answer a case."""
    answers = [Asked(case.id, Transcript(text=f"It is {gold.text}.")) for case in judged.cases for gold in case.golds]
    began = time.perf_counter()
    with open_bench([judged], environ=os.environ, workspace=Path.cwd()) as judges:
        witnesses = [result for results in judges.witnessed().values() for result in results]
        between = time.perf_counter()
        rulers = judges.rulers({judged.name: answers})
        ended = time.perf_counter()
    assert all(witness.ok for witness in witnesses), witnesses  # noqa: S101
    for case, answer in zip(judged.cases, answers, strict=True):
        scorer = rulers[judged.name].prepare(case)
        assert scorer is not None  # noqa: S101
        assert scorer(answer.transcript).passed  # type: ignore[union-attr]  # noqa: S101
    return between - began, ended - between


def main() -> None:
    """Print the figures; exit code 1 when the goal is missed."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as name:
        judged = task(Path(name))
        isolated = [seconds(judged) for _ in range(runs)]
        foreign.available = lambda *_: Plain()  # type: ignore[assignment,return-value]
        plain = [seconds(judged) for _ in range(runs)]
    took = statistics.median(cases for _, cases in isolated)
    added = 1000 * (took - statistics.median(cases for _, cases in plain)) * cores / CASES
    print(f"witnesses ({3 * CASES} answers): {statistics.median(first for first, _ in isolated):.2f} s")
    print(f"{CASES} answers, {cores} at once: {took:.2f} s (goal {GOAL_SECONDS:.0f} s)")
    print(f"isolation adds {added:.1f} ms of a core to each judged answer")
    sys.exit(took > GOAL_SECONDS)


if __name__ == "__main__":
    main()
