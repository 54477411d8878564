"""trapstreet tasks that bring a judge of their own, and the repository that uses them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluator import config as configuration
from evaluator import pipeline
from evaluator.baselines import BaselineState, Found
from evaluator.results import SCHEMA_VERSION, Acceptance, Baseline, Run

CAPITALS = {"fr": "Paris", "it": "Rome", "es": "Madrid", "pt": "Lisbon", "at": "Vienna", "gr": "Athens"}

# As task authors write them: one reads the manifest, one the payload of older versions.
MANIFEST_JUDGE = """\
import json, os, pathlib

manifest = json.loads(os.environ["TRAPTASK_MANIFEST"])
said = pathlib.Path(manifest["run"]["stdout"]).read_text().strip()
exit_code = json.loads(pathlib.Path(manifest["run"]["meta"]).read_text())["exit_code"]
wanted = json.loads((pathlib.Path(manifest["expected_dir"]) / "answer.json").read_text())["answer"]
right = exit_code == 0 and wanted.lower() in said.lower()
print(json.dumps({"score": 1.0 if right else 0.0, "reason": f"wanted {wanted}"}))
"""
PAYLOAD_JUDGE = """\
import json, os, pathlib

payload = json.loads(os.environ["TRAPTASK_PAYLOAD"])
said = pathlib.Path(payload["outputs"]["case_stdout"]).read_text().strip()
exit_code = json.loads(pathlib.Path(payload["outputs"]["case_meta.json"]).read_text())["exit_code"]
wanted = json.loads(pathlib.Path(payload["expected"]["answer.json"]).read_text())["answer"]
assert pathlib.Path(payload["inputs"]["question.txt"]).read_text()
print(json.dumps({"score": float(exit_code == 0 and wanted.lower() in said.lower())}))
"""
# A real judge did this: it registers the matcher that its cases use after its main function has run.
LATE_MATCHER_JUDGE = """\
import json, os, pathlib

MATCHERS = {}

def main():
    manifest = json.loads(os.environ["TRAPTASK_MANIFEST"])
    said = pathlib.Path(manifest["run"]["stdout"]).read_text()
    expected = json.loads((pathlib.Path(manifest["expected_dir"]) / "answer.json").read_text())
    matcher = MATCHERS.get("contains")
    right = matcher is not None and matcher(said, expected["answer"])
    print(json.dumps({"score": float(right), "reason": "ok" if matcher else "unknown matcher: contains"}))

if __name__ == "__main__":
    main()

MATCHERS["contains"] = lambda said, wanted: wanted in said
"""
GRADER = """\
import json, os

rows = json.loads(os.environ["TRAPTASK_MANIFEST"])
scores = [row["metrics"]["score"] for row in rows if row["metrics"] and row["judge_exit_code"] == 0]
score = sum(scores) / len(scores) if scores else 0.0
figures = {"n_passed": sum(s == 1.0 for s in scores), "n_total": len(rows), "n_scored": len(scores)}
print(json.dumps({"passed": score >= 0.8, "score": score, **figures}))
"""


def write_task(
    folder: Path,
    judge: str = MANIFEST_JUDGE,
    *,
    answers: Mapping[str, Any] = CAPITALS,
    grader: str | None = None,
    matchers: bool = False,
    **keys: Any,
) -> Path:
    """A task that asks for capitals. `keys` go into traptask.yaml, `judge_keys` into its `judge`."""
    own = {"cmd": "python3 judge.py", **keys.pop("judge_keys", {})}
    traptask = {"cases": [{"id": case_id} for case_id in answers], "judge": own, **keys}
    files = {"judge.py": judge}
    if grader is not None:
        traptask["grader"] = {"cmd": "python3 grader.py"}
        files["grader.py"] = grader
    files["traptask.yaml"] = json.dumps(traptask)
    for case_id, answer in answers.items():
        files[f"inputs/{case_id}/question.txt"] = f"What is the capital of .{case_id}? One word.\n"
        expected: dict[str, Any] = {"id": case_id, "answer": answer}
        if matchers:
            expected["matchers"] = [{"kind": "keywords_all", "values": [answer]}]
        if answer is not None:
            files[f"expected/{case_id}/answer.json"] = json.dumps(expected)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def write_trap(folder: Path, source: str = "./task", **task: Any) -> Path:
    """A trap.yaml with the one task `capitals`, which is judged by its own judge."""
    task = {"source": source, "judge": "task", **task}
    gate = {"rules": [{"task": "capitals", "metric": "pass_rate", "max_drop": 0.0}]}
    trap = {
        "model": "openai/scripted",
        "price": {"input_per_million": 1.0, "output_per_million": 2.0},
        "tasks": {"capitals": task},
        "gate": gate,
    }
    (folder / "trap.yaml").write_text(json.dumps(trap))
    return folder / "trap.yaml"


def write_outputs(folder: Path, answers: Mapping[str, str]) -> Path:
    rows = [
        {"case_id": case_id, "attempt": 1, "text": text, "stop_reason": "stop"} for case_id, text in answers.items()
    ]
    (folder / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "outputs.jsonl"


def score(
    folder: Path, answers: Mapping[str, str], baseline: BaselineState | None = None, *, unsafe: bool = False
) -> Run:
    """`answers` scored for the task of `folder`'s trap.yaml."""
    config = configuration.load(folder / "trap.yaml")
    return pipeline.score(
        config.tasks[0].source,
        outputs=write_outputs(folder, answers),
        format_name=None,
        config=config,
        task_name=None,
        folder=folder,
        output=folder / "results",
        cache=folder / "cache",
        baseline=baseline,
        environ={"PATH": os.environ["PATH"]},
        unsafe_judges=unsafe,
    )


def found(run: Run) -> Found:
    accepted = Acceptance(by="someone", at="2026-01-01T00:00:00+00:00", why="first")
    return Found(".trap/baseline.json", Baseline(schema_version=SCHEMA_VERSION, accepted=accepted, run=run))


def verdicts(run: Run) -> dict[str, str]:
    """Case id → `passed`, the failure mode, or the kind of the infrastructure failure."""
    return {
        case.id: "passed" if a.passed else a.failure_mode or (a.infrastructure.kind if a.infrastructure else "?")
        for case in run.tasks[0].cases
        for a in case.attempts
    }


def texts(reasons: Sequence[Any]) -> str:
    return "\n".join(reason.text for reason in reasons)
