"""What a run of a fork does that has no provider key: recordings and canaries, and not one request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluator import config, pipeline
from evaluator.baselines.file import read
from evaluator.gate import acceptable
from evaluator.progress import NoProgress
from evaluator.results import Run
from tests.integration import agents
from tests.integration.github import agent
from tests.servers.model_server import ModelServer

CASES = 8
RULE = "metric: pass_rate, max_drop: 0.0"
ON_FORK = "gate:\n  on_fork: [refunds]\n"
SECOND = "  greetings:\n    source: ./evals/greetings\n"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a baseline of a live run, recordings made of the same tree, and a task without recordings."""
    folder = agents.write_repository(tmp_path_factory.mktemp("recorded"), CASES, agents.trap(RULE))
    greeting = {"task_id": "hello", "input": "Cancel order 1.", "expected_invocations": [], "mocks": []}
    agents.write_json(folder / "evals" / "greetings" / "hello.json", greeting)
    script = agents.playing(agents.right)
    done, _ = agents.run(folder, script, command="record")
    assert done.returncode == 0, done.stdout + done.stderr
    done, _ = agents.run(folder, script)
    assert done.returncode == 0, done.stdout + done.stderr
    agents.accept(folder)
    return folder


@pytest.fixture
def folder(recorded: Path, tmp_path: Path) -> Path:
    return agents.copy(recorded, tmp_path / "change")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A model that could be reached, were there a key."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with ModelServer(agents.playing(agents.right)) as running:
        monkeypatch.setenv("OPENAI_API_BASE", running.base_url)
        yield running


def trap(text: str, *, decides: bool = False, second: bool = False) -> str:
    text = text.replace("gate:\n", ON_FORK) if decides else text
    return text.replace("baseline:", SECOND + "baseline:") if second else text


def evaluated(folder: Path, base: str | None, **more: Any) -> Run:
    """A run of `folder` as a fork's, judged by the trap.yaml `base`; its own rules apply where that is None."""
    for each in ("out", "cache"):
        (folder.parent / each).mkdir(exist_ok=True)
    return pipeline.evaluate(
        config.load(folder / "trap.yaml"),
        folder=folder,
        output=folder.parent / "out",
        cache=folder.parent / "cache",
        baseline=read(folder / ".trap" / "baseline.json", ".trap/baseline.json"),
        rules=config.parse(base, "trap.yaml") if base is not None else None,
        progress=NoProgress(),
        environ={},
        **{"without_key": True, **more},
    )


def keyless(folder: Path, server: ModelServer, *, base: str | None = None, **more: Any) -> Run:
    """The same, and nobody was asked anything."""
    run = evaluated(folder, base, **more)
    assert server.requests == []
    return run


def base(folder: Path, **how: bool) -> str:
    """The repository's own trap.yaml with these settings, written into it as the base and the change have it."""
    text = trap((folder / "trap.yaml").read_text(), **how)
    (folder / "trap.yaml").write_text(text)
    return text


def too_generous(folder: Path, orders: int) -> None:
    """Recordings in which so many refunds are too high."""
    for order in range(orders):
        path = agents.fixture_path(folder, order)
        found = json.loads(path.read_text())["recordings"]
        found[0]["actual_invocations"][1]["args"]["amount"] = 49.0
        agents.edited(path, recordings=found)


def test_by_default_recordings_are_scored_and_shown_and_decide_nothing(folder: Path, server: ModelServer) -> None:
    run = keyless(folder, server, base=base(folder))
    assert run.verdict == "inconclusive"
    assert run.warnings[0].text == (
        "No model was asked (no key for openai/scripted in OPENAI_API_KEY): 8 cases were judged by recordings that the "
        "change itself brings. They decide nothing: the base names no task in `gate.on_fork`."
    )
    assert [(reason.kind, reason.text) for reason in run.reasons] == [
        ("coverage", "No model was asked, and what a change has recorded itself decides nothing (`gate.on_fork`).")
    ]
    [task] = run.tasks
    assert (task.scored, task.planned, task.deterministic, task.metrics["pass_rate"].value) == (CASES, CASES, True, 1.0)
    assert all(canary.ok for canary in run.canaries.cases)
    assert run.canaries.cases


def test_by_default_every_attempt_of_a_task_without_recordings_is_missing_for_want_of_a_key(
    folder: Path, server: ModelServer
) -> None:
    run = keyless(folder, server, base=base(folder, second=True))
    assert run.verdict == "inconclusive"
    [attempt] = run.tasks[1].cases[0].attempts
    assert attempt.infrastructure is not None
    assert (attempt.status, attempt.infrastructure.kind) == ("not_run", "no_key")
    assert "greetings: 0 of 1 planned attempts were scored, 95% are needed." in agents.texts(run.reasons)


def test_a_recording_that_fails_is_named_as_worse_even_where_it_decides_nothing(
    folder: Path, server: ModelServer
) -> None:
    rules = base(folder)
    too_generous(folder, CASES)
    run = keyless(folder, server, base=rules)
    assert run.verdict == "inconclusive"
    assert run.comparison is not None
    assert len(run.comparison.tasks[0].regressed) == CASES
    assert "refunds pass_rate, max_drop 0: 1.00 → 0.00 (8 cases worse" in agents.texts(run.warnings)


def test_where_the_base_says_so_recordings_that_do_as_well_pass(folder: Path, server: ModelServer) -> None:
    run = keyless(folder, server, base=base(folder, decides=True))
    assert (run.verdict, run.reasons) == ("pass", [])
    assert run.warnings[0].text.endswith("8 cases were judged by recordings that the change itself brings.")
    assert {witness.name: witness.text for witness in run.witnesses if witness.state == "silent"}.keys() == {
        "live_canaries",
        "control_arm",
    }


def test_where_the_base_says_so_recordings_that_do_worse_are_a_regression(folder: Path, server: ModelServer) -> None:
    rules = base(folder, decides=True)
    too_generous(folder, CASES)
    run = keyless(folder, server, base=rules)
    assert (run.verdict, run.layer) == ("regression", None)
    assert run.control is not None
    assert run.control.silent == "recordings are compared, and nothing is asked"


def test_the_change_cannot_let_its_own_recordings_decide(folder: Path, server: ModelServer) -> None:
    rules = (folder / "trap.yaml").read_text()
    base(folder, decides=True)
    assert keyless(folder, server, base=rules).verdict == "inconclusive"
    assert keyless(folder, server).verdict == "inconclusive"  # nor where the base has no rules at all yet


def test_recordings_made_before_a_change_of_the_prompt_decide_nothing(folder: Path, server: ModelServer) -> None:
    rules = base(folder, decides=True)
    agents.hasty(folder)
    run = keyless(folder, server, base=rules)
    assert run.verdict == "inconclusive"
    assert {attempt.status for attempt in agents.attempts(run).values()} == {"stale"}
    assert "refunds: all 8 recordings are stale, recorded before a change of system" in agents.texts(run.reasons)
    assert "and no recording was scored" in run.warnings[0].text


def test_a_recording_that_does_not_say_what_it_was_made_with_is_stale(folder: Path, server: ModelServer) -> None:
    rules = base(folder, decides=True)
    path = agents.fixture_path(folder, 0)
    found = json.loads(path.read_text())["recordings"]
    agents.edited(path, recordings=[{key: value for key, value in found[0].items() if key != "subject"}])
    run = keyless(folder, server, base=rules)
    assert run.verdict == "inconclusive"
    [old] = [each for each in agents.attempts(run).values() if each.status == "stale"]
    assert old.infrastructure.message == "it does not say what it was made with"
    assert "7 of 8 planned attempts were scored" in agents.texts(run.reasons)


def test_cases_whose_recordings_were_deleted_count_against_coverage(folder: Path, server: ModelServer) -> None:
    rules = base(folder, decides=True)
    agents.edited(agents.fixture_path(folder, 0), recordings=[])
    run = keyless(folder, server, base=rules)
    assert run.verdict == "inconclusive"
    assert "refunds: 7 of 8 planned attempts were scored" in agents.texts(run.reasons)


def test_fewer_recordings_than_the_base_asks_attempts_for_count_against_coverage(
    folder: Path, server: ModelServer
) -> None:
    rules = base(folder, decides=True).replace("repeats: 1", "repeats: 2")
    run = keyless(folder, server, base=rules)
    assert run.verdict == "inconclusive"
    assert "refunds: 8 of 16 planned attempts were scored" in agents.texts(run.reasons)


def test_a_task_that_the_base_does_not_name_is_left_out_and_said_and_one_that_the_change_removes_is_missing(
    folder: Path, server: ModelServer
) -> None:
    rules = base(folder, decides=True, second=True)
    run = keyless(folder, server, base=rules)
    assert run.verdict == "pass"
    assert run.warnings[0].text.endswith("Left out: greetings.")
    assert ([task.name for task in run.tasks], run.selection) == (["refunds"], ["refunds"])
    (folder / "trap.yaml").write_text((folder / "trap.yaml").read_text().replace(SECOND, ""))
    run = keyless(folder, server, base=rules)
    assert run.verdict == "inconclusive"
    assert "greetings: the change removed the task" in agents.texts(run.reasons)


def test_where_nothing_is_recorded_there_is_no_verdict(folder: Path, server: ModelServer) -> None:
    rules = base(folder, decides=True)
    for order in range(CASES):
        agents.edited(agents.fixture_path(folder, order), recordings=[])
    for judged_by in (rules, rules.replace("allow_missing: true", "allow_missing: false")):
        run = keyless(folder, server, base=judged_by)
        assert run.verdict == "inconclusive"
        assert {attempt.infrastructure.kind for attempt in agents.attempts(run).values()} == {"no_key"}
        assert "No model was asked, and no recording could be scored in its place." in agents.texts(run.reasons)


def test_a_task_whose_recordings_the_change_takes_away_is_missing_and_not_left_out(
    folder: Path, server: ModelServer
) -> None:
    rules = base(folder, decides=True, second=True).replace("on_fork: [refunds]", "on_fork: [refunds, greetings]")
    (folder / "trap.yaml").write_text(rules)
    run = keyless(folder, server, base=rules)
    assert run.verdict == "inconclusive"
    assert "greetings: 0 of 1 planned attempts were scored, 95% are needed." in agents.texts(run.reasons)


def test_a_provider_that_only_litellm_knows_the_key_of_is_without_one_as_well(
    folder: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    rules = base(folder).replace(agents.MODEL, "mistral/scripted")
    (folder / "trap.yaml").write_text(rules)
    run = keyless(folder, server, base=rules)
    assert "no key for mistral/scripted in MISTRAL_API_KEY" in run.warnings[0].text


def test_a_command_in_the_place_of_the_bases_model_decides_nothing(folder: Path, server: ModelServer) -> None:
    rules = base(folder)
    task = folder / "evals" / "tables"
    for name, text in agent.files().items():
        if name.startswith("evals/tables/"):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    assert task.is_dir()
    change = "cmd: cat question.txt\ntasks:\n  refunds: {source: ./evals/tables}\n"
    (folder / "trap.yaml").write_text(change)
    run = keyless(folder, server, base=rules)
    assert run.verdict == "inconclusive"
    assert "runs a command in its place, which decides nothing." in agents.texts(run.reasons)


def test_nobody_can_accept_a_run_that_decides_nothing(folder: Path, server: ModelServer) -> None:
    run = keyless(folder, server, base=base(folder))
    assert acceptable(run).startswith("this cannot be accepted: No model was asked")


def test_of_several_models_those_with_a_key_are_asked_and_the_others_go_by_recordings(
    folder: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (folder / "trap.yaml").read_text()
    two = text.replace(f"model: {agents.MODEL}\n{agents.PRICE}", f"models: [{agents.MODEL}, anthropic/scripted]")
    (folder / "trap.yaml").write_text(two)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-scripted-0123456789abcdef")
    run = evaluated(folder, two)
    assert {request.body["model"] for request in server.requests} == {"scripted"}
    assert run.verdict == "inconclusive"
    assert [task.deterministic for task in (*run.tasks, *run.beside[0].tasks)] == [False, True]
    assert "no key for anthropic/scripted in ANTHROPIC_API_KEY" in run.warnings[0].text


def test_a_model_that_needs_no_key_is_asked(folder: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", server.base_url)
    rules = base(folder).replace(agents.MODEL, "hosted_vllm/scripted")
    (folder / "trap.yaml").write_text(rules)
    run = evaluated(folder, rules)
    assert len(server.requests) >= CASES
    assert [task.deterministic for task in run.tasks] == [False]
    assert "No model was asked" not in agents.texts(run.warnings)


def test_unchanged_files_need_neither_key_nor_recordings(folder: Path, server: ModelServer) -> None:
    run = keyless(folder, server, base=base(folder), skip_unchanged=True)
    assert (run.verdict, run.unchanged) == ("pass", True)


def test_a_run_that_nobody_without_secrets_set_off_misses_its_key_as_ever(folder: Path, server: ModelServer) -> None:
    run = keyless(folder, server, base=base(folder, decides=True), without_key=False)
    assert run.verdict == "inconclusive"
    assert {each.infrastructure.kind for each in agents.attempts(run).values()} == {"authentication"}
