"""A scripted server that speaks OpenAI's chat completions over real sockets, honest or as badly as a test asks.

    with ModelServer([Reply(status=429, headers={"Retry-After": "1"}), Reply(text="hello")]) as server:
        ...  # server.base_url, server.requests, server.peak

A script is one `Reply`, a sequence of them (in order of arrival, the last one repeats) or a function from the received
request to a reply. Standard library only, so that it starts in milliseconds and shares no code with the client.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

MODEL = "scripted-1"


@dataclass(frozen=True)
class Reply:
    """What the server does with one request.

    `tool_calls`: pairs of name and arguments (text as it is, anything else as it is in JSON); `function_call`: one such
    pair in OpenAI's older shape; `call_ids`: the ids of the calls, else they are counted. `usage` None leaves the field
    out. `body` replaces the JSON answer by raw bytes. `error`: the message of an OpenAI-style error body.
    `delay`: seconds before the first byte. `drip`: seconds between the bytes of the body. `cut_after`: bytes of the
    body after which the connection is reset (0: before the status line).
    """

    text: str | None = None
    tool_calls: Sequence[tuple[str, Any]] = ()
    function_call: tuple[str, Any] | None = None
    call_ids: Sequence[str | None] | None = None
    finish_reason: str | None = None
    model: str = MODEL
    usage: tuple[int, int] | None = (11, 7)
    fingerprint: str | None = "fp_scripted"
    refusal: str | None = None
    status: int = 200
    error: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = "application/json"
    delay: float = 0.0
    drip: float = 0.0
    cut_after: int | None = None

    def payload(self) -> bytes:
        """The bytes of the body."""
        if self.body is not None:
            return self.body
        if self.status >= 400 or self.error is not None:
            return json.dumps(
                {"error": {"message": self.error or "scripted", "type": "scripted", "code": None}}
            ).encode()
        return json.dumps(self.completion()).encode()

    def completion(self) -> dict[str, Any]:
        """The answer in the shape of OpenAI's `ChatCompletion`."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text, "refusal": self.refusal}
        if self.tool_calls:
            ids = self.call_ids or [f"call_{number}" for number in range(1, len(self.tool_calls) + 1)]
            message["tool_calls"] = [
                {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}
                for identity, (name, arguments) in zip(ids, self.tool_calls, strict=True)
            ]
        if self.function_call is not None:
            message["function_call"] = dict(zip(("name", "arguments"), self.function_call, strict=True))
        reason = self.finish_reason or ("tool_calls" if self.tool_calls else "stop")
        answer: dict[str, Any] = {
            "id": "chatcmpl-scripted",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": self.model,
            "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
        }
        if self.fingerprint is not None:
            answer["system_fingerprint"] = self.fingerprint
        if self.usage is not None:
            read, written = self.usage
            answer["usage"] = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        return answer


def anthropic(
    text: str | None = None, *, uses: Sequence[tuple[str, Any]] = (), usage: tuple[int, int] = (11, 7)
) -> Reply:
    """A reply in the shape of Anthropic's messages; `uses`: pairs of name and input of `tool_use` blocks."""
    content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text is not None else []
    content += [
        {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given}
        for number, (name, given) in enumerate(uses, 1)
    ]
    message = {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": content,
        "stop_reason": "tool_use" if uses else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": usage[0], "output_tokens": usage[1]},
    }
    return Reply(body=json.dumps(message).encode())


@dataclass(frozen=True)
class Received:
    """One request as it arrived. `number` counts from 1; `at` is a reading of the monotonic clock, in seconds."""

    number: int
    at: float
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


Script = Reply | Sequence[Reply] | Callable[[Received], Reply]


class ModelServer:
    """Answers by `script` on a free port of the loopback while the context lasts.

    `requests` are all that arrived, `in_flight` counts those not answered yet, `peak` is the most there were at once.
    """

    def __init__(self, script: Script, *, port: int = 0) -> None:
        self._script = script
        self._lock = threading.Lock()
        self.in_flight = 0
        self._stopping = threading.Event()
        self.peak = 0
        self.requests: list[Received] = []
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def base_url(self) -> str:
        """What goes into `OPENAI_API_BASE`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def bodies(self) -> list[Any]:
        """The JSON bodies of all requests, in order of arrival."""
        return [request.body for request in self.requests]

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def arrived(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Reply:
        """Record a request and look up its reply."""
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = raw
        with self._lock:
            request = Received(len(self.requests) + 1, time.monotonic(), method, path, headers, body)
            self.requests.append(request)
            self.in_flight += 1
            self.peak = max(self.peak, self.in_flight)
        if callable(self._script):
            return self._script(request)
        if isinstance(self._script, Reply):
            return self._script
        return self._script[min(request.number, len(self._script)) - 1]

    def left(self) -> None:
        """A request that `arrived` has been answered or dropped."""
        with self._lock:
            self.in_flight -= 1

    def pause(self, seconds: float) -> None:
        """Sleep, but not beyond the end of the context."""
        if seconds:
            self._stopping.wait(seconds)

    @property
    def stopping(self) -> bool:
        """Whether the context has ended."""
        return self._stopping.is_set()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    owner: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        owner = self.server.owner
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        reply = owner.arrived(self.command, self.path, dict(self.headers), raw)
        try:
            owner.pause(reply.delay)
            with contextlib.suppress(ConnectionError):
                self._send(reply)
        finally:
            owner.left()

    def _send(self, reply: Reply) -> None:
        if reply.cut_after == 0:
            self._reset()
            return
        payload = reply.payload()
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(payload)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if reply.drip:
            self._drip(payload, reply.drip)
        elif reply.cut_after is not None:
            self.wfile.write(payload[: reply.cut_after])
            self._reset()
        else:
            self.wfile.write(payload)

    def _drip(self, payload: bytes, seconds: float) -> None:
        for byte in payload:
            if self.server.owner.stopping:
                return
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            self.server.owner.pause(seconds)

    def _reset(self) -> None:
        # SO_LINGER with zero seconds turns the close into a reset, as a crashed proxy would.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()
