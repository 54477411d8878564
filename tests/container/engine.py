"""A container engine for the tests: Docker where its daemon runs, else podman and buildah with storage of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

PREPARE = Path(__file__).with_name("engine.sh")
FOLDER = "TRAPGATE_ENGINE_ROOT"


class NoEngineError(Exception):
    """Why no container can be run here."""


class Engine(Protocol):
    """Builds images and runs containers on the host's network."""

    def build(self, context: Path, tag: str) -> None:
        """Raises AssertionError with what the build printed."""

    def run(
        self,
        image: str,
        *arguments: str,
        environ: Mapping[str, str] | None = None,
        mounts: Mapping[Path, str] | None = None,
        workdir: str = "/",
        entrypoint: str | None = None,
        options: Sequence[str] = (),
    ) -> subprocess.CompletedProcess[str]:
        """Runs and removes a container; `mounts`: host path → path inside; `options`: more of the engine's own."""

    def start(
        self, image: str, name: str, *, environ: Mapping[str, str], mounts: Mapping[Path, str], workdir: str
    ) -> subprocess.Popen[str]:
        """Starts a container and does not wait: the engine's client, as a runner starts it. Its exit code is the
        container's, and it hands on the signals that it gets."""

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Any other command of the engine, such as `stop` or `exec`."""

    def api(self, folder: Path) -> AbstractContextManager[str]:
        """Docker's API to this engine while the context lasts: its address. `folder`: an empty one to work in."""


def find() -> Engine:
    """The engine that this machine has, or can be given. Raises NoEngineError."""
    folder = os.environ.get(FOLDER)
    if folder:
        return Podman(Path(folder))
    if shutil.which("docker") and _runs(["docker", "info"]):
        return Docker()
    if os.geteuid() != 0:
        raise NoEngineError(f"no Docker daemon answers, and only root can prepare an engine ({PREPARE.name})")
    prepared = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "trapgate-engine"
    made = subprocess.run([str(PREPARE), str(prepared)], capture_output=True, text=True, check=False)
    if made.returncode:
        raise NoEngineError(f"{PREPARE.name} failed: {made.stderr.strip()[-500:]}")
    return Podman(prepared)


class Docker:
    """A Docker daemon, which also a GitHub runner uses."""

    def build(self, context: Path, tag: str) -> None:
        _output(["docker", "build", "--network", "host", "--tag", tag, str(context)])

    def run(
        self,
        image: str,
        *arguments: str,
        environ: Mapping[str, str] | None = None,
        mounts: Mapping[Path, str] | None = None,
        workdir: str = "/",
        entrypoint: str | None = None,
        options: Sequence[str] = (),
    ) -> subprocess.CompletedProcess[str]:
        options = [*_options(environ or {}, mounts or {}, workdir, entrypoint), *options]
        return _finished(["docker", "run", *options, image, *arguments])

    def start(
        self, image: str, name: str, *, environ: Mapping[str, str], mounts: Mapping[Path, str], workdir: str
    ) -> subprocess.Popen[str]:
        options = _options(environ, mounts, workdir, None)
        return _started(["docker", "run", "--name", name, *options, image])

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return _finished(["docker", *arguments])

    @contextmanager
    def api(self, folder: Path) -> Iterator[str]:
        context = _finished(["docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"])
        yield os.environ.get("DOCKER_HOST") or context.stdout.strip()


class Podman:
    """podman and buildah in a folder that engine.sh prepared. No daemon, no systemd, no image registry needed."""

    def __init__(self, folder: Path) -> None:
        storage = ["--root", str(folder / "root"), "--runroot", str(folder / "run"), "--storage-driver", "overlay"]
        self._buildah, self._podman = ["buildah", *storage], ["podman", *storage]
        self._environ = {
            **os.environ,
            "CONTAINERS_CONF": str(folder / "containers.conf"),
            "BUILDAH_ISOLATION": "chroot",
        }

    def build(self, context: Path, tag: str) -> None:
        # Docker's format, so that builds through the API find these layers in the cache.
        options = ["--layers", "--format", "docker", "--network", "host"]
        _output([*self._buildah, "build", *options, "--tag", tag, str(context)], self._environ)

    def run(
        self,
        image: str,
        *arguments: str,
        environ: Mapping[str, str] | None = None,
        mounts: Mapping[Path, str] | None = None,
        workdir: str = "/",
        entrypoint: str | None = None,
        options: Sequence[str] = (),
    ) -> subprocess.CompletedProcess[str]:
        options = [*_options(environ or {}, mounts or {}, workdir, entrypoint), *options]
        return _finished([*self._podman, "run", *options, image, *arguments], self._environ)

    def start(
        self, image: str, name: str, *, environ: Mapping[str, str], mounts: Mapping[Path, str], workdir: str
    ) -> subprocess.Popen[str]:
        options = _options(environ, mounts, workdir, None)
        return _started([*self._podman, "run", "--name", name, *options, image], self._environ)

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return _finished([*self._podman, *arguments], self._environ)

    @contextmanager
    def api(self, folder: Path) -> Iterator[str]:
        address = f"unix://{folder / 'engine.sock'}"
        command = [*self._podman, "system", "service", "--time", "0", address]
        with (folder / "engine.log").open("wb") as log:
            service = subprocess.Popen(command, env=self._environ, stdout=log, stderr=log)
        try:
            _wait_for(folder / "engine.sock", service, folder / "engine.log")
            yield address
        finally:
            service.terminate()
            service.wait(timeout=30)
            # What a client that was killed has left would be in the way of the next one.
            left = self.call("ps", "--all", "--quiet", "--filter", "name=^act-").stdout.split()
            if left:
                self.call("rm", "--force", "--depend", *left)


def _options(
    environ: Mapping[str, str], mounts: Mapping[Path, str], workdir: str, entrypoint: str | None
) -> Sequence[str]:
    return [
        *("--rm", "--network", "host", "--workdir", workdir),
        *(f"--env={name}={value}" for name, value in environ.items()),
        *(f"--volume={outside}:{inside}" for outside, inside in mounts.items()),
        *(["--entrypoint", entrypoint] if entrypoint else []),
    ]


def _wait_for(socket: Path, service: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 30
    while not socket.exists():
        if service.poll() is not None or time.monotonic() > deadline:
            raise AssertionError(f"the engine's API cannot be served:\n{log.read_text(errors='replace')}")
        time.sleep(0.05)


def _runs(command: Sequence[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False, timeout=60).returncode == 0


def _output(command: Sequence[str], environ: Mapping[str, str] | None = None) -> None:
    built = subprocess.run(
        command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=1800
    )
    if built.returncode:
        raise AssertionError(f"the image cannot be built:\n{built.stdout[-4000:]}")


def _finished(command: Sequence[str], environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=300)


def _started(command: Sequence[str], environ: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
