"""examples/ferry-records from the command line: searched, answered by each mechanism, scored, compared, validated."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from evaluator import formats
from evaluator.cases import SourceRef
from evaluator.config.types import TaskConfig
from evaluator.scoring.self_check import self_check
from tests.integration.agents import accept, attempts, copy, results_of
from tests.integration.repository import ROOT, trapgate
from tests.servers.model_server import ModelServer, Received, Reply

EXAMPLE = ROOT / "examples" / "ferry-records"
TASK = formats.load(
    TaskConfig(name="ferries", source="./evals/ferries"),
    EXAMPLE / "evals" / "ferries",
    SourceRef(location="./evals/ferries"),
)
RIGHT = {case.request.messages[-1]["content"]: (case.id, str(case.golds[0].text)) for case in TASK.cases}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example as a user's repository, with a price for the scripted model, and a baseline of right answers."""
    folder = tmp_path_factory.mktemp("example") / "ferry-records"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("trapgate-results", ".trap"))
    path = folder / "trap.yaml"
    path.write_text(path.read_text() + "price: {input_per_million: 1.0, output_per_million: 2.0}\n")
    change(folder, "repeats: 3", "repeats: 1")
    change(folder, "model: openai/gpt-4.1-mini", "model: openai/scripted")
    change(folder, "limits:", "drift: {live_canaries: false}\nlimits:")
    assert run(folder, playing())[0] == 0
    accept(folder)
    return folder


def change(folder: Path, old: str, new: str) -> None:
    path = folder / "trap.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def only_by_prompt(script: Any) -> Any:
    """Plays `script` where no schema is sent, and is right where one is: the change makes the difference."""
    return lambda request: (playing() if "response_format" in request.body else script)(request)


def playing(**wrong: str) -> Any:
    """A model that searches once for what it is asked, and answers right but for the items in `wrong`; by the tool
    `answer` where there is one. What it said is never said twice: after feedback it is right."""

    def reply(request: Received) -> Reply:
        messages = request.body["messages"]
        question = next(message["content"] for message in messages if message["role"] == "user")
        case_id, right = RIGHT[question]
        said = [message for message in messages if message["role"] == "assistant"]
        if not said and "no search" not in wrong.get(case_id, ""):
            return Reply(tool_calls=[("search", json.dumps({"query": case_id}))])
        answers = [message for message in said if "search" not in json.dumps(message.get("tool_calls", "no"))]
        text = right if answers or case_id not in wrong else wrong[case_id].removeprefix("no search").strip() or right
        if any(tool["function"]["name"] == "answer" for tool in request.body["tools"]):
            return Reply(tool_calls=[("answer", text)])
        return Reply(text=text)

    return reply


def run(folder: Path, script: Any, *arguments: str) -> tuple[int, list[Received]]:
    """The exit code, and what the server got."""
    with ModelServer(script) as server:
        done = trapgate(folder, "run", "--model", "openai/scripted", *arguments, base_url=server.base_url)
        assert "Traceback" not in done.stdout + done.stderr
        return done.returncode, server.requests


def modes(folder: Path) -> dict[str, str | None]:
    """The failure mode of each case."""
    return {case_id: attempt.failure_mode for (case_id, _), attempt in attempts(results_of(folder)).items()}


def test_the_example_is_sound_and_each_of_its_golds_passes() -> None:
    assert len(TASK.cases) == 8
    assert all(case.golds for case in TASK.cases)
    assert self_check(TASK) == {}
    assert TASK.notes == []


def test_the_texts_of_the_example_say_what_its_checks_want() -> None:
    corpus = " ".join(f"{passage.title} {passage.text}" for passage in TASK.cases[0].request.corpus)
    for case in TASK.cases:
        for check in (case.expected or {})["checks"]:
            value = check.get("value")
            if check["type"] == "json_path_equals" and check["path"] not in ("in_service", "total"):
                assert re.search(rf"\b{re.escape(str(value))}\b", corpus), (case.id, value)


@pytest.mark.parametrize("structured", ["schema", "tool", "prompt"])
def test_a_record_is_searched_answered_and_passes_by_each_mechanism(
    repository: Path, tmp_path: Path, structured: str
) -> None:
    folder = copy(repository, tmp_path / "repository")
    change(folder, "structured: schema", f"structured: {structured}")
    code, requests = run(folder, playing())
    assert code == 0
    found = attempts(results_of(folder))
    assert {attempt.transcript.structured for attempt in found.values()} == {structured}
    assert {tuple(call.tool for call in attempt.transcript.calls) for attempt in found.values()} == {("search",)}
    tern = found["tern", 1]
    assert tern.transcript.calls[0].result.startswith("[MV Tern] ")
    assert (tern.scorer, tern.values["schema_valid"], tern.values["recovered_pass_rate"]) == ("arena@1", 1.0, 1.0)
    assert [message["role"] for message in requests[0].body["messages"]] == ["system", "system", "user"]
    assert ("response_format" in requests[0].body) == (structured == "schema")
    assert len(requests) == 16


def test_wrong_records_are_a_regression_with_each_mode_and_place(repository: Path, tmp_path: Path) -> None:
    folder = copy(repository, tmp_path / "repository")
    change(folder, "structured: schema", "structured: prompt")
    code, _ = run(
        folder,
        only_by_prompt(
            playing(
                **{
                    "tern": "The Tern was built in 1994.",
                    "gannet": '{"name": "Gannet", "built": "2003", "length_m": 88, "sources": ["MV Gannet"]}',
                    "puffin": '{"name": "Puffin", "built": 1978, "length_m": 33, "sources": ["MV Puffin"]}',
                    "kittiwake": "no search",
                    "departures": '{"ferry": "Tern, not the 09:30", "departures": ["07:10", "16:40"]}',
                    "sold-ferry": '{"name": "Fulmar", "in_service": true, "sold": 2015}',
                }
            )
        ),
    )
    assert code == 1, "the sold ferry is critical"
    assert {case_id: mode for case_id, mode in modes(folder).items() if mode} == {
        "tern": "unparseable",
        "gannet": "schema_invalid",
        "puffin": "wrong_value",
        "kittiwake": "tool_not_used",
        "departures": "check_failed",
        "sold-ferry": "wrong_value",
    }
    found = attempts(results_of(folder))
    assert [(each.path, each.keyword, each.wanted, each.got) for each in found["puffin", 1].findings] == [
        ("$.length_m", "json_path_equals", 31.5, 33)
    ]
    recovered = {case_id for (case_id, _), each in found.items() if each.values["recovered_pass_rate"]}
    assert recovered == {"tern", "gannet", "deepest-berth", "fare-of-two"}
    assert found["gannet", 1].transcript.later[-1].text == RIGHT[question("gannet")][1]


def question(case_id: str) -> str:
    return next(text for text, (each, _) in RIGHT.items() if each == case_id)


def test_validate_names_every_fault_with_its_line(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(EXAMPLE, tmp_path / "example"))
    dataset = folder / "evals" / "ferries" / "dataset.jsonl"
    lines = dataset.read_text().splitlines()
    lines[1] = lines[1].replace('"gannet"', '"tern"').replace('"tool_used"', '"tool_usd"')
    lines[2] = json.dumps({"id": "puffin", "input": "Return it.", "checks": []})
    lines[3] = lines[3].replace('"name": "search"', '"name": "lookup"')
    lines[4] = lines[4].replace('"input": ', '"inputs": ')
    dataset.write_text("\n".join(lines))
    done = trapgate(folder, "validate")
    assert done.returncode == 2
    said = [line for line in done.stderr.splitlines() if "dataset.jsonl" in line]
    assert [re.sub(r"^.*dataset\.jsonl:(\d+):\d+: ", r"\1 ", line)[:60] for line in said] == [
        '2 $.id: "tern" is already the id of line 1',
        "2 $.checks[4]: unknown type 'tool_usd'; known are contains, icontains,"[:60],
        "3 $.checks: there are no checks, so that nothing could fail the item"[:60],
        '4 $.checks[4]: arena.toml does not name the tool "lookup"'[:60],
        "5 $: there is no input",
    ]


def test_outputs_of_another_program_are_scored_with_their_calls(repository: Path, tmp_path: Path) -> None:
    folder = copy(repository, tmp_path / "repository")
    searched = [{"tool": "search", "args": {"query": "ferry"}}]
    rows = [
        {"case_id": case_id, "text": text, "tool_calls": [] if case_id == "sold-ferry" else searched}
        for case_id, text in RIGHT.values()
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = trapgate(folder, "score", "./evals/ferries", "--config", "trap.yaml", "--outputs", "rows.jsonl")
    assert done.returncode == 1
    assert {case_id for case_id, mode in modes(folder).items() if mode} == {"sold-ferry"}
    assert modes(folder)["sold-ferry"] == "tool_not_used"
