"""Our side of a supervisor: start it, read what the command prints, know when to stop."""

from __future__ import annotations

import contextlib
import marshal
import os
import selectors
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from evaluator.isolation.command import TIMED_OUT, Command, Finished, Limit, never
from evaluator.isolation.inside.spec import Spec

ROOT = Path(__file__).resolve().parents[2]
_STARTS = "import sys; sys.path.append(sys.argv[1]); from evaluator.isolation.inside import {0}; {0}.main()"
_CHUNK = 1 << 16
_TICK = 0.1
_GRACE = 20.0  # seconds beyond the timeout after which the supervisor itself counts as stuck
_CANNOT_START = 126


def supervisor(module: str = "supervise") -> list[str]:
    """The command line of a supervisor: isolated, without site-packages, our own modules last on the path."""
    options = ["-I", "-S", *(["-B"] if sys.dont_write_bytecode else [])]
    return [sys.executable, *options, "-c", _STARTS.format(module), str(ROOT)]


def not_started(error: str) -> Finished:
    """A command that was refused before anything ran."""
    return Finished(_CANNOT_START, b"", b"", 0, 0, 0.0, None, error)


def specification(command: Command) -> Spec:
    """The command and its bounds, before a means adds what is its own."""
    return Spec(
        argv=list(command.argv),
        cwd=str(command.cwd),
        environ=dict(command.environ),
        readable=list(map(str, command.readable)),
        writable=list(map(str, command.writable)),
        timeout=command.timeout,
        memory_bytes=command.memory_bytes,
        processes=command.processes,
        disk_bytes=command.disk_bytes,
    )


def supervise(command: Command, spec: Spec, prefix: Sequence[str] = (), stop: Callable[[], bool] = never) -> Finished:
    """Runs `spec`, which says what `command` does in the terms of one means. `prefix` is put before the supervisor."""
    for folder in (command.cwd, *command.readable, *command.writable):
        if not folder.exists():
            return not_started(f"{folder} does not exist")
    try:
        with _started(command, spec, prefix) as (process, control, report):
            streams = _Streams(process, report, command.output_bytes)
            limit = streams.read(control, time.monotonic() + command.timeout + _GRACE, stop)
    except OSError as error:
        return not_started(f"the supervisor cannot be started: {error}")
    if spec.user and not streams.report:
        subprocess.run([*supervisor("sweep"), str(spec.user), str(spec.killer)], env={}, cwd="/", check=True)
    return _finished(streams, limit, process.returncode)


@contextlib.contextmanager
def _started(
    command: Command, spec: Spec, prefix: Sequence[str]
) -> Iterator[tuple[subprocess.Popen[bytes], BinaryIO, BinaryIO]]:
    with contextlib.ExitStack() as stack:
        given = stack.enter_context(os.fdopen(os.memfd_create("spec"), "w+b"))
        marshal.dump(vars(spec), given)
        given.flush()
        given.seek(0)
        control_end, control = map(stack.enter_context, _pipe())
        report, report_end = map(stack.enter_context, _pipe())
        stdin = stack.enter_context(_input(command.stdin))
        passed = (given.fileno(), control_end.fileno(), report_end.fileno())
        process = subprocess.Popen(
            [*prefix, *supervisor(), *map(str, passed)],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=passed,
            env={},
            cwd="/",
            start_new_session=True,
        )
        stack.enter_context(process)
        stack.callback(_end, process, control)
        control_end.close()
        report_end.close()
        yield process, control, report


def _input(path: Path | None) -> BinaryIO:
    """The command's standard input. Raises OSError where that is no plain file: nothing is followed or waited for."""
    if path is None:
        return Path(os.devnull).open("rb")
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(f"{path} is not a plain file")
    return file


def _end(process: subprocess.Popen[bytes], control: BinaryIO) -> None:
    control.close()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()


def _pipe() -> tuple[BinaryIO, BinaryIO]:
    read, write = os.pipe()
    return os.fdopen(read, "rb", 0), os.fdopen(write, "wb", 0)


class _Streams:
    """What comes back: both output streams, bounded, and the supervisor's report."""

    def __init__(self, process: subprocess.Popen[bytes], report: BinaryIO, bound: int) -> None:
        assert process.stdout is not None  # noqa: S101
        assert process.stderr is not None  # noqa: S101
        self._process = process
        self._bound = bound
        self.output, self.errors, self.report = bytearray(), bytearray(), bytearray()
        self.cut = {"output": 0, "errors": 0}
        self._files = {"output": process.stdout, "errors": process.stderr, "report": report}

    def read(self, control: BinaryIO, deadline: float, stop: Callable[[], bool]) -> Limit | None:
        """Reads until everyone has closed. Closing `control` ends the command, and so the streams."""
        limit: Limit | None = None
        with selectors.DefaultSelector() as selector:
            for name, file in self._files.items():
                selector.register(file, selectors.EVENT_READ, name)
            while selector.get_map():
                for key, _ in selector.select(_TICK):
                    if not self._take(key.data):
                        selector.unregister(key.fileobj)
                        if key.data == "report":  # after it, nothing can come from a living command
                            deadline = min(deadline, time.monotonic() + _TICK)
                if limit is None:
                    limit = "output" if any(self.cut.values()) else "stopped" if stop() else None
                    if limit is not None:
                        control.close()
                        deadline = min(deadline, time.monotonic() + _GRACE)
                if selector.get_map() and time.monotonic() > deadline:
                    self._process.kill()
                    break
        return limit

    def _take(self, name: str) -> bool:
        chunk = os.read(self._files[name].fileno(), _CHUNK)
        if name == "report":
            self.report += chunk
        else:
            kept: bytearray = getattr(self, name)
            room = self._bound - len(kept)
            kept += chunk[:room]
            self.cut[name] += len(chunk[room:])
        return bool(chunk)


def _finished(streams: _Streams, limit: Limit | None, status: int) -> Finished:
    """The report, or what can be said when the supervisor died without one."""
    told: dict[str, Any] = {"error": f"the supervisor ended early, status {status}", "exit_code": _CANNOT_START}
    if streams.report:
        told = marshal.loads(bytes(streams.report))  # noqa: S302  (no command holds this pipe)
    reached: Limit | None = limit or told.get("limit") or None
    code = int(told["exit_code"])
    if reached == "time":
        code = TIMED_OUT
    elif code < 0:
        code = 128 - code
    error = str(told["error"]) or ""
    return Finished(
        exit_code=code,
        stdout=bytes(streams.output),
        stderr=bytes(streams.errors),
        stdout_cut=streams.cut["output"],
        stderr_cut=streams.cut["errors"],
        seconds=float(told.get("seconds", 0.0)),
        limit=reached,
        error=error,
    )
