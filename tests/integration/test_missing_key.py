"""A key that is not set, from end to end: where it is said, and to whom. And what is said of the control arm."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator import config, pipeline
from evaluator.baselines.file import read
from evaluator.progress import NoProgress
from evaluator.reports import comment
from tests.integration import agents
from tests.integration.repository import trapgate
from tests.servers.model_server import Reply

CASES = 9


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return agents.write_repository(tmp_path / "repository", CASES, agents.trap())


def test_a_run_without_its_key_says_so_in_the_headline_in_the_to_do_in_the_log_and_in_the_progress(
    folder: Path,
) -> None:
    done = trapgate(folder, "run", OPENAI_API_KEY="")
    assert done.returncode == 3, done.stdout + done.stderr
    first, *rest = done.stdout.splitlines()
    assert first.startswith("trapgate: inconclusive — nothing was scored: no key: set OPENAI_API_KEY; ")
    assert [line for line in rest if line.startswith("  What to do: Set `OPENAI_API_KEY` in the step's `env:`, ")]
    assert "refunds: 0 of 9 planned attempts were scored, 95% are needed." in done.stdout
    assert 'kind=authentication why="no key: set OPENAI_API_KEY"' in done.stderr
    assert "0/9 attempts, 9 not run, 0 infrastructure failures" in done.stderr


def test_a_refused_key_is_said_and_the_log_has_no_words_of_the_provider(folder: Path) -> None:
    done, run = agents.run(folder, lambda _: Reply(status=401, error="Incorrect API key"))
    assert done.returncode == 3, done.stdout + done.stderr
    assert run is not None
    assert "inconclusive — nothing was scored: authentication: " in done.stdout.splitlines()[0]
    assert "What to do: See that the key in the step's `env:`" in done.stdout
    assert "no more attempts" in done.stderr
    assert "Incorrect API key" not in done.stderr


def test_the_author_of_a_fork_is_not_told_to_mend_what_only_a_maintainer_can(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    output, cache = folder.parent / "out", folder.parent / "cache"
    output.mkdir()
    cache.mkdir()
    run = pipeline.evaluate(
        config.load(folder / "trap.yaml"),
        folder=folder,
        output=output,
        cache=cache,
        baseline=read(folder / ".trap" / "baseline.json", ".trap/baseline.json"),
        rules=config.load(folder / "trap.yaml"),
        progress=NoProgress(),
        environ={},
        without_key=True,
    )
    text = comment.render(run)
    assert "inconclusive — nothing was scored: no key for openai/scripted in `OPENAI_API_KEY`; " in text.splitlines()[0]
    todo = [line for line in text.splitlines() if line.startswith("**What to do:**")]
    said = "Nothing to do for the author: a maintainer decides, see `docs/forks.md` of trapgate."
    assert todo == [f"**What to do:** {said}"]


def test_the_log_counts_the_control_arm_as_such_and_not_as_live_canaries(folder: Path) -> None:
    script = agents.only_hasty(agents.playing(lambda order: agents.right(order, 49.0)))
    done, _ = agents.run(folder, script)
    assert done.returncode == 0, done.stdout + done.stderr
    agents.accept(folder)
    agents.hasty(folder)
    done, _ = agents.run(folder, script)
    assert done.returncode == 1, done.stdout + done.stderr
    asked = [line for line in done.stderr.splitlines() if "asking model=" in line]
    assert [line for line in asked if " attempts=27 control_arm=27 " in line], asked
    assert "live_canaries=" not in done.stderr
