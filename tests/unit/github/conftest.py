from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from evaluator.github.client import Client
from tests.servers.github_server import GitHubServer

TOKEN = "ghs_notToBeSeenAnywhere"
NOW = 1_700_000_000.0

MakeClient = Callable[..., tuple[Client, list[float]]]


@pytest.fixture
def server() -> Iterator[GitHubServer]:
    with GitHubServer() as running:
        yield running


@pytest.fixture
def make_client(server: GitHubServer) -> MakeClient:
    """A client of the server, and the waits that it asked for: nobody really waits."""

    def make(**options: Any) -> tuple[Client, list[float]]:
        waits: list[float] = []
        settings = {"sleep": waits.append, "clock": lambda: NOW, **options}
        return Client(settings.pop("api_url", server.api_url), settings.pop("token", TOKEN), **settings), waits

    return make


@pytest.fixture
def client(make_client: MakeClient) -> Client:
    return make_client()[0]
