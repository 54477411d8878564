"""The system calls that a command may make, as a program for the kernel, made by libseccomp.

An allow-list by number: the calls that Linux 6.7 knows, less those named here. Calls refused answer EPERM; calls newer
than that answer "no such call", as an older kernel would, and so does `clone3`, whose flags lie in memory where no
filter sees them: the C library then uses `clone`. Other ABIs of the processor (32-bit, x32) end the process.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import socket

_LAST_REVIEWED = 456  # futex_requeue, Linux 6.7
_LAST_DENIED_POLITELY = 600
_MACHINES = ("x86_64", "aarch64")

_KILL_PROCESS, _ALLOW = 0x80000000, 0x7FFF0000
_NOT_PERMITTED, _NO_SUCH_CALL = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
_BAD_ARCHITECTURE, _OPTIMIZE = 2, 8  # attributes: what other ABIs get; level 2 is a binary tree
_EQUAL, _MASKED_EQUAL = 4, 7

_REFUSED = """
    _sysctl acct add_key adjtimex bpf chroot clock_adjtime clock_adjtime64 clock_settime clock_settime64 clone3
    create_module delete_module fanotify_init fanotify_mark finit_module fsconfig fsmount fsopen fspick
    get_kernel_syms get_mempolicy init_module io_uring_enter io_uring_register io_uring_setup ioperm iopl kcmp
    kexec_file_load kexec_load keyctl lookup_dcookie mbind memfd_create memfd_secret migrate_pages modify_ldt mount
    mount_setattr move_mount move_pages mq_open msgget name_to_handle_at nfsservctl open_by_handle_at open_tree
    perf_event_open pidfd_getfd pivot_root process_madvise process_vm_readv process_vm_writev ptrace query_module
    quotactl quotactl_fd reboot request_key semget set_mempolicy set_mempolicy_home_node setdomainname sethostname
    setns settimeofday shmat shmget stime swapoff swapon sysfs syslog umount umount2 unshare uselib userfaultfd
    vhangup vm86 vm86old vmsplice
""".split()  # noqa: SIM905
_OF_SOCKETS = ("accept", "accept4", "bind", "connect", "listen", "socketcall")
_BY_ARGUMENT = ("clone", "personality", "sendto", "socket", "socketpair")
_NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_SOCKET_TYPE = 0xF


class UnavailableError(Exception):
    """No filter can be made here, and why."""


class _Comparison(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("operator", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


@functools.cache
def program(network: bool) -> bytes:
    """The filter, an array of `struct sock_filter`. With `network`: IPv4 and IPv6, never UNIX or other sockets.

    Raises UnavailableError.
    """
    if platform.machine() not in _MACHINES:
        raise UnavailableError(f"system calls can be filtered on {' and '.join(_MACHINES)}, not {platform.machine()}")
    library = _library()
    context = ctypes.c_void_p(library.seccomp_init(_NOT_PERMITTED))
    if not context:
        raise UnavailableError("libseccomp cannot make a filter")
    try:
        library.seccomp_attr_set(context, _OPTIMIZE, 2)
        _check(library.seccomp_attr_set(context, _BAD_ARCHITECTURE, _KILL_PROCESS))
        _add_rules(library, context, network)
        return _exported(library, context)
    finally:
        library.seccomp_release(context)


def _add_rules(library: ctypes.CDLL, context: ctypes.c_void_p, network: bool) -> None:
    def number(name: str) -> int:
        return int(library.seccomp_syscall_resolve_name(name.encode()))

    def add(action: int, call: int, *conditions: tuple[int, int, int, int]) -> None:
        array = (_Comparison * max(1, len(conditions)))(*(_Comparison(*condition) for condition in conditions))
        _check(library.seccomp_rule_add_array(context, action, call, len(conditions), array))

    refused = [*_REFUSED, *([] if network else _OF_SOCKETS), *_BY_ARGUMENT]
    unknown = [name for name in refused if number(name) == -1]
    if unknown:
        raise UnavailableError(f"this libseccomp is too old to know {', '.join(unknown)}")
    numbers = {number(name) for name in refused}
    for call in range(_LAST_REVIEWED + 1):
        if call not in numbers:
            add(_ALLOW, call)
    for call in [number("clone3"), *range(_LAST_REVIEWED + 1, _LAST_DENIED_POLITELY)]:
        add(_NO_SUCH_CALL, call)
    add(_ALLOW, number("clone"), (0, _MASKED_EQUAL, _NAMESPACES, 0))
    for persona in (0, 0xFFFFFFFF):  # the plain one, and the question which it is
        add(_ALLOW, number("personality"), (0, _EQUAL, persona, 0))
    # A stream pair is connected for good. A datagram pair could send to any UNIX socket by name.
    pair = (0, _EQUAL, socket.AF_UNIX, 0), (1, _MASKED_EQUAL, _SOCKET_TYPE, socket.SOCK_STREAM)
    add(_ALLOW, number("socketpair"), *pair)
    if not network:
        add(_ALLOW, number("sendto"), (4, _EQUAL, 0, 0))  # to no address: what `send` does
        return
    add(_ALLOW, number("sendto"))
    for family in (socket.AF_INET, socket.AF_INET6):
        add(_ALLOW, number("socket"), (0, _EQUAL, family, 0))


def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL("libseccomp.so.2")
    except OSError as error:
        raise UnavailableError("libseccomp.so.2 is not installed (Debian's package libseccomp2)") from error
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = [ctypes.c_uint32]
    library.seccomp_attr_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32]
    library.seccomp_rule_add_array.argtypes = [
        *(ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(_Comparison)),
    ]
    library.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.seccomp_release.argtypes = [ctypes.c_void_p]
    return library


def _exported(library: ctypes.CDLL, context: ctypes.c_void_p) -> bytes:
    with os.fdopen(os.memfd_create("filter"), "w+b") as file:
        _check(library.seccomp_export_bpf(context, file.fileno()))
        file.seek(0)
        return file.read()


def _check(result: int) -> None:
    if result < 0:
        raise UnavailableError(f"libseccomp refused a rule: {os.strerror(-result)}")
