"""The kernel's calls that Python has no function for."""

from __future__ import annotations

import ctypes
import os
import stat

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP = 1, 4, 22
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_SECCOMP_MODE_FILTER = 2
_SIGKILL, _SIGPIPE, _SIGXFSZ = 9, 13, 25

# include/uapi/linux/landlock.h; the numbers of the calls are the same on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_RIGHTS_OF_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_SCOPED = 0b11  # abstract UNIX sockets and signals stay within the domain
_SCOPED_SINCE = 6

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def adopt_orphans() -> None:
    """Descendants whose parent ends become our children, however they detached."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def hide_from_equals(hidden: bool) -> None:
    """Whether other processes of our user are kept from our memory and open files. Children inherit it."""
    _prctl(_PR_SET_DUMPABLE, int(not hidden))


def die_with_parent() -> None:
    """SIGKILL when the parent ends. Lost when the user changes, so called after that."""
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)


def give_up_privileges() -> None:
    """No program that is executed from here on gains any, set-user-ID or not."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def default_signals() -> None:
    """What Python ignores for itself would stay ignored in the command."""
    for number in (_SIGPIPE, _SIGXFSZ):
        _libc.signal(number, None)


def filter_calls(program: bytes) -> None:
    """Loads a seccomp program (an array of `struct sock_filter`) for this process and its descendants."""
    filters = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filters", ctypes.c_void_p)]

    loaded = Program(len(program) // 8, ctypes.cast(filters, ctypes.c_void_p))
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(loaded))


def confine_files(rules: list[tuple[str, bool]]) -> None:
    """Landlock: files can be opened only beneath the paths of `rules`, and written only where the rule says so.

    A path that does not exist, or lies in a folder closed to our user, grants nothing and is passed over.
    """
    abi = _landlock_abi()
    handled = _RIGHTS_OF_ABI[min(abi, max(_RIGHTS_OF_ABI))]
    attributes = handled.to_bytes(8, "little")
    if abi >= _SCOPED_SINCE:
        attributes += bytes(8) + _SCOPED.to_bytes(8, "little")
    ruleset = _syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint(0))
    for path, writable in rules:
        _allow(ruleset, path, handled, writable)
    _syscall(_RESTRICT_SELF, ruleset, ctypes.c_uint(0))
    os.close(ruleset)


def _landlock_abi() -> int:
    """Raises OSError where the kernel was built or started without Landlock."""
    return _syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(1))


def _allow(ruleset: int, path: str, handled: int, writable: bool) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return
    rights = handled if writable else _EXECUTE | _READ_FILE | _READ_DIR
    if not stat.S_ISDIR(os.fstat(place).st_mode):
        rights &= _FILE_RIGHTS
    rule = rights.to_bytes(8, "little") + place.to_bytes(4, "little")
    _syscall(_ADD_RULE, ruleset, ctypes.c_int(_RULE_PATH_BENEATH), rule, ctypes.c_uint(0))
    os.close(place)


def _prctl(option: int, *arguments: object) -> None:
    given = [ctypes.c_ulong(value) if isinstance(value, int) else value for value in arguments]
    given += [ctypes.c_ulong(0)] * (4 - len(given))
    if _libc.prctl(ctypes.c_int(option), *given) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl {option}: {os.strerror(number)}")


def _syscall(call: int, *arguments: object) -> int:
    result: int = _libc.syscall(ctypes.c_long(call), *arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"system call {call}: {os.strerror(number)}")
    return result
