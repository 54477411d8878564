"""Runs to accept, and a store on a GitHub server."""

from __future__ import annotations

import msgspec

from evaluator.baselines import Found
from evaluator.baselines.acceptances import Kept
from evaluator.baselines.accepted import Accepted
from evaluator.baselines.branch import BranchStore
from evaluator.baselines.store import Place
from evaluator.github.client import Client
from evaluator.results import Acceptance, Baseline, Run
from tests.servers.github_server import GitHubServer
from tests.unit import builders

BRANCH = "trapgate-baselines"
TOKEN = "ghs_notToBeSeenAnywhere"
ALICE = Acceptance(by="alice", at="2026-01-01T00:00:00+00:00", why="first")


def a_run(commit: str | None, passed: int = 3, failed: int = 1, started: str = "2026-01-01T00:00:00+00:00") -> Run:
    task = builders.task_result(builders.outcomes(passed, failed), name="refunds")
    return msgspec.structs.replace(builders.run([task]), commit=commit, started=started)


def kept(head: str) -> Kept:
    """That alice accepted `head`."""
    return Kept(
        head=head, pull_request=7, base="main", config="trap.yaml", acceptance=ALICE, accepted=Accepted(models=["m"])
    )


def by_itself(at: str = "2026-01-02T00:00:00+00:00") -> Acceptance:
    return Acceptance(by="trapgate", at=at, why="the run passed with full coverage", explicit=False)


def main(commit: str | None = None, branch: str = "main", otherwise: str = "") -> Place:
    return Place(commit, branch, "trap.yaml", otherwise)


def a_store(server: GitHubServer, keep: int = 20, **options: int) -> BranchStore:
    """A store with a client of its own, as another process has. Nobody really waits."""
    client = Client(server.api_url, TOKEN, sleep=lambda _: None)
    return BranchStore(client, server.repository, branch=BRANCH, keep=keep, sleep=lambda _: None, **options)


def baseline(state: object) -> Baseline:
    assert isinstance(state, Found), state
    return state.baseline
