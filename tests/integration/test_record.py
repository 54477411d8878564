"""`trapgate record`: live into fixtures and back through `score`, and drafts of other programs' logs."""

from __future__ import annotations

import json
import subprocess
from datetime import datetime

import pytest
import yaml

from evaluator.results import encode
from tests.integration.agents import (
    EMAIL,
    LOOKUP,
    MODEL,
    REFUND,
    TOOLS,
    accept,
    at_once,
    attempts,
    copy,
    edited,
    fixture,
    fixture_path,
    interrupted,
    order_of,
    playing,
    results_of,
    right,
    run,
    spec,
    trap,
    turn,
    write,
    write_json,
    write_repository,
)
from tests.integration.repository import trapgate
from tests.servers.model_server import ModelServer, Reply

CASES = 3
SECRET = "correct horse battery"  # no key by its shape: it is known by the environment alone
ANSWER = f"Half of it is on its way; the code is {SECRET}."


def plan(order):
    """Right, but for too high a refund of the last order."""
    return right(order, 49.0 if order == CASES - 1 else 24.5)


def record(folder, script, *arguments, **environ):
    return run(folder, script, *arguments, command="record", **environ)[0]


def fixtures(folder):
    return {order: json.loads(fixture_path(folder, order).read_text()) for order in range(CASES)}


def expected_part(folder):
    """The text of each fixture up to its recordings."""
    paths = sorted(fixture_path(folder, 0).parent.iterdir())
    return [path.read_text().partition('  "recordings": [')[0] for path in paths]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A repository that was recorded live, two attempts a case, and the process that did it. A tool's answer and the
    model's hold a secret of the environment."""
    rules = ("metric: pass_rate, min: 0.5", "metric: argument_score, max_drop: 0.0")
    folder = write_repository(tmp_path_factory.mktemp("recorded"), CASES, trap(*rules, repeats=2))
    mocks = fixture(0)["mocks"]
    mocks[0]["result"]["note"] = f"door code {SECRET}"
    edited(fixture_path(folder, 0), mocks=mocks)
    done = record(folder, playing(plan, ANSWER), SHOP_TOKEN=SECRET)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, done


@pytest.fixture
def folder(recorded, tmp_path):
    return copy(recorded[0], tmp_path / "copy")


def score(folder):
    done = trapgate(folder, "score", "./evals/refunds", "--config", "trap.yaml")
    return done.returncode, done.stdout, results_of(folder)


# Live


def test_a_recording_holds_calls_results_schema_checks_tokens_model_date_and_the_subject(recorded):
    folder, done = recorded
    assert [line for line in done.stdout.splitlines() if line.startswith("wrote ")] == [
        f"wrote {fixture_path(folder, order)}" for order in range(CASES)
    ]
    assert "6 attempts recorded" in done.stdout
    recordings = fixtures(folder)[1]["recordings"]
    assert [each["attempt"] for each in recordings] == [1, 2]
    first = recordings[0]
    calls = [(call["turn"], call["tool"], call["args"], call["result"]) for call in first["actual_invocations"]]
    assert calls == [
        (1, LOOKUP, {"order_id": 1}, {"order_id": 1, "total": 49.0}),
        (2, REFUND, {"order_id": 1, "amount": 24.5}, {"ok": True}),
        (2, EMAIL, {"order_id": 1, "template": "refunded"}, {"ok": True}),
    ]
    assert first["schema_checks"] == [{"step": step, "valid": True} for step in (1, 2, 3)]
    assert (first["input_tokens"], first["output_tokens"], first["stop_reason"]) == (33, 21, "stop")
    assert first["model"] == "scripted-1"
    assert datetime.fromisoformat(first["date"]).tzinfo is not None
    assert len(first["subject"]["digest"]) == 64
    parts = first["subject"]["parts"]
    assert (parts["model"], parts["params.temperature"]) == (MODEL, "0")
    assert {"system", *(f"tools/{name}" for name in TOOLS)} <= parts.keys()


def test_secrets_of_the_environment_are_masked_in_results_and_answers(recorded):
    folder, done = recorded
    found = fixtures(folder)[0]
    for recording in found["recordings"]:
        assert SECRET not in json.dumps(recording)
        assert recording["actual_invocations"][0]["result"]["note"] == "door code ***"
        assert recording["final_answer"] == "Half of it is on its way; the code is ***."
    assert "2 secrets were masked" in done.stdout  # the results of one case
    assert SECRET not in done.stdout + done.stderr
    assert found["mocks"][0]["result"]["note"] == f"door code {SECRET}"  # what the user wrote is the user's


def test_recordings_score_as_the_live_run_does_and_answer_for_the_tree_they_were_made_of(folder, again):
    done, live = again["live"]
    assert done.returncode == 0, done.stdout + done.stderr
    code, said, found = score(folder)
    assert (code, found.verdict) == (0, "pass"), said
    verdicts = [
        {key: (each.passed, each.failure_mode, each.values) for key, each in attempts(which).items()}
        for which in (live, found)
    ]
    assert verdicts[0] == verdicts[1]
    assert [verdicts[0][f"r{CASES - 1:02}", 1][:2], verdicts[0]["r00", 1][:2]] == [
        (False, "wrong_arguments"),
        (True, None),
    ]
    assert "whether they are stale is unknown" not in said
    accept(folder)  # and what was recorded can be what live runs are compared with
    results = folder.parent / "live.json"
    results.write_bytes(encode(live))
    done = trapgate(folder, "compare", ".trap/baseline.json", str(results), "--config", "trap.yaml", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["comparison"]["tasks"][0]["paired"] == CASES


def other_tool(folder):
    write_json(folder / "tools" / f"{EMAIL}.json", spec(EMAIL, "Writes to a customer.", TOOLS[EMAIL]))


def other_text(before, after):
    def change(folder):
        path = folder / "trap.yaml"
        write(path, path.read_text().replace(before, after))

    return change


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda folder: write(folder / "prompts" / "system.md", "Be generous.\n"), "system"),
        (other_tool, f"tools/{EMAIL}"),
        (other_text(MODEL, "openai/other"), "model"),
        (other_text("temperature: 0", "temperature: 1, seed: 7"), "params.seed, params.temperature"),
        (other_text("tools: tools/", "structured: tool\ntools: tools/"), "structured"),
    ],
)
def test_a_recording_does_not_answer_for_another_subject(folder, change, what):
    change(folder)
    code, said, found = score(folder)
    assert (code, found.verdict) == (3, "inconclusive"), said
    found_attempts = attempts(found).values()
    assert {(each.status, each.passed) for each in found_attempts} == {("stale", None)}
    words = f"recorded before a change of {what}: a recording cannot answer for it"
    assert {each.infrastructure.message for each in found_attempts} == {words}
    assert (found.tasks[0].planned, found.tasks[0].scored) == (2 * CASES, 0)
    assert "stale" in said
    assert f"recorded before a change of {what}" in said


def test_one_stale_recording_counts_against_coverage_and_the_others_are_scored(folder):
    recordings = fixtures(folder)[1]["recordings"]
    recordings[1]["subject"]["digest"] = "0" * 64
    edited(fixture_path(folder, 1), recordings=recordings)
    code, said, found = score(folder)
    assert (code, found.tasks[0].scored) == (3, 5)
    assert attempts(found)["r01", 2].infrastructure.message.startswith("recorded before a change of the subject:")
    assert "refunds: 5 of 6 planned attempts were scored" in said


# Again, elsewhere, not at all


@pytest.fixture(scope="module")
def pinned(tmp_path_factory):
    """A git repository with YAML fixtures that name the task's own tools by a path, and the commit to pin."""
    folder = tmp_path_factory.mktemp("source")
    write_json(folder / "task" / "specs" / "lookup.json", spec(LOOKUP, "Finds an order.", TOOLS[LOOKUP]))
    for order in range(CASES):
        case = fixture(order) | {"task_id": f"Ticket {order}", "tools": "./specs/"}
        write(folder / "task" / f"{order}.yaml", yaml.safe_dump(case))
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "Tickets"]):
        identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
        subprocess.run(["git", *identity, *command], cwd=folder, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    return f"git+{folder.as_uri()}@{head.stdout.strip()}#subdirectory=task"


@pytest.fixture(scope="module")
def again(recorded, pinned, tmp_path_factory):
    """Name → folder and process of further recordings."""
    parent = tmp_path_factory.mktemp("again")

    def job(name, script, *arguments, change=lambda folder: None):
        folder = copy(recorded[0], parent / name)
        change(folder)
        return lambda: (folder, record(folder, script, *arguments))

    def better(request):
        order = order_of(request)
        return Reply(status=400, error="no") if order == 1 else turn(request, right(order))

    def from_pinned(folder):
        text = trap("metric: pass_rate, min: 0.5", model=f"models: [openai/other, {MODEL}]", repeats=2)
        write(folder / "trap.yaml", text.replace("source: ./evals/refunds", f"source: {pinned}"))

    elsewhere = ("--output", "out/tickets", "--model", MODEL)
    return at_once(
        {
            "cut short": lambda: cut_short(parent / "cut short"),
            "better": job("better", better),
            "elsewhere": job("elsewhere", playing(plan), *elsewhere, change=from_pinned),
            "live": lambda: run(copy(recorded[0], parent / "live"), playing(plan, ANSWER)),
        }
    )


def cut_short(folder):
    """The fixtures before, what came of a recording that gets SIGTERM, the fixtures then, what came of the next one,
    and the requests in all."""
    write_repository(folder, CASES, trap(repeats=2).replace("gate:", "limits: {concurrency: 1}\ngate:"))
    before = fixtures(folder)
    with ModelServer(lambda request: turn(request, plan(order_of(request)), delay=0.03)) as server:
        first = interrupted(folder, server, "record", 8)  # three a conversation: the first two attempts are there
        between = fixtures(folder)
        second = trapgate(folder, "record", base_url=server.base_url)
        return before, first, between, second, fixtures(folder), len(server.requests)


def test_recording_again_changes_the_recordings_and_not_a_byte_of_what_is_expected(recorded, again):
    folder, done = again["better"]
    assert expected_part(folder) == expected_part(recorded[0])
    last = fixtures(folder)[CASES - 1]
    assert [each["actual_invocations"][1]["args"]["amount"] for each in last["recordings"]] == [24.5, 24.5]
    assert "r02.json" in done.stdout


def test_a_pinned_source_in_yaml_is_recorded_into_another_folder_with_its_tools_by_one_of_several_models(again):
    folder, done = again["elsewhere"]
    assert done.returncode == 0, done.stderr
    assert "6 attempts recorded" in done.stdout
    assert f"note: recorded with {MODEL} alone, not with openai/other" in done.stdout
    written = sorted((folder / "out" / "tickets").iterdir())
    assert len(written) == CASES
    assert all(path.name.startswith("Ticket-") for path in written)
    case = json.loads(written[1].read_text())
    assert {tool["name"] for tool in case["tools"]} == set(TOOLS)
    assert case["task_id"] == "Ticket 1"
    other_text("source: git+", "source: ./out/tickets #")(folder)
    done = trapgate(folder, "score", "./out/tickets", "--config", "trap.yaml")
    found = results_of(folder)
    assert (done.returncode, found.tasks[0].scored) == (0, 2 * CASES), done.stdout + done.stderr


def test_a_fixture_without_an_answer_stays_as_it_was_and_the_rest_is_written(recorded, again):
    folder, done = again["better"]
    assert done.returncode == 3, done.stderr
    assert "4 attempts recorded" in done.stdout
    assert "2 without an answer: refused_request" in done.stdout
    assert "r01.json" not in done.stdout
    untouched = [fixture_path(each, 1).read_bytes() for each in (folder, recorded[0])]
    assert untouched[0] == untouched[1]


def test_a_recording_that_is_cut_short_goes_on_without_paying_twice(again):
    before, (code, said), between, done, after, requests = again["cut short"]
    assert code == 3, said
    assert "no fixture was changed, and the next run goes on from" in said
    assert between == before
    assert done.returncode == 0, done.stdout + done.stderr
    assert requests == 3 * 2 * CASES
    assert "6 attempts recorded" in done.stdout
    assert all(len(each["recordings"]) == 2 for each in after.values())


def test_what_cannot_be_recorded_is_refused_before_anything_is_paid_for(folder, pinned):
    write(folder / "occupied", "a file")
    write(folder / "pinned.yaml", trap().replace("source: ./evals/refunds", f"source: {pinned}"))
    write(folder / "yaml.yaml", trap().replace("source: ./evals/refunds", "source: ./tickets"))
    write(folder / "tickets" / "one.yaml", yaml.safe_dump(fixture(1)))
    write(folder / "command.yaml", trap(model="cmd: cat").replace("params: {temperature: 0}\n", ""))
    with ModelServer(playing(plan)) as server:
        for arguments, words in [
            (["--config", "pinned.yaml"], "tasks.refunds: a pinned source cannot be recorded in place"),
            (["--config", "yaml.yaml"], "only a fixture in a JSON file of its own is recorded in place"),
            (["--config", "command.yaml"], "only a model is recorded, and a command is the solution"),
            (["--output", "occupied"], "occupied: cannot write: "),
            (["--output", "evals/refunds"], "this is the folder of the task itself"),
        ]:
            done = trapgate(folder, "record", *arguments, base_url=server.base_url)
            assert done.returncode == 2, done.stdout + done.stderr
            assert words in done.stderr
        assert server.requests == []


# Logs of other programs

OPENAI_TOOLS = [spec(name, f"Does {name}.", TOOLS[name]) for name in (LOOKUP, REFUND)]
OPENAI = {
    "id": "ticket-1",
    "request": {
        "model": "gpt-4.1-mini",
        "tools": OPENAI_TOOLS,
        "messages": [
            {"role": "system", "content": "You refund."},
            {"role": "user", "content": "One glass of order 4 is broken."},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": LOOKUP, "arguments": '{"order_id": 4}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": f'{{"total": 49.0, "note": "{SECRET}"}}'},
        ],
    },
    "response": {
        "choices": [{"message": {"role": "assistant", "content": "49.00 it is."}, "finish_reason": "stop"}],
    },
}
ANTHROPIC = {
    "id": "ticket-2",
    "system": "You refund.",
    "tools": [{"name": name, "description": f"Does {name}.", "input_schema": TOOLS[name]} for name in (LOOKUP, REFUND)],
    "messages": [
        {"role": "user", "content": "One glass of order 4 is broken."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": LOOKUP, "input": {"order_id": 4}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": '{"total": 49.0}'}]},
        {"role": "assistant", "content": [{"type": "text", "text": "49.00 it is."}]},
    ],
}


@pytest.mark.parametrize("log", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
def test_a_log_becomes_a_draft_that_is_valid_once_it_is_edited(tmp_path, log):
    write(tmp_path / "log.jsonl", json.dumps(log) + "\n")
    arguments = ("record", "--import", "log.jsonl")
    done = trapgate(tmp_path, *arguments)
    assert done.returncode == 2
    assert "no folder for the drafts" in done.stderr
    assert "--output" in done.stderr
    done = trapgate(tmp_path, *arguments, "--output", "evals/refunds", SHOP_TOKEN=SECRET)
    assert done.returncode == 0, done.stderr
    path = tmp_path / "evals" / "refunds" / f"{log['id']}.json"
    assert f"wrote {path.relative_to(tmp_path)}" in done.stdout
    draft = json.loads(path.read_text())
    assert SECRET not in path.read_text()
    assert draft["input"] == "One glass of order 4 is broken."
    assert [step["tool"] for step in draft["expected_invocations"]] == [LOOKUP]
    assert draft["recordings"][0]["final_answer"] == "49.00 it is."
    steps = [*draft["expected_invocations"], {"tool": REFUND, "args": {"order_id": 4, "amount": 24.5}}]
    edited(path, expected_invocations=steps, mocks=[{"tool": REFUND, "result": {"ok": True}}])
    write(tmp_path / "trap.yaml", f"model: {MODEL}\ntasks:\n  refunds: {{source: ./evals/refunds}}\n")
    done = trapgate(tmp_path, "validate")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "refunds: 1 cases" in done.stdout
    done = trapgate(tmp_path, "score", "./evals/refunds")
    attempt = attempts(results_of(tmp_path))[log["id"], 1]
    assert (attempt.failure_mode, attempt.values["tool_score"]) == ("missing_call", 0.5)
