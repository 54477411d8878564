"""Which files a command sees without being given them, and which it must never be given."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from evaluator.isolation.command import Command

# Programs, libraries, and the few files that those read. Nothing of /etc beyond that, nothing of /proc but figures of
# the machine, no home, no /tmp, no /run.
SYSTEM = tuple(
    """
    /usr /bin /sbin /lib /lib32 /lib64 /libx32
    /etc/alternatives /etc/ca-certificates /etc/debian_version /etc/fonts /etc/group /etc/host.conf /etc/hosts
    /etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d /etc/localtime /etc/mime.types /etc/nsswitch.conf
    /etc/os-release /etc/passwd /etc/protocols /etc/resolv.conf /etc/services /etc/ssl /etc/timezone
    """.split()  # noqa: SIM905
)
FIGURES = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/version")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

_ENGINES = """
    /var/run/docker.sock /run/docker.sock /run/containerd/containerd.sock /run/podman/podman.sock /run/crio/crio.sock
""".split()  # noqa: SIM905
_COMMAND_FILES = "GITHUB_ENV GITHUB_EVENT_PATH GITHUB_OUTPUT GITHUB_PATH GITHUB_STATE GITHUB_STEP_SUMMARY".split()  # noqa: SIM905


def interpreter() -> tuple[str, ...]:
    """Where this Python lives. Left out where that would open a home or a workspace: a folder above where we are."""
    folders = {Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix)}
    closed = {
        *Path.cwd().resolve().parents,
        Path.cwd().resolve(),
        *Path.home().resolve().parents,
        Path.home().resolve(),
    }
    return tuple(sorted(str(folder) for folder in folders - closed))


def guarded(environ: Mapping[str, str], workspace: Path) -> tuple[Path, ...]:
    """What no command may reach: engines' sockets, the runner's command files, git's folder of the workspace."""
    files = [environ[name] for name in _COMMAND_FILES if environ.get(name)]
    git = workspace.resolve() / ".git"
    return (*map(Path, _ENGINES), *map(Path, files), git / "config", git)


def exposed(command: Command, closed: Iterable[Path]) -> str:
    """Why a command may not have its folders or input: a guarded path lies at, below or above one. Empty when none."""
    for folder in (*command.readable, *command.writable, *([command.stdin] if command.stdin else [])):
        real = folder.resolve()
        for path in closed:
            if path.exists() and (path.resolve().is_relative_to(real) or real.is_relative_to(path.resolve())):
                return f"{folder} would give the command {path}"
    return ""
