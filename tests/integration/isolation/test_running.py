"""How commands start, run side by side and end, whatever ends them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evaluator.isolation.command import Command, Isolation
from evaluator.isolation.folders import copy, scratch
from evaluator.isolation.unsafe import Unsafe
from tests.integration.isolation import attacks
from tests.integration.isolation.conftest import Place

ROOT = Path(__file__).parents[3]


def supervisors(place: Place) -> list[int]:
    """Parents of the place's processes that are none of them."""
    alive = place.alive()
    status = [Path(f"/proc/{pid}/status").read_text("utf-8") for pid in alive]
    parents = {int(line.split()[1]) for text in status for line in text.splitlines() if line.startswith("PPid:")}
    return sorted(parents - set(alive))


def test_a_program_that_is_not_there_ends_with_127_and_says_so(place: Place) -> None:
    command = Command(("no-such-judge",), place.output, {"PATH": "/usr/bin:/bin"}, writable=(place.output,))
    finished = place.isolation.run(command)
    assert finished.exit_code == 127
    assert finished.error == "no-such-judge: not found in the PATH of the command"


def test_a_program_that_is_no_program_ends_with_126_and_says_so(place: Place) -> None:
    (place.code / "judge").write_text("data", "utf-8")
    command = Command(("./judge",), place.code, {}, readable=(place.code,))
    finished = place.isolation.run(command)
    assert (finished.exit_code, finished.error) == (126, "./judge: Permission denied")


def test_a_program_of_the_task_folder_runs_by_its_relative_path(place: Place) -> None:
    (place.code / "judge").write_text("#!/bin/sh\necho judged\n", "utf-8")
    (place.code / "judge").chmod(0o755)
    finished = place.isolation.run(Command(("./judge",), place.code, {}, readable=(place.code,)))
    assert (finished.exit_code, finished.stdout, finished.error) == (0, b"judged\n", "")


def test_a_folder_that_is_not_there_is_named(place: Place) -> None:
    missing = place.code / "missing"
    finished = place.isolation.run(Command(("true",), place.output, {}, readable=(missing,), writable=(place.output,)))
    assert (finished.exit_code, finished.error) == (126, f"{missing} does not exist")


@pytest.mark.skipif(os.geteuid() != 0, reason="an own user needs root; with namespaces the folder is ours")
def test_a_folder_that_the_commands_user_cannot_read_is_named(place: Place) -> None:
    place.code.chmod(0o700)
    finished = place.run("")
    assert (finished.exit_code, finished.error) == (
        126,
        f"{place.code}: may not be read by the user that the command runs as",
    )


def test_a_command_that_would_get_the_workspaces_git_folder_is_refused(place: Place, workspace: Path) -> None:
    for folder in (workspace, workspace / ".git", workspace.parent):
        finished = place.isolation.run(Command(("true",), folder, {"PATH": "/bin"}, readable=(folder,)))
        assert finished.exit_code == 126
        assert finished.error.startswith(f"{folder} would give the command {workspace}/.git")


def test_standard_input_that_is_a_guarded_file_or_a_link_is_refused(place: Place, workspace: Path) -> None:
    config = workspace / ".git" / "config"
    link = place.code / "question"
    link.symlink_to(config)
    for path in (config, link):
        command = Command(("cat",), place.output, {"PATH": "/bin"}, stdin=path, writable=(place.output,))
        finished = place.isolation.run(command)
        assert (finished.exit_code, finished.stdout) == (126, b"")
        assert finished.error == f"{path} would give the command {config}"


def test_standard_input_is_the_file_or_nothing(place: Place) -> None:
    (place.code / "question").write_text("what?", "utf-8")
    for path, content in ((place.code / "question", b"what?"), (None, b"")):
        command = Command(("cat",), place.output, {"PATH": "/bin"}, stdin=path, writable=(place.output,))
        assert place.isolation.run(command).stdout == content


def test_a_pipe_for_standard_input_is_refused_and_not_waited_for(place: Place) -> None:
    os.mkfifo(place.code / "pipe")
    command = Command(("cat",), place.output, {}, stdin=place.code / "pipe", writable=(place.output,))
    finished = place.isolation.run(command)
    assert finished.error == f"the supervisor cannot be started: {place.code}/pipe is not a plain file"


def test_a_signal_is_told_as_128_and_its_number(place: Place) -> None:
    finished = place.run("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)")
    assert (finished.exit_code, finished.limit) == (143, None)


def test_sigpipe_is_not_ignored_in_it(place: Place) -> None:
    command = Command(
        ("sh", "-c", "yes | head -1"), place.output, {"PATH": "/usr/bin:/bin"}, writable=(place.output,), timeout=5
    )
    finished = place.isolation.run(command)
    assert (finished.stdout, finished.stderr) == (b"y\n", b"")


def test_a_wish_to_stop_ends_it_soon(place: Place) -> None:
    wish = threading.Event()
    threading.Timer(0.5, wish.set).start()
    began = time.monotonic()
    finished = place.isolation.run(place.command(attacks.SLEEP), wish.is_set)
    assert (finished.limit, finished.exit_code, finished.stdout) == ("stopped", 137, b"asleep\n")
    assert time.monotonic() - began < 3
    assert place.alive() == []


def test_commands_run_side_by_side_and_keep_their_outputs_apart(isolation: Isolation, folder: Path) -> None:
    def run(number: int) -> tuple[int, bytes]:
        own = folder / str(number)
        own.mkdir()
        finished = Place(isolation, own).run("import sys, time\ntime.sleep(0.2)\nprint(sys.argv[2] * 1000)", number)
        return finished.exit_code, finished.stdout

    began = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(run, range(16)))
    assert results == [(0, f"{str(number) * 1000}\n".encode()) for number in range(16)]
    assert time.monotonic() - began < 16 * 0.2 + 1


def test_no_descriptor_is_left_open_by_many_runs(place: Place) -> None:
    place.run("")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        place.run("")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_when_its_supervisor_is_killed_nothing_lives_on_and_the_result_says_so(place: Place) -> None:
    def kill() -> None:
        place.wait_for(2)
        for pid in supervisors(place):
            os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    finished = place.run(attacks.DETACH_AND_SLEEP)
    thread.join()
    place.wait_for(0)
    assert finished.exit_code == 126
    assert finished.error.startswith("the supervisor ended early")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look into a supervisor")
def test_a_supervisor_has_no_environment(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "sk-of-the-evaluation")
    done = threading.Event()
    thread = threading.Thread(target=lambda: place.isolation.run(place.command(attacks.SLEEP), done.is_set))
    thread.start()
    place.wait_for(1)
    found = [_environment_of(pid) for pid in supervisors(place)]
    done.set()
    thread.join()
    assert found == [b""]


def _environment_of(pid: int) -> bytes:
    """What can be seen of it: nothing, where even root may not look (no CAP_SYS_PTRACE)."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except PermissionError:
        return b""


def test_one_that_tries_to_kill_its_supervisor_gains_nothing(place: Place) -> None:
    finished = place.run(attacks.KILL_THE_SUPERVISOR, timeout=3)
    place.wait_for(0)
    assert finished.exit_code != 0
    assert finished.seconds < 3
    assert finished.error.startswith("the supervisor ended early") or b"PermissionError" in finished.stderr


def test_when_the_evaluation_is_killed_its_commands_end_too(place: Place, isolation: Isolation) -> None:
    program = (
        "import sys\nfrom pathlib import Path\n"
        f"from {type(isolation).__module__} import {type(isolation).__name__} as Means\n"
        "from evaluator.isolation.command import Command\n"
        "folder = Path(sys.argv[1])\n"
        "Means(()).run(Command(('sh', '-c', 'setsid sleep 600 ' + sys.argv[2] + ' & sleep 600 ' + sys.argv[2]),"
        " folder, {'PATH': '/usr/bin:/bin'}, writable=(folder,)))"
    )
    # `sleep` takes several numbers: this one finds them again.
    place.token = f"0.{int(time.time() * 1000)}"
    evaluation = subprocess.Popen(
        [sys.executable, "-c", program, str(place.output), place.token],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))},
    )
    deadline = time.monotonic() + 10
    while sum(b"\0" + b"600\0" in Path(f"/proc/{pid}/cmdline").read_bytes() for pid in place.alive()) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    evaluation.kill()
    evaluation.wait()
    place.wait_for(0)


def test_a_copy_of_a_task_can_be_read_by_a_command_whatever_the_modes_were(
    isolation: Isolation, tmp_path: Path, folder: Path
) -> None:
    task = tmp_path / "task"
    (task / ".git").mkdir(parents=True)
    (task / ".git" / "config").write_text("secret", "utf-8")
    (task / "judge.sh").write_text("#!/bin/sh\ncat data; ls -A\n", "utf-8")
    (task / "judge.sh").chmod(0o700)
    (task / "data").write_text("data\n", "utf-8")
    (task / "data").chmod(0o600)
    task.chmod(0o700)
    copy(task, folder / "copy")
    finished = isolation.run(
        Command(("./judge.sh",), folder / "copy", {"PATH": "/usr/bin:/bin"}, readable=(folder / "copy",))
    )
    assert finished.stdout == b"data\ndata\njudge.sh\n", finished


def test_a_setup_command_writes_what_a_later_command_reads(isolation: Isolation, folder: Path) -> None:
    shared = folder / "task"
    shared.mkdir()
    environ = {"PATH": "/usr/bin:/bin"}
    setup = Command(("sh", "-c", "umask 077; mkdir lib; echo made > lib/file"), shared, environ, writable=(shared,))
    assert isolation.run(setup).exit_code == 0
    assert isolation.run(Command(("cat", "lib/file"), shared, environ, readable=(shared,))).stdout == b"made\n"


def test_without_isolation_a_detached_child_still_ends(folder: Path) -> None:
    place = Place(Unsafe(), folder)
    finished = place.run(attacks.DETACH, 1.0)
    assert finished.exit_code == 0
    assert place.alive() == []


def test_without_isolation_processes_memory_time_and_output_are_still_bounded(folder: Path) -> None:
    place = Place(Unsafe(), folder)
    sleepers = "import os, time\nfor _ in range(30):\n    if os.fork() == 0:\n        break\ntime.sleep(60)"
    assert place.run(sleepers, processes=20).limit == "processes"
    assert place.run(attacks.ALLOCATE_IN_CHILDREN, memory_bytes=200 << 20).limit == "memory"
    assert place.run(attacks.SLEEP, timeout=0.5).exit_code == 124
    assert place.run(attacks.PRINT_A_GIGABYTE, output_bytes=1 << 20).limit == "output"
    assert place.alive() == []


def test_without_isolation_it_says_that_nothing_is_protected() -> None:
    assert Unsafe().protects.startswith("Nothing is protected")


@pytest.mark.parametrize("depth", [10, 1500])
def test_a_scratch_folder_goes_away_however_deep(depth: int) -> None:
    with scratch() as folder:
        here = os.open(folder, os.O_RDONLY)
        for _ in range(depth):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(here)
    assert not folder.exists()
