"""A built structure-closure suite, continued by a real model at its completion endpoint: 210 cases of short values."""

from __future__ import annotations

import json

import pytest

from tests.integration.repository import trapgate

# Short values and few tokens, so that two hundred continuations take a minute on a small machine.
CALLS = [
    {"name": name, "arguments": {"x": number}}
    for number, name in enumerate(("get", "put", "add", "cut", "run", "end", "ask", "pay", "try", "see"), 10)
]
TRAP = """\
model: openai/smollm2-135m-instruct
params: {max_tokens: 8}
tasks:
  closure: {source: ./suite}
  by-ids: {source: ./ids}
baseline: {allow_missing: true}
"""
# Token ids of the model's own: "The capital of France is" (SmolLM2's tokenizer).
IDS = [504, 3575, 282, 4649, 314]

pytestmark = pytest.mark.model


def test_two_hundred_built_cases_are_continued_by_completion_and_scored_by_group(model, tmp_path):
    (tmp_path / "calls.json").write_text(json.dumps(CALLS))
    (tmp_path / "trap.yaml").write_text(TRAP)
    row = {
        "case_id": "ids",
        "family": "json_object",
        "control": "close_required",
        "format": "json",
        "prefix": '{"a": 1',
        "expected": '{"a": 1}',
        "prompt_token_ids": IDS,
    }
    (tmp_path / "ids").mkdir()
    (tmp_path / "ids" / "rows.jsonl").write_text(json.dumps(row) + "\n")
    assert trapgate(tmp_path, "build", "closure", "--from", "calls.json", "--output", "suite").returncode == 0

    done = trapgate(tmp_path, "run", base_url=model.base_url, seconds=600, NO_PROXY="127.0.0.1")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "nclosed" not in done.stderr
    results = json.loads((tmp_path / "trapgate-results" / "results.json").read_text())
    closure, by_ids = results["tasks"]
    assert (closure["planned"], closure["scored"], len(closure["slices"])) == (210, 210, 21)
    attempts = [attempt for case in closure["cases"] for attempt in case["attempts"]]
    assert {attempt["transcript"]["structured"] for attempt in attempts} == {"completion:text, max_tokens 8"}
    passed = sum(attempt["passed"] for attempt in attempts)
    assert 0 < passed < 210
    modes = {attempt["failure_mode"] for attempt in attempts}
    assert modes <= {None, "syntax_incomplete", "content_changed"}
    assert modes > {None}
    (attempt,) = by_ids["cases"][0]["attempts"]
    assert attempt["transcript"]["structured"] == "completion:token_ids, max_tokens 8"
    assert attempt["transcript"]["usage"]["input_tokens"] == len(IDS)
    assert "Paris" in attempt["transcript"]["text"]
    for name, part in closure["slices"].items():
        figures = {m: round(v["value"], 2) for m, v in part["metrics"].items() if m not in ("cost_usd",)}
        print(name, part["scored"], figures)  # shown by pytest -s: the figures in docs/closure.md
