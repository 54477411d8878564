"""Plays recordings/scripts.yaml through the real conversation loop and writes recordings/good.jsonl and worse.jsonl.

    python examples/refund-agent/play.py

A server on the loopback stands where the model would be and says what the scripts say; `trapgate run` asks it, answers
each call from the fixtures, and what it made is written down as rows for `trapgate score --outputs`. So what the tools
answered, and what each attempt was made with, is what a model would have met. Needed again whenever a prompt, a tool,
a fixture or a script changes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from evaluator.results import Run, decode_run
from evaluator.transcript import Call

EXAMPLE = Path(__file__).resolve().parent
PROMPTS = {"good": "system.md", "worse": "system-worse.md"}
NO_MODEL = "written by hand, no model"
Step = tuple[str, dict[str, Any]]  # a tool and its arguments


class Scripts:
    """What an agent of the set `name` ("good" or "worse") does in each attempt at each case."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._scripts = yaml.safe_load((EXAMPLE / "recordings" / "scripts.yaml").read_text(encoding="utf-8"))
        self._inputs = dict(map(_input, sorted((EXAMPLE / "evals" / "refunds").iterdir())))
        self._begun = dict.fromkeys(self._inputs, 0)

    def reply(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """The next message in a conversation. Attempts are numbered as they begin, and known by the ids of calls."""
        case, said = self._case_of([message for message in messages if message["role"] != "system"])
        if said:
            attempt = int(said[-1]["tool_call_id"].split("-")[1])
        else:
            attempt = self._begun[case] = self._begun[case] + 1
        turns, answer = self.attempt(case, attempt)
        done = sum(message["role"] == "assistant" for message in said)
        if done == len(turns):
            return {"role": "assistant", "content": answer}
        calls = [
            {
                "id": f"call-{attempt}-{done + 1}-{number}",
                "type": "function",
                "function": {"name": tool, "arguments": json.dumps(arguments)},
            }
            for number, (tool, arguments) in enumerate(turns[done], 1)
        ]
        return {"role": "assistant", "content": None, "tool_calls": calls}

    def attempt(self, case: str, number: int) -> tuple[list[list[Step]], str]:
        """The turns and the final answer of an attempt, which counts from 1."""
        script = self._scripts[case]
        turns = [
            [(tool, self._arguments(given, number)) for each in turn for tool, given in each.items()]
            for turn in script.get("instead", {}).get(number, script["turns"])
        ]
        paid = dict.fromkeys(  # a try that failed is made again: each order once
            (arguments["order_id"], f"{arguments['amount']:.2f}")
            for turn in turns
            for tool, arguments in turn
            if tool == "issue_refund"
        )
        return turns, script["answers"][number - 1].replace("{paid}", " and ".join(amount for _, amount in paid))

    def _case_of(self, messages: list[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
        """The case whose input the conversation begins with, and what was said since."""
        for case, asked in self._inputs.items():
            begin = [{"role": message["role"], "content": message.get("content")} for message in messages[: len(asked)]]
            if begin == asked:
                return case, messages[len(asked) :]
        raise LookupError(f"no case asks this: {messages[0]}")

    def _arguments(self, given: dict[str, Any], number: int) -> dict[str, Any]:
        """The arguments of this set and attempt."""
        arguments = {}
        for name, value in given.items():
            of_set = value[self._name] if isinstance(value, dict) else value
            arguments[name] = of_set[number - 1] if isinstance(of_set, list) else of_set
        return arguments


def _input(fixture: Path) -> tuple[str, list[dict[str, str]]]:
    case = yaml.safe_load(fixture.read_text(encoding="utf-8"))  # JSON is YAML
    asked = case["input"]
    return case["task_id"], [{"role": "user", "content": asked}] if isinstance(asked, str) else asked


class Server:
    """OpenAI's chat completions on a free port of the loopback, answered from `scripts`, while the context lasts."""

    def __init__(self, scripts: Scripts) -> None:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # head and body are sent apart, and the second would wait

            def do_POST(self) -> None:
                """A completion."""
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                try:
                    message = scripts.reply(asked["messages"])
                except LookupError as error:  # what no script foresees; a refused request is not sent again
                    self._answer(400, {"error": {"message": str(error), "type": "unscripted"}})
                    return
                reason = "tool_calls" if "tool_calls" in message else "stop"
                choice = {"index": 0, "message": message, "finish_reason": reason}
                completion = {"id": "scripted", "object": "chat.completion", "created": 0, "model": NO_MODEL}
                self._answer(200, {**completion, "choices": [choice]})

            def _answer(self, status: int, answer: dict[str, Any]) -> None:
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as its base URL."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def play(name: str, folder: Path) -> list[dict[str, Any]]:
    """Runs the example with the prompt and the scripts of the set in `folder`, which it creates; the rows."""
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("trapgate-results", ".trap", "recordings"))
    shutil.copy(EXAMPLE / "prompts" / PROMPTS[name], folder / "prompts" / PROMPTS["good"])
    trap = folder / "trap.yaml"
    # One conversation after the other, so that attempts begin in the order of their numbers. No money is spent, and a
    # limit on it could not be watched: nobody says what an answer cost.
    text = re.sub(r"^limits: .*", "limits: {concurrency: 1}", trap.read_text(encoding="utf-8"), flags=re.MULTILINE)
    trap.write_text(text, encoding="utf-8")
    with Server(Scripts(name)) as server:
        environ = os.environ | {
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "not-needed",
            "NO_PROXY": "127.0.0.1",
            "PYTHONPATH": str(EXAMPLE.parents[1]),
            "XDG_CACHE_HOME": str(folder / "cache"),  # a journal of another time would be taken up
        }
        command = [sys.executable, "-m", "evaluator", "run", "--output", "results", "--json"]
        done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True)
    results = folder / "results" / "results.json"
    if not results.exists():
        raise RuntimeError(f"`trapgate run` ended with exit code {done.returncode}: {done.stderr.strip()}")
    return _rows(decode_run(results.read_bytes(), str(results)))


def _rows(run: Run) -> list[dict[str, Any]]:
    if run.subject is None:
        raise RuntimeError("the run does not say what it was made with")
    made_with = {"digest": run.subject.digest(), "parts": run.subject.entries()}
    rows = []
    for case in run.tasks[0].cases:
        for attempt in case.attempts:
            transcript = attempt.transcript
            if transcript is None or transcript.limit is not None:
                why = attempt.infrastructure.message if attempt.infrastructure is not None else "no final answer"
                raise RuntimeError(f"attempt {attempt.number} at {case.id}: {why}")
            rows.append(
                {
                    "case_id": case.id,
                    "attempt": attempt.number,
                    "tool_calls": [_call(call) for call in transcript.calls],
                    "text": transcript.text,
                    "stop_reason": transcript.stop_reason,
                    "model": transcript.model,
                    "subject": made_with,
                }
            )
    return rows


def _call(call: Call) -> dict[str, Any]:
    return {"turn": call.turn, "tool": call.tool, "args": json.loads(call.arguments), "result": call.result}


def main() -> int:
    """Writes both files; the exit code."""
    parser = argparse.ArgumentParser(description="Write the recordings of the example anew.")
    parser.add_argument(
        "--output", type=Path, default=EXAMPLE / "recordings", help="folder (default: the example's own)"
    )
    output: Path = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    for name in PROMPTS:
        with tempfile.TemporaryDirectory(prefix="trapgate-play-") as folder:
            rows = play(name, Path(folder) / "refund-agent")
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (output / f"{name}.jsonl").write_text(text, encoding="utf-8")
        print(f"{output / name}.jsonl: {len(rows)} attempts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
