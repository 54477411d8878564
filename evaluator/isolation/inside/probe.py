"""Attempts to break out, made from where a command would run. Each that succeeds is a protection that is missing."""

from __future__ import annotations

import _socket
import ctypes
import errno
import os

from evaluator.isolation.inside.spec import Spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_IO_URING_SETUP = 425
_NEW_USER_NAMESPACE = 0x10000000
_PTRACE_TRACEME = 0

_libc = ctypes.CDLL(None, use_errno=True)


def run(spec: Spec) -> None:
    """Writes a line per breach to standard output, and "done" as the last, which shows that all were tried. Then ends.

    `spec.probe`: `parent` (pid of who must stay out of reach), `namespace` (its pid namespace), `files` (paths that
    must not be opened), `closed` (a folder that must not be written), `open` (one that must), `network` (may be used).
    """
    lines = [*breaches(spec.probe or {}), "done"]
    os.write(1, "\n".join(lines).encode("utf-8", "replace"))
    os._exit(0)


def breaches(targets: dict[str, object]) -> list[str]:
    """What could be done and must not be, and what could not and must be: one clause each."""
    return [
        *_files([str(path) for path in _list(targets["files"])]),
        *_folders(str(targets["closed"]), str(targets["open"])),
        *_parent(int(str(targets["parent"])), str(targets["namespace"])),
        *_sockets(bool(targets["network"])),
        *_calls(),
    ]


def _files(paths: list[str]) -> list[str]:
    found = []
    for path in paths:
        for flags, deed in ((os.O_RDONLY, "read"), (os.O_WRONLY | os.O_APPEND, "written")):
            if _opens(path, flags | os.O_NONBLOCK):
                found.append(f"{path} can be {deed}")
    return found


def _folders(closed: str, opened: str) -> list[str]:
    found = []
    if _opens(f"{closed}/written", os.O_WRONLY | os.O_CREAT):
        found.append("files can be written outside of the command's folders")
    if not _opens(f"{opened}/written", os.O_WRONLY | os.O_CREAT):
        found.append("the command's own folder cannot be written")
    return found


def _parent(pid: int, namespace: str) -> list[str]:
    if _namespace() not in ("", namespace):
        return []  # the number means another process here
    found = [
        f"/proc/<parent>/{name} can be read" for name in ("environ", "mem", "maps") if _opens(f"/proc/{pid}/{name}", 0)
    ]
    try:
        os.kill(pid, 0)
    except OSError:
        return found
    return [*found, "signals reach the evaluation's process"]


def _namespace() -> str:
    """Of process ids; empty where it is hidden, which is no sign of an own one."""
    try:
        return os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    except OSError:
        return ""


def _sockets(network: bool) -> list[str]:
    kinds = {"UNIX": _socket.AF_UNIX, "netlink": _socket.AF_NETLINK}
    if not network:
        kinds |= {"internet (IPv4)": _socket.AF_INET, "internet (IPv6)": _socket.AF_INET6}
    found = []
    for name, family in kinds.items():
        try:
            _socket.socket(family, _socket.SOCK_DGRAM, 0).close()
        except OSError as error:
            if error.errno != errno.EPERM:
                found.append(f"{name} sockets are refused for another reason than the filter: {error.strerror}")
        else:
            found.append(f"{name} sockets can be opened")
    return found


def _calls() -> list[str]:
    attempts: dict[str, Callable[[], int]] = {
        "io_uring_setup": lambda: _libc.syscall(ctypes.c_long(_IO_URING_SETUP), ctypes.c_uint(1), None),
        "unshare": lambda: _libc.unshare(_NEW_USER_NAMESPACE),
        "ptrace": lambda: _libc.ptrace(_PTRACE_TRACEME, 0, None, None),
    }
    found = []
    for name, attempt in attempts.items():
        result = attempt()
        if result >= 0 or ctypes.get_errno() != errno.EPERM:
            found.append(f"the system call {name} is not refused")
    return found


def _opens(path: str, flags: int) -> bool:
    try:
        os.close(os.open(path, flags | os.O_CLOEXEC, 0o600))
    except OSError:
        return False
    return True


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
