"""A structure-closure suite as a user has it: built, checked, run, accepted, compared, and with rows that are lost."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.integration.repository import trapgate
from tests.servers.model_server import ModelServer, Reply

CALLS = [
    {"name": f"move_{n}", "arguments": {"order": f"48{n:02}", "note": f'part "{n}"', "amount": n + 0.5}}
    for n in range(8)
]
TRAP = """\
model: openai/scripted
price: {input_per_million: 1.0, output_per_million: 2.0}
tasks:
  closure: {source: ./suite, options: {turn_end: <|im_end|>}}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("closure")
    (folder / "calls.jsonl").write_text("".join(json.dumps(call) + "\n" for call in CALLS))
    (folder / "trap.yaml").write_text(TRAP)
    done = trapgate(folder, "build", "closure", "--from", "calls.jsonl", "--output", "suite")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "168 cases in 21 groups"), done.stderr
    return folder


@pytest.fixture(scope="module")
def template(built, tmp_path_factory) -> Path:
    """The same with the baseline of a model that continues everything right; made once, since a run takes seconds."""
    folder = Path(shutil.copytree(built, tmp_path_factory.mktemp("template") / "repository"))
    done, first = run(folder, continuing(folder))
    assert (done.returncode, first["tasks"][0]["scored"]) == (3, 168)
    assert trapgate(folder, "baseline", "accept", "--why", "first").returncode == 0
    return folder


@pytest.fixture
def accepted(template, tmp_path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "accepted"))


@pytest.fixture
def repository(built, tmp_path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "repository"))


def rows(folder: Path) -> list[dict]:
    return [json.loads(line) for path in (folder / "suite").glob("*.jsonl") for line in path.read_text().splitlines()]


def continuing(folder: Path, wrong: str = ""):
    """A script that continues every row right, but those of a group without their last character."""
    answers = {}
    for row in rows(folder):
        rest = row["expected"][len(row["prefix"]) :]
        is_wrong = f"{row['family']}/{row['control']}" == wrong
        answers[row["instruction"] + row["prefix"]] = rest[:-1] if is_wrong else rest + "<|im_end|>"

    def script(request):
        choice = {"index": 0, "text": answers[request.body["prompt"]], "finish_reason": "stop", "logprobs": None}
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        return Reply(
            body=json.dumps({"id": "c", "object": "text_completion", "choices": [choice], "usage": usage}).encode()
        )

    return script


def run(folder: Path, script) -> tuple:
    with ModelServer(script) as server:
        done = trapgate(folder, "run", base_url=server.base_url)
    return done, json.loads((folder / "trapgate-results" / "results.json").read_text())


def test_a_built_suite_is_valid_and_its_schema_of_options_is_known(repository):
    done = trapgate(repository, "validate")
    assert (done.returncode, done.stderr) == (0, "")
    assert "closure: 168 cases, 0 skipped, scorer closure" in done.stdout


def test_a_change_that_spoils_one_group_is_a_regression_of_that_group_alone(accepted):
    done, same = run(accepted, continuing(accepted))
    assert (done.returncode, same["verdict"]) == (0, "pass")
    ceilings = [w["text"] for w in same["warnings"] if "no signal" in w["text"]]
    assert len(ceilings) == 1
    assert ceilings[0].count("/") == 21
    assert len(same["rules"]) == 21

    trap = accepted / "trap.yaml"
    trap.write_text(trap.read_text() + "params: {seed: 7}\n")
    spoilt, right = continuing(accepted, wrong="tool_call/opener_retention"), continuing(accepted)
    done, changed = run(accepted, lambda request: (spoilt if request.body["seed"] == 7 else right)(request))
    assert (done.returncode, changed["verdict"]) == (1, "regression")
    assert [reason["text"] for reason in changed["reasons"]] == [
        "closure: over all its groups 8 of 168 cases do worse and 0 better, p = 0.0078."
    ]
    [warned] = [reason["text"] for reason in changed["warnings"] if "possible drop" in reason["text"]]
    assert warned.startswith(
        "closure pass_rate (tool_call/opener_retention), max_drop 0: possible drop, 1.00 → 0.00 (8 cases worse, 0"
    )
    task = changed["tasks"][0]
    assert set(task["metrics"]) == {"cost_usd", "input_tokens", "output_tokens"}
    group = task["slices"]["tool_call/opener_retention"]
    assert group["failure_modes"] == {"syntax_incomplete": 8}
    assert {name: group["metrics"][name]["value"] for name in ("syntax_complete", "whole_response_success")} == {
        "syntax_complete": 0.0,
        "whole_response_success": 0.0,
    }
    assert {attempt["transcript"]["structured"] for case in task["cases"] for attempt in case["attempts"]} == {
        "completion:text, seed 7"
    }
    comment = (accepted / "trapgate-results" / "comment.md").read_text()
    assert "tool\\_call/opener\\_retention" in comment or "`tool_call/opener_retention`" in comment


def test_lost_rows_are_planned_missing_and_end_in_no_verdict(accepted):
    file = accepted / "suite" / "code_fence.jsonl"
    script = continuing(accepted)
    lines = file.read_text().splitlines()
    kept = [line for line in lines if "continue_required" not in json.loads(line)["case_id"]]
    file.write_text("\n".join(kept) + "\n")
    done, results = run(accepted, script)
    assert (done.returncode, results["verdict"]) == (3, "inconclusive")
    task = results["tasks"][0]
    assert (task["planned"], task["scored"]) == (168, 160)
    part = task["slices"]["code_fence/continue_required"]
    assert (part["planned"], part["scored"]) == (8, 0)
    assert "pass_rate" not in part["metrics"]
    assert results["totals"]["infrastructure"] == {"missing": 8}
    assert any("in inventory.json, but without a row, so missing:" in note for note in task["notes"])
    assert any("code_fence/continue_required" in reason["text"] for reason in results["reasons"])


def test_recorded_continuations_are_scored_by_the_same_rules(repository):
    outputs = [
        {
            "case_id": row["case_id"],
            "text": row["expected"][len(row["prefix"]) :] + "\n<|im_end|>",
            "stop_reason": reason,
        }
        for row, reason in zip(rows(repository), ["stop", "length"] * 84, strict=True)
    ]
    (repository / "outputs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in outputs))
    done = trapgate(
        repository, "score", "./suite", "--config", "trap.yaml", "--outputs", "outputs.jsonl", "--output", "out"
    )
    results = json.loads((repository / "out" / "results.json").read_text())
    assert done.returncode == 3, done.stdout  # there is no baseline
    attempts = [attempt for case in results["tasks"][0]["cases"] for attempt in case["attempts"]]
    assert all(attempt["passed"] for attempt in attempts)
    trailing = {attempt["transcript"]["stop_reason"]: set() for attempt in attempts}
    for attempt in attempts:
        trailing[attempt["transcript"]["stop_reason"]].add(attempt["values"]["trailing_content"])
    assert trailing == {"stop": {0.0}, "length": {1.0}}


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ('{"a": 1}\n{"b": \n', (), "values.jsonl:2:6: not JSON"),
        ("", (), "values.jsonl: the file holds nothing"),
        ("[1, 2]", ("--tasks", "3"), "--tasks 3, and the file has 2 items"),
        ("[1, 2]", ("--tasks", "0"), "Ask for 1 to 2."),
    ],
)
def test_values_that_make_no_suite_are_refused(tmp_path, text, arguments, message):
    (tmp_path / "values.jsonl").write_text(text)
    done = trapgate(tmp_path, "build", "closure", "--from", "values.jsonl", "--output", "suite", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_suite_is_never_written_over_another(built):
    done = trapgate(built, "build", "closure", "--from", "calls.jsonl", "--output", "suite")
    assert done.returncode == 2
    assert (
        "suite: not an empty folder\n    Name another folder, or remove what is there.\n(build-output)" in done.stderr
    )
