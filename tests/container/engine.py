"""A container engine for the tests: Docker where its daemon runs, else podman and buildah with storage of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
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
    ) -> subprocess.CompletedProcess[str]:
        """Runs and removes a container; `mounts`: host path → path inside."""


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
    ) -> subprocess.CompletedProcess[str]:
        options = _options(environ or {}, mounts or {}, workdir, entrypoint)
        return _finished(["docker", "run", *options, image, *arguments])


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
        _output([*self._buildah, "build", "--layers", "--network", "host", "--tag", tag, str(context)], self._environ)

    def run(
        self,
        image: str,
        *arguments: str,
        environ: Mapping[str, str] | None = None,
        mounts: Mapping[Path, str] | None = None,
        workdir: str = "/",
        entrypoint: str | None = None,
    ) -> subprocess.CompletedProcess[str]:
        options = _options(environ or {}, mounts or {}, workdir, entrypoint)
        return _finished([*self._podman, "run", *options, image, *arguments], self._environ)


def _options(
    environ: Mapping[str, str], mounts: Mapping[Path, str], workdir: str, entrypoint: str | None
) -> Sequence[str]:
    return [
        *("--rm", "--network", "host", "--workdir", workdir),
        *(f"--env={name}={value}" for name, value in environ.items()),
        *(f"--volume={outside}:{inside}" for outside, inside in mounts.items()),
        *(["--entrypoint", entrypoint] if entrypoint else []),
    ]


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
