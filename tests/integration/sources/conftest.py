from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from evaluator.errors import UserError
from evaluator.sources.fetch import Fetched, fetch
from evaluator.sources.location import GitSource
from tests.integration.sources.git_server import GitServer, make_certificate, serve
from tests.integration.sources.repositories import Repository

NO_PAUSES = (0.0, 0.0, 0.0)

Fetch = Callable[..., Fetched]
Refusal = Callable[..., UserError]


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository.create(tmp_path / "served" / "repo")


@pytest.fixture
def server(repository: Repository, certificate: Path) -> Iterator[GitServer]:
    with serve(repository.path.parent, certificate) as running:
        yield running


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def get(cache: Path, tmp_path: Path) -> Fetch:
    """Fetch without pauses between tries, with nothing but PATH in the environment."""

    def get(source: GitSource, environ: Mapping[str, str] | None = None) -> Fetched:
        environ = {"PATH": os.environ["PATH"]} if environ is None else environ
        return fetch(source, base=tmp_path, cache=cache, environ=environ, pauses=NO_PAUSES)

    return get


@pytest.fixture
def refusal(get: Fetch) -> Refusal:
    """The UserError of a fetch that must fail."""

    def refusal(source: GitSource, environ: Mapping[str, str] | None = None) -> UserError:
        with pytest.raises(UserError) as caught:
            get(source, environ)
        return caught.value

    return refusal


def contents(directory: Path) -> dict[str, bytes]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in files}
