"""A real git server over HTTPS: `git http-backend` behind a small CGI bridge, with faults on demand."""

from __future__ import annotations

import base64
import os
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass
class Behaviour:
    """What the server does, and what it saw. `cut`: connections to drop before it answers. `status`: answers to give
    instead, one a request. `protocol_2`: whether it understands git's protocol 2; without it, the settings of the
    repository decide what may be asked for. `dumb`: plain files, no git on the server."""

    token: str | None = None
    cut: int = 0
    status: list[int] = field(default_factory=list)
    redirect: str | None = None
    protocol_2: bool = True
    dumb: bool = False
    hang: threading.Event | None = None
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    processes: list[str] = field(default_factory=list)
    sent: int = 0

    def basic(self) -> str:
        return "Basic " + base64.b64encode(f"x-access-token:{self.token}".encode()).decode()


@dataclass(frozen=True)
class GitServer:
    """Serves every repository under a folder. `host` has the port."""

    host: str
    certificate: Path
    behaviour: Behaviour

    def url(self, name: str) -> str:
        return f"https://{self.host}/{name}"

    def environ(self, **more: str) -> dict[str, str]:
        """What a user of this server has in the environment."""
        return {"PATH": os.environ["PATH"], "GIT_SSL_CAINFO": str(self.certificate), **more}


def make_certificate(folder: Path) -> Path:
    """A self-signed certificate for the loopback, with its key in the same file."""
    file, key = folder / "certificate.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(key), "-out", str(file), "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True)
    file.write_text(file.read_text() + key.read_text())
    return file


@contextmanager
def serve(root: Path, certificate: Path) -> Iterator[GitServer]:
    """A server for the repositories under `root`, until the block ends."""
    behaviour = Behaviour()

    class Handler(_Handler):
        served = behaviour
        folder = root

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with _Server(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield GitServer(f"localhost:{server.server_port}", certificate, behaviour)
        finally:
            if behaviour.hang:
                behaviour.hang.set()
            server.shutdown()
            thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Cut connections are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    served: Behaviour
    folder: Path
    timeout = 20

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        behaviour = self.served
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        behaviour.requests.append((self.command, self.path, dict(self.headers)))
        behaviour.processes += command_lines()
        if behaviour.cut:
            behaviour.cut -= 1
            self.close_connection = True
            return
        if behaviour.hang:
            behaviour.hang.wait(20)
        if behaviour.status:
            self._reply(behaviour.status.pop(0), {}, b"")
        elif behaviour.redirect:
            self._reply(301, {"Location": behaviour.redirect + self.path}, b"")
        elif behaviour.token and self.headers.get("Authorization") != behaviour.basic():
            self._reply(401, {"WWW-Authenticate": 'Basic realm="git"'}, b"")
        elif behaviour.dumb:
            self._file()
        else:
            self._reply(*self._run_backend(body))

    def _file(self) -> None:
        file = self.folder / self.path.partition("?")[0].lstrip("/")
        self._reply(200, {}, file.read_bytes()) if file.is_file() else self._reply(404, {}, b"")

    def _run_backend(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        path, _, query = self.path.partition("?")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PROJECT_ROOT": str(self.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
        }
        if self.served.protocol_2:
            environment["GIT_PROTOCOL"] = self.headers.get("Git-Protocol", "")
        done = subprocess.run(["git", "http-backend"], env=environment, input=body, capture_output=True)
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        status = int(headers.pop("Status", "200").split()[0])
        return status, headers, answer

    def _reply(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.served.sent += len(body)


def command_lines() -> list[str]:
    """The arguments of all processes of this machine, as any user can read them."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(file.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return lines
