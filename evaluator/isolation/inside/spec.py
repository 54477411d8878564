"""What a supervisor is told."""

from __future__ import annotations


class Spec:
    """One command and its bounds, in types that `marshal` carries: both ends are the same interpreter.

    `user` is the uid and gid of the command, `killer` the one that its end is brought about with; 0 keeps our own.
    `rules` are Landlock's: (path, may be written); None where another means confines the files. `filters` is a seccomp
    program, empty for none. `probe` runs the attempts of `probe.py` with these arguments in place of `argv`.
    """

    def __init__(
        self,
        *,
        argv: list[str],
        cwd: str,
        environ: dict[str, str],
        readable: list[str],
        writable: list[str],
        timeout: float,
        memory_bytes: int,
        processes: int,
        disk_bytes: int,
        user: int = 0,
        killer: int = 0,
        rules: list[tuple[str, bool]] | None = None,
        filters: bytes = b"",
        limit_processes: bool = True,
        probe: dict[str, object] | None = None,
    ) -> None:
        self.argv = argv
        self.cwd = cwd
        self.environ = environ
        self.readable = readable
        self.writable = writable
        self.timeout = timeout
        self.memory_bytes = memory_bytes
        self.processes = processes
        self.disk_bytes = disk_bytes
        self.user = user
        self.killer = killer
        self.rules = rules
        self.filters = filters
        self.limit_processes = limit_processes
        self.probe = probe
