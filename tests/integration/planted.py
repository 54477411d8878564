"""A repository with an accepted baseline, in which one thing is changed, and a provider that plays along.

Everything is evaluated by the line that `trapgate run` uses, against a server on a socket.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evaluator import config as configuration
from evaluator import pipeline
from evaluator.baselines import BaselineState, Found, Missing
from evaluator.baselines.moving import by_itself, moved, unfit_to_move
from evaluator.gate import exit_code
from evaluator.live.canaries import SHAPES
from evaluator.progress import NoProgress
from evaluator.reports import comment
from evaluator.results import Acceptance, Run, decode_baseline, encode
from tests.integration.repository import call, write_task
from tests.servers.model_server import ModelServer, Received, Reply, Script

KEY = "sk-scripted-0123456789abcdef"
CASES = 12
MODEL = "scripted"
CAREFUL, CARELESS, SHORTER = "Refund what was asked for.\n", "Be generous.\n", "Refund what was asked.\n"
TRAP = """\
name: refunds
model: openai/scripted
params: {temperature: 0}
system: prompts/system.md
structured: schema
price: {input_per_million: 1.0, output_per_million: 2.0}
tasks:
  refunds:
    source: ./task
baseline: {path: .trap/baseline.json}
gate:
  rules:
    - {task: refunds, metric: pass_rate, max_drop: 0.05}
limits: {concurrency: 8}
"""
BASELINE = Path(".trap/baseline.json")
ACCEPTED = Acceptance(by="alice", at="2026-01-01T00:00:00+00:00", why="first")
# As the tasks declare it.
AMOUNT = '"amount": {"type": "float"}'
Amount = Callable[[Received], float]


@dataclass(frozen=True)
class Seen:
    """What became of a planted change. `requests`: all that the provider got."""

    run: Run
    requests: list[Received]

    @property
    def asked(self) -> list[Received]:
        """The requests about cases."""
        return [request for request in self.requests if is_case(request)]

    @property
    def canaries(self) -> int:
        """How many live canaries were sent."""
        return len(self.requests) - len(self.asked)

    @property
    def code(self) -> int:
        """The exit code."""
        return exit_code(self.run)

    @property
    def comment(self) -> str:
        """What the pull request is told."""
        return comment.render(self.run)

    @property
    def witnesses(self) -> str:
        """The states of the four, in their order."""
        return " ".join(witness.state for witness in self.run.witnesses)

    def witness(self, name: str) -> str:
        """What one of them says."""
        return next(witness.text for witness in self.run.witnesses if witness.name == name)


def write_repository(folder: Path, *, cases: int = CASES, trap: str = TRAP, critical: Sequence[str] = ()) -> Path:
    """A task of refunds whose amounts are whole cents, its system prompt and its trap.yaml."""
    write_task(folder / "task", cases)
    for question in (folder / "task" / "inputs").rglob("question.txt"):
        text = question.read_text()
        assert text.count(AMOUNT) == 1
        question.write_text(text.replace(AMOUNT, AMOUNT.replace("}", ', "multipleOf": 0.01}')))
    listed = folder / "task" / "traptask.yaml"
    tagged = json.loads(listed.read_text())["cases"]
    for case in tagged:
        case["tags"] += ["critical"] if case["id"] in critical else []
    listed.write_text(json.dumps({"cases": tagged}))
    (folder / "prompts").mkdir()
    (folder / "prompts" / "system.md").write_text(CAREFUL)
    (folder / "trap.yaml").write_text(trap)
    return folder


def edit(path: Path, old: str, new: str) -> None:
    """Replaces the one occurrence of `old`."""
    text = path.read_text()
    assert text.count(old) == 1, f"{path} does not say {old!r} once"
    path.write_text(text.replace(old, new))


# Providers


def provider(amount: Amount = lambda _: 24.5, **reply: Any) -> Script:
    """A provider that takes every schema. `amount`: what its model refunds in a case, 24.50 being right; `reply`: what
    it says of itself."""

    def script(request: Received) -> Reply:
        if not is_case(request):
            return canary(request, **reply)
        return Reply(text=call(order_of(request), amount(request)), **reply)

    return script


def generous(to: int = 8) -> Amount:
    """A model that refunds everything of the first orders, where its prompt is generous."""
    return lambda request: 49.0 if order_of(request) < to and "generous" in system(request) else 24.5


def dear(to: int = 8) -> Amount:
    """A model that refunds everything of the first orders, whatever its prompt."""
    return lambda request: 49.0 if order_of(request) < to else 24.5


def order_of(request: Received) -> int:
    """Which order a case is about, whatever the provider's wire."""
    found = re.search(r"of order (\d+)", last(request))
    assert found is not None
    return int(found[1])


def last(request: Received) -> str:
    """The last message, as JSON."""
    return json.dumps(request.body["messages"][-1])


def is_case(request: Received) -> bool:
    """Whether a request is about a case, not a live canary."""
    return "USER REQUEST" in last(request)


def shape_of(request: Received) -> str:
    """The name of the live canary's shape, empty for the plain one."""
    return next((shape.name for shape in SHAPES if shape.function in last(request)), "")


def canary(request: Received, **reply: Any) -> Reply:
    """What a provider that holds its model to every schema answers a live canary."""
    shape = next((each for each in SHAPES if each.name == shape_of(request)), None)
    if shape is None:
        return Reply(text="ready", **reply)
    arguments = {"level": "low", "done": True} if shape.forbidden else shape.asked
    return Reply(text=json.dumps({"name": shape.function, "arguments": arguments}), **reply)


def system(request: Received) -> str:
    """The system prompt of a request, empty where there is none."""
    first = request.body["messages"][0]
    return str(first["content"]) if first["role"] == "system" else ""


# Evaluating


@contextmanager
def calling(server: ModelServer, environ: Mapping[str, str]) -> Iterator[None]:
    """The client calls `server`, with the keys of `environ` and no others."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"):
            patch.delenv(name, raising=False)
        for name, value in environ.items():
            patch.setenv(name, value)
        patch.setenv("NO_PROXY", "127.0.0.1")
        patch.setenv("OPENAI_API_BASE", server.base_url)
        patch.setenv("ANTHROPIC_API_BASE", server.base_url.removesuffix("/v1"))
        yield


def evaluate(
    folder: Path, script: Script, baseline: BaselineState, *, key: str = "OPENAI_API_KEY", **more: Any
) -> Seen:
    """What `trapgate run` finds in `folder`, with one key alone; `more` goes to the pipeline."""
    environ = {key: KEY, "PATH": os.environ["PATH"]}
    with ModelServer(script) as server, calling(server, environ):
        run = pipeline.evaluate(
            configuration.load(folder / "trap.yaml"),
            folder=folder,
            output=folder / "trapgate-results",
            cache=folder / ".cache",
            baseline=baseline,
            progress=NoProgress(),
            environ=environ,
            **more,
        )
    return Seen(run, server.requests)


def accept(folder: Path, run: Run) -> Found:
    """`run` as the baseline that somebody accepted, read back from its file."""
    path = folder / BASELINE
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(encode(moved(Missing(str(BASELINE)), run, ACCEPTED)))
    return Found(str(BASELINE), decode_baseline(path.read_bytes(), str(BASELINE)))


def move_by_itself(state: Found, run: Run, folder: Path) -> Found:
    """`run` as the baseline that nobody decided on."""
    assert unfit_to_move(run, configuration.load(folder / "trap.yaml"), state) == ""
    return Found(str(BASELINE), moved(state, run, by_itself(run.started)))


@dataclass(frozen=True)
class Bed:
    """A repository that is copied for each change, with the baseline that it accepted; `parent`: where copies lie."""

    template: Path
    baseline: Found
    parent: Path

    def folder(self, name: str, edits: Mapping[str, tuple[str, str]] | None = None) -> Path:
        """A copy in which `edits` are made: file → what it said and what it says now."""
        ignored = shutil.ignore_patterns("trapgate-results", ".cache")
        folder = Path(shutil.copytree(self.template, self.parent / name, ignore=ignored))
        for path, (old, new) in (edits or {}).items():
            edit(folder / path, old, new)
        return folder


def bed(
    parent: Path, name: str = "base", script: Script | None = None, *, key: str = "OPENAI_API_KEY", **more: Any
) -> Bed:
    """A repository with the baseline of a provider that gets everything right, or of another; `more` goes to
    `write_repository`."""
    template = write_repository(parent / name, **more)
    first = evaluate(template, script or provider(), Missing(str(BASELINE)), key=key)
    return Bed(template, accept(template, first.run), parent)
