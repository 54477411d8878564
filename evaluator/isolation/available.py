"""Which isolation works here: found by trying to break out of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from evaluator.isolation import paths
from evaluator.isolation.command import Command, Isolation, Refusal
from evaluator.isolation.folders import scratch
from evaluator.isolation.namespaces import Namespaces
from evaluator.isolation.own_user import OwnUser
from evaluator.isolation.seccomp import UnavailableError
from evaluator.isolation.supervised import supervise

_PATIENCE = 30.0


def available(environ: Mapping[str, str], workspace: Path) -> Isolation | Refusal:
    """The isolation in which foreign code may run, or why there is none.

    `environ` names the runner's command files, `workspace` is the repository whose `.git` no command may see. Takes one
    start of a supervisor for each kind of command. As root, an own user with Landlock and seccomp; else namespaces.
    """
    if sys.platform != "linux":
        return Refusal(("foreign code can be isolated on Linux only",))
    guarded = paths.guarded(environ, workspace)
    isolation = OwnUser(guarded) if os.geteuid() == 0 else Namespaces(guarded)
    try:
        reasons = [reason for network in (False, True) for reason in _breaches(isolation, guarded, network)]
    except (UnavailableError, OSError) as error:
        reasons = [str(error)]
    return Refusal(tuple(dict.fromkeys(reasons))) if reasons else isolation


def _breaches(isolation: OwnUser | Namespaces, guarded: tuple[Path, ...], network: bool) -> list[str]:
    """What an attempt to break out achieved, or why it could not be made."""
    with scratch() as closed, scratch() as folder:
        secret = closed / "secret"
        secret.write_bytes(b"")
        closed.chmod(0o777)  # what holds the command back must be the isolation, not this folder's mode
        secret.chmod(0o666)
        command = Command((), cwd=folder, environ={}, writable=(folder,), timeout=_PATIENCE, network=network)
        spec = isolation.specify(command)
        spec.probe = {
            "parent": os.getpid(),
            "namespace": str(Path("/proc/self/ns/pid").readlink()),
            "files": [str(secret), *map(str, guarded)],
            "closed": str(closed),
            "open": str(folder),
            "network": network,
        }
        prefix = isolation.prefix(command) if isinstance(isolation, Namespaces) else []
        finished = supervise(command, spec, prefix)
    *found, last = finished.stdout.decode("utf-8", "replace").split("\n")
    if last == "done" and not finished.error:
        return found
    ended = " ".join(finished.stderr.decode("utf-8", "replace").split())[-300:]
    return [reason for reason in (*found, last, finished.error or "the attempt did not end", ended) if reason]
