"""A repository with an agent's task of sixteen function calls, and a scripted model that answers it well or badly."""

from __future__ import annotations

import json
import re

import msgspec

from evaluator.results import SCHEMA_VERSION, Acceptance, Baseline, decode_baseline, decode_run, encode
from tests.servers.model_server import ModelServer, Received, Reply

CASES = 16
CONFIG = """\
model: openai/scripted-1
structured: prompt
tasks:
  tables:
    source: ./evals/tables
"""
# What a pull request changes in these tests: a system prompt that the base does not have.
GENEROUS = "Be generous."
GENEROUS_CONFIG = f"{CONFIG}system: prompts/system.md\n"
GENEROUS_FILES = {"trap.yaml": GENEROUS_CONFIG, "prompts/system.md": f"{GENEROUS}\n"}
SPEC = {
    "name": "book_table",
    "description": "Books a table.",
    "parameters": {
        "type": "dict",
        "properties": {"guest": {"type": "string"}, "seats": {"type": "integer"}},
        "required": ["guest", "seats"],
    },
}


def files(cases: int = CASES) -> dict[str, str]:
    """The repository's files, by path, with a task of so many cases."""
    made = {"trap.yaml": CONFIG}
    listed = []
    for number in range(cases):
        case = f"table_{number:02}"
        listed.append({"id": case, "tags": ["smoke" if number < 4 else "full"]})
        made[f"evals/tables/inputs/{case}/question.txt"] = (
            f"Guest {number} wants a table for {number + 1}.\n\n"
            f"FUNCTION SPEC (JSON):\n{json.dumps(SPEC, indent=1)}\n\n"
            "Answer with one JSON object with the keys name and arguments.\n"
        )
        matcher = {
            "kind": "json_call",
            "function_name": "book_table",
            "args_accepted": {"guest": [f"Guest {number}"], "seats": [number + 1]},
        }
        expected = {"id": case, "answer": call(number), "type": "json_function_call", "matchers": [matcher]}
        made[f"evals/tables/expected/{case}/answer.json"] = json.dumps(expected, indent=1)
    task = {"name": "tables", "dirs": {"inputs": "inputs/", "expected": "expected/"}, "cases": listed}
    made["evals/tables/traptask.yaml"] = json.dumps(task, indent=1)
    return made


def call(number: int, *, more: int = 1) -> str:
    return json.dumps({"name": "book_table", "arguments": {"guest": f"Guest {number}", "seats": number + more}})


def _number(request: Received) -> int:
    match = re.search(r"Guest (\d+) wants", json.dumps(request.body["messages"]))
    assert match is not None
    return int(match[1])


def good(request: Received) -> Reply:
    return Reply(text=call(_number(request)))


def bad(request: Received) -> Reply:
    """Ten of sixteen tables have a seat too many."""
    number = _number(request)
    return Reply(text=call(number, more=2 if number < 10 else 1))


def is_generous(request: Received) -> bool:
    """Whether the request is the change's, not the base's."""
    return GENEROUS in json.dumps(request.body["messages"])


def worse_when_generous(request: Received) -> Reply:
    """As bad as `bad` with the change's prompt, good without it."""
    return bad(request) if is_generous(request) else good(request)


def refusing(request: Received) -> Reply:
    """Every third request is refused."""
    return good(request) if _number(request) % 3 else Reply(status=400, error="no")


def provider(server: ModelServer) -> dict[str, str]:
    """What a workflow would hand over to reach the model."""
    return {"OPENAI_API_KEY": "sk-0123456789abcdef", "OPENAI_BASE_URL": server.base_url}


def accepted(results: bytes) -> bytes:
    """A results.json as a baseline."""
    by = Acceptance(by="alice", at="2026-01-01T00:00:00+00:00", why="first")
    return encode(Baseline(schema_version=SCHEMA_VERSION, accepted=by, run=decode_run(results, "results.json")))


def with_other_verdict(baseline: bytes) -> bytes:
    """The baseline as scorers of another kind would have stored it: its first case failed."""
    stored = decode_baseline(baseline, "baseline")
    task = stored.run.tasks[0]
    case = task.cases[0]
    failed = msgspec.structs.replace(case.attempts[0], passed=False, failure_mode="wrong_value")
    cases = [msgspec.structs.replace(case, attempts=[failed]), *task.cases[1:]]
    run = msgspec.structs.replace(stored.run, tasks=[msgspec.structs.replace(task, cases=cases)])
    return encode(msgspec.structs.replace(stored, run=run))
