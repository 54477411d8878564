from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.github_server import GitHubServer


@pytest.fixture
def server() -> Iterator[GitHubServer]:
    """A GitHub whose token may read and write."""
    with GitHubServer() as running:
        running.granted |= {"contents: write"}
        yield running
