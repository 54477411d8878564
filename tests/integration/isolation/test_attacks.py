"""Hostile programs against the isolation of this machine: each line of what it promises."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.isolation.command import Command, Isolation
from evaluator.isolation.folders import OutputError, collect, scratch
from evaluator.isolation.unsafe import Unsafe
from tests.integration.isolation import attacks
from tests.integration.isolation.conftest import MIB, PYTHON, Place


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder that everyone may read and write, with a file of the same kind: modes hold nobody back."""
    with scratch() as folder:
        folder.chmod(0o777)
        (folder / "file").write_text("content", "utf-8")
        (folder / "file").chmod(0o666)
        yield folder


@pytest.fixture
def engine(outside: Path) -> Iterator[socket.socket]:
    """A UNIX socket that everyone may write to."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(outside / "docker.sock"))
        (outside / "docker.sock").chmod(0o666)
        server.listen()
        server.settimeout(0.2)
        yield server


@pytest.fixture
def loopback() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        yield server


def held(place: Place, program: str, *arguments: object) -> str:
    """What held the program back."""
    finished = place.run(program, *arguments)
    text = finished.stdout.decode()
    assert text.startswith("held: "), (finished, text)
    return text.removeprefix("held: ").strip()


def untouched(server: socket.socket) -> bool:
    try:
        server.accept()
    except TimeoutError:
        return True
    return False


# --- what it may not read


def test_the_environment_of_the_evaluation_cannot_be_read(place: Place, secretive: int) -> None:
    assert held(place, attacks.READ_ANY_ENVIRONMENT, secretive) == "no environment holds it"


def test_the_environment_of_its_own_supervisor_is_closed_and_empty(place: Place) -> None:
    finished = place.run("import os\nprint(open(f'/proc/{os.getppid()}/environ', 'rb').read())")
    assert b"Permission denied" in finished.stderr


def test_the_git_configuration_of_the_workspace_cannot_be_read(place: Place, workspace: Path) -> None:
    config = workspace / ".git" / "config"
    assert stat.S_IMODE(config.stat().st_mode) & 0o004
    assert held(place, attacks.READ, config)


def test_a_link_to_the_git_configuration_does_not_open_it(place: Place, workspace: Path) -> None:
    assert held(place, attacks.LINK_OUT_OF_REACH, workspace / ".git" / "config")


def test_a_file_that_it_may_not_open_cannot_be_linked_into_its_folder(place: Place, outside: Path) -> None:
    assert held(place, attacks.HARD_LINK, outside / "file")


def test_the_files_of_another_command_cannot_be_read(isolation: Isolation, place: Place, outside: Path) -> None:
    other = outside / "other"
    other.mkdir()
    neighbour = Place(isolation, other)
    neighbour.run("open('answer', 'w').write('42')")
    assert held(place, attacks.READ, neighbour.output / "answer")


def test_what_it_is_given_to_read_cannot_be_written(place: Place) -> None:
    place.code.chmod(0o777)
    assert held(place, attacks.CREATE, place.code)


def test_it_gets_exactly_the_environment_named_for_it(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghs_secret")
    finished = place.run(
        "import os\nprint(sorted(os.environ.items()))",
        environ={"PATH": "/usr/bin", "LC_ALL": "C.UTF-8", "NAMED": "yes"},
    )
    assert finished.stdout == b"[('LC_ALL', 'C.UTF-8'), ('NAMED', 'yes'), ('PATH', '/usr/bin')]\n"


def test_no_file_of_ours_is_open_in_it(place: Place) -> None:
    with Path(__file__).open("rb") as ours:
        os.set_inheritable(ours.fileno(), True)
        finished = place.run(
            "import os\nfor number in range(200):\n"
            "    try:\n        os.fstat(number)\n    except OSError:\n        continue\n    print(number)"
        )
    assert finished.stdout.split() == [b"0", b"1", b"2"]


# --- what it may not write


def test_the_runners_command_files_cannot_be_written(place: Place, outside: Path) -> None:
    assert held(place, attacks.APPEND, outside / "file")
    assert (outside / "file").read_text("utf-8") == "content"


def test_nothing_can_be_written_outside_of_its_folder(place: Place, outside: Path) -> None:
    for folder in (outside, "/tmp", "/dev/shm", "/var/tmp", "/"):
        assert held(place, attacks.CREATE, folder)
    assert not (outside / "new").exists()


def test_its_own_folder_can_be_written(place: Place) -> None:
    finished = place.run("import os\nos.mkdir('deep')\nopen('deep/file', 'w').write('mine')")
    assert (finished.exit_code, collect(place.output)) == (0, {"deep/file": b"mine"})


def test_what_it_wrote_is_ours_afterwards_and_without_special_bits(place: Place) -> None:
    place.run("import os\nopen('tool', 'w').write('x')\nos.chmod('tool', 0o4711)\nos.mkdir('closed', 0)")
    tool = (place.output / "tool").stat()
    assert tool.st_uid == os.geteuid()
    if os.geteuid() == 0:
        assert stat.S_IMODE(tool.st_mode) == 0o755
        assert stat.S_IMODE((place.output / "closed").stat().st_mode) == 0o755


# --- whom it may not talk to


def test_the_engines_socket_cannot_be_opened(place: Place, engine: socket.socket) -> None:
    assert held(place, attacks.CONNECT_UNIX, engine.getsockname()) == "Operation not permitted"
    assert untouched(engine)


def test_the_engines_socket_cannot_be_opened_where_it_lies_in_a_folder_of_its_own(place: Place) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place.output / "s"))
        (place.output / "s").chmod(0o666)
        server.listen()
        server.settimeout(0.2)
        assert held(place, attacks.CONNECT_UNIX, "s") == "Operation not permitted"
        assert untouched(server)


def test_no_datagram_reaches_a_unix_socket_by_name(place: Place, outside: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(str(outside / "notify"))
        (outside / "notify").chmod(0o666)
        assert held(place, attacks.SEND_FROM_A_DATAGRAM_PAIR, outside / "notify") == "Operation not permitted"


def test_no_connection_reaches_a_server_on_the_loopback(place: Place, loopback: socket.socket) -> None:
    assert held(place, attacks.CONNECT_TCP, loopback.getsockname()[1]) == "Operation not permitted"
    assert untouched(loopback)


def test_no_udp_packet_leaves(place: Place, loopback: socket.socket) -> None:
    assert held(place, attacks.SEND_UDP, loopback.getsockname()[1]) == "Operation not permitted"


def test_with_a_network_it_reaches_a_server_and_still_not_the_engine(
    place: Place, loopback: socket.socket, engine: socket.socket
) -> None:
    reached = place.run(attacks.CONNECT_TCP, loopback.getsockname()[1], network=True)
    assert reached.stdout == b"BROKE 1\n", reached
    finished = place.run(attacks.CONNECT_UNIX, engine.getsockname(), network=True)
    assert finished.stdout == b"held: Operation not permitted\n"


def test_signals_do_not_reach_our_processes(place: Place, secretive: int) -> None:
    assert held(place, attacks.SIGNAL, secretive)
    assert held(place, attacks.SIGNAL, os.getpid())


def test_a_command_that_runs_at_the_same_time_can_be_neither_traced_nor_signalled(
    isolation: Isolation, place: Place, outside: Path
) -> None:
    other = outside / "other"
    other.mkdir()
    victim = Place(isolation, other)
    done = threading.Event()
    thread = threading.Thread(target=lambda: isolation.run(victim.command(attacks.SLEEP), done.is_set))
    thread.start()
    try:
        (pid,) = victim.wait_for(1)
        assert held(place, attacks.PTRACE, pid) == "Operation not permitted"
        assert held(place, attacks.SIGNAL, pid)
    finally:
        done.set()
        thread.join()


# --- calls that go around the rest


@pytest.mark.parametrize("program", [attacks.IO_URING, attacks.UNSHARE])
def test_calls_that_go_around_the_filter_are_refused(place: Place, program: str) -> None:
    assert held(place, program) == "Operation not permitted"


def test_clone3_does_not_exist_and_threads_work_without_it(place: Place) -> None:
    assert held(place, attacks.CLONE3) == "Function not implemented"
    finished = place.run(
        "import threading\nthread = threading.Thread(target=print, args=('thread',))\nthread.start()\nthread.join()"
    )
    assert finished.stdout == b"thread\n"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="only this processor has these ABIs")
@pytest.mark.parametrize("program", [attacks.OTHER_ABI, attacks.X32_ABI], ids=["i386", "x32"])
def test_another_abi_of_the_processor_ends_the_program(place: Place, program: str) -> None:
    finished = place.run(program)
    assert b"BROKE" not in finished.stdout
    assert finished.exit_code == 128 + 31  # SIGSYS


def test_a_pair_of_connected_sockets_works(place: Place) -> None:
    finished = place.run(
        "import asyncio, socket\none, two = socket.socketpair()\none.send(b'x')\nprint(two.recv(1))\n"
        "asyncio.run(asyncio.sleep(0))"
    )
    assert (finished.stdout, finished.stderr) == (b"b'x'\n", b"")


def test_it_gains_no_privileges_by_any_program(place: Place) -> None:
    finished = place.run("import ctypes\nprint(ctypes.CDLL(None).prctl(39, 0, 0, 0, 0))")
    assert finished.stdout == b"1\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="an own user needs root; namespaces keep the user")
def test_each_command_has_a_user_that_no_other_has_and_no_groups(place: Place) -> None:
    program = "import os\nprint(*os.getresuid(), *os.getresgid(), os.getgroups())"
    groups = os.getgroups()
    os.setgroups([4, 27])
    try:
        one, two = (place.run(program).stdout.split() for _ in range(2))
    finally:
        os.setgroups(groups)
    assert len(set(one[:6])) == 1
    assert one[6] == b"[]"
    assert one[0] not in (two[0], b"0")


# --- what it may not use up


def test_a_fork_bomb_is_bounded_and_ends_at_the_timeout(place: Place) -> None:
    most = 0
    done = threading.Event()

    def count() -> None:
        nonlocal most
        while not done.wait(0.1):
            most = max(most, len(place.alive()))

    thread = threading.Thread(target=count)
    thread.start()
    finished = place.run(attacks.FORK_BOMB, processes=40, timeout=2)
    done.set()
    thread.join()
    assert finished.exit_code == 124
    assert finished.limit == "time"
    assert 10 < most <= 45
    assert place.alive() == []


def test_a_chain_of_processes_that_fork_and_exit_does_not_outrun_its_end(place: Place) -> None:
    finished = place.run(attacks.FORK_AND_EXIT, processes=40, timeout=1.5)
    assert finished.error == ""
    assert place.alive() == []


def test_a_child_that_detaches_ends_with_the_command(place: Place) -> None:
    finished = place.run(attacks.DETACH, 0.7)
    assert finished.exit_code == 0
    assert finished.seconds < 0.7
    assert place.alive() == []
    time.sleep(1)
    assert not (place.output / "late").exists()


def test_a_child_that_detaches_ends_with_a_command_that_timed_out(place: Place) -> None:
    finished = place.run(attacks.DETACH, 1.5, 60, timeout=1)
    assert finished.exit_code == 124
    assert place.alive() == []
    time.sleep(1)
    assert not (place.output / "late").exists()


def test_a_gigabyte_of_output_is_cut_and_ends_the_command(place: Place) -> None:
    finished = place.run(attacks.PRINT_A_GIGABYTE, output_bytes=MIB)
    assert finished.limit == "output"
    assert finished.stdout == b"x" * MIB
    assert 0 < finished.stdout_cut < 64 * MIB
    assert finished.exit_code == 137


def test_output_of_exactly_the_bound_is_whole(place: Place) -> None:
    finished = place.run("import os\nos.write(1, b'x' * 1000)\nos.write(2, b'y' * 1000)", output_bytes=1000)
    assert (finished.exit_code, finished.limit, len(finished.stdout), len(finished.stderr)) == (0, None, 1000, 1000)


def test_memory_of_one_process_is_bounded(place: Place) -> None:
    finished = place.run(attacks.ALLOCATE, memory_bytes=128 * MIB)
    assert finished.exit_code == 1
    assert b"MemoryError" in finished.stderr


@pytest.mark.parametrize(
    "program", [attacks.ALLOCATE_SHARED, attacks.ALLOCATE_IN_CHILDREN], ids=["shared", "in children"]
)
def test_memory_of_all_its_processes_is_bounded_together(place: Place, program: str) -> None:
    finished = place.run(program, memory_bytes=200 * MIB)
    assert (finished.limit, finished.exit_code) == ("memory", 137)
    assert place.alive() == []


def test_the_disk_is_bounded(place: Place) -> None:
    finished = place.run(attacks.FILL_THE_DISK, disk_bytes=50 * MIB)
    assert (finished.limit, finished.exit_code) == ("disk", 137)


def test_a_single_file_stops_growing_at_the_bound(place: Place) -> None:
    finished = place.run("open('one', 'wb').write(bytes(40 << 20))", disk_bytes=10 * MIB)
    assert b"File too large" in finished.stderr
    assert (place.output / "one").stat().st_size <= 10 * MIB


def test_one_that_sleeps_for_ever_ends_with_124(place: Place) -> None:
    began = time.monotonic()
    finished = place.run(attacks.SLEEP, timeout=1)
    assert (finished.exit_code, finished.limit, finished.stdout) == (124, "time", b"asleep\n")
    assert 1 <= finished.seconds < 2
    assert time.monotonic() - began < 4


# --- what it leaves


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("import os\nos.symlink('/etc/passwd', 'answer.json')", "answer.json is a symbolic link"),
        ("import os\nos.makedirs('a')\nos.symlink('/', 'a/root')", "a/root is a symbolic link"),
        ("import os\nos.mkfifo('pipe')", "pipe is a named pipe"),
    ],
)
def test_a_link_or_pipe_in_its_outputs_is_not_taken(place: Place, program: str, message: str) -> None:
    finished = place.run(program)
    assert finished.exit_code == 0, finished
    with pytest.raises(OutputError, match=message):
        collect(place.output)


def test_it_makes_no_device_and_no_socket(place: Place) -> None:
    device = place.run("import os\nos.mknod('disk', 0o60666, os.makedev(8, 0))")
    assert b"PermissionError" in device.stderr
    name = place.run("import socket\nsocket.socket(socket.AF_UNIX).bind('s')")
    assert b"PermissionError" in name.stderr
    assert collect(place.output) == {}


def test_a_folder_without_end_is_not_taken_and_can_be_removed(place: Place) -> None:
    program = "import os\nfor _ in range(1200):\n    os.mkdir('d')\n    os.chdir('d')\n"
    assert place.run(program).exit_code == 0
    with pytest.raises(OutputError, match="nested deeper than 64"):
        collect(place.output)


# --- and the attacks are real


@pytest.mark.parametrize(
    "program",
    [attacks.READ, attacks.APPEND, attacks.LINK_OUT_OF_REACH],
    ids=["read", "append", "link"],
)
def test_without_isolation_the_attack_on_files_succeeds(folder: Path, outside: Path, program: str) -> None:
    assert Place(Unsafe(), folder).run(program, outside / "file").stdout.startswith(b"BROKE")


def test_without_isolation_the_other_attacks_succeed(
    folder: Path, outside: Path, engine: socket.socket, loopback: socket.socket, secretive: int
) -> None:
    place = Place(Unsafe(), folder)
    port = loopback.getsockname()[1]
    for program, argument in (
        (attacks.READ_ANY_ENVIRONMENT, secretive),
        (attacks.CREATE, outside),
        (attacks.CONNECT_UNIX, engine.getsockname()),
        (attacks.CONNECT_TCP, port),
        (attacks.SEND_UDP, port),
        (attacks.SIGNAL, secretive),
    ):
        finished = place.run(program, argument)
        assert finished.stdout.startswith(b"BROKE"), (program, finished)


def test_programs_of_a_shell_run(place: Place) -> None:
    shell = shutil.which("sh")
    assert shell is not None
    script = f"echo one | cat; {PYTHON} -c 'print(2)' && exit 3"
    command = Command((shell, "-c", script), place.output, {"PATH": "/usr/bin:/bin"}, writable=(place.output,))
    finished = place.isolation.run(command)
    assert (finished.exit_code, finished.stdout) == (3, b"one\n2\n")
