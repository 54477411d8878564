"""Programs that try to reach what they must not. Each prints BROKE when it did, else what held it."""

from __future__ import annotations

_TRY = """
import ctypes, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def attempt(deed):
    try:
        got = deed()
    except OSError as error:
        print("held:", error.strerror)
    else:
        print("BROKE", got)
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
"""

READ = _TRY + "attempt(lambda: open(sys.argv[2], 'rb').read())"

APPEND = _TRY + "attempt(lambda: open(sys.argv[2], 'ab').write(b'name=value'))"

CREATE = _TRY + "attempt(lambda: open(sys.argv[2] + '/new', 'wb').write(b'x'))"

LINK_OUT_OF_REACH = _TRY + "os.symlink(sys.argv[2], 'link')\nattempt(lambda: open('link', 'rb').read())"

HARD_LINK = _TRY + "attempt(lambda: os.link(sys.argv[2], 'link'))"

READ_ANY_ENVIRONMENT = (
    _TRY
    + """
def processes():
    try:
        return list(filter(str.isdigit, os.listdir("/proc")))
    except OSError:
        return []
found = "held: no environment holds it"
for pid in [sys.argv[2], os.getppid(), *processes()]:
    try:
        if b"sk-of-the-evaluation" in open(f"/proc/{pid}/environ", "rb").read():
            found = f"BROKE {pid}"
    except OSError:
        pass
print(found)
"""
)

SIGNAL = _TRY + "attempt(lambda: os.kill(int(sys.argv[2]), 0))"

CONNECT_UNIX = (
    _TRY
    + """
def connect():
    client = socket.socket(socket.AF_UNIX)
    client.connect(sys.argv[2])
    client.sendall(b"GET /containers/json")
attempt(connect)
"""
)

SEND_FROM_A_DATAGRAM_PAIR = (
    _TRY
    + """
def send():
    one, two = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendmsg([b"READY=1"], [], 0, sys.argv[2])
attempt(send)
"""
)

CONNECT_TCP = _TRY + "attempt(lambda: socket.create_connection(('127.0.0.1', int(sys.argv[2])), 5).send(b'x'))"

SEND_UDP = (
    _TRY
    + "attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', int(sys.argv[2]))))"
)

IO_URING = _TRY + "attempt(lambda: call(425, ctypes.c_uint(8), ctypes.create_string_buffer(256)))"

UNSHARE = _TRY + "attempt(lambda: call({'x86_64': 272, 'aarch64': 97}[os.uname().machine], ctypes.c_ulong(0x10000000)))"

CLONE3 = _TRY + "attempt(lambda: call(435, ctypes.create_string_buffer(88), ctypes.c_size_t(88)))"

PTRACE = (
    _TRY
    + """
def attach():
    if libc.ptrace(16, int(sys.argv[2]), None, None) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
attempt(attach)
"""
)

# mov eax, 20 (getpid of the 32-bit ABI); int 0x80; ret
OTHER_ABI = (
    _TRY
    + """
import mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex("b814000000cd80c3"))
print("BROKE", ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))())
"""
)
X32_ABI = _TRY + "attempt(lambda: call(0x40000000 + 39))"

FORK_BOMB = """
import os, sys
while True:
    try:
        os.fork()
    except OSError:
        pass
"""

FORK_AND_EXIT = """
import os
while True:
    try:
        if os.fork():
            os._exit(0)
    except OSError:
        pass
    os.setsid() if os.getpid() != os.getsid(0) else None
"""

DETACH = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for stream in (0, 1, 2):
            os.close(stream)
        time.sleep(float(sys.argv[2]))
        open("late", "w").write("still here")
        time.sleep(60)
    os._exit(0)
if len(sys.argv) > 3:
    time.sleep(float(sys.argv[3]))
"""

PRINT_A_GIGABYTE = """
import os
chunk = b"x" * 65536
for _ in range(16384):
    os.write(1, chunk)
"""

ALLOCATE = "kept = []\nwhile True:\n    kept.append(bytearray(1 << 20))\n"

ALLOCATE_SHARED = """
import mmap
kept = []
while True:
    kept.append(mmap.mmap(-1, 1 << 20))
    kept[-1].write(b"x" * (1 << 20))
"""

ALLOCATE_IN_CHILDREN = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        break
kept = bytearray(60 << 20)
time.sleep(60)
"""

FILL_THE_DISK = """
number = 0
while True:
    with open(f"file{number}", "wb") as file:
        file.write(bytes(1 << 20))
    number += 1
"""

KILL_THE_SUPERVISOR = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
else:
    os.kill(os.getppid(), 9)
time.sleep(600)
"""

DETACH_AND_SLEEP = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
time.sleep(600)
"""

SLEEP = "import time\nprint('asleep', flush=True)\ntime.sleep(600)\n"
