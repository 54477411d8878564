"""The action's whole process beside a model server that echoes the key in every form: no sink holds any of them.

A key has a *core* of letters and digits, which encoders of characters leave as it is. What is looked for is the core
alone, and half of it, in everything that the process leaves behind or sends: as it is, with line breaks taken out, in
base64 at each offset and in hexadecimal. So the search does not share a pattern with the redaction that it tests.
"""

from __future__ import annotations

import base64
import html
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.integration.github import agent
from tests.integration.github.test_entrypoint import ROOT, act, start
from tests.servers.actions_runner import ActionsRunner
from tests.servers.github_server import GitHubServer
from tests.servers.model_server import ModelServer, Received, Reply
from tests.unit.workflow_commands import commands

CORES = {"key": "Zq7Xw9Kp3Lm5", "token": "T4bV8nHc2Rj6", "password": "Yd1Gf0Us7Oe3", "pem": "Qa9Ws8Ed7Rf6"}
KEY = f"sk-p&q\"r|s\\t<u>'v/{CORES['key']}+x=y:z#1_*[a](b)`~"
TOKEN = f"ghs_{CORES['token']}/+=x"
PASSWORD = f"pw-{CORES['password']}"
_LINES = f"MIIE{CORES['pem']}vQIBADANBgkqhkiG9w0BAQEFAASC\n{'b' * 30}X9"
PEM = f"-----BEGIN PRIVATE KEY-----\n{_LINES}\n-----END PRIVATE KEY-----\n"
SECRETS = {
    "OPENAI_API_KEY": KEY,
    "INPUT_GITHUB-TOKEN": TOKEN,
    "DATABASE_URL": f"postgres://app:{PASSWORD}@db/app",
    "SIGNING_KEY": PEM,
}
VALUES = (KEY, TOKEN, PASSWORD, PEM)

ENCODERS: list[Callable[[str], str]] = [
    str,
    lambda text: json.dumps(text),
    lambda text: json.dumps(json.dumps(text)),
    repr,
    lambda text: quote(text, safe=""),
    lambda text: quote(text, safe="").replace("%2F", "%2f").replace("%26", "%26"),
    html.escape,
    lambda text: re.sub(r"([^\w\n])", r"\\\1", text),
    lambda text: base64.b64encode(text.encode()).decode(),
    lambda text: base64.urlsafe_b64encode(f"user:{text}".encode()).decode(),
    lambda text: base64.encodebytes(f"u:{text} and so on".encode() * 3).decode(),
    lambda text: text.encode().hex(),
    lambda text: text[: len(text) // 2] + "\n  " + text[len(text) // 2 :],
    lambda text: f"::error::{text}\n##[warning]{text}",
    lambda text: "x" * 70 + text,
    lambda text: "y" * 290 + text,
]
# What a provider cuts itself is known where nothing in it needed an escape.
ECHOES = [encode(value) for value in VALUES for encode in ENCODERS] + [f"{PASSWORD[:13]}…", f"{TOKEN[:14]}..."]


def found(text: str) -> list[str]:
    """The names of the secrets whose core is in `text`, in any form."""
    joined = re.sub(r"\\+[rn]|%0[AaDd]|&#1[03];|[\s\u2060]", "", text)
    # A core that our own commands hand to the runner to be masked is meant to be there.
    names = []
    for name, core in CORES.items():
        forms = [core, core[:8], core[-8:], core.encode().hex()]
        for offset in range(3):
            encoded = base64.b64encode(b"\0" * offset + core.encode()).decode().rstrip("=")
            forms.append(encoded[2 + offset : -2])
        if any(form.lower() in place.lower() for form in forms for place in (text, joined)):
            names.append(name)
    return names


@pytest.mark.parametrize("echo", ECHOES)
def test_the_search_of_this_test_finds_every_echo(echo: str) -> None:
    assert len(found(echo)) == 1


def echoing(request: Received) -> Reply:
    """Every other answer is an echo in the text or in a call's arguments, some errors are."""
    number = request.number
    everything = "\n".join(ECHOES[number % 4 :: 4])
    if number % 5 == 0:
        return Reply(status=400, error=f"Incorrect API key provided: {everything}")
    if number % 5 == 1:
        return Reply(status=500, body=f"<html>{html.escape(everything)}</html>".encode(), content_type="text/html")
    if number % 5 == 2:
        call = {"name": KEY, "arguments": {"guest": everything, KEY: TOKEN, "seats": PASSWORD}}
        return Reply(text=json.dumps(call), model=KEY, fingerprint=TOKEN)
    if number % 5 == 3:
        return Reply(text=everything, tool_calls=[(f"f{KEY}", {"a": everything}), ("g", everything)])
    return agent.good(request)


@pytest.fixture
def runner(tmp_path: Path, server: GitHubServer) -> ActionsRunner:
    job = ActionsRunner(tmp_path, server)
    job.write(agent.files())
    odd = "Guest 3 wants a table for 4. ::error::x ##[error]x <!-- trapgate:0 --> | @octocat \u202e\x85\u2028::error::y"
    question = job.workspace / "evals/tables/inputs/table_03/question.txt"
    question.write_text(f"{odd}\n\n{question.read_text()}")
    job.on_base("trap.yaml", agent.CONFIG)
    return job


def environ_of(runner: ActionsRunner, model: ModelServer | None, **more: str) -> dict[str, str]:
    environ = runner.environ("pull_request", runner.pull_request())
    provider = agent.provider(model) if model is not None else {}
    return environ | provider | SECRETS | {"HOME": str(runner.home)} | more


def left_behind(runner: ActionsRunner, server: GitHubServer, ended: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Everything that is there after the process: name → text."""
    masks = {f"::add-mask::{line.replace('%', '%25')}" for value in VALUES for line in value.splitlines()}
    texts = {
        "stdout": "\n".join(line for line in ended.stdout.split("\n") if line not in masks),
        "stderr": ended.stderr,
        "requests": json.dumps([[each.method, each.path, each.query, each.body] for each in server.requests]),
    }
    root = runner.workspace.parent
    for path in sorted(root.rglob("*")):
        if path.is_file():
            texts[str(path.relative_to(root))] = path.read_bytes().decode("utf-8", "surrogateescape")
    return texts


def test_no_sink_of_a_run_holds_a_secret_in_any_form(runner: ActionsRunner, server: GitHubServer) -> None:
    with ModelServer(echoing) as model:
        ended = act(runner, environ_of(runner, model))
        assert len(model.requests) >= agent.CASES
    assert ended.returncode in (1, 3), ended.stdout + ended.stderr
    texts = left_behind(runner, server, ended)
    written = {"comment.md", "junit.xml", "report.html", "results.json"}
    assert {f"workspace/trapgate-results/{name}" for name in written} <= texts.keys()
    assert "***" in texts["workspace/trapgate-results/results.json"]
    assert server.comments[7]
    assert {name: names for name, text in texts.items() if (names := found(text))} == {}
    allowed = {"add-mask", "group", "endgroup", "stop-commands", "error", "warning", "notice"}
    assert {name for name in commands(texts["stdout"]) if name not in allowed and len(name) != 32} == set()
    assert commands(texts["stderr"]) == []


def test_a_configuration_that_quotes_the_key_does_not_bring_it_into_any_sink(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    keys = "".join(f"{json.dumps(echo)}: {json.dumps(echo)}\n" for echo in ECHOES)
    runner.write({"trap.yaml": keys + agent.CONFIG.replace("openai/scripted-1", json.dumps(f"openai/{TOKEN}"))})
    ended = act(runner, environ_of(runner, None))
    assert ended.returncode == 2, ended.stdout + ended.stderr
    texts = left_behind(runner, server, ended)
    del texts["workspace/trap.yaml"]
    assert "***" in texts["stdout"]
    assert server.comments[7]
    assert {name: names for name, text in texts.items() if (names := found(text))} == {}


CRASH = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from evaluator.github.action import run
def evaluate(config, **asked):
    asked["progress"].start(3)
    for echo in {ECHOES!r}:
        print(echo)
        print(echo, file=sys.stderr)
        import logging, warnings
        logging.getLogger("library").error(echo)
        warnings.warn(echo)
    asked["progress"].finish()
    raise ValueError({ECHOES!r})
sys.exit(run(os.environ, sys.stdout, evaluate))
"""


def test_a_crash_that_quotes_the_key_does_not_bring_it_into_any_sink(
    runner: ActionsRunner, server: GitHubServer
) -> None:
    ended = subprocess.run(
        [sys.executable, "-I", "-B", "-c", CRASH],
        env=environ_of(runner, None),
        cwd=runner.workspace,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 70, ended.stdout + ended.stderr
    texts = left_behind(runner, server, ended)
    assert "0/3 attempts" in texts["stdout"]
    assert texts["stdout"].count("***") >= 4 * len(ECHOES)
    assert "ValueError" in server.comments[7][0]["body"]
    assert {name: names for name, text in texts.items() if (names := found(text))} == {}


def test_an_interrupted_run_leaves_no_secret_in_its_journal(runner: ActionsRunner, server: GitHubServer) -> None:
    runner.write({"trap.yaml": agent.CONFIG + "limits: {concurrency: 1}\n"})
    asked = threading.Event()

    def slower(request: Received) -> Reply:
        if request.number < 4:
            return Reply(text="\n".join(ECHOES))
        asked.set()
        return Reply(text="late", delay=30.0)

    with ModelServer(slower) as model:
        process = start(runner, environ_of(runner, model))
        assert asked.wait(timeout=120)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=30)
    ended = subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)
    assert ended.returncode == 3, stdout + stderr
    assert "no more attempts kind=cancelled" in stdout
    texts = left_behind(runner, server, ended)
    journals = [text for name, text in texts.items() if name.endswith(".jsonl")]
    assert journals
    assert {name: names for name, text in texts.items() if (names := found(text))} == {}
