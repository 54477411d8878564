"""An evaluation that is given, on a repository whose baselines are on a branch."""

from __future__ import annotations

import io
from typing import Any

import msgspec

from evaluator.baselines import Found
from evaluator.baselines.branch import BranchStore
from evaluator.baselines.moving import by_itself
from evaluator.baselines.store import Place
from evaluator.cases import Subject
from evaluator.github.action import run as act
from evaluator.github.client import Client
from evaluator.results import Acceptance, Baseline, LayerWord, Reason, Run, VerdictWord, encode
from tests.servers.actions_runner import TOKEN, ActionsRunner
from tests.servers.github_server import GitHubServer
from tests.unit import builders

MODEL = "openai/gpt-4.1-mini"
CONFIG = f"model: {MODEL}\ntasks:\n  refunds: {{source: ./evals/refunds}}\n"
ON_A_BRANCH = CONFIG + "baseline: {store: branch}\n"
LABEL = "trapgate:accept"
DROP = Reason(kind="rule", task="refunds", metric="pass_rate", text="refunds: pass_rate fell from 1.00 to 0.25.")
FLOOR = Reason(kind="floor", task="refunds", metric="pass_rate", text="refunds: pass_rate is 0.25, at least 0.90.")
MAIN = {"ref": "refs/heads/main", "repository": {"default_branch": "main"}, "sender": {"login": "alice"}}


class Evaluation:
    """Stands where the pipeline does: gives `result`, as of the commit that is asked for, and keeps what it was asked
    for. `before_end`: what happens elsewhere while it runs."""

    def __init__(self, result: Run, before_end: Any = None) -> None:
        self.result, self.before_end = result, before_end
        self.asked: dict[str, Any] = {}

    @property
    def notes(self) -> list[str]:
        return [note.text for note in self.asked["notes"]]

    def __call__(self, config: Any, **asked: Any) -> Run:
        self.asked = asked
        if self.before_end is not None:
            self.before_end()
        warnings = [*self.result.warnings, *asked["notes"]]
        made = msgspec.structs.replace(self.result, commit=asked["commit"], warnings=warnings)
        (asked["output"] / "results.json").write_bytes(encode(made))
        return made


def a_run(verdict: VerdictWord = "pass", *reasons: Reason, layer: LayerWord | None = None, passed: int = 4) -> Run:
    task = builders.task_result(builders.outcomes(passed, 4 - passed), name="refunds")
    made = builders.run([task])
    subject = Subject(model=MODEL)
    return msgspec.structs.replace(made, verdict=verdict, reasons=list(reasons), layer=layer, subject=subject)


def a_regression(*reasons: Reason) -> Run:
    return a_run("regression", *(reasons or [DROP]), layer="change", passed=1)


def of_config(runner: ActionsRunner, text: str) -> None:
    """`text` as the trap.yaml of the checkout and of the base."""
    runner.write({"trap.yaml": text})
    runner.on_base("trap.yaml", text)


def perform(environ: dict[str, str], evaluation: Evaluation) -> tuple[int, str]:
    """Exit code and log of the action."""
    log = io.StringIO()
    return act(environ, log, evaluation), log.getvalue()


def store(server: GitHubServer) -> BranchStore:
    client = Client(server.api_url, TOKEN)
    return BranchStore(client, server.repository, branch="trapgate-baselines", keep=20)


def place(commit: str | None = None, branch: str = "main") -> Place:
    return Place(commit, branch, "trap.yaml")


def stored(server: GitHubServer, branch: str = "main") -> Baseline | None:
    """The newest baseline of `branch`."""
    found = store(server).read(place(branch=branch))
    return found.baseline if isinstance(found, Found) else None


def accepted_before(server: GitHubServer, commit: str, by: str = "carol") -> None:
    """A baseline of main that somebody accepted."""
    first = msgspec.structs.replace(a_run(), commit=commit)
    server.granted |= {"contents: write"}
    accepted = Acceptance(by=by, at="2026-01-01T00:00:00+00:00", why="first")
    store(server).write(first, accepted, place())


def moved_before(server: GitHubServer, commit: str) -> None:
    """A baseline of main that moved by itself when main was at `commit`."""
    server.git.branches["main"] = commit
    store(server).write(
        msgspec.structs.replace(a_run(), commit=commit), by_itself("2026-01-01T01:00:00+00:00"), place()
    )


def labeled(runner: ActionsRunner, name: str = LABEL, sender: str = "alice", **other: Any) -> dict[str, Any]:
    """The event of `sender` setting a label."""
    event = runner.pull_request(**other)
    return {**event, "action": "labeled", "label": {"name": name}, "sender": {"login": sender}}
