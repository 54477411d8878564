"""The live canaries for real: what llama.cpp's server makes of each response schema."""

from __future__ import annotations

import time

import msgspec
import pytest

from evaluator.cases import Request, Subject
from evaluator.config.types import Config, Limits
from evaluator.live.canaries import SHAPES
from evaluator.live.comparison import moved
from evaluator.live.plan import collect, prepare
from evaluator.progress import NoProgress
from evaluator.results import Fingerprint
from evaluator.runners import calling
from evaluator.runners.schedule import Job
from tests.integration.model.conftest import KEY

pytestmark = pytest.mark.model

MARK = Fingerprint(packages={}, scorers={}, subject={}, sources={})
FUNCTION = {"name": "f", "parameters": {"type": "object", "properties": {}}}
OWN = Job("task", "case", 1, Request(messages=[{"role": "user", "content": "go"}], function=FUNCTION))


def test_a_server_that_builds_a_grammar_of_the_schema_takes_every_shape_and_holds_the_model_to_it(
    model, monkeypatch, tmp_path
):
    monkeypatch.setenv("OPENAI_API_BASE", model.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    prepared = prepare([OWN], {"": Subject(model="openai/smollm2-135m-instruct", structured="schema")})
    # At temperature 0 one attempt is as good as three, and the test is the same each time.
    still = {"temperature": 0, "seed": 42}
    subjects = {
        key: msgspec.structs.replace(subject, params={**subject.params, **still})
        for key, subject in prepared.subjects.items()
    }
    outcomes, _ = calling.make(
        [job for job in prepared.jobs if job.number == 1],
        subjects,
        Config(path="trap.yaml", digest="d", limits=Limits(concurrency=3)),
        MARK,
        journal=tmp_path / "journal.jsonl",
        progress=NoProgress(),
        environ={"OPENAI_API_KEY": KEY},
        stop=None,
        started=time.monotonic(),
    )
    live = collect(outcomes, prepared, "")
    found = {each.id: (each.attempts, each.message) for each in live.canaries}
    assert found == {"plain": (["valid"], ""), **{f"schema/{shape.name}": (["valid"], "") for shape in SHAPES}}
    assert 300 < live.usage.input_tokens < 1500
    assert live.usage.output_tokens < 1000
    assert moved(live, live, same_model=True)[0].text == "9 live canaries answered as in the baseline"
