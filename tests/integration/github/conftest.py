from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.github_server import GitHubServer


@pytest.fixture
def server() -> Iterator[GitHubServer]:
    """GitHub, with nothing in it yet."""
    with GitHubServer() as running:
        yield running
