"""What is chosen here, and that a protection which is missing is found by trying."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

from evaluator.isolation import available as module
from evaluator.isolation import paths, seccomp
from evaluator.isolation.available import available
from evaluator.isolation.command import Command, Isolation, Refusal
from evaluator.isolation.inside.spec import Spec
from evaluator.isolation.namespaces import Namespaces
from evaluator.isolation.own_user import OwnUser

root = pytest.mark.skipif(os.geteuid() != 0, reason="an own user needs root")


class Weakened(OwnUser):
    """An own user that lacks one of its means."""

    def __init__(self, guarded: tuple[Path, ...], **changes: object) -> None:
        super().__init__(guarded)
        self._changes = changes

    def specify(self, command: Command) -> Spec:
        spec = super().specify(command)
        for name, value in self._changes.items():
            setattr(spec, name, value)
        return spec


def test_what_is_found_is_an_isolation_or_says_why_there_is_none(workspace: Path) -> None:
    found = available(os.environ, workspace)
    if isinstance(found, Refusal):
        assert found.reasons
        assert all(reason.strip() for reason in found.reasons)
    else:
        assert "seccomp" in found.means
        assert found.protects.startswith("Each command")


def test_root_gets_an_own_user_and_others_get_namespaces(isolation: Isolation) -> None:
    assert isinstance(isolation, OwnUser if os.geteuid() == 0 else Namespaces)


@root
def test_with_all_means_no_breach_is_found(workspace: Path) -> None:
    guarded = paths.guarded({}, workspace)
    assert module._breaches(OwnUser(guarded), guarded, network=False) == []
    assert module._breaches(OwnUser(guarded), guarded, network=True) == []


@root
def test_without_landlock_files_that_all_may_read_are_found_open(workspace: Path) -> None:
    guarded = paths.guarded({}, workspace)
    found = module._breaches(Weakened(guarded, rules=None), guarded, network=False)
    assert f"{workspace}/.git/config can be read" in found
    assert "files can be written outside of the command's folders" in found


@root
def test_without_landlock_a_command_file_that_all_may_write_is_found_open(workspace: Path, tmp_path: Path) -> None:
    output = workspace / "output"
    output.touch()
    output.chmod(0o666)
    guarded = paths.guarded({"GITHUB_OUTPUT": str(output)}, workspace)
    found = module._breaches(Weakened(guarded, rules=None), guarded, network=False)
    assert f"{output} can be written" in found


@root
def test_without_the_filter_sockets_and_calls_are_found_open(workspace: Path) -> None:
    found = module._breaches(Weakened((), filters=b""), (), network=False)
    for name in (
        "UNIX sockets can be opened",
        "internet (IPv4) sockets can be opened",
        "netlink sockets can be opened",
    ):
        assert name in found
    assert "the system call unshare is not refused" in found
    assert "the system call io_uring_setup is not refused" in found


@root
def test_as_our_own_user_without_landlock_our_environment_is_found_open() -> None:
    found = module._breaches(Weakened((), user=0, rules=None), (), network=False)
    assert "/proc/<parent>/environ can be read" in found
    assert "signals reach the evaluation's process" in found


@pytest.mark.skipif(os.geteuid() == 0, reason="root gets an own user instead")
def test_without_bubblewrap_the_reason_names_it(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert available({}, workspace) == Refusal(("bubblewrap (the program bwrap) is not installed",))


def test_on_a_processor_without_a_reviewed_filter_it_is_refused(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    seccomp.program.cache_clear()
    found = available({}, workspace)
    assert found == Refusal(("system calls can be filtered on x86_64 and aarch64, not riscv64",))


def test_on_another_system_it_is_refused(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert str(available({}, workspace)) == "foreign code can be isolated on Linux only"


def test_a_workspace_among_the_systems_programs_is_refused(
    workspace: Path, isolation: Isolation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "SYSTEM", (*paths.SYSTEM, str(workspace)))
    found = available({}, workspace)
    assert isinstance(found, Refusal)
    assert f"{workspace}/.git/config can be read" in found.reasons
