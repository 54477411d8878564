from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from evaluator import attempts, formats
from evaluator.attempts import Made
from evaluator.cases import Case, SourceRef, Subject, Task
from evaluator.config.types import TaskConfig
from evaluator.results import Attempt
from evaluator.runners.model import ModelRunner
from evaluator.transcript import Infrastructure, Transcript

EXAMPLES = Path(__file__).parents[3] / "examples"
EXAMPLE = EXAMPLES / "function-calls"
KEY = "not-needed"


@pytest.fixture(scope="session")
def local_model() -> ModuleType:
    """examples/local_model.py."""
    spec = importlib.util.spec_from_file_location("local_model", EXAMPLES / "local_model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["local_model"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def model(local_model: ModuleType) -> Any:
    """The real small model, served once for all tests. That it cannot be had is a failure, not a skip."""
    with local_model.LocalModel() as served:
        yield served


@pytest.fixture(scope="session")
def task() -> Task:
    """The example repository's task."""
    source = "./evals/function-calls"
    config = TaskConfig(name="function-calls", source=source)
    return formats.load(config, EXAMPLE / "evals" / "function-calls", SourceRef(location=source))


@pytest.fixture
def ask(model: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Transcript]]:
    """The model's answers to `cases`, all asked at once, as `structured` says."""
    monkeypatch.setenv("OPENAI_API_BASE", model.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def answers(cases: Sequence[Case], structured: str) -> list[Transcript]:
        subject = Subject(
            model="openai/smollm2-135m-instruct",
            params={"temperature": 0, "seed": 42, "max_tokens": 72},
            system=(EXAMPLE / "prompts" / "system.md").read_text(),
            structured=structured,
        )
        results = asyncio.run(_ask(subject, cases))
        assert not [result for result in results if isinstance(result, Infrastructure)]
        return [result for result in results if isinstance(result, Transcript)]

    return answers


async def _ask(subject: Subject, cases: Sequence[Case]) -> list[Transcript | Infrastructure]:
    runner = ModelRunner(subject, concurrency=3, environ={"OPENAI_API_KEY": KEY})
    try:
        return await asyncio.gather(*(runner.attempt(case.request) for case in cases))
    finally:
        await runner.close()


@pytest.fixture
def score(task: Task) -> Callable[[Sequence[Case], Sequence[Transcript]], dict[str, Attempt]]:
    """Case id → the scored attempt."""

    def scored(cases: Sequence[Case], transcripts: Sequence[Transcript]) -> dict[str, Attempt]:
        made = [Made(case.id, 1, transcript) for case, transcript in zip(cases, transcripts, strict=True)]
        return {case_id: found[0] for case_id, found in attempts.scored(task, made).items() if found}

    return scored
