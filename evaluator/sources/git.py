"""A thin runner of the git binary: bounded in time and output, retried on network faults, silent about secrets."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import IO

from evaluator.errors import UserError, user_error
from evaluator.sources.environment import (
    TOKEN,
    TOKEN_HOST,
    Remote,
    git_environment,
    redacted,
    search_path,
    token_for,
    token_host,
)

TIMEOUT = 600.0  # seconds for one git process
PAUSES = (1.0, 3.0, 9.0)  # seconds before each further try of a command that met a network fault
MAX_OUTPUT = 2 << 30  # bytes of any one file that git writes, its answer included
OLDEST = (2, 32)  # the first that reads GIT_CONFIG_COUNT and GIT_CONFIG_GLOBAL, on which the isolation rests

_BLOCK = 512  # bytes of one unit of `ulimit -f` in POSIX
_STDERR_TAIL = 16_384


class Fault(Enum):
    """Why a git command failed, as far as it decides what to do next."""

    MISSING = "missing"  # the server says that it has no such object
    DENIED = "denied"  # the server wants other credentials, or says that there is no such repository
    NETWORK = "network"  # worth another try
    UNSAFE = "unsafe"  # git's own check of the objects refused them
    TIMEOUT = "timeout"
    UNTRUSTED = "untrusted"  # we refuse the server: its certificate, or a redirect to a protocol that is not allowed
    TOO_LARGE = "too large"  # more than the limit
    OTHER = "other"


# The first that matches decides: a refused object also ends with "the remote end hung up".
_SIGNS = (
    (Fault.UNSAFE, r"fsck error|contains '\.{1,2}'|contains '\.git'|hasDot"),
    (Fault.MISSING, r"not our ref|couldn't find remote ref"),
    (
        Fault.DENIED,
        r"could not read (?:Username|Password)|Authentication failed|returned error: 40[134]|Permission denied"
        r"|Host key verification failed|[Rr]epository .*not found|does not appear to be a git repository"
        r"|unable to update url base from redirection|requested URL returned error: 3\d\d|detected dubious ownership",
    ),
    (Fault.UNTRUSTED, r"certificate|Protocol .{1,20}(?:disabled|not supported)|transport '.*' not allowed"),
    (
        Fault.NETWORK,
        r"returned error: (?:429|5\d\d)|HTTP (?:429|5\d\d)|[Cc]ould not resolve|Failed to connect|Couldn't connect"
        r"|Connection (?:refused|reset|timed out|closed|was reset)|Operation timed out|Operation too slow|early EOF"
        r"|RPC failed|hung up unexpectedly|unexpected disconnect|Empty reply|transfer closed|[Nn]etwork is unreachable"
        r"|No route to host|handshake|unexpected eof|kex_exchange|Recv failure|Send failure|unable to access '",
    ),
)


class GitError(Exception):
    """A git command that failed. `said`: its words, redacted and bounded."""

    def __init__(self, fault: Fault, said: str) -> None:
        super().__init__(said)
        self.fault = fault
        self.said = said

    def as_user_error(self, remote: Remote, environ: Mapping[str, str], where: str) -> UserError:
        """`source-access-denied`, `source-unsafe`, `source-too-large` or `source-unreachable`, with what git said."""
        said = f"git said: {self.said}"
        if self.fault is Fault.UNSAFE:
            mend = "Repair the repository (`git fsck`), then pin the repaired commit."
            return user_error("source-unsafe", f"git refuses the repository's objects: {said}", where=where, mend=mend)
        if self.fault is Fault.DENIED:
            return user_error("source-access-denied", said, where=where, mend=_access_mend(remote, environ))
        if self.fault is Fault.TOO_LARGE:
            message = f"the repository sent more than {MAX_OUTPUT >> 30} GiB"
            mend = "Use a smaller repository, or a server that can send a part (`uploadpack.allowFilter`)."
            return user_error("source-too-large", message, where=where, mend=mend)
        mend = "Look at the address and the network, then run it again."
        if self.fault is Fault.UNTRUSTED:
            mend = "Look at the address; an authority of your own is named by the variable GIT_SSL_CAINFO."
        return user_error("source-unreachable", said, where=where, mend=mend)


@dataclass(frozen=True)
class Git:
    """Runs git for one remote, known to git as `origin`.

    `repository`: the bare repository to work in. `home`: an empty folder of ours. `environ`: the user's environment.
    """

    remote: Remote
    repository: Path
    home: Path
    environ: Mapping[str, str]
    pauses: Sequence[float] = PAUSES
    sleep: Callable[[float], None] = time.sleep
    timeout: float = TIMEOUT
    max_output: int = MAX_OUTPUT

    def network(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Standard output of a command that talks to the remote. Raises GitError."""
        for pause in self.pauses:
            try:
                return self._answer(arguments, stdin, self.remote.scheme, self.max_output)
            except GitError as error:
                if error.fault is not Fault.NETWORK:
                    raise
            self.sleep(pause)
        return self._answer(arguments, stdin, self.remote.scheme, self.max_output)

    def local(self, *arguments: str, stdin: bytes = b"", limit: int = MAX_OUTPUT) -> bytes:
        """Standard output, at most `limit` bytes, of a command that may talk to nobody. Raises GitError."""
        return self._answer(arguments, stdin, "", limit)

    def local_file(self, *arguments: str, stdin: bytes = b"", limit: int = MAX_OUTPUT) -> IO[bytes]:
        """As `local`, as a file that the caller closes."""
        return self._run(arguments, stdin, "", limit)

    def _answer(self, arguments: Sequence[str], stdin: bytes, protocol: str, limit: int) -> bytes:
        with self._run(arguments, stdin, protocol, limit) as output:
            return output.read()

    def _run(self, arguments: Sequence[str], stdin: bytes, protocol: str, limit: int) -> IO[bytes]:
        environment = git_environment(self.environ, self.remote, self.home)
        environment |= {"GIT_ALLOW_PROTOCOL": protocol, "GIT_DIR": str(self.repository)}
        # Files instead of pipes: no deadlock, and one limit holds for packs and answers alike. The signal is the end of
        # a listing, which does not look at failed writes; fetching does, and would not say what its child died of.
        trap = 'trap "" XFSZ; ' if protocol else ""
        command = ["/bin/sh", "-c", f'{trap}ulimit -f "$0" && exec "$@"', str(limit // _BLOCK + 1)]
        command += [find_git(search_path(self.environ)), *arguments]
        with contextlib.ExitStack() as files:
            source = files.enter_context(tempfile.TemporaryFile(dir=self.home))
            errors = files.enter_context(tempfile.TemporaryFile(dir=self.home))
            output = tempfile.TemporaryFile(dir=self.home)  # noqa: SIM115 - handed to the caller
            files.callback(output.close)
            source.write(stdin)
            source.seek(0)
            code = _wait(command, environment, self.home, (source, output, errors), self.timeout)
            if code != 0:
                raise self._error(code, _tail(errors))
            output.seek(0)
            files.pop_all()
            source.close()
            errors.close()
            return output

    def _error(self, code: int | None, stderr: str) -> GitError:
        said = redacted(stderr, self.environ)
        if code is None:
            return GitError(Fault.TIMEOUT, f"nothing, and was stopped after {self.timeout:g} seconds. {said}".rstrip())
        if code == -signal.SIGXFSZ or "File too large" in stderr:
            return GitError(Fault.TOO_LARGE, said)
        fault = next((fault for fault, signs in _SIGNS if re.search(signs, stderr)), Fault.OTHER)
        return GitError(fault, said or f"nothing, and ended with code {code}")


def _wait(
    command: Sequence[str],
    environment: dict[str, str],
    cwd: Path,
    streams: tuple[IO[bytes], IO[bytes], IO[bytes]],
    timeout: float,
) -> int | None:
    """The exit code, None when the time ran out. The whole process group is gone afterwards."""
    stdin, stdout, stderr = streams
    process = subprocess.Popen(
        command, env=environment, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
    )
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _STDERR_TAIL))
    return file.read().decode(errors="replace")


@functools.cache
def find_git(path: str) -> str:
    """The git binary on `path`. Raises UserError `git-missing` or `git-too-old`."""
    mend = f"Install git {OLDEST[0]}.{OLDEST[1]} or later; local sources need none."
    binary = shutil.which("git", path=path)
    if binary is None:
        raise user_error("git-missing", "a source is a git repository, and there is no git on PATH", mend=mend)
    answer = subprocess.run([binary, "version"], env={"PATH": path}, capture_output=True, text=True, timeout=30)
    version = re.search(r"(\d+)\.(\d+)", answer.stdout)
    if version is None or (int(version[1]), int(version[2])) < OLDEST:
        raise user_error("git-too-old", f"{binary} says {answer.stdout.strip()[:80]!r}", mend=mend)
    return binary


def _access_mend(remote: Remote, environ: Mapping[str, str]) -> str:
    if remote.scheme == "ssh":
        return "Look at the address, the known hosts and the keys of the SSH agent (SSH_AUTH_SOCK)."
    if remote.scheme == "file":
        return "Look at the path and its permissions."
    if token_for(environ, remote):
        return f"Look at the exact address (a redirect is not followed with a token) and at what {TOKEN} may read."
    if environ.get(TOKEN):
        return f"{TOKEN} is sent to {token_host(environ)} only; set {TOKEN_HOST} if it is meant for this host."
    return f"Look at the address; for a private repository put a token that may read it into {TOKEN}."
