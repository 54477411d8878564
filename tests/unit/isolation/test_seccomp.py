"""The filter as a program. What it does to a process: tests/integration/isolation."""

from __future__ import annotations

import ctypes

import pytest

from evaluator.isolation import seccomp


@pytest.fixture(autouse=True)
def fresh() -> None:
    seccomp.program.cache_clear()


def test_a_program_is_whole_instructions_within_what_the_kernel_takes() -> None:
    for network in (False, True):
        program = seccomp.program(network)
        assert len(program) % 8 == 0
        assert 100 < len(program) // 8 <= 4096


def test_network_and_none_are_two_programs() -> None:
    assert seccomp.program(network=True) != seccomp.program(network=False)


def test_without_the_library_the_reason_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> ctypes.CDLL:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(seccomp.UnavailableError, match=r"^libseccomp.so.2 is not installed \(Debian's package"):
        seccomp.program(network=False)


def test_a_library_that_does_not_know_a_call_that_is_refused_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp, "_REFUSED", ["mount", "a_call_of_the_future"])
    with pytest.raises(seccomp.UnavailableError, match=r"^this libseccomp is too old to know a_call_of_the_future$"):
        seccomp.program(network=False)
