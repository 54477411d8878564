"""BFCL from trap.yaml to a verdict: native tools and prompt, the command line as a process, a model on a socket."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.results import decode_run
from tests.integration.repository import trapgate
from tests.servers.model_server import ModelServer, Received, Reply
from tests.unit.formats.bfcl_files import answer, question
from tests.unit.formats.bfcl_files import write as write_files

ARTISTS = ("Sia", "Queen", "Abba", "Muse")
TRAP = """\
model: openai/scripted
price: {input_per_million: 1.0, output_per_million: 2.0}
tasks:
  songs:
    source: ./songs
    options: {calls: %s}
baseline: {path: .trap/baseline.json, allow_missing: true}
drift: {live_canaries: false}
gate:
  rules:
    - {task: songs, metric: pass_rate, slice: parallel, min: 0.1}
    - {task: songs, metric: argument_score, min: 0.1}
"""


def write(folder: Path, calls: str) -> Path:
    """One call of each artist, one case that wants two calls, one that wants none."""
    both = answer("parallel_0", {"music.play": {"artist": ["Sia"]}}, {"music.play": {"artist": ["Queen"]}})
    (folder / "songs").mkdir(parents=True)
    write_files(
        folder / "songs",
        simple_python=[question(f"simple_{artist}", f"Play {artist}.") for artist in ARTISTS],
        simple_python__answers=[answer(f"simple_{artist}", {"music.play": {"artist": [artist]}}) for artist in ARTISTS],
        parallel=[question("parallel_0", "Play Sia and Queen.")],
        parallel__answers=[both],
        irrelevance=[question("irrelevance_0", "What is the capital of Norway?")],
        simple_java="not read",
    )
    (folder / "trap.yaml").write_text(TRAP % calls)
    return folder


def asked(request: Received) -> list[str]:
    return [artist for artist in ARTISTS if artist in request.body["messages"][-1]["content"]]


def native(request: Received) -> Reply:
    """Everything right, two calls in reverse, but Muse for five minutes."""
    calls = [
        ("music_play", json.dumps({"artist": artist} | ({"minutes": 5} if artist == "Muse" else {})))
        for artist in reversed(asked(request))
    ]
    return Reply(tool_calls=calls) if calls else Reply(text="Oslo.")


def in_text(request: Received) -> Reply:
    """The same, written."""
    calls = [
        f'music.play(artist="{artist}"{", minutes=5" if artist == "Muse" else ""})'
        for artist in reversed(asked(request))
    ]
    return Reply(text=f"[{', '.join(calls)}]" if calls else "Oslo.")


@pytest.mark.parametrize(("calls", "script"), [("native", native), ("prompt", in_text)])
def test_a_live_run_is_scored_case_by_case_and_slice_by_slice(tmp_path: Path, calls: str, script: Any) -> None:
    folder = write(tmp_path / "repository", calls)
    with ModelServer(script) as server:
        done = trapgate(folder, "run", base_url=server.base_url)
        bodies = server.bodies
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not supported yet, so left out: BFCL_v4_simple_java.json" in done.stdout + done.stderr

    offered = [tool["function"]["name"] for tool in bodies[0].get("tools", [])]
    assert offered == (["music_play", "stop"] if calls == "native" else [])
    roles = [message["role"] for message in bodies[0]["messages"]]
    assert roles == (["user"] if calls == "native" else ["system", "user"])

    (task,) = decode_run((folder / "trapgate-results" / "results.json").read_bytes(), "results").tasks
    attempts = {case.id: case.attempts[0] for case in task.cases}
    failed = {name: attempt.failure_mode for name, attempt in attempts.items() if not attempt.passed}
    assert failed == {"simple_Muse": "unexpected_argument"}
    (finding,) = attempts["simple_Muse"].findings
    assert (finding.path, finding.got, finding.tool) == ("$.minutes", 5, "music.play")
    assert {attempt.scorer for attempt in attempts.values()} == {"bfcl@1"}
    assert task.failure_modes == {"unexpected_argument": 1}
    rates = {name: part.metrics["pass_rate"].value for name, part in task.slices.items()}
    assert rates == {"simple_python": 0.75, "parallel": 1.0, "irrelevance": 1.0}
    assert task.metrics["argument_score"].n == 5, "a case that wants no call has no share of arguments"


def test_an_answer_that_ended_at_the_token_limit_is_truncated_and_no_call_elsewhere(tmp_path: Path) -> None:
    folder = write(tmp_path / "repository", "native")
    with ModelServer(Reply(tool_calls=[("music_play", '{"artist": "S')], finish_reason="length")) as server:
        trapgate(folder, "run", base_url=server.base_url)
    (task,) = decode_run((folder / "trapgate-results" / "results.json").read_bytes(), "results").tasks
    assert task.failure_modes == {"truncated": 6}


def test_outputs_that_somebody_else_made_are_scored_from_disk(tmp_path: Path) -> None:
    folder = write(tmp_path / "repository", "native")
    rows = [
        {"case_id": f"simple_{artist}", "tool_calls": [{"name": "music.play", "arguments": {"artist": artist.upper()}}]}
        for artist in ARTISTS
    ]
    rows.append({"case_id": "irrelevance_0", "tool_calls": [{"name": "stop", "arguments": {}}]})
    (folder / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    trapgate(folder, "score", "./songs", "--outputs", "outputs.jsonl", "--config", "trap.yaml")
    (task,) = decode_run((folder / "trapgate-results" / "results.json").read_bytes(), "results").tasks
    modes = {case.id: [attempt.failure_mode or attempt.status for attempt in case.attempts] for case in task.cases}
    assert modes["irrelevance_0"] == ["wrong_count"]
    assert [modes[f"simple_{artist}"] for artist in ARTISTS] == [["scored"]] * 4


def test_a_task_is_checked_without_a_model_and_an_answer_that_cannot_be_given_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "repository", "prompt")
    done = trapgate(folder, "validate")
    assert done.returncode == 0, done.stdout + done.stderr
    write_files(
        folder / "songs",
        simple_python=[question("simple_0")],
        simple_python__answers=[answer("simple_0", {"stop": {"now": [1]}})],
    )
    done = trapgate(folder, "validate")
    assert done.returncode == 2
    assert "songs/simple_0: ./songs/BFCL_v4_simple_python.json:1: the expected answer fails its own scorer as" in (
        done.stdout + done.stderr
    )
